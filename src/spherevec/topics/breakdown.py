"""Topics by a field of the documents and over time: counts, shares, and what is typical, with a test.

A topic is typical of a group when more of the group's documents belong to it than chance explains: Fisher's exact
test in its hypergeometric form, with Holm's correction over all topics and groups.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spherevec.corpus.read.options import listed
from spherevec.errors import ConfigError
from spherevec.topics import views
from spherevec.topics.graph import Labels

UNITS = {"year": "Y", "month": "M", "week": "W", "day": "D"}
SIGNIFICANT = 0.05
# More different values than this are no groups.
_MOST_GROUPS = 1000
# Numbers of more different values than this are grouped into ranges.
_MOST_NUMBERS, _RANGES = 12, 5


@dataclass(frozen=True, repr=False)
class Breakdown:
    """Topics in groups of documents.

    Attributes:
        field: the field that makes the groups, and its unit where it is a date.
        groups: the values of the field, or ranges of numbers, sorted.
        numbers: the topics' numbers.
        titles: the topics' titles.
        counts: (groups, topics), documents.
        p_more, p_fewer: (groups, topics), the corrected probability of so many, or so few, by chance.
        trend: (topics,), over time: the change of a topic's share from first to last period, by a weighted line.
        p_trend: (topics,), the corrected probability of such a trend by chance; 1 for groups without an order.
        ordered: whether the groups are periods.
    """

    field: str
    groups: list[str]
    numbers: list[int]
    titles: list[str]
    counts: NDArray[np.int64]
    p_more: NDArray[np.float64]
    p_fewer: NDArray[np.float64]
    trend: NDArray[np.float64]
    p_trend: NDArray[np.float64]
    ordered: bool = False

    to_pandas = views.breakdown_frame
    plot = views.plot_breakdown
    _repr_html_ = views.breakdown_html

    @property
    def shares(self) -> NDArray[np.float64]:
        """(groups, topics), the share of each group's documents."""
        return np.asarray(self.counts / np.maximum(self.counts.sum(axis=1, keepdims=True), 1))

    def typical(self, group: str) -> list[str]:
        """The titles of the topics that a group has more of than chance explains, the surest first."""
        if group not in self.groups:
            raise ConfigError(f"{group!r} is no group of {self.field}; choose one of {listed(self.groups)}")
        row = self.groups.index(group)
        order = np.argsort(self.p_more[row], kind="stable")
        return [self.titles[topic] for topic in order if self.p_more[row, topic] < SIGNIFICANT]

    def rising(self) -> list[str]:
        """Over time: the titles of the topics whose share rises, the surest first."""
        return self._moving(1)

    def falling(self) -> list[str]:
        """Over time: the titles of the topics whose share falls, the surest first."""
        return self._moving(-1)

    def _moving(self, sign: int) -> list[str]:
        order = np.argsort(self.p_trend, kind="stable")
        return [self.titles[i] for i in order if self.p_trend[i] < SIGNIFICANT and sign * self.trend[i] > 0]

    def __repr__(self) -> str:
        lines = [f"{self.field} (documents): typical topics"]
        for group, counts in zip(self.groups, self.counts, strict=True):
            lines.append(f"{group} ({int(counts.sum()):,}): {'; '.join(self.typical(group)) or '–'}")
        return "\n".join(lines)

    def as_dict(self) -> dict[str, Any]:
        """Ready for JSON."""
        groups = {
            group: {
                "documents": int(self.counts[row].sum()),
                "typical": self.typical(group),
                "counts": {str(number): int(n) for number, n in zip(self.numbers, self.counts[row], strict=True)},
            }
            for row, group in enumerate(self.groups)
        }
        return {"field": self.field, "groups": groups, "rising": self.rising(), "falling": self.falling()}


def break_down(
    field: str,
    values: Sequence[str] | NDArray[Any],
    labels: Labels,
    numbers: list[int],
    titles: list[str],
    *,
    order: NDArray[Any] | None = None,
    ordered: bool = False,
) -> Breakdown:
    """Topics in the groups of documents with the same value; those without a value or a topic are left out.

    Groups are sorted by the `order` of their documents, by default by their names.
    """
    cells = np.asarray(values, dtype=str)
    known = (cells != "") & (labels >= 0)
    if not known.any():
        raise ConfigError(f"field {field!r} is empty in all documents; choose another field")
    keys = cells if order is None else order
    _, first, codes = np.unique(keys[known], return_index=True, return_inverse=True)
    groups = cells[known][first]
    if len(groups) > _MOST_GROUPS:
        raise ConfigError(f"field {field!r} has {len(groups):,} different values, which are no groups; choose another")
    counts = np.zeros((len(groups), len(numbers)), np.int64)
    np.add.at(counts, (codes, labels[known]), 1)
    more, fewer = _tail_probabilities(counts)
    trend, p_trend = _trends(counts) if ordered and len(groups) > 2 else (np.zeros(len(numbers)), np.ones(len(numbers)))
    return Breakdown(field, [str(one) for one in groups], numbers, titles, counts, more, fewer, trend, p_trend, ordered)


def groups_of(values: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any] | None]:
    """The name of the group of each cell, '' where it is missing, and what the groups are sorted by if not by name.

    Numbers of many different values are grouped into ranges of about as many documents.

    >>> groups_of(np.arange(100.0))[0][[0, 19, 20, 99]].tolist()
    ['0..19', '0..19', '20..39', '80..99']
    """
    if values.dtype.kind == "M":
        return np.where(np.isnat(values), "", values.astype("datetime64[D]").astype(str)), None
    if values.dtype.kind not in "if":
        return np.array(["" if cell is None else str(cell) for cell in values.tolist()]), None
    known = values == values  # not NaN
    different, codes = np.unique(values[known], return_inverse=True)
    first = np.arange(len(different))  # of each group, among the different values
    if len(different) > _MOST_NUMBERS:
        parts = np.quantile(codes, np.arange(_RANGES) / _RANGES, method="higher")
        first = np.unique(parts)
    last = np.append(first[1:], len(different)) - 1
    ends = [
        [f"{value:g}" if values.dtype.kind == "f" else str(value) for value in different[at]] for at in (first, last)
    ]
    names = [low if low == high else f"{low}..{high}" for low, high in zip(*ends, strict=True)]
    order = np.full(len(values), -1)
    order[known] = np.searchsorted(first, codes, side="right") - 1
    return np.array([*names, ""])[order], order


def periods(field: str, values: NDArray[Any], unit: str) -> NDArray[Any]:
    """Dates as the period they lie in: 2024, 2024-11 or the Monday of a week; '' where there is none."""
    if unit not in UNITS:
        raise ConfigError(f"unit must be one of {', '.join(UNITS)}, not {unit!r}")
    if np.asarray(values).dtype.kind != "M":
        shown = str(values[0])[:40] if len(values) else ""
        raise ConfigError(
            f"field {field!r} holds no dates, such as {shown!r}; use by({field!r}) (--by {field}), or train with "
            f"{field}:date"
        )
    days = values.astype("datetime64[D]")
    if unit == "week":
        since = days.astype(np.int64)
        # Day 0 was a Thursday.
        text = (since - (since + 3) % 7).astype("datetime64[D]").astype(str)
    else:
        text = days.astype(f"datetime64[{UNITS[unit]}]").astype(str)
    return np.where(np.isnat(values), "", text)


def _tail_probabilities(counts: NDArray[np.int64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    from scipy.stats import hypergeom

    total, of_topic = int(counts.sum()), counts.sum(axis=0)[None, :]
    of_group = counts.sum(axis=1)[:, None]
    more = hypergeom.sf(counts - 1, total, of_topic, of_group)
    fewer = hypergeom.cdf(counts, total, of_topic, of_group)
    return holm(np.asarray(more)), holm(np.asarray(fewer))


def _trends(counts: NDArray[np.int64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Cochran and Armitage's test for a trend of each topic's share over the groups in their order."""
    from scipy.stats import norm

    sizes = counts.sum(axis=1).astype(np.float64)
    total = sizes.sum()
    steps = np.arange(len(sizes)) - np.average(np.arange(len(sizes)), weights=sizes)
    share = counts.sum(axis=0) / total
    pull = steps @ counts
    spread = np.sqrt(np.maximum(share * (1 - share) * (sizes * steps**2).sum(), 1e-30))
    slope = pull / (sizes * steps**2).sum()
    return slope * (len(sizes) - 1), holm(2 * norm.sf(np.abs(pull) / spread))


def holm(p: NDArray[np.float64]) -> NDArray[np.float64]:
    """Probabilities corrected for their number, so that one of all below α is by chance in a share α of cases.

    >>> holm(np.array([0.01, 0.04, 0.03])).tolist()
    [0.03, 0.06, 0.06]
    """
    flat = p.ravel()
    order = np.argsort(flat, kind="stable")
    raised = np.maximum.accumulate(flat[order] * np.arange(len(flat), 0, -1))
    corrected = np.empty_like(flat)
    corrected[order] = np.minimum(raised, 1)
    return corrected.reshape(p.shape)
