"""The estimators as scikit-learn expects them: parameters, pipelines, searches, containers, its own checks."""

from __future__ import annotations

import inspect
import pickle
import warnings
from dataclasses import fields

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError, SkipTestWarning
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import check_estimator
from sklearn.utils.validation import check_is_fitted, validate_data

from spherevec import SphericalEmbedding, SphericalTopics, estimators, training
from spherevec.config import TrainConfig
from spherevec.errors import ConfigError, CorpusError

SCIKIT_NAMES = {"seed": "random_state", "threads": "n_jobs"}
QUICK = {"vector_size": 8, "epochs": 20, "alpha": 0.05, "sample": 0.0, "min_count": 1, "window": 5, "n_jobs": 1}
TRAINING = {**{name: value for name, value in QUICK.items() if name != "n_jobs"}, "threads": 1}
TOPICS = 3


def topic_texts(documents=60, seed=0):
    """Texts of 20 words of one topic each, whose words start with the topic's letter, and the topics."""
    rng = np.random.default_rng(seed)
    topics = np.arange(documents) % TOPICS
    return [" ".join(f"{'abc'[topic]}{n}" for n in rng.integers(10, size=20)) for topic in topics], topics


@pytest.fixture(scope="module")
def texts():
    return topic_texts()[0]


@pytest.fixture(scope="module")
def topics():
    return topic_texts()[1]


@pytest.fixture(scope="module")
def fitted(texts):
    return SphericalEmbedding(**QUICK).fit(texts)


def test_parameters_are_the_settings_of_training():
    names = set(SphericalEmbedding().get_params())
    assert names == {"recipe", "tokenizer"} | {SCIKIT_NAMES.get(spec.name, spec.name) for spec in fields(TrainConfig)}
    defaults = {name: p.default for name, p in inspect.signature(SphericalEmbedding).parameters.items()}
    assert [name for name, default in defaults.items() if default is not None] == ["recipe", "tokenizer"]


def test_what_is_not_given_is_the_recipes(texts, fitted):
    expected = TrainConfig(
        **{"threads" if name == "n_jobs" else name: value for name, value in QUICK.items()}
    ).as_dict()
    assert {**fitted.model_.config, "threads": 1} == expected
    paper = SphericalEmbedding("paper", min_count=1, n_jobs=1, epochs=1).fit(texts)
    assert paper.model_.config["objective"] == "hinge"
    assert paper.model_.config["alpha"] == TrainConfig.recipe("paper").alpha


@pytest.mark.parametrize("refit", [True, False])
def test_fit_transform_gives_the_trained_vectors_and_transform_infers(texts, refit):
    trained = SphericalEmbedding(**QUICK, refit=refit).fit_transform(texts)
    estimator = SphericalEmbedding(**QUICK, refit=refit).fit(texts)
    np.testing.assert_array_equal(trained, estimator.model_.docs.vectors)
    inferred = estimator.transform(texts)
    np.testing.assert_array_equal(inferred, estimator.model_.infer(texts))
    assert np.array_equal(trained, inferred) == refit


def test_trained_vectors_are_handed_out_as_a_copy(texts):
    estimator = SphericalEmbedding(**QUICK)
    estimator.fit_transform(texts)[:] = 0
    estimator.model_.check()


def test_without_document_vectors_fit_transform_infers(texts):
    estimator = SphericalEmbedding(**QUICK, documents=False)
    vectors = estimator.fit_transform(texts)
    assert estimator.model_.docs is None
    np.testing.assert_array_equal(vectors, estimator.transform(texts))


def test_clones_are_unfitted_and_equal_in_settings(fitted, texts):
    copy = clone(fitted)
    assert copy.get_params() == fitted.get_params()
    with pytest.raises(NotFittedError):
        copy.transform(texts)
    np.testing.assert_array_equal(copy.fit(texts).transform(texts), fitted.transform(texts))


def test_fitted_estimators_can_be_pickled(fitted, texts):
    fitted.transform(texts)
    stored = pickle.dumps(fitted)
    np.testing.assert_array_equal(pickle.loads(stored).transform(texts), fitted.transform(texts))


def test_a_pipeline_learns_topics_of_unseen_texts(texts, topics):
    pipeline = make_pipeline(SphericalEmbedding(**QUICK), LogisticRegression()).fit(texts, topics)
    unseen, true_topics = topic_texts(seed=7)
    assert pipeline.score(unseen, true_topics) > 0.95
    assert pipeline[:-1].get_feature_names_out()[0] == "spherevec0"


def test_a_grid_search_tries_settings(texts, topics):
    pipeline = make_pipeline(SphericalEmbedding(**QUICK), LogisticRegression())
    grid = {"sphericalembedding__vector_size": [2, 8], "sphericalembedding__max_vocab": [2, None]}
    search = GridSearchCV(pipeline, grid, cv=2, error_score="raise").fit(texts, topics)
    # Two words do not tell three topics apart.
    assert search.best_params_["sphericalembedding__max_vocab"] is None
    assert search.best_estimator_[0].model_.vector_size == search.best_params_["sphericalembedding__vector_size"]


def test_vectors_reach_pandas(texts):
    frame = SphericalEmbedding(**QUICK).set_output(transform="pandas").fit_transform(texts)
    assert isinstance(frame, pd.DataFrame)
    assert list(frame.columns) == [f"spherevec{n}" for n in range(8)]
    assert frame.shape == (len(texts), 8)
    assert (frame.dtypes == np.float32).all()


def test_columns_have_names(fitted):
    assert fitted.n_features_out_ == 8
    assert fitted.get_feature_names_out().tolist() == [f"spherevec{n}" for n in range(8)]


@pytest.mark.parametrize("kind", [tuple, np.array, pd.Series, iter], ids=lambda kind: kind.__name__)
def test_any_iterable_of_texts_will_do(texts, fitted, kind):
    estimator = SphericalEmbedding(**QUICK).fit(kind(texts))
    np.testing.assert_array_equal(estimator.transform(kind(texts)), fitted.transform(texts))


def test_lists_of_words_need_no_tokenizer(texts, fitted):
    lists = [text.split() for text in texts]
    estimator = SphericalEmbedding(**QUICK).fit(lists)
    np.testing.assert_array_equal(estimator.transform(lists), fitted.transform(texts))
    with pytest.raises(ConfigError, match="give lists of words"):
        estimator.transform(texts)


def test_a_tokenizer_of_ones_own_is_used_in_both_places(texts, fitted):
    dashed = [text.replace(" ", "-") for text in texts]
    estimator = SphericalEmbedding(tokenizer=lambda text: text.split("-"), **QUICK).fit(dashed)
    np.testing.assert_array_equal(estimator.transform(dashed), fitted.transform(texts))


@pytest.mark.parametrize("method", ["fit", "fit_transform", "transform"])
def test_a_single_text_is_refused(fitted, method):
    with pytest.raises(CorpusError, match=r"not a single one; put it into a list"):
        getattr(clone(fitted).fit(["a b a b"] * 3), method)("a b a b")


def test_unfitted_estimators_say_so(texts):
    for call in (SphericalEmbedding().get_feature_names_out, lambda: SphericalEmbedding().transform(texts)):
        with pytest.raises(NotFittedError):
            call()


def test_a_bad_setting_is_told_by_fit(texts):
    with pytest.raises(ConfigError, match="window must be between 1 and 1000, not 0"):
        SphericalEmbedding(window=0).fit(texts)


def test_scikit_learn_knows_that_texts_go_in():
    tags = SphericalEmbedding().__sklearn_tags__().input_tags
    assert tags.string and not tags.two_d_array


def test_check_estimator_as_it_is():
    # For text input scikit-learn has next to no checks of its own: it says so, as for its CountVectorizer.
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        results = check_estimator(SphericalEmbedding(**QUICK), on_fail=None)
    assert any(issubclass(warning.category, SkipTestWarning) for warning in told)
    assert {result["status"] for result in results} == {"passed"}


class OnTables(SphericalEmbedding):
    """Takes the tables of numbers that scikit-learn's checks consist of: a row becomes a document of words.

    Column j with the value x is the word j followed by x in tenths, so that all of a row matters.
    """

    def _texts(self, X, reset):
        rows = validate_data(self, X, reset=reset)
        return [[f"{j}:{round(10 * float(x))}" for j, x in enumerate(row)] for row in rows]

    def fit(self, X, y=None):
        return super().fit(self._texts(X, reset=True))

    def transform(self, X):
        check_is_fitted(self)
        return super().transform(self._texts(X, reset=False))

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = True
        tags.non_deterministic = False  # on one thread
        return tags


# Both find that fit_transform(X) differs from fit(X).transform(X), which without `refit` it is meant to.
FAIL_WITHOUT_REFIT = {"check_transformer_general", "check_transformer_data_not_an_array"}


@pytest.mark.parametrize(("refit", "expected_to_fail"), [(None, set()), (False, FAIL_WITHOUT_REFIT)])
def test_the_checks_for_tables_through_words(refit, expected_to_fail):
    results = check_estimator(OnTables(**QUICK, refit=refit), on_fail=None, on_skip=None)
    failed = {result["check_name"]: result["exception"] for result in results if result["status"] == "failed"}
    assert set(failed) == expected_to_fail, failed
    assert sum(result["status"] == "passed" for result in results) > 40


@pytest.fixture
def trainings(monkeypatch):
    """The number of texts of each training."""
    found: list[int] = []
    original = training.train

    def counted(texts, **options):
        found.append(len(texts))
        return original(texts, **options)

    monkeypatch.setattr(training, "train", counted)
    return found


def test_a_cached_pipeline_trains_once_for_each_fold(texts, topics, trainings, tmp_path):
    """Whatever is tried of the steps behind the vectors."""
    pipeline = make_pipeline(SphericalEmbedding(**QUICK), LogisticRegression(), memory=str(tmp_path))
    GridSearchCV(pipeline, {"logisticregression__C": [0.1, 1, 10]}, cv=2, error_score="raise").fit(texts, topics)
    assert trainings == [30, 30, 60]


@pytest.fixture(scope="module")
def fitted_topics(texts):
    return SphericalTopics(3, settings=TRAINING).fit(texts)


def test_topics_are_those_of_the_model(fitted_topics, texts, topics):
    unseen, true_topics = topic_texts(seed=7)
    found = fitted_topics.model_.topics(k=3, seed=1)
    np.testing.assert_array_equal(fitted_topics.labels_, found.labels)
    np.testing.assert_array_equal(fitted_topics.predict(unseen), found.predict(unseen))
    np.testing.assert_array_equal(fitted_topics.transform(unseen), found.predict_proba(unseen))
    assert len({*zip(fitted_topics.predict(unseen).tolist(), true_topics.tolist(), strict=True)}) == TOPICS
    assert fitted_topics.get_feature_names_out().tolist() == ["topic0", "topic1", "topic2"]
    again = clone(fitted_topics).fit_predict(texts)
    np.testing.assert_array_equal(again, fitted_topics.labels_)


def test_topics_reach_pandas_and_pipelines(texts, topics):
    estimator = SphericalTopics(3, settings=TRAINING).set_output(transform="pandas")
    frame = estimator.fit_transform(texts)
    assert list(frame.columns) == ["topic0", "topic1", "topic2"] and frame.shape == (60, 3)
    pipeline = make_pipeline(clone(estimator), LogisticRegression()).fit(texts, topics)
    assert pipeline.score(*topic_texts(seed=7)) > 0.95


def test_a_search_over_topics_trains_vectors_once_for_each_fold(texts, topics, trainings, tmp_path):
    step = SphericalTopics(settings=TRAINING, memory=str(tmp_path))
    pipeline = make_pipeline(step, LogisticRegression())
    search = GridSearchCV(pipeline, {"sphericaltopics__n_topics": [2, 3]}, cv=2, error_score="raise").fit(texts, topics)
    assert search.best_params_["sphericaltopics__n_topics"] == 3
    assert trainings == [30, 30, 60]
    # Other settings are other vectors.
    GridSearchCV(pipeline, {"sphericaltopics__settings": [TRAINING, TRAINING | {"epochs": 5}]}, cv=2).fit(texts, topics)
    assert trainings[3:5] == [30, 30]


def test_topics_refuse_a_single_text_and_say_when_they_are_not_fitted(fitted_topics, texts):
    with pytest.raises(CorpusError, match=r"put it into a list"):
        fitted_topics.predict("a1 a2")
    with pytest.raises(NotFittedError):
        SphericalTopics().transform(texts)
    assert estimators.SphericalTopics is SphericalTopics


def test_check_estimator_of_topics():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SkipTestWarning)
        results = check_estimator(SphericalTopics(2, settings=TRAINING), on_fail=None)
    assert {result["status"] for result in results} == {"passed"}
