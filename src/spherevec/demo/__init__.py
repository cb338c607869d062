"""Real English that is on every machine, for demonstrations."""
