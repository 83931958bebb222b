"""Mutants of the places of rows that are ranked by their scores."""

from __future__ import annotations

from mutants.entry import Mutant

TESTS = ("estimators/test_ranking.py",)

MUTANTS = (
    Mutant(
        "missing values of one row only",
        "bounds_of_differences",
        "up(radius[one] + radius[other])",
        "up(radius[one])",
        TESTS,
    ),
    Mutant(
        "one level of the second row only",
        "bounds_of_differences",
        "number % counts[second][of_pair]",
        "0 * number",
        TESTS,
    ),
    Mutant("the side of the model forgotten", "_ordered", "if side > 0.0 else", "if True else", TESTS),
    Mutant(
        "a pair ordered by its best variant",
        "bounds_of_differences",
        "least = np.minimum.reduceat",
        "least = np.maximum.reduceat",
        TESTS,
    ),
    Mutant("a worst place too early by one", "possible_ranks", "m - n_below, low", "m - n_below - 1, low", TESTS),
    Mutant("a best place too late by one", "possible_ranks", "n_above + 1, m", "n_above + 2, m", TESTS),
)
