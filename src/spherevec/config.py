"""Every training setting: its default, its range and its one-line explanation live here and nowhere else.

The command line, `help(TrainConfig)` and the estimators' docstrings are generated from these fields.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import Field, asdict, dataclass, field, fields, replace
from difflib import get_close_matches
from inspect import cleandoc
from textwrap import wrap
from types import MappingProxyType
from typing import Any

from spherevec.devices import DEVICES
from spherevec.errors import ConfigError, FormatError
from spherevec.objectives import NEGATIVE_RULES, OBJECTIVES, Objective
from spherevec.process import usable_cores

# Characters of each text that a model keeps, when the user does not say how many: enough for a snippet.
KEEP_TEXT = 200

# Epochs when the user gives none: enough to train on this many tokens, within bounds ...
TRAINED_TOKENS = 120_000_000
FEWEST_EPOCHS, MOST_EPOCHS = 10, 40
# ... and more of them for a text so short that 40 would make too few steps.
FEWEST_TRAINED_TOKENS, MOST_EPOCHS_OF_TINY_TEXTS = 4_000_000, 100
SMALLEST_SAMPLE = 3e-5
# How often a word must occur, when the user does not say: less often in a small text, where most words are rare.
MIN_COUNT, SMALL_TEXT, MIN_COUNT_OF_SMALL_TEXTS = 5, 200_000, 2

# Fitting a document to fixed words that have weights: passes over it, and how far each goes.
WEIGHTED_EPOCHS, WEIGHTED_ALPHA = 6, 0.7
# Fitting it by sampled steps: passes over it, but at least so many steps.
INFERENCE_EPOCHS, INFERENCE_STEPS = 10, 1000
# The likelihood is fitted with a share of `sample`: frequent words say little of a document.
INFERENCE_SAMPLE = 1 / 3


def setting(default: Any, help: str, *, group: str, **limits: Any) -> Any:
    """A dataclass field that knows its own help text and range.

    Args:
        group: the heading that help lists the setting under; `COMMON` for those that people change first.
        **limits: inclusive bounds `low` and `high` of a number, or `choices`, the values that a string may take.
    """
    unlimited = {"low": None, "high": None, "choices": None}
    return field(default=default, metadata={**unlimited, **limits, "help": help, "group": group})


# Headings of settings in help and docs.
COMMON, SAMPLING, OBJECTIVE, STEPS, RESULT = GROUPS = (
    "Common settings", "Vocabulary and sampling", "Objective", "Steps", "Output",
)  # fmt: skip

_SYNONYMS = {
    "vector_size": "dim dimension dims size n_components embedding_size dimensions",
    "threads": "workers n_jobs num_threads thread n_threads",
    "alpha": "lr learning_rate eta step_size",
    "epochs": "iter iters iterations niter n_iter passes max_iter epoch",
    "seed": "random_state random_seed",
    "negative": "neg negatives ns num_negatives",
    "concentration": "kappa concentrations",
    "min_count": "min_freq minCount min_df mincount",
    "max_vocab": "max_vocab_size max_final_vocab max_features",
    "sample": "subsample subsampling threshold t",
    "window": "window_size ws context",
    "deterministic": "reproducible reproducibility",
    "device": "gpu use_gpu cuda",
    "bias": "offset",
    "objective": "loss",
    "documents": "words_only",
}
# What other libraries call our settings.
OTHER_NAMES = MappingProxyType({other: ours for ours, others in _SYNONYMS.items() for other in others.split()})

# What is no setting here, though it is one elsewhere, and what to do instead.
_INSTEAD = {
    "text_col text_column": "train takes text_field='body', the column of the text",
    "id_col id_column": "train takes id_field='id', the column of the ids",
    "verbose show_progress progress_bar": "train takes progress=True for a bar, progress=False for silence",
    "nr_topics n_topics num_topics": "topics are found after training: model.topics(k=20)",
    "stop_words stopwords": "it is not needed: common words count little",
    "language lang": "it is not needed: words of any language are learned from the text",
    "sg dm hs": "it is not needed: words and documents are learned together, with negative samples (negative=5)",
}


def hint_for(name: str) -> str:
    """What to say to somebody who gave a setting that does not exist."""
    known = [spec.name for spec in fields(TrainConfig)]
    plain = name.replace("-", "_")
    if plain in known or plain in OTHER_NAMES:
        return f"here it is called {OTHER_NAMES.get(plain, plain)!r}"
    instead = next((text for names, text in _INSTEAD.items() if plain in names.split()), None)
    if instead is not None:
        return instead
    near = get_close_matches(plain, known, n=1)
    return f"did you mean {near[0]!r}?" if near else f"known settings: {', '.join(known)}"


@dataclass(frozen=True)
class TrainConfig:
    """How to train. `TrainConfig()` is the default recipe; `TrainConfig.recipe("paper")` is the paper's.

    Example:
        >>> TrainConfig(vector_size=50).vector_size
        50
    """

    vector_size: int = setting(100, "Dimension of every vector.", low=2, high=4096, group=COMMON)
    epochs: int | None = setting(
        None,
        "Passes over the text; by default chosen by its length: 10 above 12 million words, up to 100 for short texts.",
        low=1,
        high=100_000,
        group=COMMON,
    )
    window: int = setting(10, "Context words on each side of a word, at most.", low=1, high=1000, group=COMMON)
    min_count: int | None = setting(
        None,
        "Ignore words that occur less often than this; by default 5, or 2 in texts under 200,000 words.",
        low=1,
        group=COMMON,
    )
    seed: int = setting(1, "Random seed: the same one gives the same bits.", low=0, high=2**63 - 1, group=COMMON)
    threads: int = setting(0, "Threads; 0 = all cores.", low=0, high=1024, group=COMMON)
    deterministic: bool | None = setting(
        None,
        "The same seed gives the same bits with any number of threads; off: faster. By default on, except on a GPU.",
        group=COMMON,
    )
    device: str = setting(
        "cpu", "Where to train: on the processor, or on an NVIDIA GPU.", choices=tuple(DEVICES), group=COMMON
    )
    documents: bool = setting(True, "Learn document vectors together with the word vectors.", group=COMMON)
    phrases: bool = setting(False, "Also learn multi-word terms such as “heart attack”.", group=COMMON)
    max_vocab: int | None = setting(None, "Keep at most this many of the most frequent words.", low=2, group=SAMPLING)
    sample: float | None = setting(
        None,
        "Subsampling threshold, as a share of the text; 0 = off; by default 3e-5, or one over the vocabulary's size.",
        low=0.0,
        high=1.0,
        group=SAMPLING,
    )
    negative: int = setting(5, "Negative samples for each real word.", low=1, high=64, group=SAMPLING)
    order: str = setting(
        "shuffled",
        "Order in which documents are visited; file order leaks how the file is sorted into document vectors.",
        choices=("shuffled", "file"),
        group=SAMPLING,
    )
    objective: str = setting(
        "vmf",
        "What is optimised: the von Mises-Fisher likelihood, one hinge a pair, or the paper's joint hinge.",
        choices=tuple(OBJECTIVES),
        group=OBJECTIVE,
    )
    concentration: float = setting(
        8.0, "vmf: how sharply words gather around a direction.", low=0.01, high=1000.0, group=OBJECTIVE
    )
    bias: float = setting(
        1.0,
        "vmf: the score at which a pair is as likely real as a negative sample, to start from; it is learned.",
        low=-100.0,
        high=100.0,
        group=OBJECTIVE,
    )
    margin: float = setting(
        0.15, "hinge, joint: by how much a real pair must beat a negative one.", low=0.0, high=4.0, group=OBJECTIVE
    )
    negative_rule: str = setting(
        "1+h",
        "hinge, joint: how far a negative at cosine h is pushed away.",
        choices=tuple(NEGATIVE_RULES),
        group=OBJECTIVE,
    )
    alpha: float = setting(
        0.01, "Learning rate at the start; decays linearly to nearly nothing.", low=0.0, high=10.0, group=STEPS
    )
    batch: int = setting(
        8,
        "vmf, hinge: context words that share negatives and move together; 1 = one at a time.",
        low=1,
        high=16,
        group=STEPS,
    )
    step: str = setting(
        "retraction",
        "How a step returns to the sphere: by normalising, or along the geodesic.",
        choices=("retraction", "exponential"),
        group=STEPS,
    )
    add_contexts: bool = setting(
        True,
        "Give each word the direction of the sum of its input and context vectors; off: of its input vector alone.",
        group=RESULT,
    )
    smooth_rare_words: bool = setting(
        True, "Draw rare words towards words of like spelling; documents are not touched.", group=RESULT
    )
    refit: bool = setting(True, "Refit the documents at the end, with the words frozen.", group=RESULT)

    def __post_init__(self) -> None:
        for spec in fields(self):
            object.__setattr__(self, spec.name, _checked(spec, getattr(self, spec.name)))
        if self.objective_info.needs_documents and not self.documents:
            raise ConfigError(f"objective={self.objective!r} needs documents; use objective='hinge' for words only")
        if self.deterministic and not DEVICES[self.device].deterministic:
            able = " or ".join(f"device={name!r}" for name, device in DEVICES.items() if device.deterministic)
            raise ConfigError(f"deterministic=True works with {able}, not {self.device!r}; choose one of the two")

    @classmethod
    def recipe(cls, name: str, **overrides: Any) -> TrainConfig:
        """The settings of a named recipe, with `overrides` on top."""
        if name not in RECIPES:
            raise ConfigError(f"unknown recipe {name!r}; known recipes: {', '.join(RECIPES)}")
        return cls.from_mapping({**RECIPES[name], **overrides})

    @classmethod
    def from_mapping(cls, values: Mapping[str, Any]) -> TrainConfig:
        """Build from names and values; an unknown name is refused with a suggestion."""
        for name in sorted(values.keys() - {spec.name for spec in fields(cls)}):
            raise ConfigError(f"unknown setting {name!r}; {hint_for(name)}")
        return cls(**values)

    @classmethod
    def saved_settings(cls, values: Mapping[str, Any]) -> dict[str, Any]:
        """The settings of a saved model or checkpoint; one that is newer than the file gets its default.

        Example:
            >>> TrainConfig.saved_settings({"epochs": 3})["vector_size"]
            100
        """
        settings = {spec.name: spec.default for spec in fields(cls)}
        for name in sorted(values.keys() - settings.keys()):
            raise FormatError(f"unknown setting {name!r:.60}: written by a newer release, which can read it")
        return settings | dict(values)

    def with_(self, **changes: Any) -> TrainConfig:
        """A copy with some settings changed."""
        return replace(self, **changes)

    def as_dict(self) -> dict[str, Any]:
        """All settings by name, ready for JSON."""
        return asdict(self)

    def resolved(self, tokens: int, words: int) -> TrainConfig:
        """This configuration with everything chosen that depends on the text: its tokens, and its distinct words."""
        epochs, sample = self.epochs, self.sample
        if epochs is None:
            epochs = min(max(math.ceil(TRAINED_TOKENS / max(tokens, 1)), FEWEST_EPOCHS), MOST_EPOCHS)
            tiny = min(math.ceil(FEWEST_TRAINED_TOKENS / max(tokens, 1)), MOST_EPOCHS_OF_TINY_TEXTS)
            epochs = max(epochs, tiny)
        if sample is None:
            # In a small vocabulary every word is frequent; none is subsampled that has no more than its even share.
            sample = max(SMALLEST_SAMPLE, 1 / max(words, 1))
        return replace(self, epochs=epochs, sample=sample)

    def for_inference(
        self, epochs: int | None = None, alpha: float | None = None, *, weighted: bool = False
    ) -> TrainConfig:
        """How to fit documents to the words of a training with this configuration.

        Args:
            epochs: passes over each document.
            alpha: the share of a step that a pass takes, 0 to 1, with weights; otherwise the learning rate.
            weighted: the words have weights; see `spherevec.engine.fit`.
        """
        if weighted and alpha is not None and not 0 <= alpha <= 1:
            raise ConfigError(f"alpha must be between 0 and 1 where words have weights, not {alpha!r}")
        info = self.objective_info
        usual = (WEIGHTED_EPOCHS, WEIGHTED_ALPHA) if weighted else (INFERENCE_EPOCHS, info.refit_alpha)
        changes: dict[str, Any] = {
            "epochs": usual[0] if epochs is None else epochs,
            "alpha": usual[1] if alpha is None else alpha,
        }
        if info.likelihood:
            changes["concentration"] = max(info.refit_concentration * self.concentration, 0.01)
            changes["sample"] = INFERENCE_SAMPLE * self.sample_threshold
        return replace(self, **changes)

    @property
    def is_deterministic(self) -> bool:
        """`deterministic`, by default on where the device can."""
        return DEVICES[self.device].deterministic if self.deterministic is None else self.deterministic

    @property
    def objective_info(self) -> Objective:
        """The description of `objective`."""
        return OBJECTIVES[self.objective]

    @property
    def epoch_count(self) -> int:
        """`epochs` of a resolved configuration."""
        if self.epochs is None:
            raise ConfigError("epochs are not chosen yet; call resolved() with the number of tokens, or set epochs")
        return self.epochs

    @property
    def sample_threshold(self) -> float:
        """`sample` of a resolved configuration."""
        if self.sample is None:
            raise ConfigError("sample is not chosen yet; call resolved() with the vocabulary's size, or set sample")
        return self.sample

    @property
    def has_own_words(self) -> bool:
        """Whether words get vectors of their own, beside those that documents are fitted to."""
        return self.add_contexts or self.smooth_rare_words

    @property
    def thread_count(self) -> int:
        """`threads`, with 0 resolved to the cores this process may use."""
        return self.threads or usable_cores()


def default_min_count(tokens: int) -> int:
    """How often a word must occur to be kept, in a text of so many words, when the user does not say."""
    return MIN_COUNT_OF_SMALL_TEXTS if tokens < SMALL_TEXT else MIN_COUNT


def describe_settings(names: Mapping[str, str] = MappingProxyType({})) -> str:
    """All settings under their headings, for docstrings; some of them by other `names`."""
    lines: list[str] = []
    for group in GROUPS:
        lines += ["", f"{group}:"]
        for spec in fields(TrainConfig):
            if spec.metadata["group"] == group:
                shown = f"{names.get(spec.name, spec.name)}: {spec.metadata['help']} Default: {spec.default}."
                lines += wrap(shown, 110, initial_indent=" " * 4, subsequent_indent=" " * 8)
    return "\n".join(lines)


# Settings that some code treats alike.
USES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "kernel": ("objective", "batch", "deterministic", "documents"),  # decide which kernels a run needs
        "text": ("epochs", "sample"),  # are chosen by the text where the user does not say
        # A run that goes on may change them: training does not depend on them, or no more than between two machines.
        "resume": ("threads", "smooth_rare_words"),
        "update": ("epochs", "alpha", "threads", "seed", "device", "deterministic"),  # an update may choose them
        # New documents are fitted by those that the model's words were trained with.
        "infer": ("objective", "concentration", "margin", "negative", "step", "sample"),
    }
)

TrainConfig.__doc__ = f"{cleandoc(TrainConfig.__doc__ or '')}\n{describe_settings()}\n"


RECIPES: Mapping[str, Mapping[str, Any]] = MappingProxyType(
    {
        "default": MappingProxyType({}),
        # For people who want words first: near contexts, frequent words kept, more negatives. Documents lose a little.
        "words": MappingProxyType({"window": 5, "sample": 1e-3, "negative": 15}),
        # The paper's section 5 and the authors' program, to the letter: one hinge a pair, one triple at a time,
        # negatives pushed by 2h, documents visited in the order of the file, threads without locks.
        "paper": MappingProxyType({
            "objective": "hinge", "margin": 0.15, "negative_rule": "2h", "negative": 2, "batch": 1, "sample": 1e-3,
            "alpha": 0.04, "epochs": 10, "window": 10, "vector_size": 100, "min_count": 5, "order": "file",
            "deterministic": False, "refit": False, "add_contexts": False, "smooth_rare_words": False,
        }),
    }
)  # fmt: skip


def _checked(spec: Field[Any], value: Any) -> Any:
    """`value` as the field's type, or a `ConfigError` that quotes what was given."""
    meta, name, kind = spec.metadata, spec.name, str(spec.type)
    if value is None and "None" in kind:
        return None
    if kind.startswith("bool"):
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
