"""From tokens to a vocabulary and encoded documents, on all cores.

`encoder` does it all for a corpus, `texts` for new documents and a given vocabulary. `word_table` numbers the words of
blocks of text, `encoded` has the files of the result. `vocabulary` has the words that are kept and the rare ones,
`summary` what was read.
"""
