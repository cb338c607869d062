"""From tokens to a vocabulary and encoded documents, on all cores.

`encoder` does it all for a corpus. `word_table` numbers the words of blocks of text, `encoded` has the files of the
result. `vocabulary` has the words that are kept and the rare ones, and new documents in these words; `summary` what
was read.
"""
