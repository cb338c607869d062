"""From text to numbers: read, tokenise, count and encode a corpus once."""

from spherevec.corpus.encoded import EncodedCorpus
from spherevec.corpus.encoder import encode
from spherevec.corpus.readers import read_documents
from spherevec.corpus.texts import encode_texts
from spherevec.corpus.tokenizer import tokenize
from spherevec.corpus.vocabulary import Vocabulary

__all__ = ["EncodedCorpus", "Vocabulary", "encode", "encode_texts", "read_documents", "tokenize"]
