"""Topics with scikit-learn's manners: texts in, topics out, without labels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, ClusterMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from spherevec.errors import ConfigError, CorpusError
from spherevec.model import Model
from spherevec.process import effective_jobs
from spherevec.topics.find import find_topics
from spherevec.topics.names import read_names
from spherevec.topics.result import Topics


class _TextTopics(BaseEstimator):  # type: ignore[misc]
    """What both estimators share: a model is trained on the texts, and new texts are placed by it."""

    settings: Mapping[str, Any] | None
    random_state: int | None
    n_jobs: int | None
    model_: Model
    topics_: Topics

    def _trained(self, X: Any) -> list[str]:
        from spherevec.training import train

        if isinstance(X, str | bytes):
            raise CorpusError("X must be a list of texts, not a single one; put it into a list: [text]")
        texts = list(X)
        self.model_ = train(
            texts, progress=False, **{"seed": self._seed(), "threads": self._threads(), **(self.settings or {})}
        )
        return texts

    def predict_proba(self, X: Any) -> NDArray[np.float32]:
        """The probability of each topic for each text, (n, k)."""
        check_is_fitted(self)
        return self.topics_.predict_proba(X, threads=self._threads())

    def _seed(self) -> int:
        return 1 if self.random_state is None else int(self.random_state)

    def _threads(self) -> int:
        return 0 if self.n_jobs is None else effective_jobs(self.n_jobs)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.two_d_array = False
        tags.target_tags.required = False
        return tags


class SphericalTopics(TransformerMixin, ClusterMixin, _TextTopics):  # type: ignore[misc]
    """Topics of texts as a scikit-learn clusterer.

    Args:
        n_topics: how many; None chooses.
        settings: settings of training, as of `spherevec.train`.
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
        random_state: int | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.n_topics = n_topics
        self.settings = settings
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(self, X: Sequence[str], y: Any = None) -> Self:
        """Train a model on the texts and find their topics; `y` is ignored."""
        self._trained(X)
        self.topics_ = find_topics(self.model_, k=self.n_topics, seed=self._seed(), threads=self._threads())
        self.labels_ = np.append(self.topics_.numbers, -1)[self.topics_.labels]
        return self

    def predict(self, X: Sequence[str]) -> NDArray[np.int64]:
        """The number of the likeliest topic of each text."""
        check_is_fitted(self)
        return self.topics_.predict(X, threads=self._threads())

    def transform(self, X: Sequence[str]) -> NDArray[np.float32]:
        """The probability of each topic for each text, (n, k)."""
        return self.predict_proba(X)


class NamedTopics(ClassifierMixin, _TextTopics):  # type: ignore[misc]
    """A classifier that needs names of classes and no labels.

    Args:
        names: as of `spherevec.topics.find_topics`.
        settings: settings of training, as of `spherevec.train`.
        random_state: seed of training and of topics.
        n_jobs: threads; None and −1 mean all cores.

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
        random_state: int | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.names = names
        self.settings = settings
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(self, X: Sequence[str], y: Sequence[str | None] | None = None) -> Self:
        """Train a model on the texts and sort them by the names.

        Args:
            y: the names of those texts for which they are known, None for the others; None if no name is known.
        """
        names = read_names(self.names)
        texts = self._trained(X)
        examples: dict[str, list[str]] = {}
        if y is not None:
            if len(y) != len(texts):
                raise ConfigError(f"y has {len(y)} names for {len(texts)} texts; give one each, None where unknown")
            for text, title in zip(texts, y, strict=True):
                if title is not None:
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
