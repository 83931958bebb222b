"""Draws: what its parameters may be, and the sentence that it promises."""

import copy
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from sklearn.impute import SimpleImputer

from ipub import IpubError
from ipub.promises import Draws
from ipub.promises.described import percent_of_success
from ipub.promises.draws import class_failure


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
        ({"imputer": 37}, r"imputer is 37: did you mean n_draws=37\?"),
        ({"imputer": 0.5}, "imputer is a float"),
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


def test_one_draw_is_refused_wherever_its_probability_is_asked_for():
    for ask in (lambda draws: draws.promise, lambda draws: draws.probability, lambda draws: draws.class_probability):
        with pytest.raises(IpubError, match="19 are the"):
            ask(Draws(n_draws=1))
    assert percent_of_success(Decimal(1)) == "0"


def test_cells_that_may_differ_from_the_drawn_ones_stay_in_their_intervals():
    sentence = Draws(cells=2).promise
    assert "but for at most 2 of them, which may be anywhere in their intervals, or of any level" in sentence
    assert "anything" not in sentence


@pytest.mark.parametrize("n_draws", [2, 3, 4, 5, 10, 19, 37, 199, 1000])
def test_the_failure_of_classes_is_at_least_its_largest_and_hardly_more(n_draws):
    p = [Fraction(k, 1000) for k in range(1001)] + [Fraction(n_draws, n_draws + 1)]
    largest = max(each**n_draws * (1 - each) + (1 - each) ** n_draws * each for each in p)
    assert largest <= class_failure(n_draws) <= largest * Fraction(102, 100)


def test_37_draws_are_the_fewest_for_99_percent_of_a_class():
    assert Draws(n_draws=37).class_probability == 0.99
    assert Draws(n_draws=36).class_probability < 0.99
    sentence = Draws(n_draws=37).promise_for(1, is_of_classes=True)
    for words in (
        "probability 99 %",
        "for each row by itself, chosen before the draws, it does not happen",
        "a class is certain and another one is that of the true table",
        "Under the same conditions the probability of that",
        "for m rows together, chosen before the draws; and",
        "labels included",
        "0.00982",
        "94.7368 %",
        "37 fillings",
    ):
        assert words in sentence
    assert "6/38" in Draws(n_draws=37).promise_for(3, is_of_classes=True)


@pytest.mark.parametrize("is_of_classes", [False, True])
def test_every_sentence_says_what_it_assumes(is_of_classes):
    draws = Draws(n_draws=37, radius=0.2)
    sentence = draws.promise_for(1, is_of_classes=is_of_classes)
    first, second, near, *rest = sentence.split(". ")
    assert not rest
    assert first.startswith("With probability ")
    assert " %, for each row by itself, chosen before the draws, " in first
    assert first.endswith(
        "over 37 fillings drawn by the imputer 'hot_deck' and over the missing values, if these have, given everything "
        "observed, the labels included, a law within 0.2 half-widths of that imputer's"
    )
    assert second.startswith("Under the same conditions ")
    assert second.count("m rows together, chosen before the draws") == second.count("1 - m ")
    assert near.startswith("A law is within 0.2 half-widths of the imputer's if it can be coupled to it so that every ")
    assert "labels of the true table" not in sentence
    labelled, *others = draws.promise_for(1, is_of_classes=is_of_classes, labels_may_differ=True).split(". ")
    assert labelled == f"{first}, and if the labels of the true table are among those that are allowed for"
    assert others == [second, near]
    exact = Draws(n_draws=37, radius=0).promise_for(1, is_of_classes=is_of_classes)
    assert "the labels included, the law of that imputer. Under" in exact
    assert exact.count(". ") == 1
    several = Draws(n_draws=37, radius=0.2, cells=2).promise_for(1, is_of_classes=is_of_classes)
    assert "a law within 0.2 half-widths, but for at most 2 values, of that imputer's. Under" in several
    assert several.endswith(
        "is the drawn one, but for at most 2 of them, which may be anywhere in their intervals, or of any level."
    )


@pytest.mark.parametrize(
    "law", [(0.5, 0.5), (0.75, 0.25), (0.8, 0.1, 0.1), (1 / 3, 1 / 3, 1 / 3), (0.6, 0.2), (0.4,) * 2]
)
@pytest.mark.parametrize("n_draws", [2, 3, 5])
def test_a_class_is_certain_and_wrong_no_more_often_than_is_said(law, n_draws):
    """Enumerated: which class is certain in a draw, or none, has any law; the truth has the same one."""
    chances = [*law, 1.0 - sum(law)]  # the last: none is certain
    wrong = 0.0
    for draws in np.ndindex(*(len(chances),) * n_draws):
        if len(set(draws)) == 1 and draws[0] < len(law):
            wrong += float(np.prod([chances[each] for each in draws])) * (1.0 - chances[draws[0]])
    assert wrong <= float(class_failure(n_draws)) + 1e-12
