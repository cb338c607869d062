"""Topics by what they are about: the topics nearest to a query."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from spherevec.model import Model
from spherevec.search.hybrid import Query
from spherevec.search.results import Hit, SearchResult, SearchResults
from spherevec.topics.components import centered
from spherevec.topics.keeping import topics_of


def search_topics(model: Model, queries: Sequence[Query], topn: int) -> SearchResults:
    """The topics nearest to each query, with their numbers, titles and cosines.

    Cosines are taken after the mean of all documents is taken off, as topics are found.
    """
    topics = topics_of(model)
    directions = topics.components.directions_of_topics()
    results = []
    for query in queries:
        if query.vector is None:
            results.append(SearchResult(query.text, [], f"no word of {query.text!r:.60} is known to the model"))
            continue
        cosines = directions @ centered(query.vector[None, :], topics.components.mean)[0]
        order = np.argsort(-cosines, kind="stable")[:topn].tolist()
        found = list(topics)
        hits = [
            Hit(str(found[place].number), float(cosines[place]), found[place].title,
                ", ".join(found[place].words), place)
            for place in order
        ]  # fmt: skip
        results.append(SearchResult(query.text, hits))
    return SearchResults(results)
