"""From files, folders, tables, data frames and Python objects to documents.

`readers` opens any source, files or Python objects, and gives one stream of text; `options` says what a user may
choose. `formats` finds the files and the format of each; `tables` and `markup` read them. `streams`
decompresses and decodes, and bounds what foreign data may cost.
"""
