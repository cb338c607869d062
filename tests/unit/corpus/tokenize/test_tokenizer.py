"""The compiled tokenizers against their plain-Python twins."""

import sys
import unicodedata
from collections import Counter

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from helpers import tokenizer_cases
from spherevec.corpus.count.vocabulary import CountedWords
from spherevec.corpus.count.word_table import WordTable
from spherevec.corpus.tokenize import characters as ch
from spherevec.corpus.tokenize import cleaning, tokenize
from spherevec.corpus.tokenize.characters import BREAK_BIT, ID_MASK
from spherevec.corpus.tokenize.cleaning import cleaned, combining_classes, normalise_block
from spherevec.corpus.tokenize.tokenizer import Tokenizer, stored_tokenizer, tokenizer_of
from spherevec.corpus.tokenize.words import TokenizerOptions
from spherevec.errors import ConfigError, FormatError, MissingExtraError

# Mostly characters and pieces on which the rules turn, among any others.
TRICKY = "aAzZ09_ \t\r\f\v.,-'’\"İıßẞΣςéÉ\u0301\u0345日本٣Ⅷ²ǅ\u00a0\u2028\u0085\u02bc\x00\x1c😀𝐀𐐀\U000e0100"
TEXT = st.text(st.sampled_from(TRICKY) | st.characters(exclude_categories=["Cs"]), max_size=40)
PIECES = [
    "a", "B", "7", "19", "_", " ", "  ", ".", ",", "-", "--", "+", "++", "#", "@", ":", "/", "%", "'", "’",
    "‐", "‑", "covid", "C", "c++", "C#", ".NET", "net", "js", "U.S.", "e.g", "x.y.", "3.14", "1,000",
    "http://", "HTTPS://", "ftp:", "www.", "WWW", "example.com", "www.a.b", "(x)", ")", "]", "[", "joe@x.org",
    "joe.x+y@", "@x.y.", "a" * 63, "&amp;", "&", "&lt;b&gt;", "&#233;", "&#x301;", "&#10;", "&#150;",
    "&eacute;", "&nGt;", "&bogus;", "<b>", "</p>", "<br/>", "<a href='x y'>", "<", ">", "<mail@x.org>",
    "<!-- c -->", "<notatag>", "ΟΔΟΣ", "Σ", "İ", "́", "é", "é", "가", "Å", "̸", "日", "本語", "カタ", "ไทย",
    "ที่", "ខ្មែរ", "한국", "\u200b", "\u200c", "\u200d", "\xad", "\ufeff", "️", "😀", "👍🏽", "👨\u200d👩", "❤️",
    "🇩🇪", "🇫", "🏴\U000e0067\U000e007f", "\x00", "\xa0", "—", "。", "…",
]  # fmt: skip
NASTY = st.lists(st.sampled_from(PIECES) | st.characters(exclude_categories=["Cs"]), max_size=25).map("".join)
OPTIONS = st.builds(
    TokenizerOptions,
    **{
        name: st.sampled_from([choice for choice in choices if choice not in ("segment", "auto")])
        for name, choices in TokenizerOptions.choices().items()
    },
)


def fed(table, text):
    """Words of a text fed to a table, how many came before each newline, and after which of them is a break."""
    ids, ends, _ = table.feed(text.encode())
    words = list(table.counted().words)
    return [words[i & ID_MASK] for i in ids], ends.tolist(), (ids & BREAK_BIT != 0).tolist()


def one_line(document):
    return document.replace("\n", " ")


@pytest.mark.parametrize("case", tokenizer_cases(), ids=lambda case: f"{case['tokenizer']} {case['text'][:20]}")
def test_the_cases_in_python_and_compiled(case):
    tokenizer = tokenizer_of(case["tokenizer"])
    assert tokenizer.words(case["text"]) == case["words"]
    assert fed(WordTable(tokenizer), case["text"])[0] == case["words"]


def test_unspaced_scripts_are_divided_into_words():
    pytest.importorskip("icu4py")
    text = "我们研究机器学习, 東京 iPhone手机 ประเทศไทยมีวัฒนธรรม"
    words = ["我们", "研究", "机器", "学习", "東京", "iphone", "手机", "ประเทศไทย", "มี", "วัฒนธรรม"]
    for said in ("words:unspaced=segment", "words"):
        tokenizer = tokenizer_of(said)
        assert tokenizer.words(text) == words
        assert fed(WordTable(tokenizer), text)[0] == words
    assert tokenizer_of("words").options.unspaced == "segment"


def test_ideographs_that_the_dictionary_leaves_alone_make_words():
    pytest.importorskip("icu4py")
    words = tokenizer_of("words:unspaced=segment").words
    assert words("挂载文件系统到内核的目录") == ["挂载", "文件", "系统", "到", "内核", "的", "目录"]
    assert words("内核模块在加载时分配内存") == ["内核", "模块", "在", "加载", "时", "分配", "内存"]
    assert words("コアを核とする") == ["コア", "を", "核", "と", "する"]


def test_words_of_katakana_that_the_dictionary_lacks_are_not_cut_before_or_behind_a_lone_letter():
    pytest.importorskip("icu4py")
    tokenizer = tokenizer_of("words:unspaced=segment")
    for text, words in {
        "シンボリックリンク": ["シンボリック", "リンク"],
        "このロケールのリビジョン": ["この", "ロケール", "の", "リビジョン"],
        "トークンをバインド": ["トークン", "を", "バインド"],
        "ヘッダーファイル": ["ヘッダー", "ファイル"],
        "ハードウェア・クロック": ["ハードウェア", "クロック"],
    }.items():
        assert tokenizer.words(text) == words
        assert fed(WordTable(tokenizer), text)[0] == words


@settings(max_examples=100)
@given(NASTY)
def test_blocks_are_divided_as_texts_are(text):
    pytest.importorskip("icu4py")
    assert cleaning.segmented_block(text.encode()).decode() == cleaning.segmented(text)


def test_without_the_extra_pairs_of_characters_stand_in(monkeypatch):
    monkeypatch.setitem(sys.modules, "icu4py.breakers", None)
    cleaning._breaker.cache_clear()
    assert tokenizer_of("words").options.unspaced == "bigrams"
    with pytest.raises(MissingExtraError, match=r"spherevec\[cjk\]"):
        tokenizer_of("words:unspaced=segment").words("日本語")


def test_a_function_is_a_tokenizer():
    assert tokenize("a-b", lambda text: text.split("-")) == ["a", "b"]


@pytest.mark.parametrize(
    "tokenizer", ["word", "", None, 3, "words:x=1", "words:html=1", "words:urls=no", "whitespace:a=b"]
)
def test_unknown_tokenizers_are_refused(tokenizer):
    with pytest.raises(ConfigError, match="tokenizer"):
        tokenize("a", tokenizer)


@settings(max_examples=300)
@given(documents=st.lists(NASTY | TEXT, max_size=5).map(lambda d: [*map(one_line, d)]), options=OPTIONS)
@example(documents=["a'", "'b", "’", "a’b"], options=TokenizerOptions())
@example(documents=["ΑΣ++", "U\xad.S.", "3\xad.14", "a\u200d.b"], options=TokenizerOptions())
@example(documents=["http://a_ http://a_b-/", "a@b..c a@b.. a@-b.c a@b-.c"], options=TokenizerOptions())
@example(documents=["x@y.z", "http://a.b/c).", "Σ'ΑΣ"], options=TokenizerOptions(urls="keep"))
def test_scanner_equals_twin(documents, options):
    tokenizer = Tokenizer("words-0.2", options)
    table = WordTable(tokenizer, 1)
    words, ends, breaks = fed(table, "".join(document + "\n" for document in documents))
    expected = [tokenizer.tokens(document) for document in documents]
    assert words == [token.word for document in expected for token in document]
    assert ends == np.cumsum([len(document) for document in expected]).tolist()
    assert breaks[1:] == [token.after_break for document in expected for token in document][1:]
    distinct = list(table.counted().words)
    assert dict(zip(distinct, table.counts.tolist(), strict=True)) == Counter(words)


@settings(max_examples=200)
@given(
    documents=st.lists(TEXT | NASTY, max_size=5).map(lambda d: [*map(one_line, d)]), first_words=st.sampled_from([1, 8])
)
def test_the_compiled_split_at_white_space_equals_its_twin(documents, first_words):
    table = WordTable(Tokenizer("whitespace"), first_words)
    words, ends, _ = fed(table, "".join(document + "\n" for document in documents))
    expected = [tokenize(document, "whitespace") for document in documents]
    assert words == [word for document in expected for word in document]
    assert ends == np.cumsum([len(document) for document in expected]).tolist()


def test_punctuation_breaks_phrases_and_hyphens_do_not():
    tokens = tokenizer_of("words").tokens("heart attack, heart-attack (heart) attack <p>heart <b>attack</b>")
    assert [token.after_break for token in tokens] == [True, False, True, False, True, True, True, False]
    assert fed(WordTable(tokenizer_of("words")), "a b, c d. e\nf")[2] == [False, False, True, False, True, True]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a<b>c</b>d<BR/>e<p class='x y'>f", "a c d\x1ee\x1ef"),
        ("<!-- c --><!DOCTYPE html><!-->", "\x1e\x1e\x1e"),
        ("a <notatag &amp;> <mail@x.org> 1 < 2 & 3 <a\nb> <b", "a <notatag &> <mail@x.org> 1 < 2 & 3 <a\nb> <b"),
        ("<a <b> <i " + "x" * 999 + "> <i " + "x" * 1000 + ">", "<a     <i " + "x" * 1000 + ">"),
        ("&amp;lt; &eacute;&#233;&#xE9;&#XE9; &#150; &#129;&#10;&#0;", "&lt; éééé – " + " " * 3),
        (
            "&bogus; &amp &#12345678; &#x1234567; &#; &a b; &#xD800;&nGt;",
            "&bogus; &amp &#12345678; &#x1234567; &#; &a b;  ≫⃒",
        ),
    ],
)
def test_markup_is_left_out(text, expected):
    assert cleaned(text.encode()).decode() == expected


@settings(max_examples=300)
@given(
    st.lists(
        st.sampled_from("aeA \n\u0301\u0323\u0307İÅ\u212b\u1100\u1161\u11a8가\u0338<=\u0958\u0340日")
        | st.characters(exclude_categories=["Cs"])
    )
)
def test_blocks_are_normalised(letters):
    text = "".join(letters)
    assert normalise_block(text.encode()).decode() == unicodedata.normalize("NFC", text)


def test_what_normalisation_leaves_alone_is_not_suspected():
    classes = combining_classes()
    assert not classes[[*map(ord, "aé日가مदÿ")]].any()
    assert classes[0x0301] == classes[0x212B] == 255
    assert classes[0x05B0] == unicodedata.combining("\u05b0")


def test_tables_agree_with_python_on_every_character():
    packed = ch.character_tables(True, True, False).packed
    for code in (*range(0x30000), *range(0xE0000, 0xE0200)):
        assert packed[code] >> ch.KIND_SHIFT == ch.kind_of(chr(code)), hex(code)


@settings(max_examples=100)
@given(left=st.lists(TEXT, max_size=6), right=st.lists(TEXT, max_size=6))
def test_merged_tables_count_together(left, right):
    tables = [WordTable(tokenizer_of("words"), 1) for _ in range(3)]
    words = [fed(table, "\n".join(texts))[0] for table, texts in zip(tables, (left, right, left), strict=True)]
    merged, hashes, places = CountedWords.merged([table.counted() for table in tables])
    names = list(merged.words)
    assert hashes.tolist() == merged.words.hashes().tolist()
    together = Counter(word for some in words for word in some)
    assert dict(zip(names, merged.counts.tolist(), strict=True)) == together
    for table, own in zip(tables, places, strict=True):
        assert [names[place] for place in own] == list(table.counted().words)


def test_words_with_the_same_hash_stay_apart():
    table = WordTable(tokenizer_of("words"), 1)
    assert table.feed(b"yulwaj dymwfc dymwfc yulwaj").ids.tolist() == [0, 1, 1, 0]
    assert len({slot >> 32 for slot in table._slots.tolist() if slot}) == 1
    assert list(table.counted().words) == ["yulwaj", "dymwfc"]


class TestDescription:
    @pytest.mark.parametrize("said", ["words", "whitespace", "words:urls=keep,emoji=off"])
    def test_stored_and_read_it_is_the_same(self, said):
        tokenizer = tokenizer_of(said)
        assert stored_tokenizer(tokenizer.description()) == tokenizer
        assert tokenizer_of(str(tokenizer)) == tokenizer

    def test_an_option_that_a_model_does_not_have_yet_is_its_default(self):
        about = tokenizer_of("words:urls=keep").description()
        del about["options"]["hyphens"]
        assert stored_tokenizer(about) == tokenizer_of("words:urls=keep")

    def test_an_unknown_option_is_refused_by_its_name(self):
        about = tokenizer_of("words").description()
        about["options"]["toy"] = True
        with pytest.raises(FormatError, match="an option 'toy' that this release does not know"):
            stored_tokenizer(about)

    @pytest.mark.parametrize(
        "about", ["wrods", None, {}, {"name": "words-0.2"}, {"name": "words-0.2", "options": {"html": 1}}, {"name": []}]
    )
    def test_damaged_descriptions_are_refused(self, about):
        with pytest.raises(FormatError, match="tokenizer"):
            stored_tokenizer(about)

    def test_a_function_is_remembered_but_not_stored(self):
        tokenizer = tokenizer_of(str.split)
        assert tokenizer.words("A b") == ["A", "b"]
        again = stored_tokenizer(tokenizer.description())
        with pytest.raises(ConfigError, match=r"trained with your function .*split as tokenizer.*pass it again"):
            again.words("a")
        with pytest.raises(ConfigError, match="lists of words"):
            Tokenizer("tokens").words("a")


def test_queries_are_spelled_as_the_text_was():
    words = tokenizer_of("words")
    assert words.normalise_word("HIV") == "hiv"
    assert words.normalise_word(" Heart  Attack!") == "heart attack"
    assert words.normalise_word("cafe\u0301") == "café"
    assert words.normalise_word("U.S") == "u.s."
    assert words.normalise_word("...") == ""
    assert Tokenizer("tokens").normalise_word("HIV") == "HIV"
