"""Mutants of row sums and of the ranges that prove themselves."""

from __future__ import annotations

from mutants.entry import Mutant

UNITS, SOUND = "certificates/test_row_sums.py", "soundness/test_row_sums.py"
CHORDS = (f"{UNITS}::test_no_derivative_is_farther_from_a_chord_than_said",)
LINES = (f"{UNITS}::test_lines_are_above_and_below_the_derivative_everywhere",)
TERMS = (f"{UNITS}::test_no_sampled_term_of_a_row_is_above_its_bound",)
SUMS = (f"{SOUND}::test_row_sums_hold_for_every_w_and_completion_whatever_is_chosen",)
EXACT = (f"{SOUND}::test_row_sums_at_a_point_are_exact_but_for_rounding",)
CANCEL = (f"{SOUND}::test_products_that_cancel_are_rounded_outward",)
LEFT = (f"{SOUND}::test_what_the_multipliers_leave_is_rounded_outward",)
GRADIENT = (f"{SOUND}::test_the_centers_gradient_is_bounded_exactly",)
TILT = (
    f"{SOUND}::test_the_tilted_center_is_covered_for_any_model",
    f"{SOUND}::test_the_tilt_is_no_more_than_the_gradient",
)
CLOSING = (
    f"{SOUND}::test_ranges_are_proved_only_if_row_sums_are_strictly_inside",
    f"{SOUND}::test_every_range_must_close",
)
COERCIVE = (f"{SOUND}::test_an_objective_without_a_minimiser_proves_nothing",)
CENTERS = (
    f"{SOUND}::test_the_center_of_a_missing_category_is_an_option_until_the_ranges_are_proved",
    f"{SOUND}::test_levels_alone_do_not_cover_the_center",
)
LAYOUT = (
    f"{UNITS}::test_cells_are_laid_out_by_their_rank_in_the_row",
    f"{UNITS}::test_variants_hold_every_option_of_a_row",
)
MODELS = (
    f"{SOUND}::test_bounds_hold_at_every_vertex_and_inside_exactly",
    f"{SOUND}::test_no_completion_breaks_a_bound_at_any_penalty",
)
REFINED = "soundness/test_row_sums_refined.py"
NARROWER = (f"{REFINED}::test_refined_bounds_are_narrower_and_never_wider",)
LEAST = (f"{REFINED}::test_of_all_bounds_the_least_counts_and_no_nan",)
WORST = (
    f"{REFINED}::test_the_worst_score_of_a_row_is_where_its_term_is_largest",
    f"{REFINED}::test_the_worst_weights_of_cells_are_at_the_ends_that_their_multipliers_ask_for",
)
SLOPES = (
    "certificates/test_row_sums_and_slopes.py::test_rows_without_weight_do_not_widen_slopes",
    "certificates/test_row_sums_and_slopes.py::test_of_rows_with_weight_the_moves_are_those_that_are_known",
)
ROOM = "certificates/row_sums"
ROUNDING_ALONE = (
    "At a jump the two points have no radius; elsewhere it is rounding, a few units of the derivative, less than what "
    "the sum over the rows adds for its own."
)


def mutant(name: str, file: str, old: str, new: str, *tests: tuple[str, ...], equivalent: str = "") -> Mutant:
    """Return a mutant of a file of the room."""
    return Mutant(name, f"{ROOM}/{file}.py", old, new, tuple(test for each in tests for test in each), equivalent)


MUTANTS = (
    # --- chords and lines (Lemmas 24 and 25) --------------------------------------------------------------------------
    mutant("half the turn of a derivative", "graphs", "* length) * 0.25)", "* length) * 0.125)", CHORDS, LINES),
    mutant("half the bend of a derivative", "graphs", "* length) * 0.125)", "* length) * 0.0625)", CHORDS, LINES),
    mutant(
        "half the rise of a derivative",
        "graphs",
        "np.maximum(up(high[1:] - low[:-1]), 0.0)",
        "np.maximum(up(0.5 * (high[1:] - low[:-1])), 0.0)",
        CHORDS,
    ),
    mutant(
        "an l1 penalty with half of its step",
        "graphs",
        "np.where(lower > 0.0, self.kappa, -self.kappa), np.where(upper < 0.0, -self.kappa, self.kappa)",
        "np.where(lower > 0.0, self.kappa, 0.0), np.where(upper < 0.0, -self.kappa, 0.0)",
        (f"{UNITS}::test_an_l1_penalty_is_a_step",),
    ),
    mutant(
        "an l1 penalty that never turns",
        "graphs",
        "np.where((lower > 0.0) | (upper < 0.0), 0.0, np.inf)",
        "np.zeros_like(lower)",
        CHORDS,
        equivalent="Ranges are cut where a step is, so no derivative leaves the chord of a piece.",
    ),
    mutant(
        "lines without the distance from the chord",
        "lines",
        "np.maximum(at_points[:, :-1], at_points[:, 1:]) + off_chord)",
        "np.maximum(at_points[:, :-1], at_points[:, 1:]))",
        LINES,
    ),
    mutant(
        "a line at one end of each piece",
        "lines",
        "up(np.maximum(at_points[:, :-1], at_points[:, 1:]) + off_chord)",
        "up(at_points[:, :-1] + off_chord)",
        LINES,
    ),
    mutant(
        "a line above the middle of a jump",
        "lines",
        "down(points.middle - points.radius)",
        "down(points.middle)",
        LINES,
        equivalent=ROUNDING_ALONE,
    ),
    mutant(
        "a line below the middle of a jump",
        "lines",
        "up(points.middle + points.radius)",
        "up(points.middle)",
        LINES,
        equivalent=ROUNDING_ALONE,
    ),
    # --- ranges -------------------------------------------------------------------------------------------------------
    mutant(
        "half the radius of the weights",
        "ranges",
        "return np.maximum(up(self.weight_upper - self.weight_middle), up(self.weight_middle - self.weight_lower))",
        "return 0.5 * up(self.weight_upper - self.weight_middle)",
        TERMS,
        SUMS,
    ),
    mutant(
        "the least size of a weight",
        "ranges",
        "np.maximum(np.abs(self.weight_lower), np.abs(self.weight_upper))",
        "np.minimum(np.abs(self.weight_lower), np.abs(self.weight_upper))",
        SUMS,
    ),
    mutant(
        "cells that do not move a row's score",
        "ranges",
        "low, high = variants.sums(corners.min(axis=0)), variants.sums(corners.max(axis=0))",
        "low, high = variants.sums(0.0 * corners.min(axis=0)), variants.sums(0.0 * corners.max(axis=0))",
        TERMS,
        SUMS,
    ),
    mutant(
        "cells that meet the least weight only",
        "ranges",
        "for weight in self.weight_ends]",
        "for weight in self.weight_ends[:1]]",
        TERMS,
        SUMS,
    ),
    mutant(
        "levels that do not move a row's score",
        "ranges",
        "np.add.at(high, levels.rows, most)",
        "np.add.at(high, levels.rows, 0.0 * most)",
        TERMS,
        SUMS,
    ),
    mutant(
        "every level moves a score as the first",
        "ranges",
        "least, most = lowest.min(), highest.max()",
        "least, most = lowest[0], highest[0]",
        TERMS,
    ),
    mutant(
        "the other levels forgotten in a change",
        "ranges",
        "return down(own_low - others_high - error), up(own_high - others_low + error)",
        "return down(own_low - error), up(own_high + error)",
        TERMS,
        SUMS,
    ),
    mutant(
        "the score of a variant without rounding",
        "ranges",
        "error = sum_error(size, 2 * len(table.w) + 8)",
        "error = 0.0 * size",
        EXACT,
        equivalent="The outward steps after it are as large, but where the changes of many cells cancel.",
    ),
    mutant(
        "the lowest score of a row is its highest",
        "ranges",
        "return self.lower[self.table.incomplete_at]",
        "return self.upper[self.table.incomplete_at]",
        TERMS,
        SUMS,
    ),
    # --- incomplete rows (Lemma 26) -----------------------------------------------------------------------------------
    mutant(
        "a derivative's doubt forgotten",
        "row_terms",
        "flat.append(part + self.steepness * points.radius[end])",
        "flat.append(part)",
        TERMS,
        SUMS,
    ),
    mutant(
        "terms without the distance from the chord",
        "row_terms",
        "np.where(off_chord > 0.0, self.steepness * off_chord, 0.0)",
        "0.0 * off_chord",
        TERMS,
        SUMS,
    ),
    mutant(
        "one end of a piece",
        "row_terms",
        "along_chord = np.maximum(*by_end)",
        "along_chord = by_end[0]",
        TERMS,
    ),
    mutant(
        "a rectangle's score at its first end",
        "row_terms",
        "np.maximum(slope * points.score[piece], slope * points.score[piece + 1])",
        "slope * points.score[piece]",
        TERMS,
        SUMS,
    ),
    mutant(
        "the factor's own term at the wrong end",
        "row_terms",
        "settled = -np.where(factor > 0.0,",
        "settled = -np.where(factor < 0.0,",
        TERMS,
        SUMS,
    ),
    mutant(
        "the factor's own term forgotten",
        "row_terms",
        "np.fmin(along_chord, in_rectangle) + settled)",
        "np.fmin(along_chord, in_rectangle))",
        TERMS,
        SUMS,
    ),
    mutant(
        "a cell at its lower end",
        "row_terms",
        "variants.sums(np.maximum(ends[0] - pull * variants.lower, ends[1] - pull * variants.upper))",
        "variants.sums(ends[0] - pull * variants.lower)",
        TERMS,
        SUMS,
    ),
    mutant(
        "the weight of a cell at its middle",
        "row_terms",
        "ends.append(meets * self.weight + np.abs(meets) * self.doubt)",
        "ends.append(meets * self.weight)",
        TERMS,
        SUMS,
    ),
    mutant(
        "a cell that does not turn its row's score",
        "row_terms",
        "meets = self.cells - turned * change",
        "meets = self.cells",
        TERMS,
        SUMS,
    ),
    mutant(
        "a level that does not pull",
        "row_terms",
        "of_level = fixed - derivative[each.rows, None] * along",
        "of_level = fixed + 0.0 * derivative[each.rows, None] * along",
        TERMS,
        SUMS,
    ),
    mutant(
        "the least of the levels",
        "row_terms",
        "np.add.at(part.T, each.rows, of_level.max(axis=2).T)",
        "np.add.at(part.T, each.rows, of_level.min(axis=2).T)",
        TERMS,
    ),
    mutant(
        "levels' weights at their middle",
        "row_terms",
        "total = (apart @ middle + np.abs(apart) @ radius)[..., None]",
        "total = (apart @ middle)[..., None]",
        TERMS,
        SUMS,
    ),
    mutant(
        "the chosen level's weight at its middle",
        "row_terms",
        "(np.abs(apart - of_rows) - np.abs(apart)) * radius)",
        "(0.0 - np.abs(apart)) * radius)",
        TERMS,
        SUMS,
    ),
    mutant(
        "a center that is a level",
        "row_terms",
        "of_rows = np.where(each.is_center, 0.0, slope[:, each.rows])[..., None]",
        "of_rows = slope[:, each.rows][..., None]",
        TERMS,
        SUMS,
    ),
    mutant(
        "a center that pulls as a level",
        "row_terms",
        "own = np.where(levels.is_center, 0.0, change[:, levels.level])[..., None]",
        "own = change[:, levels.level][..., None]",
        TERMS,
        SUMS,
    ),
    mutant(
        "steepness without the row itself",
        "row_terms",
        "self.steepness = np.abs(self.along) + variants.sums(size * np.abs(self.u_cells))",
        "self.steepness = 0.0 * np.abs(self.along) + variants.sums(size * np.abs(self.u_cells))",
        TERMS,
        SUMS,
    ),
    mutant(
        "steepness without the cells",
        "row_terms",
        "self.steepness = np.abs(self.along) + variants.sums(size * np.abs(self.u_cells))",
        "self.steepness = np.abs(self.along) + 0.0 * variants.sums(size * np.abs(self.u_cells))",
        TERMS,
        SUMS,
    ),
    mutant(
        "steepness without the levels",
        "row_terms",
        "np.add.at(self.steepness.T, levels.rows, np.abs(change).max(axis=1))",
        "np.add.at(self.steepness.T, levels.rows, 0.0 * np.abs(change).max(axis=1))",
        TERMS,
        SUMS,
    ),
    mutant(
        "the least term of a row's variants",
        "variants",
        "np.maximum.reduceat(values",
        "np.minimum.reduceat(values",
        TERMS,
        SUMS,
    ),
    mutant(
        "terms without rounding",
        "row_terms",
        "largest_of_row(best + terms.rounding())",
        "largest_of_row(best)",
        CANCEL,
    ),
    # --- row sums (Theorem 11) ----------------------------------------------------------------------------------------
    mutant(
        "no tilt",
        "upper",
        "tilt = np.abs(u) @ table.gradient_upper",
        "tilt = 0.0 * np.abs(u) @ table.gradient_upper",
        TILT,
    ),
    mutant(
        "no residual",
        "upper",
        "left = _residual_upper(ranges, Y, u, slope * along, norm, multipliers) @ ranges.weight_size",
        "left = 0.0 * _residual_upper(ranges, Y, u, slope * along, norm, multipliers) @ ranges.weight_size",
        SUMS,
    ),
    mutant(
        "a residual without levels",
        "upper",
        "left[:, missing.columns] -= part.sum(axis=1)",
        "left[:, missing.columns] -= 0.0 * part.sum(axis=1)",
        SUMS,
    ),
    mutant(
        "a residual without cells",
        "upper",
        "left -= scores @ table.incomplete + table.columns_of_cells(cells)",
        "left -= scores @ table.incomplete",
        SUMS,
    ),
    mutant(
        "a residual without rounding",
        "upper",
        "np.abs(left) + 2.0 * roundings * EPS * size + UNDERFLOW",
        "np.abs(left)",
        LEFT,
    ),
    mutant(
        "complete rows without rounding",
        "upper",
        "error = (n_complete + 2 * d + 32) * EPS * norm * ranges.complete_size",
        "error = 0.0 * norm * ranges.complete_size",
        CANCEL,
    ),
    mutant(
        "lines on the wrong side",
        "upper",
        "np.where(along > 0.0, along * above, -along * below)",
        "np.where(along < 0.0, along * above, -along * below)",
        SUMS,
    ),
    mutant(
        "a zero in place of NaN",
        "upper",
        "np.where(np.isnan(bound), np.inf, bound)",
        "np.nan_to_num(bound)",
        (f"{SOUND}::test_what_is_not_known_bounds_nothing",),
    ),
    # --- the table ----------------------------------------------------------------------------------------------------
    mutant(
        "an l1 penalty that is left out",
        "table",
        "np.flatnonzero(problem.penalty.kappa_vector(d))\n    return np.concatenate",
        "np.flatnonzero(0.0 * problem.penalty.kappa_vector(d))\n    return np.concatenate",
        SUMS,
    ),
    mutant(
        "an l1 penalty with the weight of a row",
        "table",
        "np.concatenate([weight, np.ones(len(penalised))])",
        "np.concatenate([weight, np.full(len(penalised), 0.5)])",
        SUMS,
    ),
    mutant(
        "the weights of rows of another order",
        "table",
        "            weight[numbers],\n",
        "            weight[np.sort(numbers)],\n",
        LAYOUT,
        SUMS,
    ),
    mutant(
        "rows in the order of the table",
        "table",
        'numbers = numbers[np.argsort(-table.cell_counts[numbers], kind="stable")]',
        'numbers = numbers[np.argsort(table.cell_counts[numbers], kind="stable")]',
        LAYOUT,
    ),
    mutant(
        "a gradient without its rounding",
        "tilt",
        "penalty.subgradient_range(w, down(sums - around), up(sums + around))",
        "penalty.subgradient_range(w, sums, sums)",
        GRADIENT,
    ),
    mutant(
        "a gradient without its weights",
        "tilt",
        "sums = X.T @ (weight * middle)",
        "sums = X.T @ middle / len(middle)",
        GRADIENT,
    ),
    mutant(
        "every objective has a minimiser",
        "tilt",
        "            return False\n",
        "            return True\n",
        COERCIVE,
    ),
    mutant(
        "a minimiser on one side",
        "tilt",
        "for side, end in ((1.0, 0), (-1.0, 1)):",
        "for side, end in ((1.0, 0),):",
        COERCIVE,
    ),
    mutant(
        "a tilt that is not looked at",
        "tilt",
        "> 2.0 * gradient[-1] + 1e-9 *",
        "> 1e-9 *",
        COERCIVE,
    ),
    mutant(
        "the middle piece of a cell left out",
        "variants",
        "for piece in pairwise(edges)]",
        "for piece in list(pairwise(edges))[:1]]",
        LAYOUT,
        TERMS,
        SUMS,
    ),
    mutant(
        "the last level left out",
        "variants",
        "for level in range(n_levels)]",
        "for level in range(n_levels - 1)]",
        LAYOUT,
        TERMS,
    ),
    # --- ranges that prove themselves (Theorem 12) --------------------------------------------------------------------
    mutant(
        "ranges that close at their ends",
        "prove",
        "(bounds[:n] < upper) & (-bounds[n:] > lower)",
        "(bounds[:n] <= upper) & (-bounds[n:] >= lower)",
        CLOSING,
    ),
    mutant("ranges that close on one side", "prove", "< upper) & (-bounds", "< upper) | (-bounds", CLOSING),
    mutant("most ranges close", "prove", "if is_inside.all():", "if is_inside.mean() > 0.9:", CLOSING),
    mutant(
        "objectives without a minimiser",
        "prove",
        "if not table.is_coercive:",
        "if False:",
        COERCIVE,
    ),
    mutant(
        "the way starts at no option of a row",
        "bounds",
        "at_w = _ranges_at_w(problem, solution, on_path=True)",
        "at_w = _ranges_at_w(problem, solution, on_path=False)",
        CENTERS,
    ),
    mutant(
        "centers that are not put in",
        "variants",
        "    if with_centers:\n",
        "    if False and with_centers:\n",
        CENTERS,
    ),
    mutant(
        "an upper end for a lower one",
        "bounds",
        "return -largest_scores(self.ranges, -X), largest_scores(self.ranges, X)",
        "return largest_scores(self.ranges, -X), largest_scores(self.ranges, X)",
        MODELS,
    ),
    mutant(
        "narrowed beyond what is proved",
        "prove",
        "following = ranges.within(-bounds[len(Y) :], bounds[: len(Y)])",
        "following = ranges.within(-bounds[len(Y) :], 0.7 * bounds[: len(Y)] - 0.3 * bounds[len(Y) :])",
        MODELS,
    ),
    # --- refined multipliers ------------------------------------------------------------------------------------------
    mutant(
        "terms without the shift",
        "upper",
        "for each in _terms_of_labels(ranges, choice, multipliers)]",
        "for each in _terms_of_labels(ranges, choice, row_multipliers(ranges, choice.u, choice.mixture))]",
        SUMS,
    ),
    mutant(
        "refined terms without the shift",
        "upper",
        "_terms_of_labels(ranges, choice, multipliers, with_worst=True)",
        "_terms_of_labels(ranges, choice, row_multipliers(ranges, choice.u, choice.mixture), with_worst=True)",
        SUMS,
    ),
    mutant(
        "a refined residual without the shift",
        "upper",
        "upper = _bound(ranges, Y, choice, multipliers, [",
        "upper = _bound(ranges, Y, choice, row_multipliers(ranges, choice.u, choice.mixture), [",
        SUMS,
    ),
    mutant(
        "a shift that is not used",
        "row_terms",
        "score, cells = score + shift.score, cells + shift.cells",
        "score, cells = score, cells",
        NARROWER,
    ),
    mutant(
        "the last bound instead of the least",
        "upper",
        "return np.asarray(np.minimum(best, _or_infinite(bound.upper)))",
        "return np.asarray(_or_infinite(bound.upper))",
        LEAST,
        NARROWER,
    ),
    mutant(
        "the first bounds are lost",
        "upper",
        "np.minimum(best, _or_infinite(bound.upper), out=best)",
        "best = _or_infinite(bound.upper)",
        LEAST,
    ),
    mutant(
        "scores' multipliers are shifted to their worst",
        "multipliers",
        "score = old.score - step * size",
        "score = old.score + step * size",
        NARROWER,
    ),
    mutant(
        "cells' multipliers are shifted to their worst",
        "multipliers",
        "old.cells - step * size[:, at]",
        "old.cells + step * size[:, at]",
        NARROWER,
    ),
    mutant(
        "each step forgets those before",
        "multipliers",
        "old = choice.shift or Shift(",
        "old = Shift(",
        NARROWER,
    ),
    mutant(
        "the condition's multiplier is not shifted",
        "multipliers",
        "solved(choice.curvature, (Y - taken)[..., None])",
        "solved(choice.curvature, Y[..., None])",
        NARROWER,
    ),
    mutant(
        "the worst center has its cells in it",
        "row_terms",
        "center = score - table.sums_of_cells(moved)",
        "center = score",
        WORST,
    ),
    mutant(
        "cells at the better end",
        "row_terms",
        "is_upper = ends[1] > ends[0]",
        "is_upper = ends[1] < ends[0]",
        WORST,
    ),
    mutant(
        "weights at the better end",
        "row_terms",
        "weights.append(middle + np.sign(meets) * radius)",
        "weights.append(middle - np.sign(meets) * radius)",
        WORST,
    ),
    mutant(
        "the first piece is the worst",
        "row_terms",
        "places.use_piece(piece, over_factors > best)",
        "places.use_piece(piece, over_factors < best)",
        WORST,
    ),
    mutant(
        "the best variant for the worst",
        "variants",
        "which = values[:, self.of_row].argmax(axis=2)",
        "which = values[:, self.of_row].argmin(axis=2)",
        WORST,
    ),
    mutant(
        "every cell is the first of its row",
        "row_terms",
        "places = variants.places[variant[:, at], variants.rank_of_cell]",
        "places = variants.places[variant[:, at], 0 * variants.rank_of_cell]",
        WORST,
    ),
    # --- slopes over the moves that row sums leave --------------------------------------------------------------------
    Mutant(
        "of rows without weight everything must be known",
        "certificates/slope/move_sets.py",
        "return np.where(block.weight > 0.0, self.max_score_move(block.center), 0.0)",
        "return self.max_score_move(block.center)",
        SLOPES,
    ),
    Mutant(
        "rows with weight that do not move",
        "certificates/slope/move_sets.py",
        "return np.where(block.weight > 0.0, self.max_score_move(block.center), 0.0)",
        "return np.where(block.weight < 0.0, self.max_score_move(block.center), 0.0)",
        SLOPES,
    ),
)
