"""The summary of a training's text in Python: printed below the bar, with warnings about what looks wrong."""

from __future__ import annotations

import sys

from spherevec import process
from spherevec.config import TrainConfig, default_min_count
from spherevec.corpus import EncodedCorpus
from spherevec.corpus.count.summary import CorpusSummary
from spherevec.model import Model
from spherevec.training.progress import ProgressCallback, in_notebook, shows_bar


def resolved_settings(corpus: EncodedCorpus, config: TrainConfig) -> list[str]:
    """What was chosen because of the text, and why; what the rule would not have chosen was given."""
    words = len(corpus.vocabulary)
    usual = config.with_(epochs=None, sample=None).resolved(corpus.n_tokens, words)
    least = default_min_count(corpus.raw_tokens)

    def why(reason: str, chosen: bool) -> str:
        return reason if chosen else "as given"

    return [
        f"{config.epochs} epoch{'s' * (config.epochs != 1)} over {corpus.n_tokens:,} kept tokens: "
        + why("chosen by the length of the text", config.epochs == usual.epochs),
        f"words that occur {config.min_count} times or more: "
        + why("chosen by the length of the text", config.min_count == least),
        f"subsampling threshold {config.sample:.2g}: "
        + why(f"chosen by the size of the vocabulary, {words:,} words", config.sample == usual.sample),
    ]


def show_summary(model: Model, progress: ProgressCallback | bool | None) -> None:
    """Print what was read and warn about it, unless the caller shows progress with a function of its own."""
    if callable(progress):
        return
    summary = CorpusSummary.from_dict(model.provenance["summary"])
    if shows_bar(progress):
        print(summary.with_(warnings=()), file=sys.stdout if in_notebook() else sys.stderr)
    for warning in summary.warnings:
        process.warn(warning, stacklevel=3)
