"""The scikit-learn face: texts in, unit vectors out."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Sequence
from dataclasses import fields
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

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

        if isinstance(X, str | bytes):
            raise CorpusError("X must be a list of texts, not a single one; put it into a list: [text]")
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
