"""Words too general to found a topic.

A word of a subject keeps to documents that are alike without it, too: those with "orbit" still speak of rockets and
planets when "orbit" is taken out. The documents that hold a general word ("said", "effect", "writes") are no more alike
than any others. How alike they are is the focus of the word. It needs no list, hence works in any language; lists of
function words and words of form for the commonest languages judge rare ones, too.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from spherevec.corpus.tokenize.function_words import BY_LANGUAGE
from spherevec.engine.fit import exponents
from spherevec.topics.components import centered
from spherevec.topics.graph import Labels, Rows, sample_of

if TYPE_CHECKING:
    from spherevec.model import Model

# A language is used where words that are function words in no other language are this share of the text, leaving out
# the most frequent ones: "die" and "war" do not count as German in English text.
_LEAST_SHARE, _LEFT_OUT = 0.005, 2

# Focus is measured on so many documents, at most, for words that so many of them hold. A word is general whose focus is
# below this share of what the upper quarter of the words have.
_MOST_DOCUMENTS, _MOST_ENTRIES, _FEWEST_DOCUMENTS, _LEAST_FOCUS = 5_000, 500_000, 20, 0.4

# A passage is repeated that has so many words or more, in so many documents, of which its words have that share in
# common; documents that are searched, at most; and the numbers of parts that they are compared in.
_PASSAGE, _REPEATED, _ALIKE, _MOST_SEARCHED, _PARTS = 4, 5, 0.75, 100_000, (1, 4, 16)
# In more than this share of all documents, a passage has so many words or more, which this share of them hold equally
# often: fewer words may be all that a subject has. It is less than this share of the words of its documents.
_FREQUENT, _FREQUENT_PASSAGE, _EQUAL, _MOST_OF_TEXT = 0.05, 8, 0.5, 0.75
# A word belongs to a writer, not to a subject, that shares this much of its documents with a host, as in signatures,
# and stands fewer than so many times in each; documents that are searched, at most.
_OF_WRITER, _MOST_TIMES, _MOST_LETTERS = 0.35, 3.0, 30_000
# cs.pitt.edu, example.com; not node.js.
_HOST = re.compile(r"[\w-]+(\.[\w-]+)+\.[a-z]{2,3}|[\w-]+\.(com|edu|gov|mil|org)")
# Words of questions, requests and reports that are no function words, yet say nothing of the subject.
_OF_FORM = {
    "English": (
        "answer answers anybody anyone anything ask asked asking began best better came come comes day days difference "
        "differences do does else example examples gave give go goes going gone good hello help hi how kind know last "
        "made make makes making matter named need needed needs next nothing please possible problem problems put "
        "question questions regards said say says see seen sent someone something take taken takes tell tells thank "
        "thanks thing things time times told took trouble trying use used uses using vs versus want wanted wants way "
        "ways went what whatever when where which who why won work working works wrong year years"
    ),
    "German": (
        "bitte danke frage fragen gehen geht gemacht gesagt ging hallo heute hilfe jahr jahre jahren jemand kam kennt "
        "kommen kommt machen macht möchte möglich möglichkeit problem probleme sagen sagt sagte tag tage unterschied "
        "warum wann was weiß welche welcher welches wer weshalb wieso zeit"
    ),
    "French": (
        "aide aller année années aujourd'hui besoin bonjour comment différence dire dit fait faire jour jours merci "
        "meilleur pourquoi possible problème quand quel quelle quelles quels quelqu'un question quoi temps vient"
    ),
    "Spanish": (
        "alguien año años ayuda cómo cuál cuándo decir dice diferencia día días dijo dónde gracias hace hacer hizo "
        "hola hoy mejor necesito posible pregunta problema qué quién tiempo"
    ),
}


class _WordKinds(NamedTuple):
    listed: NDArray[np.bool_]  # (V,)
    focus: NDArray[np.float64]  # (V,), as a share of what the upper quarter of the words have; NaN where not measured


_found: WeakKeyDictionary[Model, _WordKinds] = WeakKeyDictionary()


def general_words(model: Model) -> NDArray[np.bool_]:
    """(V,), the listed words, and words without focus."""
    kinds = _word_kinds(model)
    return kinds.listed | (kinds.focus < _LEAST_FOCUS)


def listed_words(model: Model) -> NDArray[np.bool_]:
    """(V,), function words and words of form of the languages that are used, hosts and names of writers, marks, and
    repeated passages."""
    return _word_kinds(model).listed


def focus_of_words(model: Model) -> NDArray[np.float64]:
    """(V,), the focus of each word as a share of what the upper quarter have; NaN where it was not measured."""
    return _word_kinds(model).focus


def _word_kinds(model: Model) -> _WordKinds:
    if model not in _found:
        listed = _listed_words(model)
        _found[model] = _WordKinds(listed, _relative_focus(model, ~listed))
    return _found[model]


def _listed_words(model: Model) -> NDArray[np.bool_]:
    words = model.words.names or []
    counts = np.ones(len(words)) if model.counts is None else np.asarray(model.counts, np.float64)
    share = dict(zip(words, (counts / max(counts.sum(), 1)).tolist(), strict=True))
    general: set[str] = set()
    for language, listed in BY_LANGUAGE.items():
        others = frozenset().union(*(other for name, other in BY_LANGUAGE.items() if name != language))
        if sum(sorted(share.get(word, 0.0) for word in listed - others)[:-_LEFT_OUT]) >= _LEAST_SHARE:
            general.update(listed, _OF_FORM.get(language, "").split())
    found = np.array([word in general or _is_sign(word) for word in words], np.bool_)
    return found | _repeated_words(model) | _words_of_writers(model)


def _words_of_writers(model: Model) -> NDArray[np.bool_]:
    """(V,), names, places and sayings that stand beside the address of one writer, or of one place of work."""
    words, counts = model.words.names or [], model.document_terms
    found = np.zeros(len(words), np.bool_)
    if counts is None:
        return found
    counts = counts[sample_of(counts.shape[0], _MOST_LETTERS, seed=1)]
    held = np.bincount(counts.indices, minlength=len(words))
    seldom = np.asarray(counts.sum(axis=0)).ravel() < _MOST_TIMES * held
    hosts = [row for row, word in enumerate(words) if held[row] >= _REPEATED and _HOST.fullmatch(word)]
    holds = (counts > 0).astype(np.float32).tocsc()
    both = (holds[:, hosts].T @ holds).tocoo()
    host, word = np.asarray(hosts, np.int64)[both.row], both.col
    alike = both.data >= _OF_WRITER * (held[host] + held[word] - both.data)
    found[word[alike]] = True
    return found & seldom & (held >= _REPEATED)


def _repeated_words(model: Model) -> NDArray[np.bool_]:
    """(V,), words of passages that are repeated word for word, such as signatures, licences and encoded files.

    Such words stand in nearly the same documents. The most frequent word of each passage is not counted among them, so
    that a subject with words of its own loses none of its documents.
    """
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    counts = model.document_terms
    if counts is None:
        return np.zeros(len(model.words), np.bool_)
    counts = counts[sample_of(counts.shape[0], _MOST_SEARCHED, seed=1)]
    n, n_words = counts.shape
    held = np.bincount(counts.indices, minlength=n_words)
    frequent = held > _FREQUENT * n
    one, other = np.concatenate(
        [_alike_rare_words(counts, held, (held >= _REPEATED) & ~frequent), _alike_frequent_words(counts, frequent)],
        axis=1,
    )
    graph = csr_array((np.ones(len(one)), (one, other)), shape=(n_words, n_words))
    passage = connected_components(graph, directed=False)[1]
    order = np.lexsort((-held, passage))
    most_frequent = order[np.unique(passage[order], return_index=True)[1]]
    found = np.bincount(passage)[passage] >= np.where(frequent, _FREQUENT_PASSAGE, _PASSAGE)
    # A frequent passage that is most of what its documents say is no form: it is the text.
    words = np.flatnonzero(found & frequent)
    member = csr_array((np.ones(len(words)), (words, passage[words])), shape=(n_words, n_words))
    inside = (counts > 0).astype(np.float64) @ member
    shares = inside.multiply(1 / np.maximum(np.diff(counts.indptr), 1)[:, None]).sum(axis=0)
    said = np.asarray(shares).ravel() > _MOST_OF_TEXT * np.bincount(inside.indices, minlength=n_words)
    found[most_frequent] = False
    return np.asarray(found & ~(frequent & said[passage]))


def _alike_rare_words(counts: Any, held: Labels, searched: NDArray[np.bool_]) -> Labels:
    """Pairs (2, p) of the searched words that share most of the documents that hold them.

    Words that stand in exactly the same documents of some part of the text are compared in all of it. The sum of random
    numbers of documents tells which documents these are.
    """
    from scipy.sparse import coo_array

    n, n_words = counts.shape
    own = searched[counts.indices]
    row_of, word_of = np.repeat(np.arange(n), np.diff(counts.indptr))[own], counts.indices[own]
    random = np.random.default_rng(1)
    pairs = [np.zeros((2, 0), np.int64)]
    for n_parts in _PARTS:
        places = word_of, random.integers(n_parts, size=n)[row_of]
        summed, documents = (
            coo_array((values, places), shape=(n_words, n_parts)).tocsr()
            for values in (random.integers(1 << 62, size=n)[row_of], np.ones(len(row_of), np.int32))
        )
        several = documents.data >= 2
        words = np.repeat(np.arange(n_words), np.diff(summed.indptr))[several]
        _, first, group = np.unique(summed.data[several], return_index=True, return_inverse=True)
        pairs.append(np.array([words, words[first[group]]]))
    one, other = np.unique(np.concatenate(pairs, axis=1), axis=1)
    holds = coo_array((np.ones(len(row_of)), (row_of, word_of)), shape=(n, n_words)).tocsc()
    both = np.asarray(holds[:, one].multiply(holds[:, other]).sum(axis=0)).ravel()
    alike = both >= _ALIKE * (held[one] + held[other] - both)
    return np.array([one[alike], other[alike]])


def _alike_frequent_words(counts: Any, frequent: NDArray[np.bool_]) -> Labels:
    """Pairs (2, p) of the frequent words that most documents that hold them hold equally often.

    Function words and words of a large subject share documents, too, but not how often they stand in each.
    """
    words = np.flatnonzero(frequent)
    some = counts[:: max(counts.shape[0] // _MOST_DOCUMENTS, 1)][:, words]
    equal = np.zeros((len(words), len(words)))
    for often in (1, 2, 3):
        holds = (some == often).astype(np.float32)
        equal += (holds.T @ holds).toarray()
    held = np.bincount(some.indices, minlength=len(words))
    return words[np.array(np.nonzero(equal >= _EQUAL * (held[:, None] + held - equal)))]


def _relative_focus(model: Model, candidates: NDArray[np.bool_]) -> NDArray[np.float64]:
    """(V,), the focus of the candidates (V,) as a share of their upper quartile."""
    counts = model.document_terms
    if counts is None or model.fit is None:
        return np.full(len(model.words), np.nan)
    each = max(counts.nnz / max(counts.shape[0], 1), 1)
    sample = counts[sample_of(counts.shape[0], min(_MOST_DOCUMENTS, int(_MOST_ENTRIES / each)), seed=1)]
    strength = np.where(candidates[sample.indices], pulls(model, sample), 0)
    found = np.where(candidates, focus(sample, strength, np.asarray(model.inputs.vectors, np.float32)), np.nan)
    known = found[np.isfinite(found)]
    upper = np.quantile(known, 0.75) if len(known) else 0.0
    return found / upper if upper > 0 else np.full(len(found), np.nan)


def pulls(model: Model, counts: Any) -> NDArray[np.float64]:
    """How strongly each word of the counts (n, V) pulls the vector of its document, as `counts.data`."""
    assert model.fit is not None
    lengths = np.maximum(np.asarray(counts.sum(axis=1), np.float64).ravel(), 1)
    damping, sharpening = (
        np.repeat(power, np.diff(counts.indptr)) for power in exponents(lengths, model.fit.by_length)
    )
    return np.asarray(counts.data**damping * model.fit.weights[counts.indices] ** sharpening)


def focus(counts: Any, pulls: NDArray[np.floating], inputs: Rows) -> NDArray[np.float64]:
    """How alike the documents that hold a word are without it, (V,): the square root of their mean cosine.

    Words in few documents have no focus (NaN).

    Args:
        counts: csr_array (n, V), of the words in documents.
        pulls: how strongly each of them pulls its document, as `counts.data`.
        inputs: (V, d), vectors of the words.
    """
    row_of = np.repeat(np.arange(counts.shape[0]), np.diff(counts.indptr))
    own = pulls[:, None].astype(np.float32) * inputs[counts.indices]
    sums = np.zeros((counts.shape[0], inputs.shape[1]), np.float32)
    np.add.at(sums, row_of, own)
    rest = centered(centered(sums[row_of] - own), centered(sums).mean(axis=0))
    total = np.zeros(inputs.shape)
    np.add.at(total, counts.indices, rest)
    # The sum of n unit vectors has the squared length n + n (n − 1) · their mean cosine.
    held = np.bincount(counts.indices, minlength=len(inputs))
    cosine = ((total**2).sum(axis=1) / np.maximum(held, 1) - 1) / np.maximum(held - 1, 1)
    return np.where(held >= _FEWEST_DOCUMENTS, np.sqrt(np.maximum(cosine, 0)), np.nan)


def _is_sign(word: str) -> bool:
    """Whether a word is a single letter or mark, holds neither letters nor digits, or is a host, as in signatures."""
    # In scripts without spaces a single character is a word.
    return (len(word) == 1 and word.isascii()) or not any(map(str.isalnum, word)) or _HOST.fullmatch(word) is not None
