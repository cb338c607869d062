"""The table of documents: ids, titles, the beginning of each text, kept fields."""
