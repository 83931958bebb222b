"""Draws: what its parameters may be, and the sentence that it promises."""

import copy

import pytest
from sklearn.impute import SimpleImputer

from ipub import IpubError
from ipub.promises import Draws


@pytest.mark.parametrize(("n_draws", "probability"), [(199, 0.99), (39, 0.95), (19, 0.9), (3, 0.5)])
def test_the_probability_is_that_of_two_ends_among_so_many_draws(n_draws, probability):
    assert Draws(n_draws=n_draws).probability == pytest.approx(probability)


def test_the_promise_says_the_probability_and_the_assumption_in_one_sentence():
    first = Draws(n_draws=39, radius=0.2).promise.split(". ")[0]
    for words in ("probability 95 %", "each row by itself", "within 0.2 half-widths", "'hot_deck'", "39 fillings"):
        assert words in first
    assert "the law of that imputer" in Draws(radius=0.0).promise
    assert "SimpleImputer" in Draws(SimpleImputer()).promise
    assert "1 - m 2/40" in Draws(n_draws=39).promise


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"imputer": "cold_deck"}, "cold_deck.*hot_deck"),
        ({"imputer": SimpleImputer}, r"class SimpleImputer.*SimpleImputer\("),
        ({"imputer": 3}, "imputer is a int"),
        ({"n_draws": 1}, "n_draws is 1"),
        ({"n_draws": 2.5}, "n_draws is 2.5"),
        ({"n_draws": True}, "n_draws is True"),
        ({"radius": -0.1}, "radius is -0.1"),
        ({"radius": float("nan")}, "radius is nan"),
        ({"radius": 2}, "radius is 2"),
        ({"clip": 1}, "clip is 1"),
        ({"n_jobs": 0}, "n_jobs is 0"),
        ({"n_jobs": "all"}, "n_jobs is 'all'"),
    ],
)
def test_a_wrong_parameter_is_named_when_it_is_used(parameters, words):
    draws = Draws(**parameters)
    with pytest.raises(IpubError, match=words):
        draws.check()


def test_a_copy_equals_the_original():
    for imputer in ("chained", SimpleImputer(), len):
        draws = Draws(imputer, n_draws=9)
        assert copy.deepcopy(draws) == draws
        assert draws == Draws(imputer, n_draws=9)
        assert draws != Draws(imputer, n_draws=8)
