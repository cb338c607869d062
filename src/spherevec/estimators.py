"""scikit-learn estimators: texts in, unit vectors or topics out."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, ClusterMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, check_memory

from spherevec.config import OTHER_NAMES, TrainConfig, describe_settings, hint_for
from spherevec.corpus.read.readers import is_frame
from spherevec.corpus.table.field_types import is_missing
from spherevec.corpus.tokenize.tokenizer import TokenizerLike
from spherevec.errors import ConfigError, CorpusError
from spherevec.model import Model
from spherevec.model.inference import refuse_single_text
from spherevec.process import effective_jobs
from spherevec.topics.find import find_topics
from spherevec.topics.names import read_names
from spherevec.topics.topics import Topics

Texts = Iterable[str | Sequence[str]]


# What each setting is called here; scikit-learn has names of its own for two.
_NAMES = {spec.name: spec.name for spec in fields(TrainConfig)} | {"seed": "random_state", "threads": "n_jobs"}


class _TakesTexts:
    """An estimator whose X is a list of texts."""

    def __sklearn_tags__(self) -> Any:
        tags: Any = super().__sklearn_tags__()  # type: ignore[misc]
        tags.input_tags.string = True
        tags.input_tags.two_d_array = False
        tags.target_tags.required = False
        if tags.transformer_tags is not None:
            tags.transformer_tags.preserves_dtype = []  # always float32
        return tags


def _with_settings(cls: type[SphericalEmbedding]) -> type[SphericalEmbedding]:
    """Give the constructor one keyword for each training setting, and the docstring its explanation."""
    signature = inspect.signature(cls.__init__)
    own = [parameter for parameter in signature.parameters.values() if parameter.kind is not parameter.VAR_KEYWORD]
    keywords = [inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None) for name in _NAMES.values()]
    cls.__init__.__signature__ = signature.replace(parameters=own + keywords)  # type: ignore[attr-defined]
    cls.__doc__ = f"{inspect.cleandoc(cls.__doc__ or '')}\n{describe_settings(_NAMES)}\n"
    return cls


@_with_settings
class SphericalEmbedding(_TakesTexts, TransformerMixin, BaseEstimator):  # type: ignore[misc]
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
        for name in settings:
            if name not in _NAMES.values():
                ours = OTHER_NAMES.get(name, name)
                scikit = _NAMES.get(ours, ours) != ours
                hint = f"as in scikit-learn, it is called {_NAMES[ours]!r}" if scikit else hint_for(name)
                raise TypeError(f"SphericalEmbedding has no setting {name!r}; {hint}")
        for name in _NAMES.values():
            setattr(self, name, settings.get(name))

    def fit(self, X: Texts, y: Any = None) -> Self:
        """Learn word and document vectors from texts: an iterable of strings or of lists of words."""
        from spherevec.training import train

        _check_texts(X)
        self.model_: Model = train(
            X, recipe=self.recipe, tokenizer=self.tokenizer, progress=False, **self._given_settings()
        )
        self.n_features_out_ = self.model_.vector_size
        return self

    def _given_settings(self) -> dict[str, Any]:
        """The settings that are not left to the recipe, by the names of `TrainConfig`."""
        values = {name: getattr(self, here) for name, here in _NAMES.items()}
        given = {name: value for name, value in values.items() if value is not None}
        if "threads" in given:
            given["threads"] = effective_jobs(given["threads"])
        return given | ({"seed": _seed_of(given["seed"])} if "seed" in given else {})

    def fit_transform(self, X: Texts, y: Any = None) -> NDArray[np.float32]:
        """Learn, and return the trained document vectors, (n, vector_size).

        With `documents=False` there are none: the texts, which must then be readable twice, are inferred.
        """
        docs = self.fit(X).model_.docs
        return self.transform(X) if docs is None else docs.vectors.copy()

    def transform(self, X: Texts) -> NDArray[np.float32]:
        """Vectors of new texts, (n, vector_size), inferred with the words fixed; see `Model.infer`."""
        check_is_fitted(self)
        _check_texts(X)
        own = self.tokenizer if callable(self.tokenizer) else None
        return self.model_.infer(X, threads=self._given_settings().get("threads", 0), tokenizer=own)

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """The names of the columns: spherevec0, spherevec1, …"""
        check_is_fitted(self)
        return np.array([f"spherevec{column}" for column in range(self.n_features_out_)], object)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.non_deterministic = self.deterministic is False  # on more than one thread
        return tags


class _TextTopics(_TakesTexts):
    """What both estimators of topics share: a model is trained on the texts, and new texts are placed by it."""

    model_: Model
    topics_: Topics

    def __init__(
        self, settings: Mapping[str, Any] | None, memory: Any, random_state: int | None, n_jobs: int | None
    ) -> None:
        self.settings = settings
        self.memory = memory
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _trained(self, X: Any) -> list[str]:
        """Train a model on the texts, or take it from `memory`; returns the texts as a list."""
        from spherevec.training import train

        _check_texts(X)
        texts = list(X)
        settings = {"seed": self._seed(), "threads": self._threads(), **(self.settings or {})}
        self.model_ = check_memory(self.memory).cache(train)(texts, progress=False, **settings)
        return texts

    def predict_proba(self, X: Any) -> NDArray[np.float32]:
        """The probability of each topic for each text, (n, k)."""
        check_is_fitted(self)
        _check_texts(X)
        return self.topics_.predict_proba(X, threads=self._threads())

    def _seed(self) -> int:
        return 1 if self.random_state is None else int(_seed_of(self.random_state))

    def _threads(self) -> int:
        return 0 if self.n_jobs is None else effective_jobs(self.n_jobs)


class SphericalTopics(_TextTopics, TransformerMixin, ClusterMixin, BaseEstimator):  # type: ignore[misc]
    """Topics of texts as a scikit-learn clusterer.

    Args:
        n_topics: how many; None chooses.
        settings: settings of training, as of `spherevec.train`.
        memory: a folder, or a `joblib.Memory`, to keep trained models in, as in a scikit-learn `Pipeline`: a search
            over other parameters then trains only once for each fold.
        random_state: seed of training and of topics.
        n_jobs: threads; None and −1 mean all cores.

    Attributes:
        model_, topics_: the trained model and its `Topics`.
        labels_: (n,), the number of each text's topic, −1 for a text without a known word.

    Example:
        >>> texts = ["goal match team", "match team coach", "bank loan debt", "loan debt fund"] * 15
        >>> topics = SphericalTopics(2, settings={"min_count": 1, "vector_size": 8, "epochs": 30}, n_jobs=1).fit(texts)
        >>> sorted(np.bincount(topics.labels_).tolist())
        [30, 30]
    """

    def __init__(
        self,
        n_topics: int | None = None,
        *,
        settings: Mapping[str, Any] | None = None,
        memory: Any = None,
        random_state: int | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.n_topics = n_topics
        super().__init__(settings, memory, random_state, n_jobs)

    def fit(self, X: Sequence[str], y: Any = None) -> Self:
        """Train a model on the texts and find their topics; `y` is ignored."""
        self._trained(X)
        self.topics_ = find_topics(self.model_, k=self.n_topics, seed=self._seed(), threads=self._threads())
        self.labels_ = np.append(self.topics_.numbers, -1)[self.topics_.labels]
        return self

    def predict(self, X: Sequence[str]) -> NDArray[np.int64]:
        """The number of the likeliest topic of each text."""
        check_is_fitted(self)
        _check_texts(X)
        return self.topics_.predict(X, threads=self._threads())

    def transform(self, X: Sequence[str]) -> NDArray[np.float32]:
        """The probability of each topic for each text, (n, k)."""
        return self.predict_proba(X)

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """The names of the columns of `transform`: topic0, topic1, …; `topics_.titles` are their titles."""
        check_is_fitted(self)
        return np.array([f"topic{number}" for number in self.topics_.numbers], object)


class NamedTopics(_TextTopics, ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A classifier that needs names of classes and no labels.

    Args:
        names: as of `spherevec.topics.find_topics`.
        settings, memory, random_state, n_jobs: as of `SphericalTopics`.

    Attributes:
        model_, topics_: the trained model and its `Topics`.
        classes_: (k,), the names.
        labels_: (n,), the name of each text of `fit`, '' for a text without a known word.

    Example:
        >>> texts = ["goal match team", "match team coach", "bank loan debt", "loan debt fund"] * 15
        >>> settings = {"min_count": 1, "vector_size": 8, "epochs": 30}
        >>> named = NamedTopics({"sport": ["match"], "money": ["loan"]}, settings=settings, n_jobs=1).fit(texts)
        >>> named.predict(["coach of the team"]).tolist()
        ['sport']
    """

    def __init__(
        self,
        names: Any,
        *,
        settings: Mapping[str, Any] | None = None,
        memory: Any = None,
        random_state: int | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.names = names
        super().__init__(settings, memory, random_state, n_jobs)

    def fit(self, X: Sequence[str], y: Sequence[str | None] | None = None) -> Self:
        """Train a model on the texts and sort them by the names.

        Args:
            y: the names of those texts for which they are known, None or NaN for the others; None if no name is known.
        """
        names = read_names(self.names)
        texts = self._trained(X)
        examples: dict[str, list[str]] = {}
        if y is not None:
            if len(y) != len(texts):
                raise ConfigError(f"y has {len(y)} names for {len(texts)} texts; give one each, None where unknown")
            for text, title in zip(texts, y, strict=True):
                if not is_missing(title):
                    examples.setdefault(str(title), []).append(text)
        self.topics_ = find_topics(
            self.model_, names=names, only_names=True, examples=examples, seed=self._seed(), threads=self._threads()
        )
        self.classes_ = np.array(self.topics_.titles, object)
        self.labels_ = np.append(self.classes_, "")[self.topics_.labels]
        return self

    def predict(self, X: Sequence[str]) -> NDArray[np.object_]:
        """The likeliest name of each text; '' where no word is known."""
        check_is_fitted(self)
        chances = self.predict_proba(X)
        return np.where(chances.any(axis=1), self.classes_[chances.argmax(axis=1)], "").astype(object)


def _seed_of(random_state: Any) -> Any:
    """A seed as it is given, or drawn from a random state."""
    drawn = isinstance(random_state, np.random.RandomState)
    return int(random_state.randint(2**31 - 1)) if drawn else random_state


def _check_texts(texts: Any) -> None:
    refuse_single_text(texts, "X")
    if is_frame(texts):
        raise CorpusError('X must be a list of texts, not a data frame; give the column of the text: df["text"]')
