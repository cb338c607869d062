"""How often workers exchange what they have learned: seldom enough to be cheap, often enough to learn the same.

The interval depends on the text, the settings and what the user says, never on a clock: the same run has the same bits.
"""

from __future__ import annotations

import math

from spherevec.config import TrainConfig
from spherevec.errors import ConfigError

BANDWIDTH = 10.0  # Gbit/s that machines have between them, unless the user says
LEAST_TOKENS = 250_000  # of a worker between two exchanges, where an epoch has that many
LEAST_EXCHANGES = 16  # of an epoch of eight workers or more, where it has that many rounds; fewer need two for each
SHARE = 0.1  # of the time that an exchange may take, besides sending
AHEAD = 0.25  # of what is trained between two exchanges, while rows are on their way: more than they should take
# Of a worker of sixteen cores, measured: tokens that it trains in a second with few words, seconds for each number that
# it exchanges with many, and seconds of an exchange besides.
_TOKENS_A_SECOND, _SECONDS_A_NUMBER, _SECONDS = 11_000_000.0, 1e-9, 0.1


def check_interval(exchange_tokens: int | None, bandwidth: float, worker_timeout: float) -> None:
    """Refuse what is no interval, no bandwidth or no time."""
    whole = isinstance(exchange_tokens, int) and not isinstance(exchange_tokens, bool)
    if exchange_tokens is not None and not (whole and exchange_tokens >= 1):
        raise ConfigError(f"exchange_tokens must be a whole number of at least 1, not {exchange_tokens!r:.40}")
    for name, value in (("bandwidth", bandwidth), ("worker_timeout", worker_timeout)):
        number = isinstance(value, int | float) and not isinstance(value, bool)
        if not (number and math.isfinite(value) and value > 0):
            raise ConfigError(f"{name} must be a number above 0, not {value!r:.40}")


def sent_bytes(words: int, config: TrainConfig) -> float:
    """Bytes that a worker sends, and receives, in one exchange, at most: both vectors of every word."""
    return 2.0 * words * (2 * config.vector_size + 12)


def suggested_tokens(words: int, config: TrainConfig, bandwidth: float) -> int:
    """Tokens between two exchanges, so that these take at most `SHARE` of the time where all rows move.

    Rows are sent while workers train ahead, and half of that time is left for what a network does now and then.
    """
    sending = 2 * sent_bytes(words, config) * 8 / (bandwidth * 1e9)
    working = 2 * words * config.vector_size * _SECONDS_A_NUMBER + _SECONDS
    return max(LEAST_TOKENS, int(max(sending / (AHEAD / 2), working / SHARE) * _TOKENS_A_SECOND))


def exchanges_an_epoch(
    rounds: int,
    share: float,
    words: int,
    config: TrainConfig,
    workers: int,
    exchange_tokens: int | None = None,
    bandwidth: float = BANDWIDTH,
) -> int:
    """Exchanges of an epoch.

    Args:
        rounds: of an epoch, on the worker that has most: an exchange is at the end of one.
        share: tokens of a worker.
    """
    wanted = math.ceil(share / (exchange_tokens or suggested_tokens(words, config, bandwidth)))
    if exchange_tokens is None and workers > 1:  # one alone exchanges nothing, and only reports
        wanted = max(wanted, min(LEAST_EXCHANGES, 2 * workers))
    return max(1, min(wanted, rounds))
