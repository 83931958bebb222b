"""Mutants of the sphere, the half-ball, the ball around zero, the intercept, and the ranges of scores."""

from __future__ import annotations

from mutants.entry import Mutant

LOSSES, PENALTIES, TABLES = (
    ("squared_error", "hinge", "huber", "log_loss"),
    ("l2", "elastic net"),
    ("normal", "integers"),
)
SOME = tuple(
    f"[{loss}-{penalty}-{table}-every second problem]" for table in TABLES for penalty in PENALTIES for loss in LOSSES
)
EXACT = tuple(
    f"soundness/test_exact.py::{test}{some}"
    for test in (
        "test_without_missing_cells_bounds_contain_the_exact_optimum",
        "test_bounds_hold_at_every_vertex_and_on_a_grid_exactly",
    )
    for some in SOME
)
EXACT_INTERCEPT = (
    "soundness/test_intercept.py",
    *(f"soundness/test_exact.py::test_bounds_with_an_intercept_hold_exactly{some}" for some in SOME),
)
SPHERE = ("certificates/test_sphere.py", "soundness/test_sphere_oracle.py", *EXACT)
BALL = (
    "certificates/test_scores.py",
    "soundness/test_labels.py::test_every_region_of_the_ball_by_itself_holds_where_nothing_curves",
    "certificates/test_ball.py::test_every_region_by_itself_holds_the_models_of_all_vertices",
    "certificates/test_ball.py::test_one_uncertain_cell_is_bounded_exactly_where_nothing_curves",
    "certificates/test_ball.py::test_a_dual_point_of_other_weights_is_paid_for",
    "soundness/test_planted_errors.py",
    *EXACT,
)
ORIGIN = ("certificates/test_origin.py", *EXACT)
LABELS = (
    "soundness/test_labels.py::test_the_ball_around_zero_counts_both_ends_of_a_target",
    "soundness/test_labels.py::test_the_ball_around_zero_counts_both_classes_of_a_row",
    "soundness/test_labels.py::test_bounds_hold_whatever_the_labels_are",
    "soundness/test_terms.py",
)
WRONG_LABELS = ("soundness/test_wrong_labels.py",)

MUTANTS = (
    # --- sphere ------------------------------------------------------------------------------------------------------
    Mutant(
        "the loss at one end of the scores",
        "_decoupled",
        "np.maximum(loss.value_upper(y, lower), loss.value_upper(y, upper))",
        "loss.value_upper(y, lower)",
        SPHERE,
    ),
    Mutant(
        "a radius without its factor 2",
        "_region",
        "up(2.0 * gap / problem.penalty.lam)",
        "up(gap / problem.penalty.lam)",
        SPHERE,
    ),
    Mutant(
        "a dual value without the cells of columns",
        "gap_upper",
        "up(np.abs(end) + spread)",
        "up(np.abs(end))",
        SPHERE,
    ),
    Mutant(
        "the product of weights and dual point with the wrong sign",
        "gap_upper",
        "up(-w * end)",
        "up(w * end)",
        SPHERE,
    ),
    Mutant(
        "an unbalanced dual point that costs nothing",
        "gap_upper",
        "up(np.maximum(*np.abs(ends)) * intercept_distance)",
        "0.0 * up(np.maximum(*np.abs(ends)) * intercept_distance)",
        EXACT_INTERCEPT,
    ),
    Mutant(
        "the conjugate left out of an incomplete row",
        "_decoupled",
        "up(up(highest_loss + loss.conjugate_upper(y, a)) + product)",
        "up(highest_loss + product)",
        SPHERE,
    ),
    Mutant(
        "the sum of another model",
        "Problem.reduce",
        "found if _is_same(args, known) else self.rows.reduce(kernel, *args)",
        "self.rows.reduce(kernel, *args) if known is None else found",
        SPHERE,
    ),
    Mutant(
        "arrays of other numbers are the same",
        "_is_same",
        "type(first) is type(second) and np.array_equal(first, second)",
        "type(first) is type(second)",
        SPHERE,
    ),
    Mutant(
        "the largest size of the last rows left out",
        "column_squares_and_maxima",
        "np.maximum(*largest)",
        "largest[0]",
        ("rows/test_rows.py",),
    ),
    Mutant(
        "the squares of the last rows left out",
        "column_squares_and_maxima",
        "squares[0] + squares[1]",
        "squares[0]",
        ("rows/test_rows.py",),
    ),
    # --- half-ball ---------------------------------------------------------------------------------------------------
    Mutant("half of eps", "_roots", "up(eps / lam)", "up(eps / (2.0 * lam))", BALL),
    Mutant(
        "half the radius of the gradient",
        "_roots",
        "half = up(norms / (2.0 * lam))",
        "half = up(norms / (4.0 * lam))",
        BALL,
    ),
    Mutant(
        "a center twice as far away",
        "_half_balls",
        "down(w - up(high / (2.0 * lam))), up(w - down(low / (2.0 * lam)))",
        "down(w - up(high / lam)), up(w - down(low / lam))",
        BALL,
    ),
    Mutant(
        "a row that keeps pays nothing",
        "_ball_sums",
        "np.where(adapts, 0.0, residual[:, None])",
        "np.where(adapts, 0.0, 0.0 * residual[:, None])",
        BALL,
    ),
    Mutant(
        "a row that adapts has one slope",
        "_ball_sums",
        "np.where(adapts, spread[:, None], 0.0)",
        "np.where(adapts, 0.0 * spread[:, None], 0.0)",
        BALL,
    ),
    Mutant(
        "cells without the spread of the slope",
        "_ball_sums",
        "np.abs(slope_w) + loose_w",
        "np.abs(slope_w)",
        BALL,
    ),
    Mutant(
        "the residual at one end of the scores",
        "_ball_sums",
        "np.maximum(loss.residual_upper(y, at.lower, a), loss.residual_upper(y, at.upper, a))",
        "loss.residual_upper(y, at.upper, a)",
        BALL,
    ),
    Mutant(
        "an unbalanced gradient that costs nothing",
        "_regions",
        "up(eps + up(imbalance * intercept_distance).sum(axis=1))",
        "up(eps)",
        EXACT_INTERCEPT,
    ),
    Mutant("a radius without the ball of the rows", "_regions", "up(roots + each.extra)", "up(roots)", BALL),
    Mutant("a box without the spread of the rows", "_regions", "up(cells + row_box)", "cells", BALL),
    Mutant(
        "a norm without the ball of the rows",
        "_half_balls",
        "up(norm_upper(np.maximum(np.abs(low), np.abs(high))) + balls)",
        "up(norm_upper(np.maximum(np.abs(low), np.abs(high))))",
        BALL,
    ),
    Mutant(
        "the gradient without its rounding",
        "_regions",
        "up(cell_box + error)",
        "cell_box",
        ("soundness/test_exact.py::test_the_rounding_of_a_gradient_that_loses_small_terms_is_counted",),
    ),
    Mutant(
        "the mirror image of the half-ball",
        "_ball_sums",
        "np.where(adapts, middle[:, None], -a[:, None])",
        "np.where(adapts, middle[:, None], a[:, None])",
        BALL,
    ),
    Mutant(
        "uncertain labels left out",
        "_ball_sums",
        "np.where(label_change > 0.0, up(high + label_change), high)",
        "high",
        LABELS,
    ),
    Mutant(
        "flipped rows without their box",
        "_regions",
        "wrong.coordinates.added_to(row_box, total)",
        "row_box",
        WRONG_LABELS,
    ),
    Mutant(
        "flipped rows without their norm", "_regions", "wrong.norms.added_to(row_norm, total)", "row_norm", WRONG_LABELS
    ),
    Mutant(
        "flipped rows without their cells",
        "_regions",
        "wrong.cells.added_to(cell_box, total)",
        "cell_box",
        ("soundness/test_wrong_labels.py::test_the_ball_counts_the_cells_of_a_row_whose_right_label_is_flat",),
    ),
    # --- ball around zero --------------------------------------------------------------------------------------------
    Mutant(
        "half the objective at zero",
        "around_zero",
        "at_zero / problem.penalty.lam",
        "at_zero / (2.0 * problem.penalty.lam)",
        ORIGIN,
    ),
    Mutant(
        "every row of one class",
        "_origin_sums",
        "np.repeat([[-1.0], [1.0]]",
        "np.repeat([[1.0], [1.0]]",
        (*EXACT_INTERCEPT, *ORIGIN),
    ),
    Mutant(
        "one end of a doubtful target",
        "_origin_sums",
        "value_upper = np.maximum(*(loss.value_upper(end, scores) for end in ends))",
        "value_upper = loss.value_upper(ends[0], scores)",
        LABELS,
    ),
    Mutant(
        "a weight that is not doubled",
        "_origin_sums",
        "up(1.0 + weight_radius)",
        "up(1.0 + 0.0 * weight_radius)",
        LABELS,
    ),
    Mutant(
        "flipped rows left out",
        "around_zero",
        "sums.more.added_to(sum_upper(sums.values / rows.total_weight, rows.depth + 5), rows.total_weight)",
        "sum_upper(sums.values / rows.total_weight, rows.depth + 5)",
        ("soundness/test_wrong_labels.py::test_the_origin_counts_the_wrong_labels",),
    ),
    # --- bracket of the intercept ------------------------------------------------------------------------------------
    Mutant(
        "scores of the wrong end",
        "_slope_sums",
        "up(high[:, None] + below), down(low[:, None] + above)",
        "up(low[:, None] + below), down(high[:, None] + above)",
        EXACT_INTERCEPT,
    ),
    Mutant(
        "rows without their cells",
        "_score_ends",
        "np.where(block.incomplete, move, 0.0)",
        "np.where(block.incomplete, 0.0 * move, 0.0)",
        EXACT_INTERCEPT,
    ),
    Mutant(
        "derivatives of the wrong side of a kink",
        "_slope_sums",
        "loss.derivative_range(y, highest, highest)[1], loss.derivative_range(y, lowest, lowest)[0]",
        "loss.derivative_range(y, highest, highest)[0], loss.derivative_range(y, lowest, lowest)[1]",
        EXACT_INTERCEPT,
    ),
    Mutant(
        "a trial that is above by being level",
        "narrow_bracket",
        "upper = min([upper, *above[lowest > 0.0]])",
        "upper = min([upper, *above[lowest >= -0.1]])",
        EXACT_INTERCEPT,
    ),
    Mutant(
        "the nearer end of a bracket",
        "distance_from",
        "np.maximum(up(np.abs(here - bracket[0])), up(np.abs(bracket[1] - here)))",
        "np.minimum(up(np.abs(here - bracket[0])), up(np.abs(bracket[1] - here)))",
        EXACT_INTERCEPT,
    ),
    Mutant(
        "a sum of slopes without its rounding",
        "narrow_bracket",
        "up(sums.highest + sum_error(sums.highest_size, problem.rows.depth + 5))",
        "sums.highest",
        ("soundness/test_intercept.py::test_the_rounding_of_slopes_that_lose_small_terms_is_counted",),
    ),
    Mutant(
        "uncertain labels do not move the slopes",
        "_slope_sums",
        "up(most + uncertainty.derivative_change(block, loss, highest, highest))",
        "most",
        LABELS,
    ),
    Mutant(
        "flipped rows do not move the slopes",
        "narrow_bracket",
        "highest = sums.rise.added_to(",
        "highest = np.asarray(",
        WRONG_LABELS,
    ),
    # --- scores ------------------------------------------------------------------------------------------------------
    Mutant(
        "cells move a score down only",
        "score_ranges",
        "up(upper[holed] + spread)",
        "up(upper[holed])",
        BALL,
    ),
    Mutant(
        "half of what cells move a score by",
        "score_ranges",
        "spread = sum_upper(uncertainty.score_change(block, w)",
        "spread = 0.5 * sum_upper(uncertainty.score_change(block, w)",
        BALL,
    ),
    Mutant(
        "scores taken for exact",
        "score_ranges",
        "down(score - error), up(score + error)",
        "score, score",
        ("certificates/test_scores.py",),
    ),
    Mutant(
        "half of a doubtful weight",
        "UncertainLabels.derivative_change",
        "up(weight_radius * np.maximum(",
        "up(0.5 * weight_radius * np.maximum(",
        LABELS,
    ),
    Mutant(
        "half of a doubtful target",
        "UncertainLabels.derivative_change",
        "steepest * radius",
        "0.5 * steepest * radius",
        LABELS,
    ),
    Mutant("the slope at the target alone", "UncertainLabels.derivative_change", "up(upper + radius)", "upper", LABELS),
)
