"""Row sums of the hinge where they are hard: next to no penalty, odd scales, a column that is all missing."""

from __future__ import annotations

import numpy as np
import pytest

from ipub.certificates import RowSumBounds
from ipub.certificates.per_row.ruled_out_scores import narrow_by_ruling_out
from ipub.certificates.row_sums.prove import narrowed
from support import hard_tables
from support.exact_ranges import EFFORT, assert_hold, assert_not_ruled_out, exact_models, known_ranges, n_sides
from support.oracles.rationals import holds

N_ROWS = 6
"""The exact model of a hinge takes long for many rows."""

OF_FEW_ROWS = (
    hard_tables.next_to_no_penalty,
    hard_tables.next_to_no_penalty_and_an_intercept,
    hard_tables.a_badly_trained_model,
    hard_tables.a_huge_column,
    hard_tables.a_tiny_column,
    hard_tables.a_huge_and_a_tiny_column,
)


DRAWN = (*OF_FEW_ROWS, hard_tables.a_column_that_is_all_missing)

LONG = hard_tables.a_huge_column
"""A table with a tiny column too is drawn beside it."""


@pytest.mark.parametrize(
    "draw",
    [pytest.param(draw, marks=[pytest.mark.long] if draw is LONG else []) for draw in DRAWN],
    ids=lambda draw: draw.__name__,
)
def test_no_exact_model_leaves_ranges_or_has_a_score_that_is_ruled_out(draw, report_proofs):
    count, n_narrower = 0, 0
    for seed in (0, 3):
        rng = np.random.default_rng([50, seed])
        case, solution = draw(rng, "hinge", N_ROWS) if draw in OF_FEW_ROWS else draw(rng, "hinge")
        models = exact_models(case, inner=int(case.matrix.n_uncertain == 2))
        with np.errstate(all="ignore"):
            start = known_ranges(case, solution, ("ball", "slope")[seed % 2])
            ranges = narrowed(start, leaves_out_constant=True)
            widths = [np.subtract(*RowSumBounds(each).ends(case.X_test)[::-1]) for each in (start, ranges)]
            n_narrower += bool((widths[1] < widths[0]).any())
            count += assert_hold(start, models, case.X_test) + assert_hold(ranges, models, case.X_test)
            for t in case.X_test[:2]:
                for sign in (-1.0, 1.0):
                    count += assert_not_ruled_out(rng, ranges, sign * t, models)
                bounds = tuple(float(end[0]) for end in RowSumBounds(ranges).ends(t[None]))
                narrow = narrow_by_ruling_out(ranges, t, bounds, EFFORT)
                assert all(holds(narrow, model.score(t)) for model in models)
                count += n_sides(ranges, t, models)
    assert n_narrower > 0
    report_proofs(count)
