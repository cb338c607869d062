"""BERTopic's evaluation protocol: python -m experiments.topics.protocol --data DIR --out FILE [--vocabulary FILE]

20 Newsgroups without headers and quotes, lemmatised, of the words in 0.5 % of the posts or more, and of posts with five
such words or more; ten words a topic for 10, 20, 30, 40 and 50 topics; NPMI and diversity, the mean over these and over
the seeds. The authors' own text is no part of the data; --vocabulary takes the list of their 1,612 words, so that at
least the words are the same. Rivals are run on this text, too (see the other command).
"""

from __future__ import annotations

import argparse
import json
import re
import tempfile
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

import spherevec
from experiments.coherence import topic_npmi
from experiments.topics.corpora import load
from experiments.topics.measuring import Results, run_program
from experiments.topics.rivals import GIVEN
from spherevec.evaluation.topics import topic_diversity
from spherevec.topics import find_topics

COUNTS = (10, 20, 30, 40, 50)
LEAST_SHARE, FEWEST_WORDS = 0.005, 5
_END_OF_HEADER = re.compile(r"\bLines: \d+ ")
# Lines were joined in the data: a quoted line goes from its mark to the next, or for about the length of a line.
_QUOTED = re.compile(r"(?:[>|:}] ?)+[^>|}]{0,75}(?=[>|}])|[>|}] ?[^>|}]{0,70}")


def body(post: str) -> str:
    """A post without its header and without what it quotes, as far as these can be told apart in one line."""
    header = _END_OF_HEADER.search(post[:1500])
    rest = post[header.end() :] if header else re.sub(r"^From: .*?Subject: ", "", post)
    return _QUOTED.sub(" ", rest)


def preprocessed(posts: Iterable[str], vocabulary: set[str] | None) -> list[list[str]]:
    """Lemmas of each post; those of the vocabulary, or frequent ones that are no stop words."""
    import simplemma
    from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

    lemmas: dict[str, str] = {}

    def lemma(word: str) -> str:
        if word not in lemmas:
            known = vocabulary is not None and word in vocabulary
            lemmas[word] = word if known else simplemma.lemmatize(word, lang="en").lower()
        return lemmas[word]

    texts = [[lemma(word) for word in re.findall(r"[a-z]+", body(post).lower())] for post in posts]
    if vocabulary is None:
        documents = Counter(word for text in texts for word in set(text))
        vocabulary = {
            word
            for word, count in documents.items()
            if count >= LEAST_SHARE * len(texts) and len(word) > 2 and word not in ENGLISH_STOP_WORDS
        }
    return [[word for word in text if word in vocabulary] for text in texts]


def figures(topics: list[list[str]], tokens: list[list[str]]) -> dict[str, float]:
    return {"npmi": topic_npmi(topics, tokens), "diversity": topic_diversity(topics)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--vocabulary", type=Path)
    parser.add_argument("--seeds", default="1,2,3")
    parser.add_argument("--method", action="append", default=[], metavar="METHOD=COMMAND")
    parser.add_argument("--answers", type=Path, metavar="FOLDER", required=True)
    parser.add_argument("--limit", type=int, default=900)
    args = parser.parse_args()
    vocabulary = None if args.vocabulary is None else set(args.vocabulary.read_text().split())
    posts, _ = load("20news", args.data, every=1)
    tokens = [text for text in preprocessed(posts, vocabulary) if len(text) >= FEWEST_WORDS]
    texts = [" ".join(text) for text in tokens]
    size = {"documents": len(texts), "words": len({w for text in tokens for w in text})}
    results = Results(args.out)
    found: dict[str, list[dict[str, float]]] = {}

    def record(method: str, seed: int, k: int, topics: list[list[str]]) -> None:
        line: dict[str, Any] = {"set": "protocol", "method": method, "seed": seed, "k": k, **figures(topics, tokens)}
        results.write({**line, "topics": len(topics)})
        found.setdefault(method, []).append(line)

    with tempfile.TemporaryDirectory() as folder:
        held, ours = Path(folder) / "texts.json", Path(folder) / "ours.npy"
        held.write_text(json.dumps({"texts": texts, "tokens": tokens}))
        for seed in map(int, args.seeds.split(",")):
            model = spherevec.train(texts, seed=seed, threads=1, progress=False)
            assert model.docs is not None
            np.save(ours, np.asarray(model.docs.vectors))
            for k in COUNTS:
                record("spherevec", seed, k, find_topics(model, k=k, threads=1).words_by_place)
            for method, command in (one.split("=", 1) for one in args.method):
                for k in COUNTS:
                    kept = args.answers / f"protocol-{method}-{k}-{seed}.jsonl"
                    vectors = str(ours) if method == "bertopic" else ""
                    answers = run_program(command, [method, str(held), str(k), vectors], [seed], args.limit, kept)
                    if seed in answers:
                        title = method + ", our vectors" * bool(vectors)
                        record(title, seed, k, answers[seed]["topics"][GIVEN]["words"])
    for method, lines in found.items():
        mean = {key: float(np.mean([line[key] for line in lines])) for key in ("npmi", "diversity")}
        results.write({"set": "protocol", "method": method, "runs": len(lines), **size, **mean})


if __name__ == "__main__":
    main()
