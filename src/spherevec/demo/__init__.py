"""The tour of `spherevec demo`, and the text it is about."""
