"""From text to tokens.

`tokenizer` finds the tokenizer that a user means, and `options` is the table of its options. `plain` has the rules in
Python, `scanner_kernel` the same compiled; `cleaning` prepares the text for both, and `characters` says what each
character is. `phrases` finds terms of several words.
"""

from spherevec.corpus.tokenize.tokenizer import tokenize

__all__ = ["tokenize"]
