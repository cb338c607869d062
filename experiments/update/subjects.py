"""A class that is left out at first: does it become a topic, and do the others stay?

    python -m experiments.update.subjects CORPUS CLASS [CLASS ...] [--data DIR] [--seed N]

A model is trained on nine tenths of the documents of all other classes. Its topics are found and kept; then an update
brings the class and the last tenth of the others, or that tenth alone. Prints a JSON line for each.
"""

from __future__ import annotations

import argparse
import json
from typing import Any

import numpy as np

import spherevec
from experiments.datasets import find_data
from experiments.update.measure import read
from spherevec.topics import compare_topics, find_topics


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus")
    parser.add_argument("classes", type=int, nargs="+", metavar="CLASS")
    parser.add_argument("--data")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    texts, labels, _ = read(given.corpus, find_data(given.data))
    how: dict[str, Any] = {"ids": True, "threads": 1, "seed": given.seed}
    for left_out in given.classes:
        own = labels == left_out
        late = own | (np.random.default_rng((given.seed, left_out)).random(len(labels)) < 0.1)
        old, new = np.flatnonzero(~late), np.flatnonzero(late)
        model = spherevec.train([(f"d{i}", texts[i]) for i in old], **how)
        topics = find_topics(model, threads=1)
        for name, coming in (("class and tenth", new), ("tenth alone", new[~own[new]])):
            grown = model.update([(f"d{i}", texts[i]) for i in coming], **how)
            after = topics.update(grown, threads=1)
            growth = compare_topics(topics, after)
            numbers = np.asarray(after.numbers)[after.labels]
            members, wanted = np.isin(numbers, growth.added), own[np.concatenate([old, coming])]
            entry = grown.provenance["updates"][-1]
            line = {"corpus": given.corpus, "left out": left_out, "new": name, "topics": len(topics)}
            line |= {"added": [after[number].title for number in growth.added], "old kept": growth.kept}
            if members.any():
                line |= {"of the class": round(float(wanted[members].mean()), 3)}
                line |= {"with": round(float(members[wanted].mean()), 3)}
            drift = {key: entry["drift"][key] for key in ("unknown", "unknown_before", "distance")}
            print(json.dumps(line | drift | {"mean_cosine": entry["mean_cosine"]}), flush=True)


if __name__ == "__main__":
    main()
