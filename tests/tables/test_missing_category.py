"""How far a missing category can move a score or a column, over all of its levels."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from ipub.tables.missing_category import Levels, MissingCategories
from support.oracles.rationals import exact_dot, rational, rationals

LEVELS = (Levels(np.arange(1, 4)), Levels(np.arange(4, 6)))
CHOICES = MissingCategories(np.array([0, 0, 2]), np.array([0, 1, 1]), LEVELS)


def changes(levels: Levels) -> list[list]:
    """Return the exact vectors from the mean of all levels to each of them."""
    share = rational(1) / len(levels.columns)
    return [
        [rational(int(column == level)) - share if column in levels.columns else rational(0) for column in range(6)]
        for level in levels.columns
    ]


@pytest.mark.parametrize("seed", range(20))
def test_no_level_moves_a_score_farther_than_its_spread(seed):
    rng = np.random.default_rng(seed)
    w = rng.normal(size=6) * 10.0 ** rng.uniform(-8.0, 8.0, size=6)
    for spread, category in zip(CHOICES.score_change(w), CHOICES.categories, strict=True):
        assert rational(spread) >= max(abs(exact_dot(d, rationals(w))) for d in changes(LEVELS[category]))


@pytest.mark.parametrize("seed", range(20))
def test_no_level_changes_a_score_by_more_than_is_said_whatever_the_move(seed):
    limits = np.random.default_rng(seed).uniform(0.0, 1.0, size=6)
    for change, category in zip(CHOICES.score_change_within(limits), CHOICES.categories, strict=True):
        for signs in itertools.product((-1, 1), repeat=6):
            v = [sign * rational(size) for sign, size in zip(signs, limits, strict=True)]
            # Who adds these up rounds the sum.
            assert rational(change * (1.0 + 1e-15)) >= max(abs(exact_dot(d, v)) for d in changes(LEVELS[category]))


def test_a_column_moves_by_no_more_than_its_sum():
    values = np.array([0.5, 2.0, 3.0])
    sums = CHOICES.column_change(values, 6)
    for column in range(6):
        most = sum(
            rational(value) * max(abs(d[column]) for d in changes(LEVELS[category]))
            for value, category in zip(values, CHOICES.categories, strict=True)
        )
        assert rational(sums[column] * (1.0 + 1e-15)) >= most


def test_choices_within_some_rows_are_counted_from_the_first_of_them():
    inside = CHOICES.within(slice(1, 4))
    np.testing.assert_array_equal(inside.rows, [1])
    np.testing.assert_array_equal(inside.categories, [1])
