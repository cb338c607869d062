"""The table of documents: ids, titles, the beginning of each text, and fields that are kept.

`records` builds the table while text is read, and joins tables; `field_types` finds out what a field holds.
"""
