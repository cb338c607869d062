"""The trained model: unit vectors of words, contexts and documents, and how they came about."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypedDict, Unpack, overload

import numpy as np
from numpy.typing import NDArray

from spherevec.errors import ConfigError, FormatError
from spherevec.model import folder as folders
from spherevec.model.document_edit import DocumentEdit
from spherevec.model.keyed_vectors import KeyedVectors, UnknownKeyError
from spherevec.model.other_names import OtherNames
from spherevec.model.parts import PARTS
from spherevec.model.verbs import verb
from spherevec.search.lexical import LexicalIndex
from spherevec.search.results import SearchResult, SearchResults
from spherevec.terminal import number_of

if TYPE_CHECKING:
    from spherevec.corpus import Vocabulary
    from spherevec.corpus.count.vocabulary import RareCounts
    from spherevec.corpus.tokenize.tokenizer import Tokenizer, TokenizerLike
    from spherevec.engine.fit import FitTables
    from spherevec.model.documents import DocumentTable
    from spherevec.model.inference import DocumentFitter
    from spherevec.model.parts import StoredTopics
    from spherevec.search.terms import DocumentTerms

__all__ = ["KeyedVectors", "Model", "UnknownKeyError"]

# What the encoders of other libraries are called with; vectors here are always arrays of unit rows.
_ENCODER_OPTIONS = ("batch_size", "show_progress_bar", "convert_to_numpy", "normalize_embeddings")


class SearchArguments(TypedDict, total=False):
    """What `Model.search` takes by name."""

    where: Mapping[str, Any] | None
    mode: str
    tokenizer: TokenizerLike | None
    subwords: bool
    explain: bool


class InferArguments(TypedDict, total=False):
    """What `Model.infer` takes by name, but for `return_unknown`."""

    epochs: int | None
    alpha: float | None
    threads: int
    device: str
    tokenizer: TokenizerLike | None
    text_field: str | None
    subwords: bool


class Model(OtherNames):
    """Words and documents on one sphere.

    Args:
        words: the word vectors, with their counts if known.
        contexts: the same words as contexts of others.
        docs: one vector per document.
        **parts: the other parts of a model, by the names of the attributes below.

    Attributes:
        inputs: the input vectors of the words, to which documents are fitted, where `words` are the direction of their
            sum with `contexts`; by default `words` themselves.
        documents: the table of documents: ids, titles, the beginning of each text, kept fields; by default their names
            alone, None without documents.
        terms: which words each document holds; None where that is not kept.
        fit: what documents are fitted with, as training made it; without it they are fitted by sampled steps.
        rare_counts: words too rare for a vector, with their counts; None where that is not known.
        kept_topics: topics that belong to the model, as `Topics.keep` leaves them; None where there are none.
        tokenizer: how text was split into words; words are looked up in the same spelling.
        config: the training settings, as `TrainConfig.as_dict()` gives them; None for imported vectors.
        record: one mapping of figures per epoch.
        parameters: small learned numbers, such as a concentration.
        provenance: anything else worth knowing about where the vectors come from.
    """

    words: KeyedVectors
    contexts: KeyedVectors | None
    inputs: KeyedVectors
    docs: KeyedVectors | None
    documents: DocumentTable | None
    terms: DocumentTerms | None
    fit: FitTables | None
    rare_counts: RareCounts | None
    kept_topics: StoredTopics | None
    tokenizer: Tokenizer
    config: dict[str, Any] | None
    record: list[dict[str, Any]]
    parameters: dict[str, float]
    provenance: dict[str, Any]

    def __init__(
        self, words: KeyedVectors, contexts: KeyedVectors | None = None, docs: KeyedVectors | None = None, **parts: Any
    ) -> None:
        given = {**dict.fromkeys(PARTS), "words": words, "contexts": contexts, "docs": docs, **parts}
        unknown = next((name for name in given if name not in PARTS), None)
        if unknown is not None:
            raise ConfigError(f"a model has no part {unknown!r:.40}; its parts are {', '.join(PARTS)}")
        for name, part in PARTS.items():
            setattr(self, name, part.accept(given[name], given))
        for table in (self.words, self.contexts, self.inputs):
            if table is not None:
                table.spelling = self.tokenizer.normalise_word
        if self.docs is not None and self.terms is not None:
            self.docs.wordless = self.terms.wordless
        self._lexical: LexicalIndex | None = None
        self._prepared: tuple[DocumentFitter, Vocabulary] | None = None

    def parts(self) -> dict[str, Any]:
        """The parts that the model has, by name; without `inputs` where they are the words themselves."""
        found = {name: getattr(self, name) for name in PARTS}
        if self.inputs is self.words:
            del found["inputs"]
        return {name: value for name, value in found.items() if value is not None}

    def __getstate__(self) -> dict[str, Any]:
        # What `infer` prepares is large and quickly made again: copies and pickles do without.
        return {**self.__dict__, "_prepared": None, "_lexical": None}

    @property
    def counts(self) -> NDArray[np.int64] | None:
        """How often each word occurred, (n,)."""
        return self.words.counts

    @property
    def document_terms(self) -> Any:
        """How often each word occurs in each document, or None: a csr_array (documents, words) of int32."""
        return None if self.terms is None else self.terms.counts

    @property
    def word_weights(self) -> NDArray[np.float32] | None:
        """How much each word says of its documents, (n,): 1 on average over the text, nearly 0 for function words.

        Documents are fitted with these weights. None for imported vectors and for models that have none.
        """
        return None if self.fit is None else self.fit.weights

    @property
    def vector_size(self) -> int:
        """The dimension of every vector."""
        return self.words.vector_size

    @property
    def version(self) -> str:
        """The release of spherevec that made the model."""
        return str(self.provenance["version"])

    @property
    def created(self) -> str:
        """When the model was made, in ISO 8601."""
        return str(self.provenance["created"])

    def __repr__(self) -> str:
        documents = "" if self.docs is None else f" {number_of(len(self.docs), 'document')},"
        origin = "imported" if self.config is None else str(self.config.get("objective", "trained"))
        return f"Model({len(self.words):,} words,{documents} dimension {self.vector_size}, {origin})"

    def _repr_html_(self) -> str:
        from spherevec.html import table_html

        shown = [(name, value) for name, value in self.describe().items() if isinstance(value, int | str)]
        rows = [[name, f"{value:,}" if isinstance(value, int) else value] for name, value in shown]
        return table_html(["", ""], rows, repr(self))

    @overload
    def search(
        self, query: str | NDArray[Any], among: str = "docs", topn: int = 10, **options: Unpack[SearchArguments]
    ) -> SearchResult: ...

    @overload
    def search(
        self,
        query: list[str] | tuple[str, ...],
        among: str = "docs",
        topn: int = 10,
        **options: Unpack[SearchArguments],
    ) -> SearchResults: ...

    def search(
        self,
        query: str | list[str] | tuple[str, ...] | NDArray[Any],
        among: str = "docs",
        topn: int = 10,
        *,
        where: Mapping[str, Any] | None = None,
        mode: str = "hybrid",
        tokenizer: TokenizerLike | None = None,
        subwords: bool = True,
        explain: bool = False,
        **other_names: Any,
    ) -> SearchResult | SearchResults:
        """The documents or words that answer a text, or each of several texts.

        Args:
            query: a text of one or more words, a list of texts, or a vector (dim,). "Quotation marks" ask for a phrase,
                -word excludes.
            among: "docs", "words" or "topics", which are found first.
            topn: how many answers.
            where: only documents for which this holds, such as `{"team": "billing", "created>=": "2024-01-01"}`; see
                `DocumentTable.rows_where`.
            mode: "dense" ranks by cosine, "lexical" by exact word matches (BM25), "hybrid" by both.
            tokenizer: as for `infer`.
            subwords: let the known word that is spelled most alike stand in for a word that no document holds; the
                result says so.
            explain: give each hit its `explanation`: the cosine, the words that matched, and what each gave.

        Returns:
            A `SearchResult`, or for a list of texts one for each in `SearchResults`: hits with id, title, snippet and
            score, best first.
        """
        from spherevec.model.search import Search

        search = Search(self, among, topn, where, mode, tokenizer, subwords, explain)
        return search.answer(query, other_names)

    def lexical_index(self) -> LexicalIndex | None:
        """What finds documents by their words, made when first asked for; None where these are not kept."""
        if self._lexical is None and self.terms is not None:
            self._lexical = LexicalIndex(self.terms)
        return self._lexical

    def encode(self, sentences: str | Sequence[str], **options: Any) -> NDArray[np.float32]:
        """The vectors of texts, (n, dim), or of one text, (dim,): `infer` by the name that other encoders have.

        Args:
            sentences: a text, or a list of texts.
            **options: `threads` as for `infer`. Those of other encoders that make no difference here (`batch_size`,
                `show_progress_bar`, `convert_to_numpy`, `normalize_embeddings`) are taken and ignored.
        """
        unknown = [name for name in options if name not in ("threads", *_ENCODER_OPTIONS)]
        if unknown:
            raise ConfigError(f"encode takes texts and threads, not {unknown[0]!r:.40}")
        alone = isinstance(sentences, str)
        vectors = self.infer([sentences] if alone else list(sentences), threads=options.get("threads", 0))
        return np.asarray(vectors[0] if alone else vectors)

    @overload
    def infer(
        self, texts: Any, *, return_unknown: Literal[False] = False, **options: Unpack[InferArguments]
    ) -> NDArray[np.float32]: ...

    @overload
    def infer(
        self, texts: Any, *, return_unknown: Literal[True], **options: Unpack[InferArguments]
    ) -> tuple[NDArray[np.float32], NDArray[np.float64]]: ...

    def infer(
        self,
        texts: Any,
        *,
        epochs: int | None = None,
        alpha: float | None = None,
        threads: int = 0,
        device: str = "cpu",
        tokenizer: TokenizerLike | None = None,
        text_field: str | None = None,
        subwords: bool = False,
        return_unknown: bool = False,
    ) -> NDArray[np.float32] | tuple[NDArray[np.float32], NDArray[np.float64]]:
        """The vectors of new documents, (n, dim): fitted by the objective of training, with the words fixed.

        The same text gives the same bits, alone or among others, in any order, on any number of threads; a text of the
        training set gets its trained vector, if training ended with `refit`. Words that the model does not know are
        skipped. A text without any known word gets the mean direction of the model's documents, or of its words where
        it has no documents.

        Vectors from outside come without counts and settings: then no word is subsampled, negatives are uniform, and
        the objective is the default one.

        Args:
            texts: an iterable of strings or of lists of words; with `text_field` a data frame, or records.
            epochs: passes over each text; by default 6. Without word weights 10, and more for less than 100 words.
            alpha: the share of a step that a pass takes, by default 0.7. Without word weights the learning rate at the
                start, by default 0.01, and 0.03 for the hinges.
            threads: 0 = all cores.
            device: "cpu", or "cuda" for an NVIDIA GPU, whose last bits differ from the CPU's.
            tokenizer: how to split the texts; as in training by default. Needed for texts where the model was trained
                on lists of words, or with a function for a tokenizer.
            text_field: the column of a data frame, or the field of records, that holds the text; by default the fields
                that the model was trained from.
            subwords: let the known word that is spelled most alike stand in for an unknown one.
            return_unknown: also return the share of each text's words that the model does not know, (n,); 1 for a text
                without any word.
        """
        from spherevec.model.inference import InferenceOptions, infer_batches, warn_if_all_unknown

        options = InferenceOptions(epochs, alpha, threads, device, tokenizer, text_field, subwords)
        blocks = warn_if_all_unknown([*infer_batches(self, texts, options)])
        vectors = np.concatenate([np.empty((0, self.vector_size), np.float32), *(block.vectors for block in blocks)])
        if not return_unknown:
            return vectors
        known = np.concatenate([np.empty(0, np.int64), *(block.known for block in blocks)])
        unknown = np.concatenate([np.empty(0, np.int64), *(block.unknown for block in blocks)])
        return vectors, np.where(known > 0, unknown / np.maximum(known + unknown, 1), 1.0)

    def explore(self, path: str | Path, **options: Any) -> Path:
        """Write the map of the model as one HTML page; see `spherevec.explore.write_page`."""
        page: Path = verb("explore")(self, path, **options)
        return page

    def show(self, **options: Any) -> Any:
        """The same page in a cell of a notebook; see `spherevec.explore.show`."""
        return verb("show")(self, **options)

    def plot_map(self, **options: Any) -> Any:
        """A picture of the map through matplotlib; see `spherevec.explore.plot_map`."""
        return verb("plot_map")(self, **options)

    def topics(self, **options: Any) -> Any:
        """The topics of the documents: those that were kept, or with options, or where none were kept, found anew.

        See `spherevec.topics.find_topics` for the options, and `Topics.keep`.
        """
        return verb("topics")(self, **options)

    def update(self, source: Any, *, add_only: bool = False, replay: Any = None, **options: Any) -> Model:
        """A new model that also holds the documents of `source` and, unless `add_only`, the words that they bring.

        Args:
            source: new documents: what `train` takes. One with the id of an old document takes its place.
            add_only: fit the documents to the words as they are; old vectors do not change.
            replay: old text that is still at hand, so that old words stay closer to where they were.
            **options: see `spherevec.training.update.update`.

        Topics that were kept with the model keep their numbers and titles; a subject that is new becomes a new one.
        """
        grown: Model = verb("update")(self, source, add_only=add_only, replay=replay, **options)
        return grown

    def remove(self, ids: Iterable[str]) -> Model:
        """A new model without some documents, given by their ids; what stays keeps its bits and its ids."""
        if self.docs is None or self.documents is None:
            raise ConfigError("this model was trained without documents: there is nothing to remove")
        if isinstance(ids, str) or not isinstance(ids, Iterable):
            raise ConfigError(f"ids must be a list of ids, not {ids!r:.60}; put it into a list")
        removed = [str(one) for one in ids]
        rows = np.array([self.documents.row_of(one) for one in removed], np.int64)
        # A number that was an id is never given to another document.
        numbers = [int(one) + 1 for one in removed if one.isascii() and one.isdigit() and len(one) < 16]
        next_id = max([self.provenance.get("next_id", 0), *numbers])
        provenance = self.provenance | ({"next_id": next_id} if next_id else {})
        return self.edit_documents(DocumentEdit.removing(len(self.docs), rows), provenance=provenance)

    def edit_documents(self, edit: DocumentEdit, added: Mapping[str, Any] | None = None, **changes: Any) -> Model:
        """A new model in which documents were added, replaced or removed.

        Args:
            added: the parts of the added documents: their vectors as `docs`, their table as `documents`, ….
            **changes: other values for some parts of the model, before the documents are edited.
        """
        values = self.parts() | changes
        edited: dict[str, Any] = dict.fromkeys(PARTS)
        for name, part in PARTS.items():
            if values.get(name) is not None:
                edited[name] = part.edit(values[name], edit, (added or {}).get(name), edited)
        return type(self)(**edited)

    def replace(self, **parts: Any) -> Model:
        """A model with other values for some of its parts; all others are shared.

        >>> words = KeyedVectors(["north", "east"], np.eye(2, dtype=np.float32))
        >>> Model(words).replace(provenance={"source": "a compass"}).provenance["source"]
        'a compass'
        """
        return type(self)(**(self.parts() | parts))

    def check(self) -> None:
        """Raise `FormatError` unless every vector is finite and of norm 1 within 1e-5, and every key is unique.

        All other parts are checked, too.
        """
        for name, value in self.parts().items():
            PARTS[name].check(value)

    def describe(self) -> dict[str, Any]:
        """What there is to know about the model without its vectors, ready for JSON."""
        described: dict[str, Any] = {}
        for name, part in PARTS.items():
            described |= part.describe(getattr(self, name))
        # Of all documents, those that were added to the words included; an imported model knows counts of words alone.
        total = None if self.counts is None else int(self.counts.sum())
        return {**described, "tokens": self.provenance.get("tokens", total)}

    def save(self, folder: str | Path, overwrite: bool = False) -> None:
        """Write the model as a folder, completely or not at all."""
        folders.save(self.parts(), folder, overwrite=overwrite)

    @classmethod
    def load(cls, folder: str | os.PathLike[str], mmap: bool = True, verify: bool = False) -> Model:
        """Open a saved model.

        Args:
            mmap: map the vectors from disk, read-only, instead of copying them into memory.
            verify: also compare the checksums of all files and check every vector; reads everything once.
        """
        parts = folders.load(folder, memory_map=mmap, verify=verify)
        try:
            model = cls(**parts)
            if verify:
                model.check()
        except FormatError as error:
            raise FormatError(f"{folder}: {error}") from None
        return model

    def _inference(self) -> tuple[DocumentFitter, Vocabulary]:
        """What `infer` needs besides texts, made when first asked for."""
        if self._prepared is None:
            from spherevec.model.inference import DocumentFitter, vocabulary_of

            self._prepared = DocumentFitter(self), vocabulary_of(self)
        return self._prepared


def load(folder: str | os.PathLike[str], *, mmap: bool = True, verify: bool = False) -> Model:
    """Open a saved model; see `Model.load`."""
    return Model.load(folder, mmap=mmap, verify=verify)
