"""How good are the vectors? Word similarity and analogies (`words`), clustering and classification (`documents`), and
the words of topics (`topics`), measured against `files` of the user.
"""
