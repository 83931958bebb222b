"""Mutants of row sums and of the ranges that prove themselves."""

from __future__ import annotations

from mutants.entry import Mutant

UNITS, SOUND = "certificates/test_row_sums.py", "soundness/test_row_sums.py"
CHORDS = (f"{UNITS}::test_no_derivative_is_farther_from_a_chord_than_said",)
LINES = (f"{UNITS}::test_lines_are_above_and_below_the_derivative_everywhere",)
TERMS = (f"{UNITS}::test_no_sampled_term_of_a_row_is_above_its_bound",)
SUMS = (f"{SOUND}::test_row_sums_hold_for_every_w_and_completion_whatever_is_chosen",)
KERNEL = "soundness/test_row_sum_kernel.py"
TABLES = (f"{KERNEL}::test_row_sums_hold_for_every_w_and_completion_whatever_is_chosen",)
MANY = (
    f"{KERNEL}::test_no_row_has_more_variants_than_the_kernel_takes",
    f"{KERNEL}::test_rows_of_several_groups_have_no_more_variants_than_the_kernel_takes",
)
BUDGETS = (f"{KERNEL}::test_no_choice_of_units_that_budgets_allow_gains_more",)
SPREAD = (
    f"{KERNEL}::test_ranges_of_representatives_hold_for_all_directions_exactly",
    f"{KERNEL}::test_ranges_go_to_their_own_directions_where_each_stands_for_itself",
    f"{KERNEL}::test_ranges_of_directions_whose_products_cancel_are_rounded_outward",
)
EXACT = (f"{SOUND}::test_row_sums_at_a_point_are_exact_but_for_rounding",)
GRADIENT = (f"{SOUND}::test_the_centers_gradient_is_bounded_exactly",)
CLOSING = (
    f"{SOUND}::test_ranges_are_proved_only_if_row_sums_are_strictly_inside",
    f"{SOUND}::test_every_range_must_close",
)
COERCIVE = (f"{SOUND}::test_ranges_without_an_end_prove_nothing",)
CENTERS = (
    f"{SOUND}::test_the_center_of_a_missing_category_is_an_option_until_the_ranges_are_proved",
    f"{SOUND}::test_levels_alone_do_not_cover_the_center",
)
LAYOUT = (
    f"{UNITS}::test_units_are_laid_out_row_by_row",
    f"{UNITS}::test_variants_hold_every_option_of_a_row",
)
MODELS = (
    f"{SOUND}::test_bounds_hold_at_every_vertex_and_inside_exactly",
    f"{SOUND}::test_no_completion_breaks_a_bound_at_any_penalty",
)
MERGED = (f"{UNITS}::test_equal_complete_rows_count_with_the_weight_of_all_of_them",)
SLOPES = (
    "certificates/test_row_sums_and_slopes.py::test_rows_without_weight_do_not_widen_slopes",
    "certificates/test_row_sums_and_slopes.py::test_of_rows_with_weight_the_moves_are_those_that_are_known",
)
ROUNDING_ALONE = (
    "At a jump the two points have no radius; elsewhere it is rounding, a few units of the derivative, less than what "
    "the sum over the rows adds for its own."
)


def mutant(name: str, where: str, old: str, new: str, *tests: tuple[str, ...], equivalent: str = "") -> Mutant:
    """Return a mutant."""
    return Mutant(name, where, old, new, tuple(test for each in tests for test in each), equivalent)


ASKED = (
    "soundness/test_row_sums_of_asked_rows.py::test_bounds_hold_at_every_vertex_and_inside_exactly",
    "soundness/test_row_sums_of_asked_rows.py::test_no_filling_breaks_bounds_of_a_long_table",
)

MUTANTS = (
    # --- asked rows alone ---------------------------------------------------------------------------------------------
    mutant(
        "ranges of other rows",
        "RowTable._of",
        "at = np.arange(len(directions))",
        "at = np.arange(len(directions))[::-1]",
        ASKED,
    ),
    mutant(
        "weights of a long table by the whole",
        "RowTable._of",
        "plain_weight = weight[plain]",
        "plain_weight = weight[plain] / rows.total_weight",
        ASKED,
    ),
    # --- chords and lines (lem-chords and lem-complete-row) -----------------------------------------------------------
    mutant("half the turn of a derivative", "graph_points", "* length) * 0.25)", "* length) * 0.125)", CHORDS, LINES),
    mutant("half the bend of a derivative", "graph_points", "* length) * 0.125)", "* length) * 0.0625)", CHORDS, LINES),
    mutant(
        "half the rise of a derivative",
        "graph_points",
        "np.maximum(up(high[1:] - low[:-1]), 0.0)",
        "np.maximum(up(0.5 * (high[1:] - low[:-1])), 0.0)",
        CHORDS,
    ),
    mutant(
        "an l1 penalty with half of its step",
        "SignGraph.range",
        "np.where(lower > 0.0, self.kappa, -self.kappa), np.where(upper < 0.0, -self.kappa, self.kappa)",
        "np.where(lower > 0.0, self.kappa, 0.0), np.where(upper < 0.0, -self.kappa, 0.0)",
        (f"{UNITS}::test_an_l1_penalty_is_a_step",),
    ),
    mutant(
        "an l1 penalty that never turns",
        "SignGraph.slopes",
        "np.where((lower > 0.0) | (upper < 0.0), 0.0, np.inf)",
        "np.zeros_like(lower)",
        CHORDS,
        equivalent="Ranges are cut where a step is, so no derivative leaves the chord of a piece.",
    ),
    mutant(
        "lines without the distance from the chord",
        "_largest",
        "np.maximum(at_points[:, :-1], at_points[:, 1:]) + off_chord)",
        "np.maximum(at_points[:, :-1], at_points[:, 1:]))",
        LINES,
    ),
    mutant(
        "a line at one end of each piece",
        "_largest",
        "up(np.maximum(at_points[:, :-1], at_points[:, 1:]) + off_chord)",
        "up(at_points[:, :-1] + off_chord)",
        LINES,
    ),
    mutant(
        "a line above the middle of a jump",
        "_heights",
        "down(points.middle - points.radius)",
        "down(points.middle)",
        LINES,
        equivalent=ROUNDING_ALONE,
    ),
    mutant(
        "a line below the middle of a jump",
        "_heights",
        "up(points.middle + points.radius)",
        "up(points.middle)",
        LINES,
        equivalent=ROUNDING_ALONE,
    ),
    # --- ranges -------------------------------------------------------------------------------------------------------
    mutant(
        "the least size of a weight",
        "Ranges.weight_size",
        "np.maximum(np.abs(self.weight_lower), np.abs(self.weight_upper))",
        "np.minimum(np.abs(self.weight_lower), np.abs(self.weight_upper))",
        ("soundness/test_ruled_out_scores.py::test_a_supposed_score_is_used_exactly",),
    ),
    mutant(
        "half the radius of the weights",
        "Ranges.kernel_fields",
        '"weight_radius": weight_radius,',
        '"weight_radius": 0.5 * weight_radius,',
        TABLES,
    ),
    mutant(
        "units that do not move a row's score",
        "Ranges.variant_scores",
        "low, high = corners.min(axis=0), corners.max(axis=0)",
        "low, high = 0.0 * corners.min(axis=0), 0.0 * corners.max(axis=0)",
        TABLES,
    ),
    mutant(
        "numbers that meet the least weight only",
        "Ranges.variant_scores",
        "for weight in (self.weight_lower, self.weight_upper)",
        "for weight in (self.weight_lower,)",
        TABLES,
    ),
    mutant(
        "every level moves a score as the first",
        "Ranges.variant_scores",
        "np.where(is_any, most.max(), np.where(is_base, 0.0, most[own]))",
        "np.where(is_any, most[0], np.where(is_base, 0.0, most[own]))",
        TABLES,
    ),
    mutant(
        "levels that do not move a row's score",
        "Ranges.variant_scores",
        "np.where(is_base, 0.0, least[own])",
        "np.where(is_base, 0.0, 0.0 * least[own])",
        TABLES,
    ),
    mutant(
        "a base whose weight is not known",
        "Ranges._level_changes",
        "least, most = down(low - high[base]), up(high - low[base])",
        "least, most = down(low - low[base]), up(high - high[base])",
        ("certificates/test_row_sums.py::test_no_level_changes_a_score_by_more_than_is_said_wherever_its_weights_are",),
    ),
    mutant(
        "one unit of a budget too few moves a score",
        "_largest_sums",
        "first[index] < most[index]",
        "first[index] + 1 < most[index]",
        TABLES,
        BUDGETS,
    ),
    mutant(
        "the units of a budget that lower a score are those that raise it",
        "Ranges.variant_scores",
        "below -= _largest_sums(of_entry[here], -low[here], used)",
        "below -= _largest_sums(of_entry[here], low[here], used)",
        TABLES,
    ),
    mutant(
        "rows whose units move them have the score of their center",
        "Ranges.variant_scores",
        "lower = np.where(is_still, self.row_lower[variants.row], lower)",
        "lower = np.where(np.isfinite(lower), self.row_lower[variants.row], lower)",
        TABLES,
    ),
    mutant(
        "the score of a variant without rounding",
        "Ranges.variant_scores",
        "error = sum_error(sizes, 2 * len(table.w) + 8)",
        "error = 0.0 * sizes",
        EXACT,
        equivalent="The outward steps after it are as large, but where the changes of many cells cancel.",
    ),
    mutant(
        "the other levels forgotten in a change",
        "Ranges._level_changes",
        "return down(own_low - others_high - error), up(own_high - others_low + error)",
        "return down(own_low - error), up(own_high + error)",
        TERMS,
        SUMS,
    ),
    mutant(
        "the lowest score of a row is its highest",
        "Ranges.row_lower",
        "return self.lower[self.table.incomplete_at]",
        "return self.upper[self.table.incomplete_at]",
        TERMS,
        SUMS,
    ),
    # --- incomplete rows (lem-incomplete-row) -------------------------------------------------------------------------
    mutant(
        "a derivative on the wrong side of its chord",
        "graph_points",
        "for curvature in (-lowest, highest))",
        "for curvature in (highest, -lowest))",
        CHORDS,
        TERMS,
    ),
    mutant(
        "chords of half the distance",
        "graph_points",
        "(up(up(up(curvature * length) * length) * 0.125)",
        "(up(up(up(curvature * length) * length) * 0.0625)",
        CHORDS,
        TERMS,
    ),
    mutant(
        "lines on the wrong side of the chord",
        "_heights",
        "_largest(up(up(rise) - least), points.below_chord)",
        "_largest(up(up(rise) - least), points.above_chord)",
        LINES,
    ),
    mutant(
        "a derivative between two points without its distance from their mean",
        "_points_between",
        "up(up(np.abs(middle - mean) + radius) + 8.0 * EPS * size)",
        "0.0 * size",
        (f"{UNITS}::test_derivatives_between_points_are_near_a_mean_of_those_at_them",),
    ),
    # --- the table ----------------------------------------------------------------------------------------------------
    mutant(
        "merged rows with the weight of one",
        "_merged",
        "np.bincount(which.ravel(), weight) / total",
        "weight[first] / total",
        MERGED,
    ),
    mutant(
        "rows with different labels are merged",
        "_merged",
        "np.column_stack([table.center[numbers], table.y[numbers]]) + 0.0",
        "np.column_stack([table.center[numbers], 0.0 * table.y[numbers]]) + 0.0",
        MERGED,
    ),
    mutant(
        "units out of the order of their rows",
        "Units._in_order",
        'return self.some(np.argsort(self.row, kind="stable"))',
        "return self",
        LAYOUT,
        SUMS,
    ),
    mutant(
        "cells that only grow",
        "Units.of_holes",
        "np.concatenate([-radii, np.zeros(m)]),",
        "np.concatenate([0.0 * radii, np.zeros(m)]),",
        LAYOUT,
    ),
    mutant(
        "an l1 penalty that is left out",
        "_with_l1_part",
        "np.flatnonzero(problem.penalty.kappa_vector(d))\n    return np.concatenate",
        "np.flatnonzero(0.0 * problem.penalty.kappa_vector(d))\n    return np.concatenate",
        SUMS,
    ),
    mutant(
        "an l1 penalty with the weight of a row",
        "_with_l1_part",
        "np.concatenate([weight, np.ones(len(penalised))])",
        "np.concatenate([weight, np.full(len(penalised), 0.5)])",
        SUMS,
    ),
    mutant(
        "the weights of other rows",
        "RowTable._of",
        "            weight[numbers],\n",
        "            weight[: len(numbers)],\n",
        LAYOUT,
        SUMS,
    ),
    mutant(
        "a gradient without its rounding",
        "gradient_upper",
        "penalty.subgradient_range(w, down(sums - around), up(sums + around))",
        "penalty.subgradient_range(w, sums, sums)",
        GRADIENT,
    ),
    mutant(
        "a gradient without its weights",
        "gradient_upper",
        "sums = X.T @ (weight * middle)",
        "sums = X.T @ middle / len(middle)",
        GRADIENT,
    ),
    mutant(
        "the middle piece of a cell left out",
        "_parts",
        "for piece in pairwise(edges)]",
        "for piece in list(pairwise(edges))[:1]]",
        LAYOUT,
        TERMS,
        SUMS,
    ),
    mutant(
        "the last level left out",
        "_parts",
        "for level in range(len(columns[k]))]",
        "for level in range(len(columns[k]) - 1)]",
        LAYOUT,
        TERMS,
    ),
    mutant(
        "not as many units as a budget allows",
        "_uses",
        "counts.append([0, *powers, most] if most else [0])",
        "counts.append([0, *powers] if most else [0])",
        TABLES,
        BUDGETS,
    ),
    mutant(
        "more variants than the kernel takes",
        "make_variants",
        "most = min(most // len(uses), MOST_VARIANTS // 2)",
        "most = MOST_VARIANTS // 2",
        MANY,
    ),
    mutant(
        "more uses of budgets than the kernel takes",
        "_uses",
        "        del longest[-2]\n",
        "        break\n",
        MANY,
    ),
    # --- ranges that prove themselves (thm-ranges) --------------------------------------------------------------------
    mutant(
        "ranges that close at their ends",
        "_Closing._relax",
        "(bounds[:n_few] < upper) & (-bounds[n_few:] > lower)",
        "(bounds[:n_few] <= upper) & (-bounds[n_few:] >= lower)",
        CLOSING,
    ),
    mutant(
        "most ranges close",
        "_Closing._relax",
        "bool(((bounds[:n_few] < upper) & (-bounds[n_few:] > lower)).all())",
        "bool(((bounds[:n_few] < upper) & (-bounds[n_few:] > lower)).mean() > 0.9)",
        CLOSING,
    ),
    mutant(
        "centers that are not put in",
        "make_variants",
        "        if with_centers and is_center.any():\n",
        "        if False and is_center.any():\n",
        CENTERS,
    ),
    mutant(
        "centers with one of two labels",
        "make_variants",
        "for label in labels if label_group == Group.FREE else (0,):",
        "for label in (0,):",
        (f"{KERNEL}::test_the_center_of_a_row_whose_label_is_uncertain_counts_with_either_label",),
    ),
    mutant(
        "an upper end for a lower one",
        "RowSumBounds.ends",
        "-highest[len(X) :]",
        "highest[len(X) :]",
        MODELS,
    ),
    mutant(
        "narrowed beyond what is proved",
        "narrowed",
        "following = ranges.within(*few.spread(np.fmax(lower, -bounds[n:]), np.fmin(upper, bounds[:n])))",
        "following = ranges.within(*few.spread(lower, 0.7 * bounds[:n] - 0.3 * bounds[n:]))",
        MODELS,
    ),
    mutant("ranges that close on one side", "_Closing._relax", "< upper) & (-bounds", "< upper) | (-bounds", CLOSING),
    mutant(
        "ranges that are no bounded set",
        "_Closing._relax",
        "np.isfinite(lower).all() and np.isfinite(upper).all()",
        "not np.isnan(lower).any()",
        COERCIVE,
        equivalent="A range without an end makes every row sum infinite, so that nothing is inside.",
    ),
    mutant(
        "the way starts at no option of a row",
        "ranges_at_w",
        "dot_bounds(table.directions, table.w), on_path=True)",
        "dot_bounds(table.directions, table.w), on_path=False)",
        CENTERS,
    ),
    # --- representatives (lem-representatives) ------------------------------------------------------------------------
    mutant(
        "ranges of others without those of the weights",
        "Representatives.spread",
        "below, above = self.positive @ low - self.negative @ high, self.positive @ high - self.negative @ low",
        "below, above = 0.0 * (self.positive @ low), 0.0 * (self.positive @ high)",
        SPREAD,
    ),
    mutant(
        "the weights of a difference at their wrong ends",
        "Representatives.spread",
        "self.positive @ low - self.negative @ high, self.positive @ high - self.negative @ low",
        "self.positive @ low - self.negative @ low, self.positive @ high - self.negative @ high",
        SPREAD,
    ),
    mutant(
        "ranges of others without rounding",
        "Representatives.spread",
        "error = (2 * len(low) + 16) * EPS * (self.size @ np.maximum(np.abs(low), np.abs(high))) + UNDERFLOW",
        "error = 0.0 * (self.size @ np.maximum(np.abs(low), np.abs(high)))",
        SPREAD,
    ),
    mutant(
        "the representative of another direction",
        "Representatives.spread",
        "all_upper = up(up(upper[self.of] + above) + error)",
        "all_upper = up(up(upper[self.of[::-1]] + above) + error)",
        SPREAD,
    ),
    mutant(
        "the ranges of all directions in another order",
        "Representatives.spread",
        "return lower[order], upper[order]",
        "return lower[self.index], upper[self.index]",
        SPREAD,
    ),
    # --- slopes over the moves that row sums leave --------------------------------------------------------------------
    Mutant(
        "of rows without weight everything must be known",
        "KnownRows.max_score_move_in",
        "return np.where(block.weight > 0.0, self.max_score_move(block.center), 0.0)",
        "return self.max_score_move(block.center)",
        SLOPES,
    ),
    Mutant(
        "rows with weight that do not move",
        "KnownRows.max_score_move_in",
        "return np.where(block.weight > 0.0, self.max_score_move(block.center), 0.0)",
        "return np.where(block.weight < 0.0, self.max_score_move(block.center), 0.0)",
        SLOPES,
    ),
    Mutant(
        "ends of pieces that the loops are not made for",
        "ENDS",
        "ENDS = (4, 8)",
        "ENDS = range(1, 9)",
        ("app/files/test_hostile_models.py::test_compiled_sums_of_other_pieces_than_there_are_are_refused",),
    ),
)
