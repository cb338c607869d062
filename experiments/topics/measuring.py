"""What is measured of topics, and how a rival is run."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score

from experiments.coherence import topic_npmi
from spherevec.evaluation import topic_diversity


def expected_calibration_error(chance: Any, right: Any, bins: int = 10) -> float:
    """How far probabilities are from the share that is right, the mean over bins weighted by their size."""
    place = np.minimum((chance * bins).astype(int), bins - 1)
    gaps = [
        abs(chance[place == i].mean() - right[place == i].mean()) * np.mean(place == i)
        for i in range(bins)
        if (place == i).any()
    ]
    return float(sum(gaps))


def quality(
    words: list[list[str]], labels: Any, classes: Any, tokens: list[list[str]], outside: Any = None
) -> dict[str, float]:
    """Figures of topics: their words by the text and by outside vectors, their documents by the classes.

    Args:
        outside: word vectors of another text, gensim's KeyedVectors, or None.
    """
    assigned = np.asarray(labels) >= 0
    found = {
        "npmi": topic_npmi(words, tokens),
        "diversity": topic_diversity(words),
        "nmi": float(normalized_mutual_info_score(classes, labels)),
        "ari": float(adjusted_rand_score(classes, labels)),
        "assigned": float(assigned.mean()),
    }
    return found if outside is None else {**found, "outside": outside_coherence(words, outside)}


def outside_coherence(topics: list[list[str]], outside: Any) -> float:
    """The mean cosine of two words of a topic in the outside vectors; words that these lack are left out."""
    means = []
    for topic in topics:
        known = [word for word in topic if word in outside]
        if len(known) > 1:
            cosines = np.array([outside.get_vector(word, norm=True) for word in known])
            means.append(float((cosines @ cosines.T)[np.triu_indices(len(known), 1)].mean()))
    return float(np.mean(means)) if means else 0.0


def run_rival(python: str, arguments: list[str], limit: int, kept: Path | None = None) -> dict[str, Any]:
    """What a rival answered, or why it did not.

    Args:
        arguments: of rivals.py.
        limit: seconds.
        kept: a file for the answer; one that is there is read instead.
    """
    if kept is not None and kept.exists():
        return dict(json.loads(kept.read_text()))
    script = str(Path(__file__).with_name("rivals.py"))
    try:
        done = subprocess.run([python, script, *arguments], capture_output=True, text=True, timeout=limit)
    except subprocess.TimeoutExpired:
        return {"failed": f"not done after {limit} s"}
    if done.returncode:
        return {"failed": (done.stderr.strip().splitlines() or ["no message"])[-1][:200]}
    answer: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    if kept is not None:
        kept.parent.mkdir(parents=True, exist_ok=True)
        kept.write_text(json.dumps(answer))
    return answer


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
    return (*(line.get(name) for name in ("set", "method", "seed", "k")), "ari_between_seeds" in line, "failed" in line)
