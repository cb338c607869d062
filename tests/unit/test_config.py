"""Settings: ranges, names, recipes."""

from __future__ import annotations

import dataclasses
import math
import os
from dataclasses import FrozenInstanceError, fields

import numpy as np
import pytest

from spherevec.config import COMMON, RECIPES, USES, TrainConfig, setting
from spherevec.errors import ConfigError, FormatError, SpherevecError

SPECS = {spec.name: spec for spec in fields(TrainConfig)}
NUMBERS = [name for name, spec in SPECS.items() if str(spec.type).startswith(("int", "float"))]
WHOLE_NUMBERS = [name for name in NUMBERS if str(SPECS[name].type).startswith("int")]
CHOICES = [name for name, spec in SPECS.items() if spec.metadata["choices"]]


def refused(**settings):
    with pytest.raises(ConfigError) as caught:
        TrainConfig(**settings)
    message = str(caught.value)
    assert "\n" not in message
    return message


def beyond(name):
    low, high = SPECS[name].metadata["low"], SPECS[name].metadata["high"]
    return [value for value in (low - 1, None if high is None else high * 2 + 1) if value is not None]


@pytest.mark.parametrize(("name", "value"), [(name, value) for name in NUMBERS for value in beyond(name)])
def test_numbers_outside_their_range_are_quoted(name, value):
    message = refused(**{name: value})
    assert message.startswith(f"{name} must be ")
    assert message.endswith(f"not {value!r}")
    assert str(SPECS[name].metadata["low"]) in message


@pytest.mark.parametrize("name", NUMBERS)
def test_bounds_themselves_are_allowed(name):
    low, high = SPECS[name].metadata["low"], SPECS[name].metadata["high"]
    assert getattr(TrainConfig(**{name: low}), name) == low
    if high is not None:
        assert getattr(TrainConfig(**{name: high}), name) == high


@pytest.mark.parametrize("value", ["100", True, math.nan, math.inf, [5], None, object])
@pytest.mark.parametrize("name", NUMBERS)
def test_what_is_no_number_is_quoted(name, value):
    if value is None and "None" in str(SPECS[name].type):
        assert getattr(TrainConfig(**{name: None}), name) is None
        return
    assert repr(value) in refused(**{name: value})


@pytest.mark.parametrize("name", WHOLE_NUMBERS)
def test_fractions_are_refused_where_whole_numbers_are_due(name):
    assert refused(**{name: 5.5}) == f"{name} must be a whole number, not 5.5"


@pytest.mark.parametrize("seed", [0, 2**53 + 1, 2**63 - 1])
def test_seeds_have_63_bits(seed):
    assert TrainConfig(seed=seed).seed == seed


def test_a_number_beyond_floating_point_is_refused():
    assert "min_count must be a" in refused(min_count=10**400)


@pytest.mark.parametrize("name", CHOICES)
def test_an_unknown_choice_is_quoted_beside_the_known_ones(name):
    message = refused(**{name: "nonsense"})
    assert "'nonsense'" in message
    assert all(choice in message for choice in SPECS[name].metadata["choices"])
    for choice in SPECS[name].metadata["choices"]:
        assert getattr(TrainConfig(**{name: choice}), name) == choice


@pytest.mark.parametrize("value", [1, "yes", None])
def test_truth_values_are_true_or_false(value):
    assert refused(documents=value) == f"documents must be True or False, not {value!r}"


def test_numbers_of_numpy_become_pythons():
    config = TrainConfig(vector_size=np.int32(50), alpha=np.float32(0.5), epochs=3.0)
    assert (config.vector_size, config.alpha, config.epochs) == (50, 0.5, 3)
    assert [type(value) for value in (config.vector_size, config.alpha, config.epochs)] == [int, float, int]


def test_the_joint_hinge_needs_documents():
    assert "objective='hinge'" in refused(objective="joint", documents=False)


@pytest.mark.parametrize(
    ("other", "ours"),
    [
        ("dim", "vector_size"),
        ("size", "vector_size"),
        ("workers", "threads"),
        ("n_jobs", "threads"),
        ("lr", "alpha"),
        ("iter", "epochs"),
        ("random_state", "seed"),
        ("reproducible", "deterministic"),
        ("offset", "bias"),
    ],
)
def test_the_name_of_another_library_is_answered_with_ours(other, ours):
    with pytest.raises(ConfigError, match=f"^unknown setting '{other}'; here it is called '{ours}'$"):
        TrainConfig.from_mapping({other: 1})


@pytest.mark.parametrize(
    ("other", "instead"),
    [("text_col", "text_field='body'"), ("verbose", "progress=True"), ("nr_topics", r"topics\(k=20\)"),
     ("stop_words", "not needed"), ("language", "not needed"), ("sg", "not needed"), ("hs", "not needed")],
)  # fmt: skip
def test_what_is_no_setting_here_is_answered_with_what_to_do(other, instead):
    with pytest.raises(ConfigError, match=f"^unknown setting '{other}'; .*{instead}"):
        TrainConfig.from_mapping({other: 1})


@pytest.mark.parametrize(("wrong", "right"), [("vector_sise", "vector_size"), ("epchs", "epochs"), ("windo", "window")])
def test_a_misspelt_name_gets_a_suggestion(wrong, right):
    with pytest.raises(ConfigError, match=f"unknown setting '{wrong}'; did you mean '{right}'"):
        TrainConfig.from_mapping({wrong: 5})
    with pytest.raises(ConfigError, match=f"did you mean '{right}'"):
        TrainConfig.recipe("default", **{wrong: 5})


def test_a_name_like_no_other_gets_the_whole_list():
    with pytest.raises(ConfigError) as caught:
        TrainConfig.from_mapping({"zzz": 5})
    assert all(name in str(caught.value) for name in SPECS)


def test_an_unknown_recipe_gets_the_list():
    with pytest.raises(ConfigError, match=r"unknown recipe 'papper'; known recipes: default, words, paper"):
        TrainConfig.recipe("papper")


def test_the_default_recipe_is_the_default():
    assert TrainConfig.recipe("default") == TrainConfig()


def test_the_paper_recipe_is_the_papers():
    config = TrainConfig.recipe("paper")
    assert (config.objective, config.batch, config.negative_rule, config.step) == ("hinge", 1, "2h", "retraction")
    assert (config.margin, config.negative, config.sample, config.alpha) == (0.15, 2, 1e-3, 0.04)
    assert (config.window, config.vector_size, config.order, config.epochs) == (10, 100, "file", 10)
    assert config.documents


@pytest.mark.parametrize("name", RECIPES)
def test_overrides_win_over_a_recipe(name):
    config = TrainConfig.recipe(name, alpha=0.5, margin=1.0)
    assert (config.alpha, config.margin) == (0.5, 1.0)
    assert config.with_(alpha=TrainConfig.recipe(name).alpha, margin=TrainConfig.recipe(name).margin) == (
        TrainConfig.recipe(name)
    )


@pytest.mark.parametrize(
    ("tokens", "epochs"),
    [
        (0, 100),
        (1000, 100),
        (80_000, 50),
        (100_000, 40),
        (2_000_000, 40),
        (5_700_000, 22),
        (12_000_000, 10),
        (10**10, 10),
    ],
)
def test_epochs_are_chosen_by_the_length_of_the_text_unless_given(tokens, epochs):
    assert TrainConfig().resolved(tokens, 1000).epochs == epochs
    assert TrainConfig(epochs=7).resolved(tokens, 1000).epochs == 7
    assert TrainConfig().resolved(tokens, 1000).with_(epochs=None, sample=None) == TrainConfig()
    assert TrainConfig().resolved(tokens, 1000).epoch_count == epochs


@pytest.mark.parametrize(("words", "sample"), [(2, 0.5), (1000, 1e-3), (33_333, 1 / 33_333), (10**6, 3e-5)])
def test_sample_is_chosen_by_the_size_of_the_vocabulary_unless_given(words, sample):
    assert TrainConfig().resolved(10**6, words).sample_threshold == sample
    assert TrainConfig(sample=1e-3).resolved(10**6, words).sample_threshold == 1e-3
    assert TrainConfig.recipe("paper").resolved(10**6, words).sample_threshold == 1e-3


def test_what_is_not_chosen_yet_says_so():
    with pytest.raises(ConfigError, match="resolved"):
        _ = TrainConfig().epoch_count
    with pytest.raises(ConfigError, match="resolved"):
        _ = TrainConfig().sample_threshold


def test_epochs_that_are_not_chosen_yet_cannot_be_counted():
    with pytest.raises(ConfigError, match="resolved"):
        TrainConfig().epoch_count  # noqa: B018


def test_recipes_cannot_be_changed():
    with pytest.raises(TypeError):
        RECIPES["paper"]["alpha"] = 1  # type: ignore[index]
    with pytest.raises(FrozenInstanceError):
        TrainConfig().alpha = 1  # type: ignore[misc]


@pytest.mark.parametrize("name", RECIPES)
def test_settings_survive_a_round_trip(name):
    config = TrainConfig.recipe(name, seed=99, max_vocab=1000, documents=False, objective="hinge")
    assert TrainConfig.from_mapping(config.as_dict()) == config


def test_changed_copies_are_checked_too():
    with pytest.raises(SpherevecError, match=r"alpha must be between 0\.0 and 10\.0, not -1"):
        TrainConfig().with_(alpha=-1)


@pytest.mark.parametrize("name", SPECS)
def test_every_setting_explains_itself_in_one_line(name):
    help = SPECS[name].metadata["help"]
    assert help.endswith(".")
    assert "\n" not in help
    assert len(help) < 120


def test_zero_threads_are_all_cores_and_others_are_taken_at_their_word(monkeypatch):
    assert TrainConfig(threads=3).thread_count == 3
    assert TrainConfig(threads=0).thread_count >= 1
    # Some systems cannot say which cores a process may use.
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    monkeypatch.setattr(os, "cpu_count", lambda: 7)
    assert TrainConfig(threads=0).thread_count == 7
    assert TrainConfig(threads=3).thread_count == 3


def test_a_new_setting_needs_no_new_files():
    toy = dataclasses.make_dataclass(
        "Toy", [("toy", int, setting(7, "A toy.", low=1, group=COMMON))], bases=(TrainConfig,), frozen=True
    )
    saved = TrainConfig(epochs=3).as_dict()
    assert toy.saved_settings(saved) == {**saved, "toy": 7}
    assert toy.from_mapping(toy.saved_settings(saved)).toy == 7
    with pytest.raises(FormatError, match="unknown setting 'toy'"):
        TrainConfig.saved_settings(toy().as_dict())


def test_settings_that_are_treated_alike_are_settings():
    assert {name for names in USES.values() for name in names} <= set(SPECS)
