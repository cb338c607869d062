"""Known item by title: posts of 20 Newsgroups asked for by their own title, which has two words that the body lacks.

python -m experiments.search.titles --data DIR [--posts 12000] [--queries 150] [--seed 1]
"""

from __future__ import annotations

import argparse
import gzip
import re
from pathlib import Path

import numpy as np

import spherevec
from spherevec.search.hybrid import MODES

_SUBJECT = re.compile(r"Subject: (?:Re: )*(.+?) (?=[A-Z][A-Za-z-]+: )")
_HEADER_END = re.compile(r"Lines: \d+ ")
_WORD = re.compile(r"[a-z0-9']{3,}")


def posts(data: Path, count: int, rng: np.random.Generator) -> list[dict[str, str]]:
    """Posts at random with the subject as title and the text below the header as body."""
    with gzip.open(data / "20news" / "text.txt.gz", "rt", encoding="utf-8") as file:
        texts = [line.rstrip("\n") for line in file]
    found = []
    for row in np.sort(rng.permutation(len(texts))[:count]):
        subject, end = _SUBJECT.search(texts[row][:1500]), _HEADER_END.search(texts[row][:2000])
        body = texts[row][end.end() :] if end else texts[row]
        found.append({"title": subject[1].strip()[:120] if subject else "", "body": body})
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--posts", type=int, default=12_000)
    parser.add_argument("--queries", type=int, default=150)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    rng = np.random.default_rng(given.seed)
    documents = posts(given.data, given.posts, rng)
    titles = [post["title"].lower() for post in documents]
    asked: list[int] = []
    for row in rng.permutation(len(documents)).tolist():
        lacking = set(_WORD.findall(titles[row])) - set(_WORD.findall(documents[row]["body"].lower()))
        if len(lacking) >= 2 and titles.count(titles[row]) == 1 and len(asked) < given.queries:
            asked.append(row)
    model = spherevec.train(documents, text_field="body", title_field="title", seed=given.seed, progress=False)
    for mode in MODES:
        results = model.search([documents[row]["title"] for row in asked], topn=10, mode=mode)
        places = [[hit.row for hit in result] for result in results]
        among = sum(row in own for row, own in zip(asked, places, strict=True))
        first = sum(own[:1] == [row] for row, own in zip(asked, places, strict=True))
        print(f"{mode:8} {among} of {len(asked)} among ten, {first} first")


if __name__ == "__main__":
    main()
