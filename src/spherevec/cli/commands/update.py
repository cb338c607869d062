"""`spherevec update`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from spherevec.cli import display
from spherevec.cli.checks import (
    check_checkpoint_folder,
    check_model_folder,
    checkpoint_folder,
    finished_update,
    load_model,
)
from spherevec.cli.options import (
    PATH,
    corpus_argument,
    force_option,
    given_settings,
    json_option,
    model_argument,
    quiet_option,
    reading_options,
    split_reading,
)
from spherevec.devices import DEVICES

if TYPE_CHECKING:
    from spherevec.model import Model


@click.command()
@model_argument
@corpus_argument
@click.option("--out", required=True, type=PATH, metavar="MODEL2", help="Folder to write the new model to.")
@click.option("--add-only", is_flag=True, help="Add documents, learn nothing: all old vectors keep their bits.")
@click.option("--replay", type=PATH, metavar="CORPUS", help="Old text that is still at hand: some is trained on again.")
@click.option(
    "--epochs", type=click.IntRange(1), metavar="N", help="Passes over the text. Default: half of the model's."
)
@click.option("--alpha", type=click.FloatRange(0, 10), metavar="X", help="Learning rate. Default: the model's.")
@click.option("--threads", type=click.IntRange(0, 1024), metavar="N", help="Threads. Default: all cores.")
@click.option("--seed", type=click.IntRange(0), metavar="N", help="Random seed. Default: the model's.")
@click.option("--device", type=click.Choice(list(DEVICES)), default="cpu", show_default=True, help="Where to train.")
@click.option("--deterministic", is_flag=True, help="The same bits with any number of threads; slower.")
@click.option("--pretokenized", is_flag=True, help="The text is already split: words are what stands between spaces.")
@reading_options
@click.option(
    "--checkpoint-every",
    metavar="TIME|EPOCHS|off",
    default="10m",
    show_default=True,
    help="How often to save the unfinished run, beside MODEL2: 90s, 10m, 2h, or 2e for every second epoch.",
)
@click.option("--resume", is_flag=True, help="Go on with an update that was interrupted: the same text and settings.")
@force_option
@quiet_option
@json_option
def update(
    folder: Path,
    corpus: tuple[Path, ...],
    out: Path,
    add_only: bool,
    replay: Path | None,
    pretokenized: bool,
    checkpoint_every: str,
    resume: bool,
    force: bool,
    quiet: bool,
    as_json: bool,
    **options: Any,
) -> None:
    """More documents and new words for a model; what was known keeps its place and its ids.

    CORPUS is what `train` takes. A document with the id of an old one takes its place; one that the model holds
    already is passed over. MODEL stays as it is until MODEL2 is complete, also if both are one folder (--force).
    """
    from spherevec.storage.locks import owned
    from spherevec.training import checkpoint

    reading, settings = split_reading(options)
    unfinished = checkpoint_folder(out)

    def save(grown: Model) -> None:
        grown.save(out, overwrite=force)
        checkpoint.remove(unfinished)

    with owned(out, run=True):
        model = load_model(folder)
        grown = finished_update(model, folder, out) if resume and not force else None
        if grown is not None:
            display.tell(f"{out}: the update is finished, nothing to resume")
            return
        check_model_folder(out, force)
        check_checkpoint_folder(unfinished, resume, force, quiet)
        with display.progress_display(quiet) as progress:
            grown = model.update(
                list(corpus),
                add_only=add_only,
                replay=replay,
                tokenizer="whitespace" if pretokenized else None,
                workdir=out.absolute().parent,
                progress=progress,
                checkpoint=unfinished,
                checkpoint_every=checkpoint_every,
                resume=resume,
                start_over=force,
                finish=save,
                **reading,
                **given_settings(settings),
            )
    if not quiet:
        tell_update(model, grown)
    if not (quiet and as_json):
        display.tell(f"{out}: {display.summary(grown)}")
    if as_json:
        display.print_json(grown.describe())


def tell_update(model: Any, grown: Any) -> None:
    """What an update did, and what it found."""
    if grown is model:
        display.tell("nothing new: the model holds all of these documents already")
        return
    entry = grown.provenance["updates"][-1]
    drift = entry["drift"]
    counts = [f"{entry[name]:,} {name}" for name in ("added", "replaced", "unchanged") if entry[name]]
    display.tell(f"documents: {', '.join(counts)}; {entry['new_words']:,} new words")
    display.tell(f"known words: mean cosine to before {entry['mean_cosine']:.4f}")
    for name, words in (("growing", drift["growing"]), ("new", drift["joined"])):
        if words:
            display.tell(f"{name} words: {', '.join(words)}")
    for name, topics in entry.get("topics", {}).items():
        for topic in topics if name != "kept" else ():
            kind = "new topic" if name == "added" else f"topic that grows, from {topic['share_before']:.1%}"
            display.tell(f"{kind}: {topic['number']} {topic['title']} ({topic['share']:.1%} of the new documents)")
    display.tell(drift["advice"])
