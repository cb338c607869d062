"""A page of a real model: what is kept is shown, what is not kept is not."""

from __future__ import annotations

import base64
import gzip
import json
import re
from functools import partial

import numpy as np
import pytest

import spherevec
from benchmarks.tables import made_table
from helpers import written_text
from spherevec.cli import main
from spherevec.errors import ConfigError
from spherevec.explore import page_data
from spherevec.explore.from_model import fit_of, kept_field, place_name_words
from spherevec.explore.report import write_report
from spherevec.model import Model


@pytest.fixture(scope="module")
def table():
    """A table of documents as people have them."""
    texts = [" ".join(words) for words in written_text()[0]]
    rows = range(len(texts))
    return [
        {"id": f"t{i}", "title": f"Ticket {i}", "body": texts[i], "team": "abc"[i % 3], "day": f"2024-0{i % 9 + 1}-01"}
        for i in rows
    ]


@pytest.fixture(scope="module")
def model(table, tmp_path_factory):
    path = tmp_path_factory.mktemp("corpus") / "tickets.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in table), encoding="utf-8")
    return spherevec.train(
        path, text_field="body", id_field="id", title_field="title", keep=["team", "day"],
        vector_size=24, min_count=1, epochs=10, threads=1, seed=1,
    )  # fmt: skip


def test_documents_keep_their_names_and_fields(model, table):
    data = page_data(model, threads=1)
    assert data.ids == [row["id"] for row in table]
    assert data.titles == [row["title"] for row in table]
    team, day = data.fields
    assert [team.labels[code] for code in team.values] == [row["team"] for row in table]
    assert day.kind == "date"
    assert day.values[0] == np.datetime64(table[0]["day"]).astype("datetime64[s]").astype(float)
    assert len(data.words) == len(model.words)
    assert sum(topic.size for topic in data.topics) == len(table)
    sizes = [topic.size for topic in data.topics]
    assert sizes == sorted(sizes, reverse=True)
    assert np.bincount(data.doc_topics, minlength=len(sizes)).tolist() == sizes


def test_the_text_that_was_not_kept_is_not_in_the_page(table, tmp_path):
    texts = [row["body"] for row in table]
    model = spherevec.train(texts, vector_size=8, min_count=1, epochs=1, threads=1, seed=1, keep_text=0)
    path = model.explore(tmp_path / "page.html", words=0, threads=1)
    blocks = re.findall(r'data-kind="json">([^<]*)<', path.read_text(encoding="utf-8"))
    everything = b"".join(gzip.decompress(base64.b64decode(block)) for block in blocks).decode()
    assert '"titles":null' in everything
    assert not any(" ".join(text.split()[:5]) in everything for text in texts)


def test_the_same_model_gives_the_same_page(model, tmp_path):
    one, two = (model.explore(tmp_path / f"{t}.html", threads=t).read_bytes() for t in (1, 2))
    assert one == two


def test_fewer_words(model):
    data = page_data(model, words=50, threads=1)
    assert len(data.words) == 50
    assert (data.place_names < 50).all()
    assert data.fit.weights.shape == (50,)
    assert data.fit.moments.shape == (model.vector_size + 1, model.vector_size)
    assert page_data(model, words=0, threads=1).fit is None
    with pytest.raises(ConfigError, match="words must be 0 or more, not -1"):
        page_data(model, words=-1)


def test_negatives_follow_their_distribution(model):
    assert len(fit_of(model, 10).negatives) == 0
    sampled = Model(model.words, inputs=model.inputs, config=model.config)
    fit = fit_of(sampled, 10)
    assert len(fit.moments) == 0
    weights = np.asarray(model.counts, float) ** 0.75
    expected = (weights[:, None] * model.inputs.vectors).sum(axis=0) / weights.sum()
    np.testing.assert_allclose(fit.negatives.mean(axis=0), expected, atol=0.01)


def test_kept_fields_of_every_kind():
    days = ["2024-01-02", "", "2024-03-01", "1960-01-01"]
    table = made_table(4, fields={"note": ["a b", "c", "a b", ""], "size": [1, 2.5, None, 4], "day": days})
    for name, kind in table.fields.items():
        field = kept_field(table, name, kind)
        assert len(field.values) == 4
        if kind == "date":
            assert np.isnan(field.values[1])
            assert field.values[3] < 0
        if kind == "number":
            assert np.isnan(field.values[2])


def test_place_names_are_words_of_their_documents():
    docs = np.eye(3, dtype=np.float32)[[0] * 20 + [1] * 20]
    inputs = np.asarray([[1, 0, 0], [0.6, 0.6, 0.53], [0, 1, 0], [0, 0, 1]], np.float32)
    rows = place_name_words(docs, inputs, ["alpha", "the", "beta", "12345"], np.ones(4), 1, 1)
    assert rows.tolist()[:2] == [0, 2]
    assert 3 not in rows


def test_a_model_without_documents(table):
    model = spherevec.train(
        [row["body"] for row in table], vector_size=8, min_count=1, epochs=1, threads=1, documents=False
    )
    data = page_data(model, threads=1)
    assert len(data.doc_places) == 0
    assert len(data.word_places) == len(data.place_names) > 0


def test_given_topics_are_the_ones_of_the_page(model):
    topics = model.topics(names={"first": ["w1"], "second": ["w2"]}, only_names=True)
    data = page_data(model, topics=topics, threads=1)
    assert {topic.name for topic in data.topics} == {"first", "second"}
    other = spherevec.train(["a b c d"] * 6, vector_size=24, min_count=1, epochs=1, threads=1)
    with pytest.raises(ConfigError, match="the topics are of 240 documents, the model has 6"):
        page_data(other, topics=topics)


def test_a_page_shows_both_levels(model):
    topics = model.topics(levels=[2, 5])
    data = page_data(model, topics=topics, threads=1)
    assert [parent.name for parent in data.parents] == [
        topic.title for topic in sorted(topics.parents, key=lambda topic: -topic.size)
    ]
    for row, parent in enumerate(data.parents):
        assert parent.size == sum(topic.size for topic in data.topics if topic.parent == row)
    names = {topic.title: topics.parents[topic.parent].title for topic in topics}
    assert {topic.name: data.parents[topic.parent].name for topic in data.topics} == names


def test_the_report_of_topics(model, table, tmp_path):
    model.save(tmp_path / "model")
    out = tmp_path / "topics"
    assert main(["topics", str(tmp_path / "model"), "--k", "4", "--out", str(out), "--quiet"]) == 0
    report = (out / "report.html").read_text(encoding="utf-8")
    assert report.count("<section") == 4
    assert "2024-01 to 2024-09, field &#x27;day&#x27;, by month, at most" in report
    assert "Ticket " in report
    assert main(["topics", str(tmp_path / "model"), "--k", "4", "--out", str(out), "--quiet", "--force"]) == 0


def test_a_page_has_the_name_of_a_page(model, tmp_path, capsys):
    for write, what in ((model.explore, "map"), (partial(write_report, model.topics(k=2)), "report")):
        with pytest.raises(ConfigError, match=rf"x\.pdf: the {what} is a web page; give a name that ends in \.html"):
            write(tmp_path / "x.pdf")
    model.save(tmp_path / "model")
    for arguments in (["explore", str(tmp_path / "model")], ["demo"]):
        assert main([*arguments, "--out", str(tmp_path / "map.pdf")]) == 2
        assert "map.pdf: the map is a web page" in capsys.readouterr().err
    assert not [*tmp_path.glob("*.pdf")]


def test_the_command(model, tmp_path, capsys):
    model.save(tmp_path / "model")
    page = tmp_path / "page.html"
    assert (
        main(["explore", str(tmp_path / "model"), "--out", str(page), "--title", "Tickets & more", "--threads", "1"])
        == 0
    )
    assert "MB" in capsys.readouterr().err
    assert "<title>Tickets &amp; more</title>" in page.read_text(encoding="utf-8")
    assert main(["explore", str(tmp_path / "model"), "--out", str(page)]) == 2
    assert "already exists" in capsys.readouterr().err
    assert main(["explore", str(tmp_path / "nothing"), "--out", str(tmp_path / "x.html")]) == 2
