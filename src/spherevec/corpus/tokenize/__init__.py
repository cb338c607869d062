"""From text to tokens: the rules, their compiled form, phrases."""

from spherevec.corpus.tokenize.tokenizer import tokenize

__all__ = ["tokenize"]
