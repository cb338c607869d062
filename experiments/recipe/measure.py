"""One run of the study: train once, score every form of the vectors that could be given to the user."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from experiments.peers import PEERS, Task
from experiments.recipe.corpora import StudySet
from experiments.recipe.variants import REFITS
from spherevec import sphere
from spherevec.config import INFERENCE_SAMPLE, TrainConfig
from spherevec.corpus import EncodedCorpus
from spherevec.model import KeyedVectors, Model
from spherevec.model.inference import DocumentFitter
from spherevec.training import train_corpus

Floats = NDArray[np.float32]


def measure(
    chosen: StudySet, corpus: EncodedCorpus, settings: dict[str, Any], seed: int, device: str
) -> dict[str, Any]:
    """Figures of u, of v and of u + v, and of documents as trained, fitted to u in several ways, and to u + v."""
    started = time.perf_counter()
    config = TrainConfig.from_mapping(
        {"epochs": chosen.epochs, "min_count": chosen.min_count, **settings}
        | {"seed": seed, "device": device, "refit": False, "add_contexts": False}
    ).resolved(corpus.n_tokens, len(corpus.vocabulary))
    model = train_corpus(corpus, config)
    seconds = time.perf_counter() - started
    assert model.contexts is not None
    forms = {
        "u": model.words.vectors,
        "v": model.contexts.vectors,
        "u + v": sphere.normalize(model.words.vectors + model.contexts.vectors),
    }
    result: dict[str, Any] = {
        "seconds": seconds,
        "tokens": corpus.n_tokens,
        "epochs": config.epoch_count,
        "loss": model.record[-1]["loss"],
        "parameters": model.parameters,
        "mean resultant length": {form: float(sphere.mean_resultant_length(rows)) for form, rows in forms.items()},
    }
    if chosen.score_words:
        result["words"] = {
            form: chosen.score_words(KeyedVectors(corpus.vocabulary.words, rows)) for form, rows in forms.items()
        }
    if chosen.score_documents and model.docs is not None:
        result["documents"] = {"as trained": chosen.score_documents(model.docs.vectors)}
        refits = REFITS if config.objective == "vmf" and settings.keys() <= {"threads"} else {"default": {}}
        bias = model.parameters.get("document_bias", 0.0)
        fits = [("u", name) for name in refits] + [("u + v", "default")]
        for form, name in fits:
            rows = fitted(forms[form], corpus, config, refits[name], bias, device)
            result["documents"][f"fitted to {form}: {name}"] = chosen.score_documents(rows)
    return result


def fitted(
    words: Floats, corpus: EncodedCorpus, config: TrainConfig, refit: dict[str, float], bias: float, device: str
) -> Floats:
    """Documents fitted to fixed words; `refit` as in `REFITS`."""
    # Fitting takes its own shares of what it is given.
    usual = config.objective_info.refit_concentration
    config = config.with_(
        concentration=config.concentration * refit.get("concentration", usual) / usual,
        sample=config.sample_threshold * refit.get("sample", INFERENCE_SAMPLE) / INFERENCE_SAMPLE,
        negative=config.negative * int(refit.get("negative", 1)),
    )
    table = KeyedVectors(corpus.vocabulary.words, words, corpus.vocabulary.counts)
    fitter = DocumentFitter(Model(table, config=config.as_dict(), parameters={"document_bias": bias}))
    ids, offsets = np.asarray(corpus.ids), np.asarray(corpus.offsets)
    return fitter.fit(ids, offsets, alpha=refit.get("alpha"), threads=config.threads, device=device)


def measure_peer(name: str, chosen: StudySet, corpus: EncodedCorpus, seed: int, threads: int) -> dict[str, Any]:
    """Figures of a peer on the same tokens, with the epochs that the default recipe would take.

    The text is in a random order, as spherevec visits it, unless its order cannot matter.
    """
    epochs = TrainConfig(epochs=chosen.epochs).resolved(corpus.n_tokens, len(corpus.vocabulary)).epoch_count
    started = time.perf_counter()
    found = PEERS[name](Task(corpus, epochs=epochs, threads=threads, seed=seed))
    result: dict[str, Any] = {"seconds": time.perf_counter() - started, "tokens": corpus.n_tokens, "epochs": epochs}
    if chosen.score_words and found.words is not None:
        result["words"] = {"its own": chosen.score_words(found.words)}
    if chosen.score_documents:
        result["documents"] = {"its own": chosen.score_documents(found.documents)}
    return result
