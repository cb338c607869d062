"""Search over plain arrays: nearest neighbours, BM25, and the two together. Nothing here knows a model."""
