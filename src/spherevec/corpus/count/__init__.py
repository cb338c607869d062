"""From tokens to a vocabulary and encoded documents, on all cores.

`encoder` does it all for a corpus, `texts` for new documents and a given vocabulary. `reading` feeds the tables of
words (`word_table`) on several threads and renumbers what they make of the text, `writing` writes the files that
`encoded` opens. `vocabulary` has the words that are kept and the rare ones, `summary` what was read.
"""
