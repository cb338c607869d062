"""Two levels of topics: python -m experiments.topics.levels --data DIR --models FOLDER [--sets A,B] [--seeds 1,2]

Homogeneity of the finer level, completeness of the broad one, NPMI and diversity of both, agreement between seeds, how
many documents hold a word of their topic's title, inside and outside the topic, and how well named topics find the
classes of 20news and search_snippets. All documents of each set. One line of JSON a set and seed.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np
from sklearn.metrics import adjusted_rand_score, completeness_score, homogeneity_score

import spherevec
from experiments.topics.corpora import SETS, load, names_of
from experiments.topics.measuring import expected_calibration_error
from spherevec import Model
from spherevec.evaluation.topics import document_npmi, topic_diversity
from spherevec.topics import Topics, find_topics
from spherevec.topics.titles import TITLES


def model_of(folder: Path, texts: list[str], seed: int) -> Model:
    if not folder.exists():
        spherevec.train(texts, seed=seed, threads=1, progress=False).save(folder)
    return Model.load(folder)


def title_coverage(topics: Topics, way: str) -> tuple[float, float]:
    """The share of documents that hold one of the three words of a title, inside its topic and outside."""
    inside, outside = [], []
    for place in range(len(topics)):
        content = topics.content(place)
        listed = TITLES[way](content)
        chosen = [content.candidates.index(word) for word in listed[:3] if word in content.candidates]
        holds = np.asarray(content.holds[:, chosen].sum(axis=1)).ravel() > 0
        inside.append(holds[content.inside].mean())
        outside.append(holds[~content.inside].mean())
    return float(np.average(inside, weights=topics.sizes)), float(np.average(outside, weights=topics.sizes))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--models", type=Path, required=True)
    parser.add_argument("--sets", default=",".join(SETS))
    parser.add_argument("--seeds", default="1,2")
    args = parser.parse_args()
    for name in args.sets.split(","):
        texts, classes = load(name, args.data, every=1)
        before: Topics | None = None
        for seed in map(int, args.seeds.split(",")):
            model = model_of(args.models / f"{name}-{seed}", texts, seed)
            topics = model.topics(threads=1)
            broad, known = topics.parents, topics.labels >= 0
            columns = model.words.key_to_index
            line: dict[str, object] = {"set": name, "seed": seed, "broad": len(broad), "finer": len(topics)}
            if classes is not None:
                line["homogeneity_finer"] = homogeneity_score(classes[known], topics.labels[known])
                line["completeness_broad"] = completeness_score(classes[known], broad.labels[known])
            for level, found in (("finer", topics), ("broad", broad)):
                words = found.words_by_place
                line[f"npmi_{level}"] = document_npmi(
                    [[columns[w] for w in one] for one in words], model.document_terms
                )
                line[f"diversity_{level}"] = topic_diversity(words)
                if before is not None:
                    other = before if found is topics else before.parents
                    line[f"ari_between_seeds_{level}"] = adjusted_rand_score(other.labels, found.labels)
            for way in ("coverage", "distinctive"):
                line[f"title_{way}"] = title_coverage(topics, way)
            names = names_of(name, args.data)
            if names is not None:
                named = find_topics(model, names=names, only_names=True, threads=1)
                right = named.labels == classes
                line["names_accuracy"] = float(right.mean())
                line["names_calibration_error"] = expected_calibration_error(named.probability, right)
            print(json.dumps(line), flush=True)
            before = topics


if __name__ == "__main__":
    main()
