"""Where the scores of training rows lie: the exact ones, of the center and of every vertex of the cells."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from ipub.certificates.scores import score_ranges
from ipub.promises import AnyFilling
from ipub.rows import MemoryRows
from support.cases import intervals
from support.oracles.rationals import exact_dot, rational, rational_rows, rationals


@pytest.mark.parametrize("scale", [0.0, 8.0])
@pytest.mark.parametrize("seed", range(10))
def test_scores_lie_between_their_bounds_exactly(seed, scale):
    rng = np.random.default_rng([seed, int(scale)])
    d, units = 4, 10.0 ** rng.uniform(-scale, scale, size=4)
    table, w = rng.normal(size=(5, d)) * units, rng.normal(size=d) / units
    table[:, -1] = -(table[:, :-1] @ w[:-1]) / w[-1]  # scores cancel: nothing is left but rounding
    radius = np.full((5, d), np.nan)
    radius[0, :2], radius[3, 1] = units[:2] * [1.0, 1e-9], 1e-14 * units[1]
    table[2] *= 1e-30
    rows = MemoryRows(intervals(table, radius), np.ones(5), np.array([1.0, 0.5, 0.0, 1.0, 0.1]))
    at = score_ranges(next(rows.blocks()), w, AnyFilling())
    cells = np.argwhere(~np.isnan(radius))
    for k, row in enumerate(rational_rows(table)):
        if rows.weight[k] == 0.0:
            continue  # nothing is said of rows that do not count
        score = exact_dot(row, rationals(w))
        assert rational(at.score_lower[k]) <= score <= rational(at.score_upper[k])
        own = [j for i, j in cells if i == k]
        for signs in itertools.product((-1, 1), repeat=len(own)):
            moved = list(row)
            for j, sign in zip(own, signs, strict=True):
                moved[j] += sign * rational(radius[k, j])
            assert rational(at.lower[k]) <= exact_dot(moved, rationals(w)) <= rational(at.upper[k])
