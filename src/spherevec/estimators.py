"""The scikit-learn face: texts in, unit vectors out."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import fields
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from spherevec.config import TrainConfig
from spherevec.corpus.tokenizer import Tokenizer
from spherevec.errors import CorpusError
from spherevec.model import Model

Texts = Iterable[str | Sequence[str]]


class SphericalEmbedding(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Document vectors as a scikit-learn transformer, for a `Pipeline`, `GridSearchCV` or `clone`.

    `fit_transform(X)` returns the vectors of training, `transform(X)` infers vectors with the words fixed. By default
    training ends with that same fit (`refit`), so the two agree to the bit for the texts of `fit`, other than those
    without a known word. With `refit=False`, which is the paper's way, `fit_transform` returns the vectors that were
    learned together with the words, and `transform` gives the same texts others: in a pipeline, the steps behind this
    one are then fitted on vectors of one kind and asked about those of the other.

    The same `seed` gives the same vectors with `threads=1`, or with any number of threads and `deterministic=True`;
    `transform` gives them with any number of threads.

    Args:
        recipe: the settings to start from, "default" or "paper".
        tokenizer: "words", "whitespace" for text that is split already, or a function from a string to words. Documents
            may also be lists of words, which need no tokenizer.
        vector_size, window, …: any field of `TrainConfig`, explained there; None is what the recipe says.

    Attributes:
        model_: the trained `Model`: word vectors, neighbours, search.
        n_features_out_: the number of columns, `vector_size`.
    """

    def __init__(
        self,
        recipe: str = "default",
        tokenizer: Tokenizer = "words",
        *,
        vector_size: int | None = None,
        window: int | None = None,
        min_count: int | None = None,
        max_vocab: int | None = None,
        objective: str | None = None,
        concentration: float | None = None,
        bias: float | None = None,
        margin: float | None = None,
        negative_rule: str | None = None,
        negative: int | None = None,
        batch: int | None = None,
        step: str | None = None,
        sample: float | None = None,
        alpha: float | None = None,
        epochs: int | None = None,
        add_contexts: bool | None = None,
        documents: bool | None = None,
        refit: bool | None = None,
        order: str | None = None,
        threads: int | None = None,
        seed: int | None = None,
        deterministic: bool | None = None,
        device: str | None = None,
    ) -> None:
        self.recipe = recipe
        self.tokenizer = tokenizer
        self.vector_size = vector_size
        self.window = window
        self.min_count = min_count
        self.max_vocab = max_vocab
        self.objective = objective
        self.concentration = concentration
        self.bias = bias
        self.margin = margin
        self.negative_rule = negative_rule
        self.negative = negative
        self.batch = batch
        self.step = step
        self.sample = sample
        self.alpha = alpha
        self.epochs = epochs
        self.add_contexts = add_contexts
        self.documents = documents
        self.refit = refit
        self.order = order
        self.threads = threads
        self.seed = seed
        self.deterministic = deterministic
        self.device = device

    def fit(self, X: Texts, y: Any = None) -> Self:
        """Learn word and document vectors from texts: an iterable of strings or of lists of words."""
        from spherevec.training import train

        if isinstance(X, str | bytes):
            raise CorpusError("X must be a list of texts, not a single one; put it into a list: [text]")
        settings = {spec.name: getattr(self, spec.name) for spec in fields(TrainConfig)}
        given = {name: value for name, value in settings.items() if value is not None}
        self.model_: Model = train(X, recipe=self.recipe, tokenizer=self.tokenizer, **given)
        self.n_features_out_ = self.model_.vector_size
        return self

    def fit_transform(self, X: Texts, y: Any = None) -> NDArray[np.float32]:
        """Learn, and return the trained document vectors, (n, vector_size).

        With `documents=False` there are none: the texts, which must then be readable twice, are inferred.
        """
        docs = self.fit(X).model_.docs
        return self.transform(X) if docs is None else docs.vectors.copy()

    def transform(self, X: Texts) -> NDArray[np.float32]:
        """Vectors of new texts, (n, vector_size), inferred with the words fixed; see `Model.infer`."""
        check_is_fitted(self)
        own = self.tokenizer if self.model_.tokenizer == "custom" else None
        return self.model_.infer(X, threads=self.threads or 0, tokenizer=own)

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
