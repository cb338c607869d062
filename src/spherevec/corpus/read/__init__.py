"""From files, folders, tables, data frames and Python objects to documents.

`readers` opens any source and gives one stream of text; `options` says what a user may choose. `sources` finds the
files and the format of each; `tables`, `markup` and `objects` read them. `streams` decompresses and decodes,
`portions` divides plain text among threads, `pieces` divides a source among machines, and `guard` bounds what foreign
data may cost.
"""
