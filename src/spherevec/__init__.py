"""Word and document vectors from your own text, learned together on the unit sphere."""
