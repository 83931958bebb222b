"""Mutants of row sums where the derivative jumps: settled rows, steps, and scores ruled out off the path."""

from __future__ import annotations

from mutants.entry import Mutant

UNITS, SOUND = "certificates/test_row_sums.py", "soundness/test_row_sums_of_jumps.py"
CHORDS = f"{UNITS}::test_no_derivative_is_farther_from_a_chord_than_said"
LINES = f"{UNITS}::test_lines_are_above_and_below_the_derivative_everywhere"
STEPS = f"{UNITS}::test_a_jump_is_two_points_and_the_pieces_of_a_step_are_exact"
SUMS = f"{SOUND}::test_row_sums_with_settled_rows_hold_for_every_w_and_completion"
EXACT = f"{SOUND}::test_settled_sums_are_the_sums_of_their_rows_exactly"
KINK = f"{SOUND}::test_a_row_whose_scores_end_at_its_kink_is_not_settled"
SAME = f"{SOUND}::test_leaving_settled_rows_out_changes_no_bound_but_for_rounding"
OVERFLOW = f"{SOUND}::test_what_overflowed_settles_nothing"
MODELS = f"{SOUND}::test_no_exact_model_leaves_narrowed_ranges_or_has_a_score_that_is_ruled_out"
ABOVE = f"{SOUND}::test_a_supposition_is_used_for_scores_above_it_alone"
FORGOTTEN = f"{SOUND}::test_what_is_supposed_once_is_forgotten"
KNOWN = f"{SOUND}::test_known_ranges_are_those_of_completions_alone"
SEARCHED = f"{SOUND}::test_ranges_that_row_sums_do_not_narrow_serve_to_rule_out_scores"
FLAT = f"{SOUND}::test_where_no_row_is_near_its_kink_and_nothing_bends_nothing_fails"
POINTWISE = f"{SOUND}::test_ruled_out_scores_narrow_bounds_and_no_completion_breaks_them"


def mutant(name: str, where: str, old: str, new: str, *tests: str, equivalent: str = "") -> Mutant:
    """Return a mutant."""
    return Mutant(name, where, old, new, tests, equivalent)


MUTANTS = (
    # --- rows settled by what is known --------------------------------------------------------------------------------
    mutant(
        "cells do not move the score of a settled row",
        "_sum_constant",
        "loss.derivative_range(block.y, down(lower - move), up(upper + move))",
        "loss.derivative_range(block.y, down(lower), up(upper))",
        SUMS,
    ),
    mutant("the least size of a weight settles", "sum_constant_rows", ".max(axis=1)\n", ".min(axis=1)\n", KINK),
    mutant(
        "a row with a missing category is settled",
        "_sum_constant",
        "    is_constant[block.missing_categories.rows] = False\n",
        "",
        SUMS,
    ),
    mutant(
        "settled rows of weight one",
        "_sum_constant",
        "is_constant, block.weight * low, 0.0",
        "is_constant, low, 0.0",
        SUMS,
    ),
    mutant(
        "cells of settled rows do not coefficients",
        "_sum_constant",
        "np.bincount(j, np.abs(coefficients)[i] * R, minlength=d)",
        "np.bincount(j, 0.0 * np.abs(coefficients)[i] * R, minlength=d)",
        SUMS,
    ),
    mutant(
        "cells of settled rows coefficients with their sign",
        "_sum_constant",
        "np.bincount(j, np.abs(coefficients)[i] * R, minlength=d)",
        "np.bincount(j, coefficients[i] * R, minlength=d)",
        SUMS,
    ),
    mutant(
        "settled sums without their rounding", "sum_constant_rows", "sum_error(sums.size, n)", "0.0 * sums.size", EXACT
    ),
    mutant(
        "settled sums relative to what is left of them",
        "_sum_constant",
        "_Sums(coefficients @ block.center, np.abs(coefficients) @ np.abs(block.center), radius)",
        "_Sums(coefficients @ block.center, np.abs(coefficients @ block.center), radius)",
        EXACT,
    ),
    mutant(
        "settled sums of weights that are not divided",
        "sum_constant_rows",
        "middle, n = sums.gradient_sum / rows.total_weight,",
        "middle, n = sums.gradient_sum,",
        SUMS,
    ),
    mutant(
        "rows that are settled are gathered too",
        "_sum_constant",
        "~is_constant & (block.weight",
        "(block.weight",
        SUMS,
        KINK,
    ),
    mutant(
        "rows that are not settled are lost",
        "_sum_constant",
        "whole_block(block, ~is_constant & (block.weight > 0.0))",
        "whole_block(block, ~is_constant & (block.weight > 0.5))",
        SUMS,
    ),
    # --- rows settled by ranges ---------------------------------------------------------------------------------------
    mutant(
        "cells do not move the score of a row that ranges settle",
        "Ranges.without_constant_rows",
        "table.derivative_ranges(of_complete, self.row_scores)",
        "table.derivative_ranges(of_complete, (self.row_lower, self.row_upper))",
        SUMS,
    ),
    mutant(
        "ranges settle a row with a missing category",
        "Ranges.without_constant_rows",
        "        incomplete[table.units.row[~table.units.is_number]] = False\n",
        "",
        SUMS,
    ),
    mutant(
        "a row at its kink is settled",
        "Ranges.without_constant_rows",
        "of_complete = self.lower[at], self.upper[at]",
        "of_complete = 0.999 * self.lower[at], 0.999 * self.upper[at]",
        KINK,
    ),
    mutant(
        "what overflowed is sorted behind the other end",
        "Ranges.variant_scores",
        "return np.where(np.isnan(lower), -np.inf, lower), np.where(np.isnan(upper), np.inf, upper)",
        "return lower, upper",
        OVERFLOW,
    ),
    mutant(
        "cells of rows that ranges settle do not coefficients",
        "RowTable._constant_with",
        "sum_upper(self.settled.radius + radius + error,",
        "sum_upper(self.settled.radius + error,",
        SUMS,
    ),
    mutant(
        "what is settled already loses its radius",
        "RowTable._constant_with",
        "sum_upper(self.settled.radius + radius + error,",
        "sum_upper(radius + error,",
        SUMS,
    ),
    mutant(
        "what is settled already is forgotten",
        "RowTable._constant_with",
        "ConstantDerivativeRows(self.settled.middle + coefficients @ rows, radius)",
        "Settled(coefficients @ rows, radius)",
        SUMS,
    ),
    mutant(
        "rows that ranges settle without their rounding",
        "RowTable._constant_with",
        "error = sum_error(size, len(rows) + 8)",
        "error = 0.0 * size",
        EXACT,
    ),
    mutant(
        "incomplete rows that ranges settle have no weight",
        "RowTable._constant_with",
        "np.where(incomplete, self.incomplete_weight * derivatives[1], 0.0)",
        "np.where(incomplete, derivatives[1], 0.0)",
        SUMS,
    ),
    mutant(
        "complete rows that ranges settle have no weight",
        "RowTable._constant_with",
        "(self.complete_weight * derivatives[0])[complete]",
        "derivatives[0][complete]",
        SUMS,
    ),
    mutant(
        "derivatives of the rows that are left",
        "RowTable._constant_with",
        "(self.complete_weight * derivatives[0])[complete]",
        "(self.complete_weight * derivatives[0])[: int(complete.sum())]",
        SUMS,
    ),
    mutant(
        "units of rows that are left out stay",
        "RowTable.without",
        "of_units = left[self.units.row]",
        "of_units = np.ones(len(self.units), dtype=bool)",
        SUMS,
    ),
    mutant(
        "units of rows that ranges settle coefficients with their lower end",
        "RowTable._constant_with",
        "change = np.maximum(-units.lower, units.upper)",
        "change = 0.5 * np.maximum(-units.lower, units.upper)",
        SUMS,
    ),
    mutant(
        "the weights' directions are lost",
        "RowTable.without",
        "weights_at=place[self.weights_at],\n            settled",
        "weights_at=self.weights_at % len(used),\n            settled",
        SUMS,
        SAME,
    ),
    mutant(
        "complete rows take the ranges of others",
        "RowTable.without",
        "complete_at=place[self.complete_at[kept]]",
        "complete_at=self.complete_at[kept] % len(used)",
        SUMS,
        SAME,
    ),
    mutant(
        "incomplete rows take the ranges of others",
        "RowTable.without",
        "incomplete_at=place[self.incomplete_at[left]]",
        "incomplete_at=self.incomplete_at[left] % len(used)",
        SUMS,
        SAME,
    ),
    mutant(
        "the labels of the rows before",
        "RowTable.without",
        "complete_graph=self.complete_graph.of_rows(kept)",
        "complete_graph=self.complete_graph.of_rows(np.sort(kept)[::-1])",
        SUMS,
    ),
    mutant(
        "an l1 penalty takes the steps of rows",
        "SignGraph.of_rows",
        "return SignGraph(self.kappa[which])",
        "return SignGraph(0.5 * self.kappa[which])",
        SUMS,
    ),
    # --- jumps --------------------------------------------------------------------------------------------------------
    mutant(
        "the derivative after a jump comes first",
        "graph_points",
        "np.where(at_jump & ~is_first, high, low), np.where(is_first, low, high)",
        "np.where(is_first, high, low), np.where(at_jump & ~is_first, low, high)",
        CHORDS,
        LINES,
    ),
    mutant(
        "a jump is one point",
        "graph_points",
        "is_first = at_jump & (np.cumsum(at_jump, axis=0) == 1)",
        "is_first = at_jump",
        CHORDS,
        LINES,
    ),
    mutant(
        "a jump is the point after it",
        "graph_points",
        "is_first = at_jump & (np.cumsum(at_jump, axis=0) == 1)",
        "is_first = at_jump & False",
        CHORDS,
        LINES,
    ),
    mutant(
        "a jump at the end of a range is not seen",
        "graph_points",
        "(jump >= lower) & (jump <= upper)",
        "(jump > lower) & (jump < upper)",
        CHORDS,
        LINES,
    ),
    mutant(
        "every piece next to a jump is vertical",
        "graph_points",
        "is_vertical = at_jump[:-1] & at_jump[1:]",
        "is_vertical = at_jump[:-1] | at_jump[1:]",
        CHORDS,
        LINES,
        equivalent="Only steps jump, and on the pieces of a step the derivative does not rise.",
    ),
    mutant(
        "points are not in the order of their scores",
        "graph_points",
        "score = np.sort(np.concatenate([score, inside[None], inside[None]]), axis=0)",
        "score = np.concatenate([score, inside[None], inside[None]])",
        CHORDS,
    ),
    # --- scores ruled out off the path --------------------------------------------------------------------------------
    mutant(
        "factors may be negative off the path",
        "_largest_if_supposed",
        "np.maximum(_factors(supposed, advice), 0.0)",
        "1.0 * _factors(supposed, advice)",
        ABOVE,
    ),
    mutant(
        "what is supposed stays",
        "_narrowed_under",
        "upper, lower = ranges.upper.copy(), ranges.lower.copy()",
        "upper, lower = ranges.upper, ranges.lower",
        FORGOTTEN,
    ),
    mutant(
        "the other side of w",
        "is_on_one_side",
        "SupposedScore(t, score) if high < score else SupposedScore(-t, -score)",
        "SupposedScore(t, score) if high > score else SupposedScore(-t, -score)",
        MODELS,
    ),
    mutant(
        "known ranges are taken for those of a path",
        "_known_ranges",
        "return Ranges.of(table, *known.score_bounds(table.directions).T, on_path=False)",
        "return Ranges.of(table, *known.score_bounds(table.directions).T, on_path=True)",
        KNOWN,
    ),
    mutant(
        "of a step the path alone is searched",
        "RowSumBounds.searched",
        "self.ranges if self.path is not None or self.ranges.variants.graph.is_step else None",
        "self.path",
        POINTWISE,
    ),
    mutant(
        "flat systems are not solved",
        "Ranges.inverse",
        "            return np.ascontiguousarray(np.linalg.pinv(K, hermitian=True))",
        "            raise",
        FLAT,
    ),
    mutant(
        "ranges that are searched alone are not kept",
        "row_sum_bounds_within",
        "(problem.loss.is_smooth or len(ranges.lower) > FEW_DIRECTIONS)",
        "True",
        SEARCHED,
    ),
)
