"""From tokens to a vocabulary and encoded documents, on all cores."""
