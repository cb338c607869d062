"""From text to numbers: read, tokenise, count and encode a corpus once."""

from spherevec.corpus.count.encoded import EncodedCorpus
from spherevec.corpus.count.encoder import encode
from spherevec.corpus.count.texts import encode_texts
from spherevec.corpus.count.vocabulary import Vocabulary
from spherevec.corpus.read.readers import read_documents

__all__ = ["EncodedCorpus", "Vocabulary", "encode", "encode_texts", "read_documents"]
