"""Search against a slow twin: every score by plain NumPy, then sorted."""

import json
import math
from collections import Counter

import numpy as np
import pytest
from click.testing import CliRunner

import spherevec
from spherevec.cli import cli, main
from spherevec.errors import ConfigError
from spherevec.search import hybrid
from spherevec.search.lexical import FEW, K1, B

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


def bm25(model, query):
    """By the formula, document by document."""
    documents = [[word for word in text.split() if word in model.words] for text in TEXTS]
    mean = sum(map(len, documents)) / len(documents)
    scores = []
    for words in documents:
        counts, score = Counter(words), 0.0
        for word in query.split():
            holders = sum(word in other for other in documents)
            if holders:
                weight = math.log1p((len(documents) - holders + 0.5) / (holders + 0.5))
                norm = K1 * (1 - B + B * len(words) / mean)
                score += weight * counts[word] * (K1 + 1) / (counts[word] + norm)
        scores.append(score)
    return np.array(scores)


def lexical_part(share, query):
    """What the best words add to cosines: the power for most documents, the share itself where all rare words are."""
    held = {word: [word in text.split() for text in TEXTS] for word in query.split()}
    weights = {word: math.log1p((len(TEXTS) - sum(has) + 0.5) / (sum(has) + 0.5)) for word, has in held.items()}
    rare = [word for word, has in held.items() if sum(has) < FEW]
    whole = np.all([held[word] for word in rare], axis=0) & bool(rare)
    weight = 0.25 + 0.75 * sum(weights[word] for word in rare) / sum(weights.values())
    return weight * np.where(whole, share, share**8)


def slow_scores(model, query, mode):
    documents, vector = model.docs.vectors.astype(float), model.infer([query])[0].astype(float)
    words = bm25(model, query)
    if mode == "lexical":
        return words
    if mode == "dense":
        return documents @ vector
    lifted = lexical_part(words / words.max(), query)
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
    assert {one["fields"]["size"] for one in json.loads(done.stdout)[0]["answers"]} == {3, 4, 5, 6, 7}
    done = run("search", tmp_path / "m", "login", "--where", "size")
    assert done.exit_code == 2 and "--where 'size' is no condition" in done.output


def test_shells_complete_commands_and_options(monkeypatch, capsys):
    monkeypatch.setenv("_SPHEREVEC_COMPLETE", "bash_complete")
    for words, wanted in (("spherevec sea", "plain,search"), ("spherevec search --mo", "plain,--mode")):
        monkeypatch.setenv("COMP_WORDS", words)
        monkeypatch.setenv("COMP_CWORD", str(len(words.split()) - 1))
        assert main([]) == 0
        assert capsys.readouterr().out.split() == [wanted]


def test_answers_have_their_cosine_whatever_they_are_sorted_by(model):
    for mode in ("hybrid", "dense"):
        for hit in model.search("refund order", mode=mode):
            vector = model.infer(["refund order"])[0].astype(np.float64)
            assert hit.cosine == pytest.approx(float(model.docs.vectors[hit.row] @ vector), abs=1e-6)
            assert hit.as_dict()["cosine"] == hit.cosine


def test_a_filter_that_nothing_passes_names_the_values(model):
    found = model.search("refund", where={"team": "support"})
    assert len(found) == 0
    assert found.note == "no document has team 'support'; team is one of 'billing', 'login', 'none'"
