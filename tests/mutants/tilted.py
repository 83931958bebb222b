"""Mutants of tilted half-balls (thm-tilted)."""

from __future__ import annotations

from mutants.entry import Mutant

SOUND = "soundness/test_tilted.py"
BRACKETS = f"{SOUND}::test_no_completion_has_a_larger_bracket_than_all_together"
CERTAIN = f"{SOUND}::test_without_uncertain_cells_the_bracket_is_that_of_the_table"
EXACT = f"{SOUND}::test_no_exact_model_has_a_higher_score_than_any_reference_allows"
SEARCHED = f"{SOUND}::test_searched_bounds_are_narrower_than_the_half_ball_and_hold"
SPREAD = f"{SOUND}::test_what_is_left_of_a_change_of_the_gradient_is_within_the_spread"
NORM = f"{SOUND}::test_the_norm_of_sums_of_vectors_is_bounded"
REFUSED = f"{SOUND}::test_missing_categories_and_uncertain_labels_are_refused"
OVERFLOW = f"{SOUND}::test_what_overflows_bounds_nothing_and_too_many_free_rows_are_refused"
ROUNDING = f"{SOUND}::test_a_bound_of_a_certain_table_is_not_below_the_exact_one"


def mutant(name: str, where: str, old: str, new: str, *tests: str, equivalent: str = "") -> Mutant:
    """Return a mutant."""
    return Mutant(name, where, old, new, tests, equivalent)


MUTANTS = (
    # --- rows ---------------------------------------------------------------------------------------------------------
    mutant(
        "a kept row pays at its center alone",
        "tilted_sums",
        "paid = loss.residual_upper_between(y, scores.lower, scores.upper, a)",
        "paid = loss.residual_upper_between(y, scores.score_lower, scores.score_upper, a)",
        BRACKETS,
    ),
    mutant(
        "a free row has the derivative of its center",
        "tilted_sums",
        "low, high = loss.derivative_range(y, scores.lower, scores.upper)",
        "low, high = loss.derivative_range(y, scores.score_lower, scores.score_upper)",
        BRACKETS,
    ),
    mutant("complete rows adapt for nothing", "tilted_sums", "adapts = scores.incomplete & (", "adapts = (", CERTAIN),
    mutant(
        "cells meet the middle of a derivative alone",
        "tilted_sums",
        "weight * (np.abs(slope) + radius)",
        "weight * np.abs(slope)",
        BRACKETS,
    ),
    mutant(
        "incomplete rows follow",
        "_following_rows",
        "~scores.incomplete & (np.abs(dual_score - jump) < distance)",
        "np.abs(dual_score - jump) < distance",
        BRACKETS,
    ),
    mutant(
        "rows follow the wrong way",
        "_following_rows",
        "fractions = -LESS_THAN_ONE",
        "fractions = LESS_THAN_ONE",
        SEARCHED,
        BRACKETS,
    ),
    mutant(
        "a row that follows pays less in the middle",
        "_following_rows",
        "up(0.5 * paid_low + 0.5 * paid_high)",
        "np.minimum(paid_low, paid_high)",
        BRACKETS,
    ),
    mutant(
        "what a row that follows pays does not change",
        "_following_rows",
        "        0.5 * paid_high - 0.5 * paid_low,\n",
        "        0.0 * paid_high,\n",
        BRACKETS,
    ),
    mutant(
        "what a row that follows pays changes the wrong way",
        "_following_rows",
        "        0.5 * paid_high - 0.5 * paid_low,\n",
        "        0.5 * paid_low - 0.5 * paid_high,\n",
        BRACKETS,
    ),
    mutant(
        "rows that follow have weight one",
        "tilted_sums",
        "weighted_radius = weight[near] * following.radius",
        "weighted_radius = following.radius",
        BRACKETS,
    ),
    mutant(
        "free rows have weight one",
        "tilted_sums",
        "((weight[free] * radius[free])[:, None] * X[free],)",
        "(0.1 * radius[free][:, None] * X[free],)",
        BRACKETS,
    ),
    # --- the bracket --------------------------------------------------------------------------------------------------
    mutant(
        "cells do not move the gradient",
        "TiltedHalfBall.of",
        "up(sum_upper(sums.cell_box / total, roundings) + error)",
        "error",
        BRACKETS,
    ),
    mutant(
        "the l1 penalty pays nothing",
        "TiltedHalfBall.of",
        "sum_upper(np.maximum(l1, 0.0).sum(), d + 8)",
        "0.0",
        BRACKETS,
    ),
    mutant(
        "signs beyond one",
        "TiltedHalfBall.of",
        "np.clip(at.signs, -1.0, 1.0)",
        "at.signs",
        f"{SOUND}::test_signs_beyond_one_count_as_one",
    ),
    mutant(
        "rows that follow do not answer in T",
        "_moved",
        "moved = sources + ratios @ shifts",
        "moved = sources",
        BRACKETS,
    ),
    mutant(
        "rows that follow answer twice",
        "_moved",
        "moved = sources + ratios @ shifts",
        "moved = sources + 2.0 * ratios @ shifts",
        SPREAD,
    ),
    mutant("free rows are no source", "_moved", "np.vstack([np.diag(box), vectors])", "np.diag(box)", BRACKETS),
    mutant(
        "the box is no source",
        "_moved",
        "np.vstack([np.diag(box), vectors])",
        "np.vstack([0.0 * np.diag(box), vectors])",
        BRACKETS,
    ),
    mutant(
        "capacity of the box alone",
        "_capacity",
        "least = up(sum_upper(np.abs(followed) @ box, len(box) + 1) + of_vectors)",
        "least = sum_upper(np.abs(followed) @ box, len(box) + 1)",
        BRACKETS,
    ),
    mutant(
        "capacity of the free rows alone",
        "_capacity",
        "least = up(sum_upper(np.abs(followed) @ box, len(box) + 1) + of_vectors)",
        "least = up(of_vectors)",
        BRACKETS,
    ),
    mutant(
        "the linear part without residuals",
        "TiltedHalfBall._linear_upper",
        "factors = self.shifts @ p / (2.0 * self.lam) + self.eps_slopes",
        "factors = self.shifts @ p / (2.0 * self.lam)",
        BRACKETS,
    ),
    mutant(
        "the linear part without answers",
        "TiltedHalfBall._linear_upper",
        "q = p / (2.0 * self.lam) + (factors / self.capacity) @ self.followed",
        "q = p / (2.0 * self.lam)",
        BRACKETS,
    ),
    mutant(
        "the linear part without the box",
        "TiltedHalfBall._linear_upper",
        "of_box = sum_upper(up(np.abs(q) + error) @ self.box, d + 1)",
        "of_box = 0.0",
        BRACKETS,
    ),
    mutant(
        "the linear part without free rows",
        "TiltedHalfBall._linear_upper",
        "sum_upper(of_vectors.sum(), len(of_vectors) + 1)",
        "0.0",
        BRACKETS,
    ),
    mutant(
        "no spread",
        "TiltedHalfBall.score_upper",
        "up(up(size * size) + up(spread * spread))",
        "up(size * size)",
        BRACKETS,
    ),
    mutant(
        "no gradient",
        "TiltedHalfBall.score_upper",
        "up(up(size * size) + up(spread * spread))",
        "up(spread * spread)",
        CERTAIN,
    ),
    mutant("half a quadratic", "TiltedHalfBall.score_upper", "/ (4.0 * lam))", "/ (8.0 * lam))", CERTAIN),
    mutant("no tilt", "TiltedHalfBall.score_upper", "p = self.gradient - t * x\n", "p = self.gradient\n", CERTAIN),
    mutant(
        "the bracket is not over t", "TiltedHalfBall.score_upper", "up(up(total) / t)", "up(up(total) * t)", CERTAIN
    ),
    mutant(
        "the intercept costs nothing",
        "TiltedHalfBall.score_upper",
        "            total = up(total + up(off * intercept_distance).sum())\n",
        "",
        CERTAIN,
    ),
    mutant(
        "free rows do not tilt the intercept",
        "TiltedHalfBall.score_upper",
        "up(up(np.abs(p[free]) + self.free_spread) + rounding[free])",
        "up(np.abs(p[free]) + rounding[free])",
        BRACKETS,
    ),
    mutant(
        "the norm of a sum by its largest vector",
        "_sum_norm_upper",
        "return float(np.fmin.reduce([best, *found]))",
        "return float(sizes.max())",
        NORM,
    ),
    mutant(
        "what overflows is a bound",
        "TiltedHalfBall.score_upper",
        "return bound if np.isfinite(bound) else np.inf",
        "return bound",
        OVERFLOW,
    ),
    # --- use ----------------------------------------------------------------------------------------------------------
    mutant(
        "intercepts are as near as the nearer end",
        "TiltedSearch._evaluated",
        "distance = float(np.maximum(up(",
        "distance = float(np.minimum(up(",
        f"{SOUND}::test_an_intercept_may_be_at_the_farther_end",
    ),
    mutant(
        "missing categories are not refused",
        "reason_against_tilts",
        "    if problem.rows.categories:\n",
        "    if False:\n",
        REFUSED,
    ),
    mutant(
        "uncertain labels are not refused",
        "reason_against_tilts",
        "    if problem.rows.uncertain_labels:\n",
        "    if False:\n",
        REFUSED,
    ),
    Mutant(
        "the lower end is an upper bound",
        "PreparedPointwise.narrowed",
        "bounds[k, 0] = -tilted.score_upper(-x, -bounds[k, 0], 0.5 * for_tilts)",
        "bounds[k, 0] = tilted.score_upper(-x, -bounds[k, 0], 0.5 * for_tilts)",
        (SEARCHED,),
    ),
    # --- rounding -----------------------------------------------------------------------------------------------------
    mutant(
        "the sum of the gradient is exact",
        "TiltedHalfBall.of",
        "error = up(sum_error(sums.gradient_size / total, roundings) + 4.0 * EPS * np.abs(loss_gradient))",
        "error = 0.0 * loss_gradient",
        ROUNDING,
    ),
)
