"""Every training setting: its default, its range and its one-line explanation live here and nowhere else.

The command line and the docstrings are generated from these fields.
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from dataclasses import Field, asdict, dataclass, field, fields, replace
from difflib import get_close_matches
from types import MappingProxyType
from typing import Any

from spherevec.errors import ConfigError

# Epochs when the user gives none: enough to train on this many tokens, within bounds ...
TRAINED_TOKENS = 120_000_000
FEWEST_EPOCHS, MOST_EPOCHS = 10, 40
# ... and more of them for a text so short that 40 would make too few steps.
FEWEST_TRAINED_TOKENS, MOST_EPOCHS_OF_TINY_TEXTS = 4_000_000, 100
SMALLEST_SAMPLE = 3e-5

# Fitting a document to fixed words: passes over it, but at least so many steps, and the learning rate at the start,
# for the likelihood and for the hinges.
INFERENCE_EPOCHS, INFERENCE_STEPS = 10, 1000
INFERENCE_ALPHAS = MappingProxyType({"vmf": 0.01, "hinge": 0.03, "joint": 0.03})
# The likelihood is fitted with a share of the concentration, since a hundred numbers fitted to a few dozen words make
# these look too sharp, and with a share of `sample`: frequent words say little of a document.
INFERENCE_CONCENTRATION, INFERENCE_SAMPLE = 0.75, 1 / 3


def setting(
    default: Any,
    help: str,
    *,
    low: float | None = None,
    high: float | None = None,
    choices: tuple[str, ...] | None = None,
    flag: str | None = None,
) -> Any:
    """A dataclass field that knows its own help text, range and command-line flag.

    Args:
        low, high: inclusive bounds of a number.
        choices: the values that a string may take.
        flag: the command-line spelling where it differs from the field's name.
    """
    return field(default=default, metadata={"help": help, "low": low, "high": high, "choices": choices, "flag": flag})


@dataclass(frozen=True)
class TrainConfig:
    """How to train. `TrainConfig()` is the default recipe; `TrainConfig.recipe("paper")` is the paper's."""

    vector_size: int = setting(100, "Dimension of every vector.", low=2, high=4096, flag="dim")
    window: int = setting(10, "Context words on each side of a word, at most.", low=1, high=1000)
    min_count: int = setting(5, "Ignore words that occur less often than this.", low=1)
    max_vocab: int | None = setting(None, "Keep at most this many of the most frequent words.", low=2)
    objective: str = setting(
        "vmf",
        "What is optimised: the von Mises-Fisher likelihood, one hinge a pair, or the paper's joint hinge.",
        choices=("vmf", "hinge", "joint"),
    )
    concentration: float = setting(8.0, "vmf: how sharply words gather around a direction.", low=0.01, high=1000.0)
    offset: float = setting(
        1.0, "vmf: the score at which a pair is as likely real as drawn, to start from.", low=-100.0, high=100.0
    )
    margin: float = setting(0.15, "hinge, joint: by how much a real pair must beat a drawn one.", low=0.0, high=4.0)
    negative_rule: str = setting(
        "1+h",
        "hinge, joint: how far a drawn word at cosine h is pushed away.",
        choices=("1+h", "h", "2h"),
    )
    negative: int = setting(5, "Drawn (negative) words that each real word is compared with.", low=1, high=64)
    batch: int = setting(
        8, "vmf, hinge: context words that share the drawn words and move together; 1 = one at a time.", low=1, high=16
    )
    step: str = setting(
        "retraction",
        "How a step returns to the sphere: by normalising, or along the geodesic.",
        choices=("retraction", "exponential"),
    )
    sample: float | None = setting(
        None,
        "Thin out words above this share of the text, 0 = off; when not given 3e-5, or one over the vocabulary's size.",
        low=0.0,
        high=1.0,
    )
    alpha: float = setting(0.01, "Learning rate at the start; decays linearly to nearly nothing.", low=0.0, high=10.0)
    epochs: int | None = setting(
        None,
        "Passes over the text; chosen by its length when not given: 10 above 12 million words, 40 for short texts.",
        low=1,
        high=100_000,
    )
    add_contexts: bool = setting(
        True, "Give each word the direction of its two vectors' sum, as a word and as a context; off: as a word alone."
    )
    documents: bool = setting(True, "Learn document vectors together with the word vectors.")
    refit: bool = setting(True, "Fit the documents once more at the end, with the words fixed.")
    order: str = setting(
        "shuffled",
        "Order in which documents are visited; file order leaks how the file is sorted into document vectors.",
        choices=("shuffled", "file"),
    )
    threads: int = setting(0, "Threads; 0 = all cores.", low=0, high=1024)
    seed: int = setting(1, "Random seed; with one thread, the same seed gives the same bits.", low=0, high=2**63 - 1)
    reproducible: bool = setting(False, "The same seed gives the same bits with any number of threads; slower.")
    device: str = setting("cpu", "Where to train: on the processor, or on an NVIDIA card.", choices=("cpu", "cuda"))

    def __post_init__(self) -> None:
        for spec in fields(self):
            object.__setattr__(self, spec.name, _checked(spec, getattr(self, spec.name)))
        if self.objective == "joint" and not self.documents:
            raise ConfigError("objective='joint' needs documents; use objective='hinge' for words only")
        if self.reproducible and self.device != "cpu":
            raise ConfigError(f"reproducible=True works with device='cpu', not {self.device!r}; choose one of the two")

    @classmethod
    def recipe(cls, name: str, **overrides: Any) -> TrainConfig:
        """The settings of a named recipe, with `overrides` on top."""
        if name not in RECIPES:
            raise ConfigError(f"unknown recipe {name!r}; known recipes: {', '.join(RECIPES)}")
        return cls.from_mapping({**RECIPES[name], **overrides})

    @classmethod
    def from_mapping(cls, values: Mapping[str, Any]) -> TrainConfig:
        """Build from names and values; an unknown name is refused with a suggestion."""
        known = [spec.name for spec in fields(cls)]
        for name in values:
            if name not in known:
                near = get_close_matches(name, known, n=1)
                hint = f"did you mean {near[0]!r}?" if near else f"known settings: {', '.join(known)}"
                raise ConfigError(f"unknown setting {name!r}; {hint}")
        return cls(**values)

    def with_(self, **changes: Any) -> TrainConfig:
        """A copy with some settings changed."""
        return replace(self, **changes)

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)

    def settled(self, tokens: int, words: int) -> TrainConfig:
        """This configuration with everything chosen that depends on the text: its tokens, and its distinct words."""
        epochs, sample = self.epochs, self.sample
        if epochs is None:
            epochs = min(max(math.ceil(TRAINED_TOKENS / max(tokens, 1)), FEWEST_EPOCHS), MOST_EPOCHS)
            tiny = min(math.ceil(FEWEST_TRAINED_TOKENS / max(tokens, 1)), MOST_EPOCHS_OF_TINY_TEXTS)
            epochs = max(epochs, tiny)
        if sample is None:
            # In a small vocabulary every word is frequent; none is thinned out that has no more than its even share.
            sample = max(SMALLEST_SAMPLE, 1 / max(words, 1))
        return replace(self, epochs=epochs, sample=sample)

    def for_inference(self, epochs: int | None = None, alpha: float | None = None) -> TrainConfig:
        """How to fit documents to the words of a training with this configuration."""
        config = replace(
            self,
            epochs=INFERENCE_EPOCHS if epochs is None else epochs,
            alpha=INFERENCE_ALPHAS[self.objective] if alpha is None else alpha,
        )
        if self.objective != "vmf":
            return config
        return replace(
            config,
            concentration=max(INFERENCE_CONCENTRATION * self.concentration, 0.01),
            sample=INFERENCE_SAMPLE * self.sample_share,
        )

    @property
    def epoch_count(self) -> int:
        """`epochs` of a settled configuration."""
        if self.epochs is None:
            raise ConfigError("epochs are not chosen yet; call settled() with the number of tokens, or set epochs")
        return self.epochs

    @property
    def sample_share(self) -> float:
        """`sample` of a settled configuration."""
        if self.sample is None:
            raise ConfigError("sample is not chosen yet; call settled() with the size of the vocabulary, or set sample")
        return self.sample

    @property
    def thread_count(self) -> int:
        """`threads`, with 0 resolved to the cores this process may use."""
        if self.threads:
            return self.threads
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


RECIPES: Mapping[str, Mapping[str, Any]] = MappingProxyType(
    {
        "default": MappingProxyType({}),
        # The paper's section 5 and the authors' program, to the letter: one hinge a pair, one triple at a time,
        # negatives pushed by 2h, documents visited in the order of the file.
        "paper": MappingProxyType(
            {
                "objective": "hinge",
                "margin": 0.15,
                "negative_rule": "2h",
                "negative": 2,
                "batch": 1,
                "sample": 1e-3,
                "alpha": 0.04,
                "epochs": 10,
                "window": 10,
                "vector_size": 100,
                "min_count": 5,
                "order": "file",
                "refit": False,
                "add_contexts": False,
            }
        ),
    }
)


def _checked(spec: Field[Any], value: Any) -> Any:
    """`value` as the field's type, or a `ConfigError` that quotes what was given."""
    meta, name, kind = spec.metadata, spec.name, str(spec.type)
    if value is None and "None" in kind:
        return None
    if kind == "bool":
        if not isinstance(value, bool):
            raise ConfigError(f"{name} must be True or False, not {value!r}")
        return value
    if kind == "str":
        if value not in meta["choices"]:
            raise ConfigError(f"{name} must be one of {', '.join(meta['choices'])}, not {value!r}")
        return value
    number = _as_number(name, kind, value)
    low, high = meta["low"], meta["high"]
    if (low is not None and number < low) or (high is not None and number > high):
        bounds = f"at least {low}" if high is None else f"between {low} and {high}"
        raise ConfigError(f"{name} must be {bounds}, not {value!r}")
    return number


def _as_number(name: str, kind: str, value: Any) -> int | float:
    whole = kind.startswith("int")
    refusal = ConfigError(f"{name} must be {'a whole number' if whole else 'a number'}, not {value!r}")
    if isinstance(value, bool | str):
        raise refusal
    try:
        number: int | float = int(value) if whole else float(value)
        if (whole and number != value) or not math.isfinite(value):
            raise refusal
    except (TypeError, ValueError, OverflowError):
        raise refusal from None
    return number
