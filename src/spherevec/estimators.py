"""scikit-learn estimators: texts in, unit vectors or topics out."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Sequence
from dataclasses import fields
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClusterMixin, TransformerMixin, clone
from sklearn.utils.validation import check_is_fitted, check_memory

from spherevec.config import TrainConfig, describe_settings, hint_for
from spherevec.corpus.tokenize.tokenizer import TokenizerLike
from spherevec.errors import CorpusError
from spherevec.model import Model
from spherevec.process import effective_jobs

Texts = Iterable[str | Sequence[str]]


# scikit-learn has names of its own for these settings.
_SCIKIT_NAMES = {"seed": "random_state", "threads": "n_jobs"}


def _with_settings(cls: type[SphericalEmbedding]) -> type[SphericalEmbedding]:
    """Give the constructor one keyword for each training setting, and the docstring its explanation."""
    settings = {_SCIKIT_NAMES.get(spec.name, spec.name): spec for spec in fields(TrainConfig)}
    signature = inspect.signature(cls.__init__)
    own = [parameter for parameter in signature.parameters.values() if parameter.kind is not parameter.VAR_KEYWORD]
    keywords = [inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None) for name in settings]
    cls.__init__.__signature__ = signature.replace(parameters=own + keywords)  # type: ignore[attr-defined]
    explained = describe_settings(names=_SCIKIT_NAMES)
    cls.__doc__ = f"{inspect.cleandoc(cls.__doc__ or '')}\n{explained}\n"
    return cls


@_with_settings
class SphericalEmbedding(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Document vectors as a scikit-learn transformer, for a `Pipeline`, `GridSearchCV` or `clone`.

    `fit_transform(X)` returns the vectors of training, `transform(X)` infers vectors with the words fixed. By default
    training ends with that same fit (`refit`), so the two agree to the bit for the texts of `fit`, other than those
    without a known word. With `refit=False`, which is the paper's way, `fit_transform` returns the vectors that were
    learned together with the words, and `transform` gives the same texts others: in a pipeline, the steps behind this
    one are then fitted on vectors of one kind and asked about those of the other.

    The same `random_state` gives the same vectors with `n_jobs=1`, or with any number of threads and
    `deterministic=True`; `transform` gives them with any number of threads. `random_state=None` is always the same
    seed.

    Args:
        recipe: the settings to start from, "default" or "paper".
        tokenizer: a tokenizer by name, or a function from a string to words. Documents may also be lists of words,
            which need no tokenizer.
        **settings: the settings below; None is what the recipe says. `n_jobs=-1` means all cores.

    Attributes:
        model_: the trained `Model`: word vectors, neighbours, search.
        n_features_out_: the number of columns, `vector_size`.

    Example:
        >>> texts = ["tea and milk", "milk and sugar", "cars and roads", "roads and bridges"] * 5
        >>> SphericalEmbedding(vector_size=10, min_count=1, epochs=1).fit_transform(texts).shape
        (20, 10)
    """

    def __init__(self, recipe: str = "default", tokenizer: TokenizerLike = "words", **settings: Any) -> None:
        self.recipe = recipe
        self.tokenizer = tokenizer
        known = [_SCIKIT_NAMES.get(spec.name, spec.name) for spec in fields(TrainConfig)]
        for name in settings:
            if name not in known:
                raise TypeError(f"SphericalEmbedding has no setting {name!r}; {hint_for(name)}")
        for name in known:
            setattr(self, name, settings.get(name))

    def fit(self, X: Texts, y: Any = None) -> Self:
        """Learn word and document vectors from texts: an iterable of strings or of lists of words."""
        from spherevec.training import train

        _refuse_single_text(X)
        self.model_: Model = train(
            X, recipe=self.recipe, tokenizer=self.tokenizer, progress=False, **self._given_settings()
        )
        self.n_features_out_ = self.model_.vector_size
        return self

    def _given_settings(self) -> dict[str, Any]:
        """The settings that are not left to the recipe, by the names of `TrainConfig`."""
        values = {spec.name: getattr(self, _SCIKIT_NAMES.get(spec.name, spec.name)) for spec in fields(TrainConfig)}
        given = {name: value for name, value in values.items() if value is not None}
        if "threads" in given:
            given["threads"] = effective_jobs(given["threads"])
        if isinstance(given.get("seed"), np.random.RandomState):
            given["seed"] = int(given["seed"].randint(2**31 - 1))
        return given

    def fit_transform(self, X: Texts, y: Any = None) -> NDArray[np.float32]:
        """Learn, and return the trained document vectors, (n, vector_size).

        With `documents=False` there are none: the texts, which must then be readable twice, are inferred.
        """
        docs = self.fit(X).model_.docs
        return self.transform(X) if docs is None else docs.vectors.copy()

    def transform(self, X: Texts) -> NDArray[np.float32]:
        """Vectors of new texts, (n, vector_size), inferred with the words fixed; see `Model.infer`."""
        check_is_fitted(self)
        own = self.tokenizer if callable(self.tokenizer) else None
        return self.model_.infer(X, threads=self._given_settings().get("threads", 0), tokenizer=own)

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """The names of the columns: spherevec0, spherevec1, …"""
        check_is_fitted(self)
        return np.array([f"spherevec{column}" for column in range(self.n_features_out_)], object)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.two_d_array = False
        tags.transformer_tags.preserves_dtype = []  # always float32
        tags.non_deterministic = not self.deterministic  # on more than one thread
        return tags


class SphericalTopics(ClusterMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Topics of texts as a scikit-learn clusterer and transformer.

    `fit` learns vectors of the texts and finds their topics, `predict` gives the topic of each text and `transform` how
    likely each topic is for it.

    Args:
        k: how many topics; chosen by the texts when None.
        embedding: a `SphericalEmbedding` with the settings of the vectors; None is `SphericalEmbedding()`.
        memory: a folder, or a `joblib.Memory`, to keep trained vectors in, as in a scikit-learn `Pipeline`: a search
            over `k` then trains the vectors of each fold only once.
        random_state: the seed of the topics.
        n_jobs: threads; -1 means all cores.

    Attributes:
        embedding_: the fitted `SphericalEmbedding`.
        topics_: the `Topics`: titles, words, examples, breakdowns.
        labels_: the topic of each text, (n,); -1 for a text without a known word.

    Example:
        >>> texts = ["tea and milk", "milk and sugar", "cars and roads", "roads and bridges"] * 5
        >>> embedding = SphericalEmbedding(vector_size=10, min_count=1, n_jobs=1)
        >>> SphericalTopics(k=2, embedding=embedding).fit_transform(texts).shape
        (20, 2)
    """

    def __init__(
        self,
        k: int | None = None,
        *,
        embedding: SphericalEmbedding | None = None,
        memory: Any = None,
        random_state: int | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.k = k
        self.embedding = embedding
        self.memory = memory
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(self, X: Texts, y: Any = None) -> Self:
        """Learn vectors from texts, an iterable of strings or of lists of words, and find topics."""
        _refuse_single_text(X)
        embedding = SphericalEmbedding() if self.embedding is None else clone(self.embedding)
        self.embedding_: SphericalEmbedding = check_memory(self.memory).cache(_fitted)(embedding, list(X))
        seed = {} if self.random_state is None else {"seed": self.random_state}
        self.topics_ = self.embedding_.model_.topics(k=self.k, threads=self._threads, **seed)
        self.labels_ = np.asarray(self.topics_.labels)
        return self

    def predict(self, X: Texts) -> NDArray[np.int64]:
        """The topic of each text, (n,)."""
        check_is_fitted(self)
        _refuse_single_text(X)
        labels: NDArray[np.int64] = self.topics_.predict(X, threads=self._threads)
        return labels

    def transform(self, X: Texts) -> NDArray[np.float32]:
        """How likely each topic is for each text, (n, topics)."""
        check_is_fitted(self)
        _refuse_single_text(X)
        shares: NDArray[np.float32] = self.topics_.predict_proba(X, threads=self._threads)
        return shares

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """The names of the columns of `transform`: topic0, topic1, …; their titles are `topics_.titles`."""
        check_is_fitted(self)
        return np.array([f"topic{number}" for number in self.topics_.numbers], object)

    @property
    def _threads(self) -> int:
        return 0 if self.n_jobs is None else effective_jobs(self.n_jobs)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.two_d_array = False
        tags.transformer_tags.preserves_dtype = []  # always float32
        return tags


def _fitted(embedding: SphericalEmbedding, texts: list[str | Sequence[str]]) -> SphericalEmbedding:
    return embedding.fit(texts)


def _refuse_single_text(texts: Any) -> None:
    if isinstance(texts, str | bytes):
        raise CorpusError("X must be a list of texts, not a single one; put it into a list: [text]")
