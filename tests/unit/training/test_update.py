"""Models that grow: what is added, what is learned, what stays."""

from __future__ import annotations

import json
import signal

import numpy as np
import pytest

import spherevec
from spherevec import KeyedVectors, Model
from spherevec.corpus.count.vocabulary import CountedWords, RareCounts, Vocabulary
from spherevec.errors import ConfigError, CorpusError, FormatError, MissingExtraError, SpherevecError, TrainingError
from spherevec.io import FORMATS, export_vectors, import_vectors
from spherevec.model.documents import DocumentTable
from spherevec.model.parts import StoredTopics
from spherevec.search.terms import DocumentTerms
from spherevec.storage import checksums
from spherevec.storage.tensors import read_tensors
from spherevec.storage.text_column import TextColumn
from spherevec.topics.levels import Level
from spherevec.training import checkpoint
from spherevec.training.changes import add_words
from spherevec.training.finishing import SpellingSmoother, directions_of_sums
from spherevec.training.update import mean_cosine
from spherevec.training.word_update import WordPrior

SMALL = {"vector_size": 16, "epochs": 20, "threads": 1, "min_count": 5}
TOPICS = [[f"{name}{i}" for i in range(20)] for name in ("sea", "sky", "ash")]


def texts(n, topics, seed, length=30):
    """Documents of one topic each, all 20 words of a topic alike."""
    rng = np.random.default_rng(seed)
    return [" ".join(rng.choice(TOPICS[topics[i % len(topics)]], length)) for i in range(n)]


def named(prefix, documents):
    return [(f"{prefix}{i}", text) for i, text in enumerate(documents)]


@pytest.fixture(scope="module")
def old_texts():
    return texts(120, [0, 1], 1)


@pytest.fixture(scope="module")
def model(old_texts):
    return spherevec.train(named("a", old_texts), ids=True, **SMALL)


@pytest.fixture(scope="module")
def grown(model):
    return model.update(named("b", texts(60, [1, 2], 2)), ids=True, threads=1)


def test_damaged_documents_are_found_before_any_text_is_read(old_texts):
    rows = [{"text": text, "team": "xy"[i % 2]} for i, text in enumerate(old_texts)]
    model = spherevec.train(rows, text_field="text", keep=["team"], **SMALL)
    codes = next(name for name in model.documents.tensors if name.endswith(".codes"))
    table = DocumentTable({**model.documents.tensors, codes: np.full(len(rows), 9, np.int32)})
    terms = DocumentTerms({**model.terms.tensors, "counts": -model.terms.tensors["counts"]})
    model.topics(k=2, threads=1).keep()
    about = {**model.kept_topics.about, "levels": [dict.fromkeys(Level.__dataclass_fields__, "x")]}
    topics = StoredTopics(about, model.kept_topics.arrays)
    for damaged in ({"documents": table}, {"terms": terms}, {"kept_topics": topics}):
        new = iter(rows)
        with pytest.raises(FormatError, match=r"(copy the model|keep them) again"):
            model.replace(**damaged).update(new, threads=1)
        assert len(list(new)) == len(rows)


@pytest.mark.parametrize("missing", ["word_bias", "document_bias"])
def test_a_bias_that_the_description_lacks_is_that_of_the_settings(model, missing):
    parameters = {name: value for name, value in model.parameters.items() if name != missing}
    grown = model.replace(parameters=parameters).update(named("b", texts(9, [0, 1], 2)), ids=True, threads=1)
    assert len(grown.docs) == 129
    grown.check()


def test_add_only_keeps_every_old_bit_and_fits_as_infer_does(model):
    new = texts(7, [0, 1], 5)
    more = model.update(named("b", new), ids=True, add_only=True, threads=1)
    assert more.words.vectors.tobytes() == model.words.vectors.tobytes()
    assert more.docs.vectors[:120].tobytes() == model.docs.vectors.tobytes()
    assert more.docs.vectors[120:].tobytes() == model.infer(new, threads=1).tobytes()
    assert list(more.documents.ids[118:122]) == ["a118", "a119", "b0", "b1"]
    assert more.document_terms.shape == (127, len(model.words))
    assert more.documents.title(120).startswith(new[0][:20])
    assert more.describe()["tokens"] == more.provenance["tokens"] > model.describe()["tokens"]
    more.check()


def test_new_words_join_and_gather_with_their_topic(model, grown):
    assert len(grown.words) == 60 and len(model.words) == 40
    assert grown.words.names[:40] == model.words.names
    assert all(word.startswith("ash") for word, _ in grown.words.most_similar("ash3", topn=5))
    nearest = grown.docs.vectors @ grown.docs.vectors[121]  # b1 is about ash
    about = [grown.documents.snippet(row)[:3] for row in np.argsort(-nearest)[:10]]
    assert about == ["ash"] * 10
    grown.check()


def test_what_was_known_stays(model, grown):
    assert mean_cosine(model, grown) > 0.99
    # Words that the new text lacks keep their bits.
    for word in TOPICS[0]:
        assert grown.words[word].tobytes() == model.words[word].tobytes()
    # A vocabulary that grows by half moves documents a little; one that stays as it is leaves them their bits.
    assert np.einsum("nd,nd->n", grown.docs.vectors[:120], model.docs.vectors).min() > 0.9
    steady = model.update(named("s", texts(6, [0, 1], 3)), ids=True, threads=1)
    assert steady.docs.vectors[:120].tobytes() == model.docs.vectors.tobytes()


def test_an_update_is_on_record(model, grown):
    (entry,) = grown.provenance["updates"]
    assert (entry["added"], entry["replaced"], entry["unchanged"], entry["new_words"]) == (60, 0, 0, 20)
    assert entry["epochs"] == 10 and entry["tokens"] == 1800
    assert grown.provenance["documents"] == 180 and "updates" not in model.provenance
    assert grown.counts.sum() == model.counts.sum() + 1800


def test_the_same_twice_adds_nothing(model, grown):
    again = named("b", texts(60, [1, 2], 2))
    assert grown.update(again, ids=True, threads=1) is grown
    # Nor with something new beside it, since ids decide.
    more = grown.update([*again, ("c", " ".join(TOPICS[2]))], ids=True, threads=1)
    assert more.provenance["updates"][-1]["added"] == 1
    assert more.provenance["updates"][-1]["unchanged"] == 60
    assert more.counts.sum() == grown.counts.sum() + 20


def test_a_changed_document_takes_its_place(model):
    more = model.update([("a3", " ".join(TOPICS[0])), ("new", " ".join(TOPICS[1]))], ids=True, add_only=True, threads=1)
    assert len(more.docs) == 121 and more.documents.row_of("a3") == 3 and more.documents.row_of("new") == 120
    others = np.delete(np.arange(120), 3)
    assert more.docs.vectors[others].tobytes() == model.docs.vectors[others].tobytes()
    assert more.docs.vectors[3].tobytes() != model.docs.vectors[3].tobytes()
    assert more.documents.snippet(3).startswith("sea0 sea1")
    assert more.document_terms[[3]].sum() == 20


def test_documents_are_removed_by_their_ids(model, grown):
    less = grown.remove(["a0", "b59"])
    assert len(less.docs) == 178 and less.documents.ids[0] == "a1"
    assert less.docs["b0"].tobytes() == grown.docs["b0"].tobytes()
    assert less.document_terms.shape[0] == 178
    assert (less.document_terms[[less.documents.row_of("b7")]] != grown.document_terms[[127]]).nnz == 0
    with pytest.raises(KeyError, match="no document has the id 'a0'"):
        less.remove(["a0"])
    with pytest.raises(ConfigError, match="put it into a list"):
        less.remove("a1")


def test_ids_survive_removal_where_they_were_positions(old_texts):
    plain = spherevec.train(old_texts[:30], **SMALL | {"epochs": 2})
    less = plain.remove(["4"])
    assert list(less.documents.ids[3:6]) == ["3", "5", "6"]
    more = less.update(old_texts[30:32], add_only=True, threads=1)
    assert list(more.documents.ids[-3:]) == ["29", "30", "31"]


def test_a_grown_model_is_saved_and_grows_on(grown, tmp_path):
    grown.save(tmp_path / "model")
    again = spherevec.load(tmp_path / "model", verify=True)
    assert again.provenance["updates"] == grown.provenance["updates"]
    more = again.update(named("d", texts(10, [2], 9)), ids=True, threads=1)
    assert len(more.docs) == 190 and len(more.provenance["updates"]) == 2
    more.check()


def test_below_the_threshold_words_are_counted_until_they_join(old_texts):
    start = spherevec.train(named("a", [*old_texts[:40], "heron heron heron"]), ids=True, **SMALL | {"min_count": 5})
    assert "heron" not in start.words and start.rare_counts.as_dict()["heron"] == 3
    still = start.update([("x", "heron " + old_texts[0])], ids=True, threads=1)
    assert "heron" not in still.words and still.rare_counts.as_dict()["heron"] == 4
    joined = still.update([("y", "heron " + old_texts[1])], ids=True, threads=1)
    assert "heron" in joined.words and "heron" not in joined.rare_counts.as_dict()
    assert joined.counts[joined.words.position("heron")] == 5


def test_rare_counts_are_bounded(tmp_path):
    rare = RareCounts.of({"a": 1, "b": 3, "c": 2, "d": 1}, most=3)
    assert rare.as_dict() == {"b": 3, "c": 2, "a": 1}
    assert rare.merged({"d": 4, "a": 1}, without=["b"], most=2).as_dict() == {"d": 4, "a": 2}
    rare.save(tmp_path / "rare")
    assert RareCounts.of_tensors(read_tensors(tmp_path / "rare")).as_dict() == rare.as_dict()
    counts, numbers = np.array([5, 1, 2, 1, 3]), np.array([0, -1, -1, -1, -1], np.int32)
    counted = CountedWords(TextColumn.of("vwxyz"), counts)
    assert RareCounts.left_out(counted, numbers, most=2).as_dict() == {"z": 3, "x": 2}


def test_words_join_up_to_the_size_of_the_vocabulary(model):
    counts = np.array([6, 9, 4, 7])
    words = add_words(model, counts, ["p", "q", "r", "sea1"], min_count=5, max_vocab=41)
    assert words.vocabulary.words[40:] == ["q"] and words.numbers.tolist() == [-1, 40, -1, model.words.position("sea1")]
    assert words.new[40] == 9 and words.rare.as_dict() == {"p": 6, "r": 4}


def test_replay_keeps_old_words_closer(model, old_texts):
    new = named("b", texts(60, [0, 2], 3))
    alone = model.update(new, ids=True, threads=1)
    both = model.update(new, ids=True, threads=1, replay=old_texts)
    assert len(both.docs) == len(alone.docs) == 180
    assert mean_cosine(model, both) > 0.99


def test_one_seed_gives_the_same_bits_for_any_number_of_threads(model):
    new = named("b", texts(30, [1, 2], 4))
    one, two = (model.update(new, ids=True, threads=threads, deterministic=True) for threads in (1, 2))
    assert one.words.vectors.tobytes() == two.words.vectors.tobytes()
    assert one.docs.vectors.tobytes() == two.docs.vectors.tobytes()


@pytest.mark.parametrize("deterministic", [True, False])
@pytest.mark.parametrize("epoch", [0, 4, 9])
def test_an_interrupted_update_goes_on_to_the_same_bits(model, tmp_path, monkeypatch, epoch, deterministic):
    new = named("b", texts(30, [1, 2], 4))
    how = {"ids": True, "deterministic": deterministic, "threads": 1}
    saving = {"checkpoint": tmp_path / "unfinished", "checkpoint_every": "1e"}
    whole = model.update(new, **how)
    pull = WordPrior.pull

    def interrupted(self, backend, now):
        # Comes while known words are brought back: it waits until all of them are.
        if now == epoch:
            signal.raise_signal(signal.SIGINT)
        pull(self, backend, now)

    monkeypatch.setattr(WordPrior, "pull", interrupted)
    with pytest.raises(KeyboardInterrupt):
        model.update(new, **how, **saving)
    monkeypatch.setattr(WordPrior, "pull", pull)
    resumed = model.update(new, **how, **saving, resume=True)
    for table in ("words", "inputs", "contexts", "docs"):
        assert getattr(resumed, table).vectors.tobytes() == getattr(whole, table).vectors.tobytes()
    assert resumed.parameters == whole.parameters


@pytest.mark.parametrize("table", ["inputs", "contexts"])
def test_an_update_goes_on_with_its_own_model_only(model, tmp_path, monkeypatch, table):
    new = named("b", texts(30, [1, 2], 4))
    saving = {"checkpoint": tmp_path / "unfinished", "checkpoint_every": "1e", "ids": True, "threads": 1}
    monkeypatch.setattr(WordPrior, "pull", lambda self, backend, epoch: signal.raise_signal(signal.SIGINT))
    with pytest.raises(KeyboardInterrupt):
        model.update(new, **saving)
    monkeypatch.undo()
    other = getattr(model, table).vectors.copy()
    other[-1] = -other[-1]
    retrained = model.replace(**{table: KeyedVectors(model.words.names, other)})
    with pytest.raises(ConfigError, match=r"unfinished: .*the model has changed since .*; use the model as it was, or"):
        retrained.update(new, **saving, resume=True)
    path = tmp_path / "unfinished" / checkpoint.MANIFEST
    about = json.loads(path.read_text())
    del about["corpus"]["before"]  # as earlier releases wrote it
    path.write_text(json.dumps(checksums.with_checksum(about)))
    assert len(model.update(new, **saving, resume=True).docs) == 150


def drift_of(model, documents, **how):
    grown = model.update(named("n", documents), ids=True, threads=1, **how)
    return grown.provenance["updates"][0]["drift"]


def test_drift_is_told_from_none(model):
    steady = drift_of(model, texts(40, [0, 1], 7), add_only=True)
    assert steady["advice"] == "The new text is like the old: updates are enough."
    assert steady["unknown"] == 0 and not steady["joined"] and steady["distance"] < 1.5
    other = drift_of(model, texts(40, [2], 8))
    assert other["unknown"] == 1 and "Train anew" in other["advice"] and other["joined"][0].startswith("ash")
    # All words are known, but half of them do not come any more.
    narrower = drift_of(model, texts(40, [0], 9), add_only=True)
    assert narrower["unknown"] == 0 and narrower["distance"] > 3
    assert "times as far from the old ones as expected by chance" in narrower["advice"]
    # Few documents say nothing about frequencies.
    assert drift_of(model, texts(10, [0], 9), add_only=True)["distance"] is None


def test_words_that_say_little_are_not_called_growing():
    rng = np.random.default_rng(6)
    old = [f"the {rng.choice(['', 'was'])} {text}" for text in texts(80, [0, 1], 1, 8)]
    start = spherevec.train(named("a", old), ids=True, **SMALL)
    assert max(start.word_weights[start.words.position(word)] for word in ("the", "was")) < 1
    growing = drift_of(start, ["the the was was sky1 sky1 sky2"] * 40, add_only=True)["growing"]
    assert growing and all(word.startswith("sky") for word in growing)


def test_how_often_is_said_in_words():
    for count, often in ((1, "once"), (2, "twice"), (3, "3 times")):
        model = spherevec.train(["a b c"] * 9, min_count=count, vector_size=4, epochs=1, threads=1)
        assert any(f"words that occur {often} or more" in line for line in model.provenance["summary"]["settings"])


def test_rare_words_are_expected_in_new_text():
    """Of words that occur a few times each, a new document brings more unknown ones than the old text seems to hold."""
    rng = np.random.default_rng(3)
    words = [f"w{i}" for i in range(4000)]
    documents = [" ".join(rng.choice(words, 20)) for _ in range(1100)]
    start = spherevec.train(named("a", documents[:1000]), ids=True, **SMALL | {"epochs": 1})
    drift = drift_of(start, documents[1000:], add_only=True)
    in_the_old_text = 1 - start.provenance["tokens"] / start.provenance["raw_tokens"]
    assert abs(drift["unknown"] - drift["unknown_before"]) < 0.03 < drift["unknown"] - in_the_old_text
    assert "updates are enough" in drift["advice"]


def test_words_alone_grow_too(old_texts):
    words = spherevec.train(old_texts, documents=False, **SMALL)
    more = words.update(texts(40, [2], 5), threads=1)
    assert more.docs is None and len(more.words) == 60
    with pytest.raises(ConfigError, match="no documents to add to"):
        words.update(old_texts, add_only=True)


def test_other_settings_tokenizers_and_models_are_refused(model, old_texts):
    with pytest.raises(ConfigError, match="keeps the model's vector_size, which is 16, not 20"):
        model.update(old_texts, vector_size=20)
    with pytest.raises(ConfigError, match=r"split by 'words-0.2.*', the new text by 'whitespace'"):
        model.update(old_texts, tokenizer="whitespace")
    with pytest.raises(ConfigError, match=r"split by 'words-0.2.*', the new text by 'tokens'"):
        model.update([text.split() for text in old_texts])
    imported = Model(KeyedVectors(["a", "b"], np.eye(2, dtype=np.float32)))
    with pytest.raises(ConfigError, match="not trained here"):
        imported.update(["a b"])


def test_names_of_files_and_lines_are_ids_that_may_not_change_their_text(old_texts, tmp_path):
    files = [tmp_path / "a.txt", tmp_path / "b.txt"]
    for file, some in zip(files, (old_texts[:60], old_texts[60:]), strict=True):
        file.write_text("\n".join(some))
    known = spherevec.train(files, **SMALL | {"epochs": 2})
    assert known.update(files, threads=1) is known
    files[0].write_text("\n".join(texts(20, [1], 3)))
    with pytest.raises(CorpusError, match=r"a\.txt:1' is in the model already, with another text"):
        known.update(files, threads=1)


def test_bad_rows_are_named_and_the_model_stays(model):
    before = model.words.vectors.tobytes()
    with pytest.raises(SpherevecError, match="'x'"):
        model.update([("x", "sea1 sea2"), ("x", "sea3 sea4")], ids=True)
    with pytest.raises(SpherevecError):
        model.update([("x", "sea1"), ("y", None)], ids=True)
    assert model.words.vectors.tobytes() == before


@pytest.mark.parametrize("table", ["inputs", "contexts"])
def test_damaged_vectors_are_named_and_do_not_spread(model, old_texts, table):
    tables = {name: KeyedVectors(getattr(model, name).names, np.array(getattr(model, name).vectors), model.counts)
              for name in ("words", "contexts", "inputs")}  # fmt: skip
    tables[table].vectors.flags.writeable = True
    tables[table].vectors[7, 3] = np.nan
    damaged = Model(**tables, docs=model.docs, config=model.config, parameters=model.parameters, fit=model.fit)
    with pytest.raises(FormatError, match=rf"{table}: row 7 \('.*'\) holds NaN"):
        damaged.update(old_texts[:5], threads=1)


@pytest.mark.parametrize("table", ["inputs", "contexts", "docs"])
def test_nan_that_comes_up_stops_an_update(model, monkeypatch, table):
    def damage(self, backend, epoch):
        backend.load(table, 3, np.full((1, 16), np.nan, np.float32))

    monkeypatch.setattr(WordPrior, "pull", damage)
    with pytest.raises(TrainingError, match="diverged"):
        model.update(named("b", texts(30, [1, 2], 4)), ids=True, threads=1)


def test_an_unknown_word_is_answered_with_a_guess_when_asked_for(model):
    with pytest.raises(KeyError):
        model.words["seaa1"]
    guess = model.words.guess("seaa1")
    assert guess.guessed and not getattr(model.words["sea1"], "guessed", False)
    model.words.guesses = True
    try:
        assert model.words["seaa1"].guessed and "seaa1" not in model.words
        assert model.words.most_similar("seaa1", topn=1)[0][0].startswith("sea")
    finally:
        model.words.guesses = False


@pytest.mark.parametrize("format", list(FORMATS))
def test_a_grown_model_is_exported_and_imported_as_any_other(grown, tmp_path, format):
    shrunk = grown.remove(["a3", "b4"])
    for name in ("words", "docs"):
        table = getattr(shrunk, name)
        try:
            export_vectors(table, tmp_path / name, format, tokenizer=shrunk.tokenizer)
        except MissingExtraError as error:
            pytest.skip(str(error))
        if FORMATS[format].read is None:
            continue
        again, changes = import_vectors(tmp_path / name, format)
        assert not changes and list(again.names) == list(table.names)
        assert again.vectors.tobytes() == np.asarray(table.vectors).tobytes()
    if FORMATS[format].read is not None:
        imported = Model(
            import_vectors(tmp_path / "words", format)[0], docs=import_vectors(tmp_path / "docs", format)[0]
        )
        assert imported.words.most_similar("ash3", topn=5) == shrunk.words.most_similar("ash3", topn=5)
        more = imported.update([("c", "ash1 ash2 ash3")], ids=True, add_only=True, threads=1)
        assert len(more.docs) == len(shrunk.docs) + 1


def test_rare_words_follow_their_spelling_through_updates():
    """What users see of words is made of the input and context vectors of the grown model, as in training."""
    old = ["invest invested investing bank money", "refund refunds refunded invoice money"] * 20
    start = spherevec.train(named("a", old), ids=True, **SMALL)
    new = ["investor investors invested bank", "refunding refunds invoice"] * 6
    grown = start.update(named("b", new), ids=True, threads=1)
    assert "investors" in grown.words
    plain = directions_of_sums(grown.inputs.vectors, grown.contexts.vectors)
    smoother = SpellingSmoother(Vocabulary(grown.words.names, grown.words.counts))
    np.testing.assert_array_equal(grown.words.vectors, smoother.smooth(plain))
    assert np.abs(grown.words.vectors - plain).max() > 0.01


@pytest.mark.parametrize("add_only", [False, True])
def test_new_documents_are_found_by_words_without_a_vector(model, add_only):
    new = [("x0", "sea1 sea2 quokka quokka"), ("a3", "sky1 wombat"), ("x1", "ash1 ash2")]
    grown = model.update(new, ids=True, add_only=add_only, threads=1, progress=False)
    assert [hit.id for hit in grown.search("quokka", mode="lexical")] == ["x0"]
    assert [hit.id for hit in grown.search("Wombat", mode="lexical")] == ["a3"]
    new = [(f"y{row}", f"quokka sea{row}") for row in range(9)]
    again = grown.remove(["x1"]).update(new, ids=True, add_only=add_only, threads=1, progress=False)
    assert ("quokka" in again.words) == (not add_only)  # which does not lose the old document
    found = again.search("quokka", mode="lexical", topn=20)
    assert {hit.id for hit in found} == {"x0", *(name for name, _ in new)}
    row = again.documents.row_of("x0")
    assert again.terms.lengths[row] == 4 and again.document_terms[[row]].sum() == (2 if add_only else 4)
