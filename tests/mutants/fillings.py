"""Mutants of the bounds around a filled-in table."""

from __future__ import annotations

from mutants.entry import Mutant

AROUND = "soundness/test_around_filling.py"
FOLDER = "certificates/around_filling"
FORCES = (f"{AROUND}::test_forces_hold_for_every_move_of_tables_and_models_exactly",)
NORMS = (f"{AROUND}::test_the_gradient_and_the_hessian_of_every_moved_table_are_bounded",)
OPTIONS = (f"{AROUND}::test_units_have_the_options_of_numbers_and_of_categories",)
REMAINDERS = (f"{AROUND}::test_the_change_of_the_curvature_and_squares_are_bounded_in_every_moved_table",)
SIGNED = (
    f"{AROUND}::test_signed_second_order_is_needed_in_full",
    f"{AROUND}::test_the_signed_remainder_of_a_unit_is_needed_in_full",
)
L1 = (f"{AROUND}::test_bounds_hold_exactly_with_an_l1_penalty",)
MODELS = (f"{AROUND}::test_bounds_hold_for_every_vertex_and_inner_point_exactly",)

THIRD = ("losses/test_third_derivatives.py",)

ESTIMATORS = "estimators/test_uncertainty.py"
OUTSIDE = (f"{ESTIMATORS}::test_a_pipeline_that_fills_outside_the_intervals_is_certified_around_what_it_filled_in",)

MUTANTS = (
    # --- units and moves ----------------------------------------------------------------------------------------------
    Mutant(
        "a budget of one unit less",
        f"{FOLDER}/moves.py",
        "return int(self.counts[group]) if group",
        "return int(self.counts[group]) - 1 if group",
        FORCES,
    ),
    Mutant(
        "the longer way of a number left out",
        f"{FOLDER}/units.py",
        "longest = np.concatenate([below > above, above >= below])",
        "longest = np.concatenate([below < above, above <= below])",
        NORMS,
    ),
    Mutant(
        "the least of the options",
        f"{FOLDER}/units.py",
        "np.maximum.reduceat(values, self.option_starts",
        "np.minimum.reduceat(values, self.option_starts",
        FORCES,
    ),
    Mutant(
        "a level that does not leave the filled-in one",
        f"{FOLDER}/units.py",
        "np.tile([1.0, -1.0]",
        "np.tile([1.0, 0.0]",
        OPTIONS,
    ),
    Mutant(
        "a row that has nothing of the budget",
        f"{FOLDER}/filled_table.py",
        "upper[rows] = up(upper[rows] + totals(self.movable, up_most))",
        "upper[rows] = up(upper[rows] + 0.0 * totals(self.movable, up_most))",
        (*FORCES, *NORMS),
    ),
    # --- Lemma 15 -----------------------------------------------------------------------------------------------------
    Mutant(
        "no own square",
        f"{FOLDER}/unit_terms.py",
        "square = np.maximum(sign * own, 0.0)",
        "square = 0.0 * own",
        FORCES,
    ),
    Mutant(
        "no other units of the row",
        f"{FOLDER}/unit_terms.py",
        "shared = (0.5 * m * spread.curvature)[of] * others +",
        "shared = (0.0 * m * spread.curvature)[of] * others +",
        FORCES,
    ),
    Mutant(
        "no bend of the derivative",
        f"{FOLDER}/unit_terms.py",
        "rest = shared + ((0.5 * m * table.row_score) * slope)",
        "rest = shared + ((0.0 * m * table.row_score) * slope)",
        FORCES,
    ),
    Mutant(
        "bends of the other sign",
        f"{FOLDER}/unit_terms.py",
        "slope = np.maximum(sign * spread.slope_lower * at_u.rows, sign * spread.slope_upper * at_u.rows)",
        "slope = np.maximum(-sign * spread.slope_lower * at_u.rows, -sign * spread.slope_upper * at_u.rows)",
        FORCES,
    ),
    Mutant(
        "ends exchanged",
        f"{FOLDER}/bounds.py",
        "for each in (first, reverse))",
        "for each in (reverse, first))",
        FORCES,
    ),
    # --- Lemma 16 -----------------------------------------------------------------------------------------------------
    Mutant(
        "no products with the move of a row",
        f"{FOLDER}/unit_terms.py",
        "first = (m * moves.row)[row] * crossing",
        "first = (0.0 * m * moves.row)[row] * crossing",
        FORCES,
    ),
    Mutant(
        "no products with the move of a cell",
        f"{FOLDER}/unit_terms.py",
        "[row] * moves.option) * along[:, row]",
        "[row] * 0.0 * moves.option) * along[:, row]",
        FORCES,
    ),
    Mutant(
        "no second order of products",
        f"{FOLDER}/unit_terms.py",
        "second += (0.5 * m * spread.curvature)[of] * (e * S + s * E[of])",
        "second += (0.0 * m * spread.curvature)[of] * (e * S + s * E[of])",
        FORCES,
    ),
    Mutant(
        "half the norm of products",
        f"{FOLDER}/bounds.py",
        "up(norms * self.proved.radius),",
        "up(0.5 * norms * self.proved.radius),",
        FORCES,
    ),
    Mutant(
        "half the norm of their second order",
        f"{FOLDER}/bounds.py",
        "up(second_norm(self.proved.metric, at_u) * self.proved.radius)",
        "up(0.2 * second_norm(self.proved.metric, at_u) * self.proved.radius)",
        FORCES,
    ),
    Mutant(
        "a third of what units take from the Hessian",
        f"{FOLDER}/hessian_loss.py",
        "return up(inexact + _loss_of_units(metric))",
        "return up(inexact + 0.3 * _loss_of_units(metric))",
        NORMS,
    ),
    Mutant(
        "caps that cost nothing",
        f"{FOLDER}/hessian_loss.py",
        "paid = up(paid + up(count * float(cap[units[0]])))",
        "paid = up(paid + 0.0 * float(cap[units[0]]))",
        NORMS,
    ),
    Mutant(
        "a row that loses half of what it has",
        f"{FOLDER}/hessian_loss.py",
        "rows = np.where(is_capped, most, rows)",
        "rows = np.where(is_capped, 0.5 * most, rows)",
        NORMS,
    ),
    # --- Lemma 17 -----------------------------------------------------------------------------------------------------
    Mutant(
        "half the change of the curvature along the move",
        f"{FOLDER}/remainder.py",
        "half = 0.5 * table.m * np.maximum(",
        "half = 0.25 * table.m * np.maximum(",
        FORCES,
    ),
    Mutant(
        "no third derivative",
        f"{FOLDER}/remainder.py",
        "return up(up(largest * square) + rest)",
        "return up(up(largest * square) + 0.0 * rest)",
        FORCES,
    ),
    Mutant(
        "half the signed form",
        f"{FOLDER}/table_metric.py",
        "weights = 0.5 * table.m * table.at.third",
        "weights = 0.25 * table.m * table.at.third",
        FORCES,
    ),
    Mutant(
        "no units in the signed remainder",
        f"{FOLDER}/bounds.py",
        "units = products.signed.copy()",
        "units = 0.0 * products.signed",
        SIGNED,
    ),
    Mutant(
        "no moves of cells in the signed remainder",
        f"{FOLDER}/unit_terms.py",
        "signed += ((0.5 * m * spread.slope",
        "signed += ((0.0 * m * spread.slope",
        REMAINDERS,
    ),
    Mutant(
        "no moves of rows in the signed remainder",
        f"{FOLDER}/unit_terms.py",
        "signed = (0.5 * m * moves.row**2)[of]",
        "signed = (0.0 * m * moves.row**2)[of]",
        SIGNED,
    ),
    Mutant(
        "squares of rows that do not move",
        f"{FOLDER}/remainder.py",
        "more = weights[:, movable.rows[of]] * more",
        "more = 0.0 * weights[:, movable.rows[of]] * more",
        REMAINDERS,
    ),
    Mutant(
        "squares without the price of a cell",
        f"{FOLDER}/remainder.py",
        "shares = up(1.0 + up(1.0 / price)) *",
        "shares = up(0.0 + up(0.2 / price)) *",
        REMAINDERS,
    ),
    # --- Lemma 18 and Theorem 9 ---------------------------------------------------------------------------------------
    Mutant(
        "a gradient without squares",
        f"{FOLDER}/force.py",
        "up(center + float(first[0])) + _squares(metric)",
        "up(center + float(first[0])) + 0.0 * _squares(metric)",
        NORMS,
    ),
    Mutant(
        "half the first order of the gradient",
        f"{FOLDER}/force.py",
        "up(center + float(first[0]))",
        "up(center + 0.5 * float(first[0]))",
        NORMS,
    ),
    Mutant(
        "half the radius",
        f"{FOLDER}/prove_move.py",
        "return ProvedMove(metric, proved)",
        "return ProvedMove(metric, 0.5 * proved)",
        MODELS,
    ),
    Mutant(
        "weights for sums of vectors that are not paid",
        f"{FOLDER}/unit_norms.py",
        "up(largest_sum_upper(weights, count) * largest)",
        "up(0.5 * largest_sum_upper(weights, count) * largest)",
        (*NORMS, *FORCES),
    ),
    Mutant(
        "no gradient of the filled-in table",
        f"{FOLDER}/bounds.py",
        "center = U @ table.gradient",
        "center = 0.0 * (U @ table.gradient)",
        FORCES,
    ),
    Mutant(
        "signs that may change for nothing",
        f"{FOLDER}/bounds.py",
        "error = up(error + sum_upper(np.abs(U) @ np.where(self._undecided, kappa, 0.0), d + 1))",
        "error = up(error + sum_upper(np.abs(U) @ np.where(self._undecided, 0.0, 0.0), d + 1))",
        L1,
    ),
    Mutant(
        "signs decided wherever a weight is not zero",
        f"{FOLDER}/bounds.py",
        "~(np.abs(self.table.w) > self.reach.coordinates)",
        "~(np.abs(self.table.w) > 0.0 * self.reach.coordinates)",
        L1,
    ),
    Mutant(
        "weights that stay zero whatever the model does",
        f"{FOLDER}/bounds.py",
        "(up(slope + size) < table.kappa)",
        "(0.2 * up(slope + size) < table.kappa)",
        L1,
    ),
    # --- losses -------------------------------------------------------------------------------------------------------
    Mutant(
        "a curvature that falls fastest elsewhere",
        "losses/logistic.py",
        "STEEPEST_LOWER, STEEPEST_UPPER = 1.316957896924, 1.316957896925",
        "STEEPEST_LOWER, STEEPEST_UPPER = 1.416957896924, 1.416957896925",
        THIRD,
    ),
    Mutant(
        "a bend without its top",
        "losses/logistic.py",
        "np.maximum(ends, up(1.0 / 24.0))",
        "ends",
        THIRD,
    ),
    Mutant(
        "secants that start at the nearer end",
        "losses/logistic.py",
        "far = np.maximum(np.abs(lower), np.abs(upper))\n        slack = (4 * ELEMENTARY_ULPS + 12) * EPS",
        "far = np.minimum(np.abs(lower), np.abs(upper))\n        slack = (4 * ELEMENTARY_ULPS + 12) * EPS",
        THIRD,
    ),
    Mutant(
        "short secants as steep as the curve",
        "losses/logistic.py",
        "mean = np.where(move >= MIN_SECANT_LENGTH, by_exp, 1.0 - 0.5 * move)",
        "mean = np.where(move >= MIN_SECANT_LENGTH, by_exp, 1.0)",
        THIRD,
    ),
    # --- from tables to units and back --------------------------------------------------------------------------------
    Mutant(
        "wrong categories are not looked at",
        "training",
        "if width > 1:",
        "if width > 9:",
        (f"{ESTIMATORS}::test_wrong_categories_and_wrong_numbers_of_a_frame_are_within_the_bounds",),
    ),
    Mutant(
        "intervals that are points, and not what was filled in, stay as they are",
        "training",
        "is_point = (radii == 0.0) & (values == centers)",
        "is_point = radii == 0.0",
        OUTSIDE,
    ),
    Mutant(
        "any filling is not one outside the intervals",
        "training",
        "return matrix if np.array_equal(wider, radii) else replace(matrix, radii=wider)",
        "return matrix",
        OUTSIDE,
    ),
)
