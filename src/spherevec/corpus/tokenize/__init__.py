"""From text to tokens.

`tokenizer` finds the tokenizer that a user means. `words` has the options and the rules of the usual one in Python,
`scanner_kernel` the same compiled; `cleaning` prepares the text for both, and `characters` says what each character
is. `phrases` finds terms of several words.
"""

from spherevec.corpus.tokenize.tokenizer import tokenize

__all__ = ["tokenize"]
