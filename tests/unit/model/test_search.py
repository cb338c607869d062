"""Search against a slow twin: every score by plain NumPy, then sorted."""

import json
import math
from collections import Counter

import numpy as np
import pandas
import pytest
from click.testing import CliRunner

import spherevec
from spherevec.cli import cli, main
from spherevec.errors import ConfigError
from spherevec.model import KeyedVectors
from spherevec.search import hybrid
from spherevec.search.lexical import K1, B

TEXTS = [
    "refund not received for the broken order",
    "where is my refund refund refund",
    "login fails with code err4711 on the phone",
    "the phone app does not open after login",
    "invoice sent twice for one order",
    "",
    "order arrived broken and the refund is late",
    "password forgotten login not possible",
] * 3
TEAMS = ["billing", "billing", "login", "login", "billing", "none", "billing", "login"] * 3


@pytest.fixture(scope="module")
def model():
    records = [
        {"nr": f"T-{i}", "text": text, "team": team, "size": i}
        for i, (text, team) in enumerate(zip(TEXTS, TEAMS, strict=True))
    ]
    return spherevec.train(
        records, text_field="text", id_field="nr", keep=["team", "size"], min_count=2, vector_size=8, epochs=5,
        threads=1,
    )  # fmt: skip


def saturation(model, word):
    """How much of a word's BM25 weight each document gets, and its inverse document frequency, by the formula."""
    documents = [[word for word in text.split() if word in model.words] for text in TEXTS]
    mean = sum(map(len, documents)) / len(documents)
    norms = [K1 * (1 - B + B * len(words) / mean) for words in documents]
    counts = [Counter(words)[word] for words in documents]
    holders = sum(map(bool, counts))
    idf = math.log1p((len(documents) - holders + 0.5) / (holders + 0.5))
    return np.array([count / (count + norm) for count, norm in zip(counts, norms, strict=True)]), idf * bool(holders)


def bm25(model, query):
    return sum(idf * share for share, idf in (saturation(model, word) for word in query.split()))


def lexical_part(model, query):
    """What words add to cosines: by how much of the query a document holds, and for the best matches."""
    words = bm25(model, query)
    parts = [saturation(model, word) for word in query.split()]
    held = sum(idf * np.minimum((1 + K1) * share, 1) for share, idf in parts) / sum(idf for _, idf in parts)
    return 0.1 * (words / words.max()) ** 8 + 0.4 * held**4


def slow_scores(model, query, mode):
    documents, vector = model.docs.vectors.astype(float), model.infer([query])[0].astype(float)
    words = bm25(model, query)
    if mode == "lexical":
        return words
    blank = np.array([-np.inf if text == "" else 0 for text in TEXTS])
    if mode == "dense":
        return documents @ vector + blank
    lifted = lexical_part(model, query) + blank
    first = np.argsort(-(documents @ vector + lifted), kind="stable")[:5]
    mean = documents[first].mean(axis=0)
    moved = 0.7 * vector + 0.3 * mean / np.linalg.norm(mean)
    return documents @ (moved / np.linalg.norm(moved)) + lifted


@pytest.mark.parametrize("mode", hybrid.MODES)
@pytest.mark.parametrize("held", [1, 1 << 25])
def test_scores_and_order(model, monkeypatch, mode, held):
    monkeypatch.setattr(hybrid, "_SCORES_HELD", held)
    queries = ["refund order", "login phone", "the refund", "login err4711", "possible err4711"]
    for query, result in zip(queries, model.search(queries, topn=6, mode=mode), strict=True):
        scores = slow_scores(model, query, mode)
        assert [hit.score for hit in result] == pytest.approx(np.sort(scores)[::-1][:6], abs=1e-5)
        assert [hit.score for hit in result] == pytest.approx(scores[[hit.row for hit in result]], abs=1e-5)
        assert result.ids == model.search(query, topn=6, mode=mode).ids


def test_filters_come_before_the_search(model):
    for mode in hybrid.MODES:
        found = model.search("refund order login", where={"team": "login", "size<": 12}, topn=20, mode=mode)
        scores = slow_scores(model, "refund order login", mode)
        allowed = [row for row in range(12) if TEAMS[row] == "login"]
        wanted = [row for row in allowed if mode != "lexical" or scores[row] > 0]
        assert sorted(hit.row for hit in found) == wanted
    assert len(model.search("refund", where={"team": "nobody"})) == 0


@pytest.mark.parametrize("threads", [1, 2])
def test_rare_words_and_codes_are_found(threads):
    texts = [*TEXTS, "one more with the code qx77 and qx77 again", "zebra9 alone", "unseen words here"]
    model = spherevec.train(texts, min_count=2, vector_size=8, epochs=2, threads=threads, phrases=False)
    assert "zebra9" not in model.words
    for mode in ("hybrid", "lexical"):
        assert [hit.row for hit in model.search("zebra9", mode=mode)] == [len(TEXTS) + 1]
        assert model.search("login qx77", mode=mode, topn=1)[0].row == len(TEXTS)
    assert len(model.search("zebra9", mode="dense")) == 0
    assert model.terms.lengths.tolist() == [len(text.split()) for text in texts]


def test_documents_without_a_known_word_are_no_answer(model, monkeypatch):
    """Nor neighbours: their vectors say nothing. Those of rare words alone are found by these."""
    blank = {row for row, text in enumerate(TEXTS) if not text}
    for rows_in_bytes in (1 << 20, 1):
        monkeypatch.setattr("spherevec.model.keyed_vectors.BYTES_FROM_ROWS", rows_in_bytes)
        for mode in ("hybrid", "dense"):
            found = model.search(["refund order", "phone -broken"], mode=mode, topn=30)
            assert [len(result) for result in found] == [21, 15]
            assert not blank & {hit.row for result in found for hit in result}
            assert not len(model.search("refund", mode=mode, where={"team": "none"}))
        assert len(model.search(model.docs.vectors[0], topn=30)) == 21
        near = model.docs.most_similar("T-3", topn=30)
        assert len(near) == 20 and not blank & {int(key[2:]) for key, _ in near}
    model.docs._in_bytes = None
    with pytest.raises(ConfigError, match="document 'T-5' has no known word, hence no neighbours"):
        model.docs.most_similar("T-5")
    rare = spherevec.train([*TEXTS, "zebra9 alone"], min_count=2, vector_size=8, epochs=1, threads=1)
    assert len(TEXTS) in {hit.row for hit in rare.search("zebra9 order", topn=30)}
    assert len(TEXTS) not in {hit.row for hit in rare.search("refund order", topn=30)}
    bare = model.replace(terms=None, docs=KeyedVectors(model.docs.names, model.docs.vectors))
    assert len(bare.search("refund", topn=30)) == len(TEXTS)


def test_a_phrase_that_no_document_holds_is_named(model):
    """Its words are exact: none is guessed from its spelling."""
    notes = {
        '"refund refunt"': "no document holds the phrase 'refund refunt'",
        '"refund login"': "no document holds the phrase 'refund login'",
        'order "not received" -refund': "no document holds the phrase 'not received' and is without 'refund'",
    }
    for query, note in notes.items():
        found = model.search(query)
        assert (len(found), found.note, found.guessed) == (0, note, {})
    found = model.search('"not received"', where={"team": "login"})
    assert found.note == "no document with team 'login' holds the phrase 'not received'"


def test_words_found_by_keyword_are_told_from_unknown_ones():
    rare = spherevec.train([*TEXTS, "zebra9 alone"], min_count=2, vector_size=8, epochs=1, threads=1)
    query = "refund zebra9 qqq"
    assert rare.search(query, subwords=False).note == "found by keyword only: 'zebra9'; without a vector: 'qqq'"
    assert rare.search(query, subwords=False, mode="dense").note == "without a vector: 'zebra9', 'qqq'"


def test_words_that_the_tokenizer_splits_alone_are_found():
    """A host is one word within an address; typed alone, it is still that word."""
    texts = [
        "ask ann@mail.example.org about boats",
        "mail for all boats",
        "example of a boat org",
        "boats and more boats",
    ]
    model = spherevec.train(texts * 3, min_count=1, vector_size=8, epochs=2, threads=1, phrases=False)
    assert "mail.example.org" in model.words
    for query in ("mail.example.org", "boats mail.example.org"):
        assert {hit.row % 4 for hit in model.search(query, topn=3)} == {0}
    first, second = model.search(["mail.example.org", "boats"], topn=3)
    assert {hit.row % 4 for hit in first} == {0} and len(second) == 3


def test_a_single_rare_word_puts_what_holds_it_first(model):
    """Whatever the directions say: no document without the word comes before one that has it."""
    vectors = model.docs.vectors.copy()
    query = model.infer(["err4711"])[0]
    held = {row for row, text in enumerate(TEXTS) if "err4711" in text.split()}
    for row in range(len(vectors)):
        vectors[row] = -query if row in held else query
    turned = model.replace(docs=KeyedVectors(model.docs.names, vectors))
    assert {hit.row for hit in turned.search("err4711", topn=len(held))} == held


def test_answers_have_identity(model):
    hit = model.search("refund not received", topn=1)[0]
    assert hit.id == f"T-{hit.row}" and hit.title.startswith("refund not received")
    assert hit.fields == {"team": "billing", "size": hit.row}
    frame = model.search(["refund", "login"], topn=2).to_pandas()
    assert list(frame["query"]) == ["refund", "refund", "login", "login"] and set(frame.columns) >= {"id", "team"}
    assert "<td>T-" in model.search("refund")._repr_html_()
    assert "T-" in repr(model.search("refund"))


def test_saved_and_loaded(model, tmp_path):
    model.save(tmp_path / "m")
    again = spherevec.load(tmp_path / "m", verify=True)
    query = "refund order"
    assert [hit.as_dict() for hit in again.search(query)] == [hit.as_dict() for hit in model.search(query)]


def test_what_is_refused(model):
    with pytest.raises(ConfigError, match="no field 'colour' was kept"):
        model.search("refund", where={"colour": "red"})
    with pytest.raises(ConfigError, match="where chooses among documents"):
        model.search("refund", "words", where={"team": "x"})
    with pytest.raises(ConfigError, match="a text, a list of texts or a vector"):
        model.search([1, 2])
    with pytest.raises(ConfigError, match="a text, a list of texts or a vector"):
        model.search(None)


def run(*arguments, **options):
    return CliRunner().invoke(cli, [str(one) for one in arguments], **options)


def test_the_command(model, tmp_path):
    model.save(tmp_path / "m")
    done = run("search", tmp_path / "m", "refund order", "--top", 2, "--where", "team=billing|login", "--json")
    answers = json.loads(done.stdout)[0]["answers"]
    assert [one["id"] for one in answers] == model.search("refund order", topn=2).ids
    done = run("search", tmp_path / "m", "-", "--top", 1, "--mode", "lexical", input="refund\n\nlogin phone\n")
    assert done.stdout.splitlines()[0] == "refund" and len(done.stdout.splitlines()) == 5
    done = run("search", tmp_path / "m", "login", "--where", "size>=3", "--where", "size<8", "--top", 9, "--json")
    assert {one["fields"]["size"] for one in json.loads(done.stdout)[0]["answers"]} == {3, 4, 6, 7}
    done = run("search", tmp_path / "m", "login", "--where", "size")
    assert done.exit_code == 2 and "--where 'size' is not a condition" in done.output
    done = run("search", tmp_path / "m", "login", "--where", "size>=3", "size < 8")
    assert done.exit_code == 2 and "'size < 8' stands where a text does; repeat --where" in done.output
    assert run("search", tmp_path / "m", "login", "size<8").exit_code == 0


def test_shells_complete_commands_and_options(monkeypatch, capsys):
    monkeypatch.setenv("_SPHEREVEC_COMPLETE", "bash_complete")
    for words, wanted in (("spherevec sea", "plain,search"), ("spherevec search --mo", "plain,--mode")):
        monkeypatch.setenv("COMP_WORDS", words)
        monkeypatch.setenv("COMP_CWORD", str(len(words.split()) - 1))
        assert main([]) == 0
        assert capsys.readouterr().out.split() == [wanted]


def test_scores_are_what_their_explanation_adds_up_to(model):
    for mode in hybrid.MODES:
        for hit in model.search("refund order", mode=mode, explain=True):
            parts = hit.explanation
            assert hit.score == pytest.approx((parts.cosine or 0) + sum(parts.words.values()), abs=1e-6)
            held = set(TEXTS[hit.row].split()) & {"refund", "order"}
            assert set(parts.words) == (held if mode != "dense" else set())
            assert hit.as_dict()["explanation"] == {"cosine": parts.cosine, "words": parts.words}
    dense = model.search("refund order", mode="dense", explain=True)[0]
    assert dense.explanation.cosine == pytest.approx(dense.score)
    assert model.search("refund order")[0].explanation is None


def test_one_rare_word_finds_the_documents_that_hold_it_first():
    texts = [*TEXTS * 20, *["login fails with code err9 on the phone"] * 8, *["login phone code phone"] * 30]
    model = spherevec.train(texts, min_count=2, vector_size=8, epochs=5, threads=1)
    assert sorted(hit.row for hit in model.search("err9", topn=8)) == list(range(len(TEXTS) * 20, len(TEXTS) * 20 + 8))


def test_a_minus_excludes_and_quotation_marks_ask_for_a_phrase(model):
    def texts(query, **options):
        return {TEXTS[hit.row] for hit in model.search(query, topn=24, **options)}

    for mode in hybrid.MODES:
        assert texts("refund -broken", mode=mode) and not any(
            "broken" in text for text in texts("refund -broken", mode=mode)
        )
        assert texts('"not received"', mode=mode) == {TEXTS[0]}
        assert texts('order "refund is late"', mode=mode) == {TEXTS[6]}
        assert not texts('"received not"', mode=mode)
        assert texts('refund -"not received" -late', mode=mode) >= {TEXTS[1]}
        assert not texts('refund -"not received" -late', mode=mode) & {TEXTS[0], TEXTS[6]}
    with_team = model.search('"refund is late"', where={"team": "login"})
    assert len(with_team) == 0
    assert "only excludes words" in model.search("-refund").note


def test_phrases_and_exclusions_are_few(model):
    for query in ('"a b" ' * 33, "-a " * 33):
        with pytest.raises(ConfigError, match="at most 32 phrases in quotation marks and excluded words, not 33"):
            model.search(query)


def test_a_phrase_in_text_that_is_not_kept_is_said_to_be_unsure():
    texts = ["some words in front " * 20 + tail for tail in ("top speed", "speed top")] * 4
    model = spherevec.train(texts, min_count=1, vector_size=8, epochs=2, threads=1, keep_text=50)
    found = model.search('"top speed"')
    assert len(found) == 8 and "too little text of 8 documents is kept" in found.note
    kept = spherevec.train(texts, min_count=1, vector_size=8, epochs=2, threads=1, keep_text=5000)
    found = kept.search('"top speed"')
    assert [hit.row % 2 for hit in found] == [0] * 4 and found.note == ""
    assert all("top speed" in hit.snippet and len(hit.snippet) < 220 for hit in found)


def test_a_filter_that_nothing_passes_names_the_values(model):
    found = model.search("refund", where={"team": "support"})
    assert len(found) == 0
    assert found.note == "no document has team 'support'; team is one of 'billing', 'login', 'none'"


def test_a_title_is_part_of_what_is_found():
    records = [{"subject": f"heading{i % 4} of ticket", "text": text} for i, text in enumerate(TEXTS)]
    model = spherevec.train(
        records, text_field="text", title_field="subject", min_count=2, vector_size=8, epochs=2, threads=1
    )
    found = model.search("heading2", topn=6)
    assert [hit.row % 4 for hit in found] == [2] * 6
    assert found[0].title == "heading2 of ticket" and found[0].snippet == TEXTS[found[0].row]
    assert [hit.row % 4 for hit in model.search('"heading1 of"', topn=6)] == [1] * 6


def test_many_documents_are_scanned_as_bytes_with_the_same_answers(model, monkeypatch):
    def answers():
        found = [
            model.search(["refund order", "login", "zzz"], mode=mode, topn=7, where=where)
            for mode in hybrid.MODES
            for where in (None, {"team": "login"}, {"size<": 20})
        ]
        hits = [[(hit.id, hit.score) for hit in result] for results in found for result in results]
        return hits, model.docs.most_similar("T-3", topn=5), model.docs.in_bytes

    *plain, none = answers()
    monkeypatch.setattr("spherevec.model.keyed_vectors.BYTES_FROM_ROWS", 20)
    *scanned, in_bytes = answers()
    assert none is None and in_bytes is not None and scanned == plain
    model.docs._in_bytes = None


def test_conditions_and_queries_of_other_kinds_are_refused_in_one_line(model):
    mask = pandas.Series([True, False] * 30)
    with pytest.raises(ConfigError, match=r"conditions come as a dict such as .*, not 0 True 1 False") as caught:
        model.search("cat", where=mask)
    assert "\n" not in str(caught.value)
    with pytest.raises(ConfigError, match="a query vector holds numbers, not 'tax'; give texts as a str or a list"):
        model.search(np.array(["tax"]))
