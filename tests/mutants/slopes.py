"""Mutants of the slope certificate, of pointwise bounds, and of the blocks and sets that it adds up."""

from __future__ import annotations

from mutants.entry import Mutant

SLOPE, SUMMED_CELLS = "soundness/test_slope.py", "soundness/test_summed_cells.py"
SMOOTH = ("squared_error", "huber", "log_loss", "smoothed_hinge")
FORCES = tuple(
    f"{SLOPE}::test_forces_hold_for_every_move_of_a_set_exactly[{loss}-l2-{size}]"
    for size in ("0.5", "1e-06")
    for loss in SMOOTH
)
L1_FORCES = tuple(
    f"{SLOPE}::test_forces_hold_for_every_move_of_a_set_exactly[{loss}-elastic net-0.5]" for loss in SMOOTH
)
JUMPS = tuple(f"{SLOPE}::test_forces_hold_for_every_move_of_a_set_exactly[hinge-l2-{size}]" for size in ("0.5", "0.02"))
HESSIANS = tuple(f"{SLOPE}::test_hessians_and_norms_of_gradients_hold_exactly[{loss}-l2]" for loss in SMOOTH)
NORMS = HESSIANS
MODELS = tuple(
    f"{SLOPE}::test_every_claim_on_the_models_of_completions_holds_exactly[{loss}-l2-no intercept]" for loss in SMOOTH
)
L1_MODELS = tuple(
    f"{SLOPE}::test_every_claim_on_the_models_of_completions_holds_exactly[{loss}-elastic net-no intercept]"
    for loss in SMOOTH
)
JUMP_MODELS = tuple(
    f"{SLOPE}::test_every_claim_on_the_models_of_completions_holds_exactly[hinge-{penalty}-no intercept]"
    for penalty in ("l2", "elastic net")
)
CELLS = tuple(
    f"soundness/test_cell_terms.py::{test}"
    for test in (
        "test_each_cell_has_what_the_lemmas_say",
        "test_bounds_of_forces_are_attained",
        "test_cells_add_what_lemma_7_says_whether_looked_at_or_not",
    )
)
SUMMED = tuple(
    f"{SUMMED_CELLS}::test_forces_hold_whatever_was_chosen[{loss}-l2-{size}]"
    for size in ("0.5", "0.0", "0.02")
    for loss in SMOOTH
)
SUMMED_NORMS = tuple(f"{SUMMED_CELLS}::test_hessians_and_norms_hold_whatever_was_chosen[{loss}-l2]" for loss in SMOOTH)
TERMS = (
    "soundness/test_terms.py",
    "soundness/test_missing_categories.py::test_bounds_hold_for_every_level_exactly",
)
LABELS = ("soundness/test_terms.py", "soundness/test_labels.py::test_bounds_hold_whatever_the_labels_are")
CHOICES = ("soundness/test_choices.py",)
FEW_ROWS = (
    "soundness/test_redrawn.py::test_forms_without_training_rows_lose_nothing",
    "soundness/test_redrawn.py::test_bounds_without_training_rows_hold_however_few_rows_are_incomplete",
)


def planted(*names: str) -> tuple[str, ...]:
    """Return tests of planted errors: they hold on the unchanged source first, where such an error is noticed."""
    return tuple(f"{SLOPE}::test_a_planted_error_is_caught[{name}]" for name in names)


MUTANTS = (
    # --- lines --------------------------------------------------------------------------------------------------------
    Mutant(
        "an uncertain label that does not widen a line",
        "row_lines",
        "up(radius + label_change)",
        "up(radius + 0.0 * label_change)",
        LABELS,
    ),
    Mutant(
        "half a jump of a derivative",
        "_line_sums",
        "derivative_radius = weight * lines.derivative_radius",
        "derivative_radius = 0.5 * weight * lines.derivative_radius",
        planted("half a jump", "no rows at a jump"),
    ),
    Mutant(
        "slope radii with the square of the weights",
        "_line_sums",
        "weight * lines.slope_radius",
        "weight**2 * lines.slope_radius",
        (*planted("no radius of slopes"), *HESSIANS, *FORCES),
    ),
    Mutant(
        "cells do not move a score under another model",
        "row_lines",
        "up(row_move[incomplete] + cell_move[incomplete])",
        "up(row_move[incomplete])",
        ("soundness/test_terms.py::test_a_line_reaches_as_far_as_a_cell_moves_the_score",),
    ),
    Mutant(
        "incomplete rows of half their weight",
        "_incomplete_rows",
        "weight=block.weight[which] / total",
        "weight=0.5 * block.weight[which] / total",
        (*planted("half the generators"), *FORCES),
    ),
    Mutant(
        "a gradient without its rounding",
        "linearize",
        "gradient_error=up(error + sum_upper(sums.derivative_error / total, roundings))",
        "gradient_error=0.0 * error",
        planted("no rounding of the gradient"),
    ),
    Mutant(
        "curvatures between scores that are too near",
        "row_lines",
        "down(lower - move), up(upper + move))\n    else",
        "down(lower), up(upper))\n    else",
        planted("only slopes from the trained model"),
    ),
    Mutant(
        "half of a level line over a jump",
        "_lay_over_jumps",
        "np.where(has_cells, level_half,",
        "np.where(has_cells, 0.5 * level_half,",
        (*planted("half a jump", "no rows at a jump"), *JUMPS),
    ),
    Mutant(
        "the curvature of a row that may have no weight",
        "row_lines",
        "weight_radius > 0.0, 0.0, least)",
        "weight_radius > 0.0, least, least)",
        (
            "soundness/test_terms.py::test_where_one_class_is_flat_an_unknown_label_may_take_all_the_curvature_or_none",
            *LABELS,
        ),
    ),
    # --- Hessians: lem-hessian ----------------------------------------------------------------------------------------
    Mutant(
        "a row keeps what its cells take",
        "hessian_loss",
        "down(least - up(greatest * paid_share))",
        "least",
        HESSIANS,
    ),
    Mutant(
        "half of what cells are paid along themselves",
        "hessian_lower",
        "np.diag(center.lam - lost.diagonal - slack)",
        "np.diag(center.lam - 0.5 * lost.diagonal - slack)",
        HESSIANS,
    ),
    Mutant(
        "a lower Hessian with the slopes of the lines",
        "hessian_lower",
        "center.gram - center.slope_radius_form - lost.form",
        "center.gram - lost.form",
        HESSIANS,
    ),
    Mutant(
        "an upper Hessian without what cells add to rows",
        "hessian_gain",
        "up(greatest * up(1.0 + paid_share))",
        "greatest",
        (*planted("no gain of the Hessian"), *HESSIANS),
    ),
    Mutant(
        "the rows of a Hessian without their loss",
        "hessian_lower",
        "- lost.form - flipped",
        "- flipped",
        (*planted("no loss of the Hessian"), *HESSIANS),
    ),
    Mutant(
        "a Hessian that wrong labels do not touch",
        "hessian_lower",
        "- flipped * curvature",
        "- 0.0 * flipped * curvature",
        ("soundness/test_wrong_labels.py::test_flipped_rows_curve_no_less_than_the_bound_of_the_hessian_says",),
    ),
    # --- cells: lem-cell-gradient and lem-cell-product ----------------------------------------------------------------
    Mutant(
        "half the curvature along cells",
        "cell_curvatures",
        "up(3.0 * steepest - flattest)[i]",
        "0.5 * up(3.0 * steepest - flattest)[i]",
        CELLS,
    ),
    Mutant(
        "half the curvature along rows",
        "cell_curvatures",
        "row=up(weight * up(score_change * change[i]))",
        "row=up(0.5 * weight * up(score_change * change[i]))",
        CELLS,
    ),
    Mutant(
        "cells of one row that do not meet",
        "cell_curvatures",
        "crossing=np.where(several, up(m * up(change * row_change)), 0.0)",
        "crossing=0.0 * m",
        (*planted("no crossing"), *FORCES),
    ),
    Mutant(
        "cells of one row that do not meet along a cell",
        "cell_curvatures",
        "crossing_cells=np.where(several[i], others, 0.0)",
        "crossing_cells=0.0 * others",
        (*planted("no slack of cells", "no crossing"), *FORCES),
    ),
    Mutant(
        "products along cells dropped",
        "cell_products",
        "cell=up(R * up(weighted_slope[i] * incomplete.lines.row_move[i]))",
        "cell=0.0 * R",
        ("soundness/test_cell_terms.py::test_each_cell_has_what_the_lemmas_say",),
    ),
    Mutant(
        "generators with the wrong sign along rows",
        "cell_generators",
        "rise, level = 0.5 * above - 0.5 * below,",
        "rise, level = 0.5 * below - 0.5 * above,",
        (*planted("half the generators", "a shift with the wrong sign"), *FORCES),
    ),
    Mutant(
        "a shift along rows with the wrong sign",
        "cell_generators",
        "row_shift=weight * (level - center)",
        "row_shift=weight * (center - level)",
        (*planted("a shift with the wrong sign"), *FORCES),
    ),
    Mutant(
        "products of two cells dropped",
        "cell_slacks",
        "at_cells = incomplete.lines.slope * incomplete.lines.cell_move",
        "at_cells = 0.0 * incomplete.lines.slope * incomplete.lines.cell_move",
        (*planted("no slack of cells", "no move of cells"), *FORCES),
    ),
    Mutant(
        "a force without the second order of cells",
        "cell_slacks",
        "0.5 * curvatures.row, curvatures.crossing_cells + second_order",
        "0.0 * curvatures.row, 0.0 * second_order",
        (*planted("no slack of the force"), *NORMS),
    ),
    Mutant(
        "three parts of a row make several",
        "IncompleteRows.has_several_parts",
        "self.cell_counts + self.choice_counts > 1",
        "self.cell_counts + self.choice_counts > 2",
        (*planted("no crossing"), *FORCES),
    ),
    Mutant(
        "a cell whose sign is certain too early",
        "CellTable.certain_ratios",
        "near = np.abs(self.generator_cell) - (self.product_cell + self.curvature_cell)",
        "near = np.abs(self.generator_cell)",
        ("soundness/test_cell_terms.py::test_cells_add_what_lemma_7_says_whether_looked_at_or_not",),
    ),
    # --- columns: lem-column-form -------------------------------------------------------------------------------------
    Mutant(
        "a form without 1/eps",
        "form_sums",
        "np.sqrt(2.0 * (1.0 + 1.0 / moving_shares[j]))",
        "np.sqrt(2.0)",
        SUMMED,
    ),
    Mutant(
        "a form without 1 + eps",
        "ColumnForms.groups",
        "factor = (1.0 + moving_shares[self.columns])",
        "factor = (1.0 + 0.0 * moving_shares[self.columns])",
        SUMMED,
    ),
    Mutant(
        "weights of a column that are too small",
        "form_sums",
        "weights=cells.total(weights)",
        "weights=0.8 * cells.total(weights)",
        SUMMED,
    ),
    Mutant(
        "half the slack of signs",
        "signed_sums",
        "sign_slack=cells.total(up(beta - near))",
        "sign_slack=0.5 * cells.total(up(beta - near))",
        SUMMED,
    ),
    Mutant(
        "signed generators without their own part",
        "signed_columns",
        "+= sums.generator_cells\n    forms = np.array",
        "+= 0.0 * sums.generator_cells\n    forms = np.array",
        SUMMED,
    ),
    Mutant(
        "half the products of row and cell",
        "column_forms",
        "    forms[numbers, :, columns] += sums.generator_cross\n",
        "",
        SUMMED,
    ),
    Mutant(
        "groups of cells without their own part",
        "sorted_cells",
        "generators[np.arange(len(columns)), columns] += own",
        "generators[np.arange(len(columns)), columns] += 0.0 * own",
        (*planted("half the generators"), *FORCES),
    ),
    Mutant(
        "signs that a row does not take away",
        "signed_sums",
        "up(up(terms.product_row[which] + terms.curvature_row[which]) + np.abs(row))",
        "up(terms.product_row[which] + terms.curvature_row[which])",
        SUMMED,
    ),
    Mutant(
        "curvatures left out of a column",
        "form_sums",
        "across = (product * terms.product_cell[which]) ** 2 + (curvature * terms.curvature_cell[which]) ** 2",
        "across = 0.0 * product",
        SUMMED,
    ),
    # --- summed cells -------------------------------------------------------------------------------------------------
    Mutant(
        "half the slack of all blocks",
        "summed_cells",
        "slack=up(sum_upper(slack, n_blocks + 1)",
        "slack=up(0.5 * sum_upper(slack, n_blocks + 1)",
        SUMMED,
    ),
    Mutant(
        "a zonotope with a box that has no weight",
        "SummedCells.zonotope_upper",
        "self.columns.weights.sum() + sides.sum()",
        "self.columns.weights.sum()",
        SUMMED_NORMS,
    ),
    Mutant(
        "cells of one row that do not meet in a sum",
        "summed_cells",
        "crossing = float(sum_upper(sums.crossing_sum, roundings))",
        "crossing = 0.0 * float(sum_upper(sums.crossing_sum, roundings))",
        SUMMED,
    ),
    Mutant(
        "a force without the slack of its cells in a sum",
        "summed_cells",
        "force_slack=up(sum_upper(force_slack, n_blocks + 1)",
        "force_slack=up(0.0 * sum_upper(force_slack, n_blocks + 1)",
        SUMMED_NORMS,
    ),
    # --- missing categories: lem-levels -------------------------------------------------------------------------------
    Mutant(
        "half the products of levels",
        "_terms_of",
        "largest_move = 2.0 * move_limits",
        "largest_move = move_limits",
        ("soundness/test_terms.py::test_products_of_two_levels_with_a_move_differ_by_no_more_than_is_kept",),
    ),
    Mutant(
        "a choice that does not meet the rest of its row",
        "_terms_of",
        "up(other_parts + line_error)",
        "up(0.0 * other_parts + line_error)",
        ("soundness/test_terms.py::test_a_choice_meets_the_moves_of_the_rest_of_its_row", *TERMS),
    ),
    Mutant(
        "levels of the wrong end",
        "ChoiceTerms.ends",
        "enumerate((-1.0, 1.0))",
        "enumerate((1.0, -1.0))",
        TERMS,
    ),
    Mutant(
        "the second best level is never near",
        "ChoiceTerms._best",
        "            np.maximum(second, other, out=second)\n",
        "",
        CHOICES,
    ),
    Mutant(
        "only levels ahead are far",
        "ChoiceTerms._excess",
        "np.maximum(along.max(axis=0) - step, step - along.min(axis=0))",
        "along.max(axis=0) - step",
        CHOICES,
    ),
    Mutant(
        "many rows: no other level can be ahead",
        "ChoiceTerms._excess",
        "np.asarray(np.maximum(most - (best.value - best.second), 0.0))",
        "np.asarray(np.maximum(-(best.value - best.second), 0.0))",
        CHOICES,
    ),
    Mutant(
        "a level that does not deviate in its own column",
        "ChoiceTerms._deviations",
        "            deviation[:, column] += self.generator_level[:, k]\n",
        "",
        ("soundness/test_terms.py::test_the_force_is_that_of_the_levels_and_not_of_their_mean", *TERMS),
    ),
    Mutant(
        "the mean of the levels dropped from the middle",
        "_terms_of",
        "levels.center_value * beyond_mean.sum(axis=0)",
        "0.0 * beyond_mean.sum(axis=0)",
        TERMS,
    ),
    # --- signs: lem-l1-signs ------------------------------------------------------------------------------------------
    Mutant(
        "a sign decided by the wrong end",
        "L1Signs.within",
        "np.where(low > 0.0, 1.0, self.lower)",
        "np.where(high > 0.0, 1.0, self.lower)",
        (*planted("signs that trust half the way"), *L1_MODELS),
    ),
    Mutant(
        "zero although the trained weight is not",
        "decide_signs",
        "is_zero = is_valid & (w == 0.0) & ",
        "is_zero = is_valid & ",
        (*planted("zeros at twice the threshold"), *L1_MODELS),
    ),
    Mutant(
        "zero up to twice the threshold",
        "decide_signs",
        "(lower > -kappa) & (upper < kappa)",
        "(lower > -2.0 * kappa) & (upper < 2.0 * kappa)",
        ("soundness/test_slope.py::test_a_weight_that_is_zero_at_the_center_alone_is_not_taken_for_zero",),
    ),
    Mutant(
        "zero whatever the upper end says",
        "decide_signs",
        "(lower > -kappa) & (upper < kappa)",
        "(lower > -kappa)",
        ("soundness/test_slope.py::test_a_weight_that_is_zero_at_the_center_alone_is_not_taken_for_zero",),
    ),
    Mutant(
        "half of the highest sign",
        "decide_signs",
        "np.clip(up(upper / kappa), -1.0, 1.0)",
        "np.clip(up(upper / (2.0 * kappa)), -1.0, 1.0)",
        (*planted("zeros at twice the threshold"), *L1_MODELS),
    ),
    Mutant(
        "half the spread of a sign",
        "L1Signs.line",
        "0.5 * kappa * width",
        "0.25 * kappa * width",
        (*planted("no spread of the l1 part"), *L1_FORCES),
    ),
    Mutant(
        "an isolated weight with the wrong end of its force",
        "_isolate",
        "upper = up(-(low + spread)",
        "upper = up(-(high + spread)",
        L1_MODELS,
    ),
    # --- sets of moves: thm-move-set ----------------------------------------------------------------------------------
    Mutant(
        "a set that need not close",
        "prove_move_set",
        "is_inside = closes(within, around)",
        "is_inside = True",
        planted("a set that need not close"),
    ),
    Mutant(
        "a box that need not close",
        "prove_move_set",
        "(box < limits).all()",
        "(box >= 0.0).all()",
        ("soundness/test_summed_cells.py::test_a_bad_suggestion_does_no_harm",),
    ),
    Mutant(
        "a set that closes at four times its size",
        "closes",
        "share = up(up(inside.radius / around.radius) ** 2)",
        "share = 0.0625 * up(up(inside.radius / around.radius) ** 2)",
        (*planted("a set that need not close"), *MODELS),
    ),
    Mutant(
        "a force without its shift",
        "force_upper",
        "wrong.with_norm(up(norms[0] + norms[1]), inverse)",
        "wrong.with_norm(norms[0], inverse)",
        (*planted("no shift of the force"), *NORMS),
    ),
    Mutant(
        "half the force of a zonotope",
        "zonotope_norm_upper",
        "weights = weights / weights.sum()",
        "weights = 4.0 * weights / weights.sum()",
        (*planted("half the zonotope"), *NORMS),
    ),
    Mutant(
        "half the moves in an ellipsoid",
        "Ellipsoid.max_score_move_in",
        "up(self.inverse.norm_upper(block.center, block.largest_cells) * self.radius)",
        "up(0.5 * self.inverse.norm_upper(block.center, block.largest_cells) * self.radius)",
        (*planted("half the way", "half the moves of scores"), *MODELS),
    ),
    Mutant(
        "the nearer end of a certificate",
        "FromCertificate.max_score_move",
        "np.maximum(up(bounds[:, 1] - low), up(high - bounds[:, 0]))",
        "np.minimum(up(bounds[:, 1] - low), up(high - bounds[:, 0]))",
        (*JUMP_MODELS, *L1_MODELS),
    ),
    Mutant(
        "moves without their remainders",
        "LinearizedMoves.max_score_move",
        "up(np.maximum(np.abs(low), np.abs(high)) + half)",
        "up(np.maximum(np.abs(low), np.abs(high)) + 0.0 * half)",
        (*planted("half the way", "half the moves of scores"), *MODELS),
    ),
    Mutant(
        "one wrong label fewer above",
        "WrongLabelMoves.ends",
        "products[:, n - count :]",
        "products[:, n - count + 1 :]",
        ("soundness/test_wrong_labels.py",),
    ),
    # --- mean value: thm-mean-value -----------------------------------------------------------------------------------
    Mutant(
        "the mean value without the spread of the Hessians",
        "SlopeBounds._by_mean_value",
        "half = up(half + up(root_form_upper(mean.spread, X) * mean.force))",
        "half = up(half)",
        planted("no spread of the mean value"),
    ),
    Mutant(
        "a force at the center alone",
        "mean_value_bounds",
        "[0] + up(np.sqrt(form)))",
        "[0])",
        planted("half the force of the mean value", "no spread of the mean value"),
    ),
    Mutant(
        "a mean value without the slack of cells",
        "mean_value_bounds",
        "up(linear.gradient_error + cell_slack)",
        "up(linear.gradient_error)",
        planted("no slack of the mean value"),
    ),
    # --- bounds: thm-slopes -------------------------------------------------------------------------------------------
    Mutant(
        "forces without their slack",
        "SlopeBounds.forces",
        "half = sum_upper(np.abs(U) @ self.slack, U.shape[1] + 1)",
        "half = 0.0 * sum_upper(np.abs(U) @ self.slack, U.shape[1] + 1)",
        planted("no slack"),
    ),
    Mutant(
        "an inverse taken for exact",
        "SlopeBounds._by_slopes",
        "error = self.inverse_error.upper(np.abs(X))",
        "error = 0.0 * self.inverse_error.upper(np.abs(X))",
        (
            *planted("nothing missed by the inverse"),
            "soundness/test_cell_terms.py::test_what_an_inexact_inverse_leaves_is_bounded_exactly",
        ),
    ),
    Mutant(
        "scores of the wrong end of forces",
        "SlopeBounds._scores",
        "return down(score_low - high), up(score_high - low)",
        "return down(score_low - low), up(score_high - high)",
        MODELS,
    ),
    Mutant(
        "half of what uncertain signs cost",
        "SlopeBounds.column_by_column",
        "up(2.0 * size * signed.sign_slack)",
        "up(size * signed.sign_slack)",
        SUMMED,
    ),
    Mutant(
        "an excess without its curvature",
        "SlopeBounds._uncertain_excess",
        "np.maximum(rest, 0.5 * (rest + F))",
        "rest",
        (*planted("no curvature", "no curvature along cells"), *CELLS),
    ),
    Mutant(
        "products of whole groups dropped",
        "SlopeBounds.cell_by_cell",
        "total = up(sum_upper(total, len(groups.columns) + 2) + with_v)",
        "total = up(sum_upper(total, len(groups.columns) + 2) + 0.0 * with_v)",
        planted("no product vectors of groups"),
    ),
    Mutant(
        "half of the rows at a jump",
        "SlopeBounds.cell_by_cell",
        "rows = np.abs(U @ self.jump_rows.T).sum(axis=1)",
        "rows = 0.5 * np.abs(U @ self.jump_rows.T).sum(axis=1)",
        (*planted("half a jump", "no rows at a jump"), *JUMPS),
    ),
    Mutant(
        "slack without the l1 part",
        "_gradient",
        "linear.jumps.slack + line.spread + rounding",
        "linear.jumps.slack + rounding",
        planted("no spread of the l1 part"),
    ),
    Mutant(
        "a form without the moves of cells",
        "common_forms",
        "up(np.sqrt(move_form) + up(np.sqrt(linear.cell_move_form)))",
        "up(np.sqrt(move_form))",
        (*planted("no form of the moves of cells"), *CELLS),
    ),
    # --- bounds without training rows ---------------------------------------------------------------------------------
    Mutant(
        "half of a multiple of the curvature",
        "row_free_forms",
        "rounded_up(greatest_ratio_upper(joint, curvature) * curvature, 8)",
        "rounded_up(0.5 * greatest_ratio_upper(joint, curvature) * curvature, 8)",
        FEW_ROWS,
    ),
    Mutant(
        "a gradient that is part of no form",
        "row_free_forms",
        "pool.append(rounded_up(np.outer(gradient, gradient), 8))",
        "pool.append(rounded_up(np.outer(gradient, 0.0 * gradient), 8))",
        FEW_ROWS,
    ),
    Mutant(
        "a form that is dropped with its rows",
        "row_free_forms",
        "pool = [*forms[few], *groups.forms[few_groups]]",
        "pool = [*forms[few]]",
        FEW_ROWS,
    ),
    # --- pointwise bounds, rows to predict, uncertainty and blocks ----------------------------------------------------
    Mutant(
        "a trend with the wrong sign",
        "Stage.narrowed",
        "np.where(lowest > 0.0, -side, np.where(highest < 0.0, side, 0.0))",
        "np.where(lowest > 0.0, side, np.where(highest < 0.0, -side, 0.0))",
        planted("trends reversed"),
    ),
    Mutant(
        "a trend without the derivative's product",
        "Trends.of_cells",
        "return down(first[0] + second[0]), up(first[1] + second[1])",
        "return second[0], second[1]",
        planted("trends reversed", "trends without doubt"),
    ),
    Mutant(
        "the last of the ends that were tried",
        "_bounds_without_missing_categories",
        "np.maximum(bounds[tries, 1], above[:, 1])",
        "above[:, 1]",
        ("soundness/test_uncertain_rows.py::test_trying_ends_holds_at_all_corners_and_is_exact_if_it_tries_all",),
    ),
    Mutant(
        "one value fewer than the largest",
        "LargestValues.of",
        "return cls(largest(values, count), count)",
        "return cls(largest(values, count - 1), count)",
        ("soundness/test_redrawn.py::test_the_largest_values_of_several_blocks_are_those_of_all",),
    ),
    Mutant(
        "half of what cells do to a column",
        "AnyFilling.column_change",
        "values = block.cell_radii * np.abs(coefficients)[block.cell_rows]",
        "values = 0.5 * block.cell_radii * np.abs(coefficients)[block.cell_rows]",
        ("rows/test_rows.py::test_spreads_of_a_block_equal_dense_products", "certificates/test_sphere.py"),
    ),
    Mutant(
        "the part of another block",
        "own_parts",
        "arg.parts[number]",
        "arg.parts[number - 1]",
        ("rows/test_rows.py::test_a_kernel_receives_its_own_part_of_what_is_given_per_block",),
    ),
)
