"""The page: figures with their spread, what is marked, the paper's own figures, and both kinds of markup."""

import re
from types import SimpleNamespace

import pytest

from spherevec.reproduction.blocks import (
    MISSING,
    Bullets,
    Column,
    Drawing,
    Entry,
    Heading,
    Paragraph,
    Table,
    figure_text,
    from_columns,
    marked,
)
from spherevec.reproduction.markup import as_html, as_markdown
from spherevec.reproduction.methods import METHODS, document_paper_row
from spherevec.reproduction.plan import FULL, NEWS, REVIEWS, WIKI, Cell, all_cells
from spherevec.reproduction.results import Figure, Results, paper_figures
from spherevec.reproduction.sentences import about_order, in_short
from spherevec.reproduction.tables import classification_table, clustering_table, similarity_table, time_table


def results_of(found):
    """Results of a run in which `found` was measured: cell → figures."""
    cells = all_cells(FULL, 2, (WIKI, NEWS, REVIEWS))
    assert set(found) <= set(cells)
    store = SimpleNamespace(load=found.get)
    return Results(SimpleNamespace(cells=cells, store=store, scale=FULL, failures={}, absent={}, seeds=2, threads=2))


def spread(*values):
    return {"values": list(values)}


def document_figures(nmi, f1):
    measures = {name: spread(*nmi) for name in ("mi", "nmi", "ari", "purity")}
    return {
        "clustering": {"kmeans": measures, "skmeans": measures},
        "classification": [{"k": 3, "macro_f1": spread(*f1), "micro_f1": spread(*f1)}],
        "corpus": {"tokens": 1000, "documents": 10, "words": 5},
        "seconds": 1.0,
    }


def documents(method, order, seed, nmi, f1=(0.5,)):
    return {Cell("documents", NEWS, method, order, seed, mapped=method == "spherevec-default" and seed == 1
                 and order == "shuffled"): document_figures(nmi, f1)}  # fmt: skip


def text_of(table, row, column):
    rows = {entries[0].text: entries for entries in table.rows}
    return rows[row][column]


# Figures


def test_a_figure_by_hand():
    assert Figure.of([]) is None
    assert Figure.of([0.5]) == Figure(0.5, None, 1)
    three = Figure.of([1.0, 2.0, 6.0])
    assert (three.mean, three.std, three.n) == (3.0, pytest.approx(7**0.5), 3)
    assert figure_text(three, 1) == "3.0 ± 2.6"
    assert figure_text(Figure.of([0.25])) == "0.250"
    assert figure_text(None) == MISSING
    assert Figure.of([float("nan"), 1.0]) == Figure(1.0, None, 1)


def test_the_best_is_marked_and_what_is_within_the_deviation():
    best, close, far, single = (
        Figure(0.70, 0.02, 10),
        Figure(0.685, 0.001, 10),
        Figure(0.60, 0.05, 10),
        Figure(0.69, None, 1),
    )
    assert [entry.best for entry in marked([far, best, close, None, single])] == [False, True, True, False, True]
    wide = Figure(0.60, 0.11, 10)
    assert [entry.best for entry in marked([wide, best])] == [True, True]
    assert [entry.best for entry in marked([Figure(0.5, None, 1), Figure(0.6, None, 1)])] == [False, True]
    assert [entry.best for entry in marked([Figure(0.5, None, 1), None])] == [False, False]  # nothing to be better than


# Tables


def test_the_deviation_is_over_all_clusterings_of_all_trainings():
    results = results_of(
        documents("doc2vec-dbow", "shuffled", 1, (0.5, 0.6))
        | documents("doc2vec-dbow", "shuffled", 2, (0.7, 0.8))
        | documents("doc2vec-dbow", "file", 1, (0.9,))
    )
    table = clustering_table(results, "kmeans")
    assert text_of(table, "Doc2Vec, DBOW", 2).text == "0.900"  # NMI in file order
    assert text_of(table, "Doc2Vec, DBOW", 6).text == "0.650 ± 0.129"
    assert text_of(table, "Doc2Vec, DBOW", 9).text == "2"
    assert text_of(table, "averaged Word2Vec", 6).text == MISSING
    paper = [column.paper for column in table.columns]
    assert paper == [False] * 10 + [True] * 4
    assert text_of(table, "Doc2Vec, DBOW", 11).text == "0.626 ± 0.006"


def test_where_the_order_cannot_matter_both_columns_say_the_same():
    results = results_of({Cell("documents", NEWS, "tfidf-svd", "any", 1): document_figures((0.4,), (0.6,))})
    table = classification_table(results, NEWS)
    row = [entry.text for entry in next(row for row in table.rows if row[0].text.startswith("tf-idf"))]
    assert row[1:5] == ["0.600"] * 4
    assert row[6:] == [MISSING, MISSING]  # the paper has no such row
    assert "order cannot matter to tf-idf" in about_order(results)


def test_similarity_says_how_many_pairs_are_covered():
    def figures(value):
        similarity = {"spearman": value, "covered": 300, "total": 353}
        analogy = {"total": {"accuracy": 0.25, "covered": 1234, "total": 19544}}
        return {
            "similarity": dict.fromkeys(("wordsim353", "men", "simlex999"), similarity),
            "analogy": dict.fromkeys(("3cosadd", "3cosmul"), analogy),
        }

    results = results_of(
        {
            Cell("words", WIKI, "word2vec", "any", 1): figures(0.6),
            Cell("words", WIKI, "spherevec-paper", "any", 1): figures(0.4),
            Cell("words", WIKI, "spherevec-paper", "any", 2): figures(0.5),
        }
    )
    table = similarity_table(results)
    assert table.columns[1].title == "WordSim353, 300 of 353 pairs"
    assert "1,234 covered of 19,544" in table.columns[4].group
    assert text_of(table, "spherevec, paper recipe", 1) == Entry("0.450 ± 0.071")
    assert text_of(table, "Word2Vec", 1) == Entry("0.600", best=True)
    assert text_of(table, "Word2Vec", 7).text == "0.711"
    assert text_of(table, "GloVe", 1).text == MISSING


def test_times_by_hand():
    def timed(method, repeat, seconds, peak=2**20):
        return {
            Cell("time", NEWS, method, "any", repeat): {
                "seconds": seconds,
                "tokens": 500,
                "documents": 5,
                "peak_bytes": peak,
            }
        }

    found = documents("word2vec", "shuffled", 1, (0.5,))  # 1000 tokens in all, of which 500 are timed
    found |= timed("word2vec", 1, [3.0, 5.0]) | timed("word2vec", 2, [3.0, 7.0]) | timed("word2vec", 3, [3.0, 6.0])
    found |= timed("spherevec-default", 1, [1.0, 1.5], 2**21) | timed("spherevec-default", 2, [1.0, 1.5], 2**21)
    found |= timed("sif", 1, [0.5]) | timed("tfidf-svd", 1, [2.0])
    results = results_of(found)
    first, *_ = results.times("word2vec")
    # An epoch of 2 s on a half; ten epochs are 3 + 9 × 2.
    assert (first.epoch, first.whole, first.rate) == (4.0, 42.0, 250.0)
    assert results.times("sif")[0].whole == 1.0 + 42.0
    assert results.times("tfidf-svd")[0].whole == 4.0
    table = time_table(results)
    assert text_of(table, "Word2Vec", 1).text == "6.0"  # median of 4, 8 and 6
    assert text_of(table, "spherevec, default recipe", 4).text == "6.00 (4.00 to 8.00)"
    assert text_of(table, "spherevec, default recipe", 6).text == "2.00 (2.00 to 2.00)"
    assert text_of(table, "FastText", 7).text == f"{0.81 / 2.11:.2f}"
    assert any(
        text.startswith("Speed: the default recipe's rate is 6.0 (4.0 to 8.0) times that of Word2Vec")
        for text in in_short(results)
    )


# Sentences


@pytest.mark.parametrize(
    ("ours", "peer", "expected"),
    [
        ((0.6, 0.6), (0.5, 0.5), "reaches 0.600 ± 0.000, the highest of 2; next is Doc2Vec, DBOW with 0.500 ± 0.000."),
        ((0.4, 0.4), (0.5, 0.5), "reaches 0.400 ± 0.000; the highest of 2 is Doc2Vec, DBOW with 0.500 ± 0.000."),
        ((0.4, 0.6), (0.52, 0.52), "Doc2Vec, DBOW with 0.520 ± 0.000, within the deviation."),
    ],
)
def test_higher_and_lower_are_computed(ours, peer, expected):
    results = results_of(
        documents("spherevec-default", "shuffled", 1, ours) | documents("doc2vec-dbow", "shuffled", 1, peer)
    )
    line = next(text for text in in_short(results) if text.startswith("NMI on 20 Newsgroups"))
    assert line.endswith(expected)


def test_the_effect_of_the_order_is_computed():
    def told(in_file, shuffled):
        results = results_of(
            documents("spherevec-paper", "file", 1, in_file) | documents("spherevec-paper", "shuffled", 1, shuffled)
        )
        return about_order(results)

    assert "(lower by 0.200)" in told((0.7, 0.7), (0.5, 0.5))
    assert "(higher by 0.100)" in told((0.5, 0.5), (0.6, 0.6))
    assert "(no difference beyond the deviation)" in told((0.5, 0.6), (0.56, 0.56))


def test_nothing_measured_is_said():
    assert in_short(results_of({})) == ("Nothing has been measured yet.",)


# The paper's figures


def test_the_papers_rows_are_complete_and_used():
    paper = paper_figures()
    assert {len(row) for row in paper["similarity"]["rows"].values()} == {3}
    for row in paper["clustering"]["rows"].values():
        assert set(row) == {"kmeans", "skmeans"}
        for figures in row.values():
            assert len(figures) == 4 and all(0 < std < mean for mean, std in figures)
    for row in paper["classification"]["rows"].values():
        assert {name: len(figures) for name, figures in row.items()} == {NEWS: 2, REVIEWS: 2}
    used = {method.paper for method in METHODS.values()} | {document_paper_row(method) for method in METHODS.values()}
    for name in ("similarity", "clustering", "classification", "hours_per_epoch"):
        assert set(paper[name]["rows"]) <= used


# Markup

BLOCKS = [
    Heading("A < B"),
    Paragraph("Run `spherevec` & look."),
    Bullets(("one", "two")),
    Drawing("plot", '<?xml version="1.0"?>\n<svg xmlns="http://www.w3.org/2000/svg"></svg>\n', 'What "it" shows'),
    from_columns(
        "Caption",
        [
            (Column("", numbers=False), [Entry("a|b"), Entry("c")]),
            (Column("NMI", "measured"), [Entry("0.500 ± 0.100", best=True), Entry(MISSING)]),
            (Column("NMI", "paper", paper=True), [Entry("0.4"), Entry("0.3")]),
        ],
    ),
]


def test_markdown():
    text = as_markdown("Title", BLOCKS, "pictures")
    assert text.startswith("# Title\n\n## A < B\n\nRun `spherevec` & look.\n\n- one\n- two\n\n")
    assert '![What "it" shows](pictures/plot.svg)' in text
    assert "|  | measured: NMI | paper: NMI |\n| --- | ---: | ---: |\n" in text
    assert "| a\\|b | **0.500 ± 0.100** | 0.4 |\n" in text


def test_html_needs_nothing_else_and_marks_the_papers_columns():
    text = as_html("Title", BLOCKS)
    assert "<h2>A &lt; B</h2>" in text and "Run <code>spherevec</code> &amp; look." in text
    assert '<img src="data:image/svg+xml;base64,' in text and 'alt="What &quot;it&quot; shows"' in text
    assert "<strong>0.500 <small>±0.100</small></strong>" in text
    assert '<th colspan="1" class=group>paper</th>' in text
    assert re.search(r'<td class="n paper group">0.4</td>', text)
    assert not re.search(r'(src|href)="(?!data:)', text)
    for tag in ("table", "tr", "figure", "ul", "div"):
        assert text.count(f"<{tag}") == text.count(f"</{tag}>")


def test_an_uneven_table_is_refused():
    with pytest.raises(ValueError, match="zip"):
        from_columns("", [(Column("a"), [Entry("1")]), (Column("b"), [])])
    assert Table("", ()).rows == ()
