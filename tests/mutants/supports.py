"""Mutants of supports in generic directions, and of what a file without rows is made of."""

from __future__ import annotations

from mutants.entry import Mutant

SUPPORTS = ("model_sets/test_supports.py",)
EXACT = (f"{SUPPORTS[0]}::test_every_combination_is_bounded_from_above_exactly", *SUPPORTS)
WITHOUT_ROWS = ("training/test_without_rows.py",)

MUTANTS = (
    Mutant(
        "what combinations leave of a row is not counted",
        "SupportBounds.upper_bounds",
        "return up(combined + sum_upper((rest * self._sizes).sum(axis=1), X.shape[1] + 1))",
        "return up(combined + 0.0 * rest[:, 0])",
        EXACT,
    ),
    Mutant(
        "what combinations leave of a row, without its rounding",
        "SupportBounds.upper_bounds",
        "rest = up(up(rest) + sum_error(np.matmul(c[:, None, :], np.abs(Y))[:, 0], roundings))",
        "rest = up(rest)",
        EXACT,
    ),
    Mutant(
        "a sum of ends that is rounded inward",
        "SupportBounds.upper_bounds",
        "combined = up((c * ends).sum(axis=1) + error)",
        "combined = (c * ends).sum(axis=1) - error",
        EXACT,
    ),
    Mutant(
        "the wrong end of a direction that is taken with a minus",
        "SupportBounds.upper_bounds",
        "np.where(sign > 0.0, self.upper[which], -self.lower[which])",
        "np.where(sign > 0.0, self.upper[which], -self.upper[which])",
        EXACT,
    ),
    Mutant(
        "negative factors",
        "SupportBounds.upper_bounds",
        "np.where((c > 0.0) & (c < LARGEST_FACTOR), c, 0.0)",
        "np.where(c < LARGEST_FACTOR, c, 0.0)",
        EXACT,
    ),
    Mutant(
        "sizes of weights by one end",
        "SupportBounds._sizes",
        "np.maximum(np.abs(self.lower[:d]), np.abs(self.upper[:d]))",
        "np.abs(self.upper[:d])",
        EXACT,
    ),
    Mutant(
        "lower ends of other rows",
        "SupportBounds.ends",
        "return -highest[len(X) :], highest[: len(X)]",
        "return -highest[: len(X)], highest[len(X) :]",
        SUPPORTS,
    ),
    Mutant(
        "supports of the first draw alone",
        "_without_rows",
        "supports = None if directions is None else SupportBounds.of(certificate.score_bounds, directions)",
        "supports = None if directions is None else SupportBounds.of("
        "(certificate if draws is None else draws.members[0]).score_bounds, directions)",
        (f"{WITHOUT_ROWS[0]}::test_draws_are_one_set_in_a_file_without_rows",),
    ),
    Mutant(
        "values of single rows in directions",
        "_drawn_rows",
        "min(n // FEWEST_ROWS, MOST_BINS)",
        "n",
        (f"{WITHOUT_ROWS[0]}::test_another_complete_row_moves_directions_and_supports_little",),
    ),
    Mutant(
        "directions made of a single row",
        "_sums_over_many",
        "np.where(FEWEST_ROWS * np.array(largest) <= (1.0 + 1e-9) * sizes, (V.T * weight) @ V, 0.0)",
        "(V.T * weight) @ V",
        (f"{WITHOUT_ROWS[0]}::test_a_value_in_few_rows_makes_no_direction_of_them", *WITHOUT_ROWS),
    ),
    Mutant(
        "columns that are measured from their mean",
        "_middle",
        "found: Array = by_value[first : first + n_middle].mean(axis=0)",
        "found: Array = by_value.mean(axis=0)",
        (f"{WITHOUT_ROWS[0]}::test_a_value_in_few_rows_makes_no_direction_of_them", *WITHOUT_ROWS),
    ),
    Mutant(
        "the curvature of few rows",
        "_hessian",
        "found if sums[-1, -1] > 0.0 else np.zeros_like(found)",
        "back @ np.column_stack([rows - middle, np.ones(len(rows))]).T @ "
        "(curvature[:, None] * np.column_stack([rows - middle, np.ones(len(rows))])) @ back.T",
        (f"{WITHOUT_ROWS[0]}::test_a_loss_that_is_curved_at_few_rows_makes_no_direction_of_them", *WITHOUT_ROWS),
    ),
)
