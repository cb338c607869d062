"""What is measured of topics, and how a program is run."""

from __future__ import annotations

import json
import shlex
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.metrics import (
    adjusted_rand_score,
    completeness_score,
    homogeneity_score,
    normalized_mutual_info_score,
)

from experiments.coherence import topic_npmi
from spherevec.evaluation.topics import topic_diversity


def expected_calibration_error(chance: Any, right: Any, bins: int = 10) -> float:
    """How far probabilities are from the share that is right, the mean over bins weighted by their size."""
    place = np.minimum((chance * bins).astype(int), bins - 1)
    gaps = [
        abs(chance[place == i].mean() - right[place == i].mean()) * np.mean(place == i)
        for i in range(bins)
        if (place == i).any()
    ]
    return float(sum(gaps))


def quality(words: list[list[str]], labels: Any, classes: Any, tokens: list[list[str]]) -> dict[str, float]:
    """Figures of topics: their words by the text, their documents by the classes, where there are any.

    Documents without a topic count as one more topic. NPMI counts the documents that hold two words, npmi_window the
    windows of ten words, as gensim's `c_npmi` does; a word that no tokenised text holds goes with none.
    """
    found = {
        "topics": len(words),
        "npmi": topic_npmi(words, tokens, window=0),
        "npmi_window": topic_npmi(words, tokens),
        "diversity": topic_diversity(words),
        "outliers": float(np.mean(np.asarray(labels) < 0)),
    }
    if classes is not None:
        found["homogeneity"] = float(homogeneity_score(classes, labels))
        found["completeness"] = float(completeness_score(classes, labels))
        found["nmi"] = float(normalized_mutual_info_score(classes, labels))
        found["ari"] = float(adjusted_rand_score(classes, labels))
    return found


def run_program(command: str, arguments: list[str], seeds: list[int], limit: int, kept: Path) -> dict[int, Any]:
    """What a program answered, by seed.

    Args:
        command: how Python is called in the environment of the program.
        arguments: of rivals.py: the method, the texts, the number of topics; then, after the seeds, the files.
        limit: seconds for all seeds.
        kept: a file for the answers; those that are there are not asked for again.
    """

    def answers() -> dict[int, Any]:
        lines = kept.read_text().splitlines() if kept.exists() else []
        return {one["seed"]: one for one in map(json.loads, filter(_is_answer, lines))}

    missing = [str(seed) for seed in seeds if seed not in answers()]
    if missing:
        kept.parent.mkdir(parents=True, exist_ok=True)
        script = str(Path(__file__).with_name("rivals.py"))
        call = [*shlex.split(command), script, *arguments[:3], ",".join(missing), *arguments[3:]]
        with kept.open("a") as out, kept.with_suffix(".log").open("a") as log:
            try:
                code = subprocess.run(call, stdout=out, stderr=log, timeout=limit).returncode
                failed = f"exit code {code}, see {kept.with_suffix('.log')}" if code else ""
            except subprocess.TimeoutExpired:
                failed = f"not done after {limit} s"
        if failed:
            print(f"{kept.stem}: {failed}", flush=True)
    return answers()


def _is_answer(line: str) -> bool:
    return line.startswith('{"seed"') and line.endswith("}")


class Results:
    """A file of JSON lines, one a measurement; one that is there is not written again."""

    def __init__(self, path: Path) -> None:
        self.path = path
        lines = path.read_text().splitlines() if path.exists() else []
        self._known = {_key(json.loads(line)) for line in lines}

    def __contains__(self, line: dict[str, Any]) -> bool:
        return _key(line) in self._known

    def write(self, line: dict[str, Any]) -> None:
        """Add a measurement, and print it."""
        if line in self:
            return
        self._known.add(_key(line))
        shown = json.dumps({key: round(value, 4) if isinstance(value, float) else value for key, value in line.items()})
        with self.path.open("a") as file:
            file.write(shown + "\n")
        print(shown, flush=True)


def _key(line: dict[str, Any]) -> tuple[Any, ...]:
    """What a measurement is of."""
    return tuple(line.get(name) for name in ("set", "method", "seed", "k"))
