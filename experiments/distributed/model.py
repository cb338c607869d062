"""The arithmetic of a cluster: how long an epoch takes on W machines, from constants that benchmarks.cluster measures.

    python -m experiments.distributed.model

    epoch = tokens / (W · cores · speed) + exchanges · (wait + rows · dim · number / cores + sending)
    sending = 2 · (W − 1) / W · bytes / bandwidth

`rows` are both vectors of the words that moved, all of them at most; `bytes` are (2 dim + 12) for each. Every worker
sends what it moved once and receives what all moved once, but for its own part; none of that grows with W.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from spherevec.config import TrainConfig
from spherevec.distributed.exchange import exchanges_an_epoch

# Tokens a second of one thread, its seconds for each number of a row that moved (found, added up, applied), and the
# dimension it was measured with, by the size of the vocabulary: larger tables fit no cache. benchmarks.cluster parts.
MEASURED = {
    20_000: (1_062_000.0, 5.9e-9, 100),
    50_000: (913_000.0, 7.8e-9, 100),
    200_000: (650_000.0, 12.2e-9, 100),
    500_000: (515_000.0, 8.9e-9, 100),
    5_000_000: (461_000.0, 23.1e-9, 50),
}
WAIT = 0.1  # seconds of an exchange that nothing else explains: Ray's calls and copies, and waiting for the slowest


def constants(words: int) -> tuple[float, float, int]:
    """The measured ones of the nearest vocabulary."""
    return MEASURED[min(MEASURED, key=lambda known: abs(math.log(known / words)))]


@dataclass(frozen=True)
class Cluster:
    """The machines, and the text."""

    words: int
    tokens: float
    workers: int
    cores: int = 16
    gbit: float = 10.0
    moved: float = 1.0  # share of all rows that move between two exchanges

    @property
    def dim(self) -> int:
        return constants(self.words)[2]

    @property
    def exchanges(self) -> int:
        share = self.tokens / self.workers
        config = TrainConfig(vector_size=self.dim, epochs=1)
        rounds = max(1, int(share / 64_000))
        return exchanges_an_epoch(rounds, share, self.words, config, self.workers, None, self.gbit)

    def times(self) -> tuple[float, float]:
        """Seconds of an epoch that are training, and seconds of exchanges."""
        speed, number, _ = constants(self.words)
        training = self.tokens / (self.workers * self.cores * speed)
        rows = 2 * self.words * self.moved
        if self.workers == 1:
            return training, self.exchanges * WAIT
        each = WAIT + rows * self.dim * number / self.cores
        sending = 2 * (1 - 1 / self.workers) * rows * (2 * self.dim + 12) * 8 / (self.gbit * 1e9)
        return training, self.exchanges * (each + sending)


def main() -> None:
    print("| words | bandwidth | tokens between exchanges | time in exchanges |\n| --- | --- | --- | --- |")
    for words in (50_000, 500_000, 5_000_000):
        for gbit in (1.0, 10.0, 25.0, 100.0):
            one = Cluster(words, 100e9, 8, gbit=gbit)
            training, exchanging = one.times()
            interval = one.tokens / one.workers / one.exchanges
            print(
                f"| {words:,} | {gbit:g} Gbit/s | {interval / 1e6:.1f} M | {exchanging / (training + exchanging):.0%} |"
            )
    print("\n| machines | tokens | epoch | exchanges | time in exchanges | against one |\n" + "| --- " * 6 + "|")
    for tokens in (1e9, 10e9, 100e9):
        for workers in (1, 4, 16, 64):
            one = Cluster(500_000, tokens, workers)
            training, exchanging = one.times()
            alone = sum(replace(one, workers=1).times())
            total = training + exchanging
            print(
                f"| {workers} | {tokens / 1e9:g} billion | {total / 60:.1f} min | {one.exchanges} | "
                f"{exchanging / total:.0%} | {alone / total:.1f} times |"
            )


if __name__ == "__main__":
    main()
