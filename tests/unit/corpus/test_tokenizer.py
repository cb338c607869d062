"""The compiled tokeniser against its plain-Python twin."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from spherevec.corpus import tokenize
from spherevec.corpus.tokenizer import character_tables
from spherevec.corpus.tokenizer_kernel import _hash
from spherevec.corpus.wordtable import WordTable
from spherevec.errors import ConfigError

# Mostly characters on which the rules turn, among any others.
TRICKY = "aAzZ09_ \t\r\f\v.,-'’\"İıßẞΣςéÉ\u0301\u0345日本٣Ⅷ²ǅ\u00a0\u2028\u0085\u02bc\x00\x1c😀𝐀𐐀\U000e0100"
TEXT = st.text(st.sampled_from(TRICKY) | st.characters(exclude_categories=["Cs"]), max_size=40)


def fed(table, text):
    ids, ends = table.feed(text.encode())
    words = table.words_at(np.arange(len(table)))
    return [words[i] for i in ids], ends.tolist()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Don't STOP, it’s 'quoted' rock''n'roll", ["don't", "stop", "it's", "quoted", "rock", "n'roll"]),
        ("snake_case x2 3.14 e\u0301tude", ["snake_case", "x2", "3", "14", "e\u0301tude"]),
        ("İstanbul ΟΔΟΣ STRASSE straße", ["i\u0307stanbul", "οδοσ", "strasse", "straße"]),
        ("' ’ '' a' 'b", ["a", "b"]),
        ("", []),
    ],
)
def test_words_by_example(text, words):
    assert tokenize(text) == words
    assert fed(WordTable("words"), text)[0] == words


def test_whitespace_by_example():
    text = " Don't  stop,\tnow\r\x0b\f a\u00a0b\u2003c "
    assert tokenize(text, "whitespace") == ["Don't", "stop,", "now", "a\u00a0b\u2003c"]


def test_a_function_is_a_tokenizer():
    assert tokenize("a-b", lambda text: text.split("-")) == ["a", "b"]


@pytest.mark.parametrize("tokenizer", ["word", "", None, 3])
def test_unknown_tokenizers_are_refused(tokenizer):
    with pytest.raises(ConfigError, match="tokenizer must be 'words' or 'whitespace' or a function, not"):
        tokenize("a", tokenizer)


@pytest.mark.parametrize("tokenizer", ["words", "whitespace"])
@settings(max_examples=300, deadline=None)
@given(documents=st.lists(TEXT, max_size=5), first_words=st.sampled_from([1, 2, 8]))
@example(documents=["a'", "'b", "’", "a’b"], first_words=1)
def test_kernel_equals_twin(tokenizer, documents, first_words):
    documents = [document.replace("\n", " ") for document in documents]
    table = WordTable(tokenizer, first_words)
    words, ends = fed(table, "".join(document + "\n" for document in documents))
    expected = [tokenize(document, tokenizer) for document in documents]
    assert words == [word for document in expected for word in document]
    assert ends == np.cumsum([len(document) for document in expected]).tolist()
    distinct = table.words_at(np.arange(len(table)))
    assert dict(zip(distinct, table.counts.tolist(), strict=True)) == Counter(words)


def test_tables_agree_with_python_on_every_character():
    folded = character_tables("words").folded
    for code in range(0x110000):
        words = tokenize(chr(code))
        assert bool(folded[code]) == bool(words), hex(code)
        if words:
            # The kernel knows of one character with a lower case of two.
            assert words[0] == chr(folded[code]) + ("\u0307" if code == 0x130 else ""), hex(code)


@settings(max_examples=100, deadline=None)
@given(left=st.lists(TEXT, max_size=6), right=st.lists(TEXT, max_size=6))
def test_absorbed_tables_count_together(left, right):
    first, second = WordTable("words", 1), WordTable("words", 1)
    fed(first, "\n".join(left))
    words, _ = fed(second, "\n".join(right))
    names = second.words_at(np.arange(len(second)))
    numbers = first.absorb(second)
    assert first.words_at(numbers.astype(np.intp)) == names
    together = Counter(tokenize("\n".join(left)) + words)
    assert dict(zip(first.words_at(np.arange(len(first))), first.counts.tolist(), strict=True)) == together


def test_words_with_the_same_hash_stay_apart():
    assert _hash(np.frombuffer(b"yulwaj", np.uint8), 0, 6) == _hash(np.frombuffer(b"dymwfc", np.uint8), 0, 6)
    table = WordTable("words", 1)
    ids, _ = table.feed(b"yulwaj dymwfc dymwfc yulwaj")
    assert ids.tolist() == [0, 1, 1, 0]
    assert table.words_at(np.arange(2)) == ["yulwaj", "dymwfc"]
