"""Mutants of the kernel of row sums, which is compiled anew for each."""

from __future__ import annotations

from mutants.entry import Mutant

TESTS, SOUND = "soundness/test_row_sum_kernel.py", "soundness/test_row_sums.py"
FORMULA = f"{TESTS}::test_bounds_are_those_of_the_formula_and_never_below_it"
HOLD = f"{TESTS}::test_row_sums_hold_for_every_w_and_completion_whatever_is_chosen"
BUDGETS = f"{TESTS}::test_no_choice_of_units_that_budgets_allow_gains_more"
GROUPS = f"{TESTS}::test_what_groups_gain_together_holds_for_every_number_of_units"
MANY = f"{TESTS}::test_rows_of_several_groups_have_no_more_variants_than_the_kernel_takes"
EDGES = f"{TESTS}::test_what_is_not_finite_bounds_nothing_and_numbers_of_any_size_bound_from_above"
POINT = f"{SOUND}::test_row_sums_at_a_point_are_exact_but_for_rounding"
CANCEL = f"{SOUND}::test_products_that_cancel_are_rounded_outward"
UNKNOWN = f"{SOUND}::test_what_is_not_known_bounds_nothing"
TILT = f"{SOUND}::test_the_tilt_is_no_more_than_the_gradient"
PRODUCT = "soundness/test_row_sums_of_jumps.py::test_the_product_with_settled_sums_is_rounded_outward"
LABELS = "soundness/test_row_sums_of_labels.py::test_of_wrong_labels_the_worst_count_and_no_more"
LEFT = f"{TESTS}::test_what_the_multipliers_leave_is_rounded_outward"


def mutant(name: str, where: str, old: str, new: str, *tests: str, equivalent: str = "") -> Mutant:
    """Return a mutant of the kernel."""
    return Mutant(name, where, old, new, tests or (FORMULA,), equivalent)


MUTANTS = (
    # --- the sum (thm-row-sums) ---------------------------------------------------------------------------------------
    mutant("no tilt", "bound_of", "tilted += fabs(s->u[a]) * t->tilt[a];", "", TILT, FORMULA),
    mutant(
        "complete rows taken off a residual with the other sign",
        "bound_of",
        "s->left[a] -= dot(c.n, s->slope + start, c.columns + a * c.n);",
        "s->left[a] += dot(c.n, s->slope + start, c.columns + a * c.n);",
        HOLD,
    ),
    mutant(
        "a residual without the penalty",
        "bound_of",
        "s->left[a] = y[a] - t->lam[a] * s->u[a]",
        "s->left[a] = y[a]",
        HOLD,
    ),
    mutant(
        "uncertain rows put into a residual",
        "bound_of",
        "s->left[a] -= part, s->size[a] += fabs(part);",
        "s->left[a] += part, s->size[a] += fabs(part);",
        HOLD,
    ),
    mutant(
        "units put into a residual",
        "bound_of",
        "s->left[columns[l]] -= part, s->size[columns[l]] += fabs(part);",
        "s->left[columns[l]] += part, s->size[columns[l]] += fabs(part);",
        HOLD,
    ),
    mutant(
        "a residual weight_coefficient the middle of the weights",
        "bound_of",
        "residual += s->left[a] * middle + fabs(s->left[a]) * radius + off",
        "residual += s->left[a] * middle + off",
        HOLD,
    ),
    mutant(
        "half the radius of the weights that a residual weight_coefficient",
        "bound_of",
        "residual += s->left[a] * middle + fabs(s->left[a]) * radius + off",
        "residual += s->left[a] * middle + 0.5 * fabs(s->left[a]) * radius + off",
        HOLD,
        FORMULA,
    ),
    mutant(
        "a residual on the other side",
        "bound_of",
        "residual += s->left[a] * middle",
        "residual -= s->left[a] * middle",
        HOLD,
    ),
    mutant(
        "lines on the wrong side",
        "bound_of",
        "s->scratch[i] = along > 0.0 ? along * line[1] : -along * line[2];",
        "s->scratch[i] = along < 0.0 ? along * line[1] : -along * line[2];",
        HOLD,
    ),
    mutant(
        "a line's slope of another row",
        "bound_of",
        "s->slope[i] = line[0] * along * t->complete_weight[i];",
        "s->slope[i] = line[0] * along * t->complete_weight[0];",
        HOLD,
    ),
    mutant("settled rows push", "bound_of", "settled -= s->u[a]", "settled += s->u[a]", HOLD),
    mutant(
        "cells of settled rows are left out",
        "bound_of",
        "around += fabs(s->u[a]) * t->settled_radius[a];",
        "",
        HOLD,
        FORMULA,
    ),
    mutant(
        "cells of settled rows row_factor along u",
        "bound_of",
        "around += fabs(s->u[a]) * t->settled_radius[a];",
        "around += s->u[a] * t->settled_radius[a];",
        HOLD,
    ),
    mutant(
        "what budgets gain is left out",
        "bound_of",
        "complete + incomplete + gained + error + residual",
        "complete + incomplete + error + residual",
        HOLD,
    ),
    mutant(
        "uncertain rows have no weight",
        "bound_of",
        "incomplete += m * base, incomplete_size",
        "incomplete += base, incomplete_size",
        HOLD,
    ),
    mutant(
        "a NaN is a bound",
        "bound_of",
        "return bound < INFINITY ? bound : INFINITY;",
        "return bound > -INFINITY ? bound : 0.0;",
        UNKNOWN,
        EDGES,
    ),
    # --- a unit's options (lem-incomplete-row) ------------------------------------------------------------------------
    mutant(
        "the weight of a unit at its middle",
        "number_term",
        "return weight_coefficient * middle + fabs(weight_coefficient) * radius;",
        "return weight_coefficient * middle;",
        HOLD,
    ),
    mutant(
        "a number that does not turn its row's score",
        "number_term",
        "weight_coefficient = zeta - slope * change;",
        "weight_coefficient = zeta;",
        HOLD,
    ),
    mutant(
        "a number at its lower end",
        "variant_term",
        "if (high > low) add_choice(number_term(zeta, slope, high, wm, wr), high * u, middle, most, 0, n_ends);",
        "",
        HOLD,
    ),
    mutant(
        "a unit that does not row_factor", "add_choice", "most[e] = own - middle[e] * change;", "most[e] = own;", HOLD
    ),
    mutant(
        "the least of the levels",
        "add_choice",
        "most[e] = larger(most[e], own - middle[e] * change);",
        "most[e] = lesser(most[e], own - middle[e] * change);",
        HOLD,
    ),
    mutant(
        "levels' weights at their middle",
        "variant_term",
        "total += apart * t->weight_middle[columns[l]] + fabs(apart) * t->weight_radius[columns[l]];",
        "total += apart * t->weight_middle[columns[l]];",
        HOLD,
    ),
    mutant(
        "the chosen level's weight at its middle",
        "variant_term",
        "(fabs(apart - slope) - fabs(apart)) * t->weight_radius[columns[l]]",
        "(0.0 - fabs(apart)) * t->weight_radius[columns[l]]",
        HOLD,
    ),
    mutant(
        "a level pulls as if the table had none",
        "variant_term",
        "add_choice(own, s->u[columns[l]] - base_u, middle, most, is_first, n_ends);",
        "add_choice(own, s->u[columns[l]], middle, most, is_first, n_ends);",
        HOLD,
    ),
    mutant(
        "all levels but the last",
        "variant_term",
        "(level >= 0 ? level + 1 : n); l++)",
        "(level >= 0 ? level + 1 : n - 1); l++)",
        HOLD,
    ),
    mutant(
        "a center that is a level", "variant_term", "if (level == BASE_LEVEL) add_choice", "if (0) add_choice", FORMULA
    ),
    mutant(
        "the mean of levels is the first",
        "of_base",
        "    for (index_t l = 0; l < n; l++) sum += v[columns[l]];\n    return sum / (double)n;",
        "    return v[columns[0]];",
        HOLD,
        FORMULA,
    ),
    # --- pieces of a variant (lem-chords) -----------------------------------------------------------------------------
    mutant(
        "terms without the distance from the chord",
        "over_pieces",
        "double off = larger(falling * below[e], rising * above[e]);",
        "double off = 0.0;",
        FORMULA,
    ),
    mutant(
        "chords on the wrong side",
        "over_pieces",
        "double off = larger(falling * below[e], rising * above[e]);",
        "double off = larger(falling * above[e], rising * below[e]);",
        FORMULA,
    ),
    mutant(
        "a rectangle's score at its first end",
        "over_pieces",
        "larger(at_end[e], at_end[e + 1]) + larger(move[e], move[e + 1]);",
        "larger(at_end[e], at_end[e + 1]) + move[e];",
        HOLD,
    ),
    mutant(
        "a rectangle of one derivative",
        "over_pieces",
        "larger(at_end[e], at_end[e + 1]) + larger(move[e], move[e + 1]);",
        "at_end[e] + larger(move[e], move[e + 1]);",
        HOLD,
    ),
    mutant("one end of a part", "over_pieces", "larger(before[e], after[e]) + off);", "before[e] + off);", HOLD),
    mutant(
        "the first part of each piece alone", "over_pieces", "part < t->finer; part++)", "part < 1; part++)", FORMULA
    ),
    mutant(
        "a mean of the wrong ends",
        "over_pieces",
        "after[e] = at_end[e] + share[e] * (at_end[e + 1] - at_end[e])",
        "after[e] = at_end[e + 1] - share[e] * (at_end[e + 1] - at_end[e])",
        FORMULA,
    ),
    mutant("a distance from the mean that costs nothing", "over_pieces", " + steep * away[e] +", " +", FORMULA),
    mutant(
        "a derivative's radius_met forgotten",
        "variant_term",
        "at_end[e] = (row->fixed[share] + steep * radius[e]) - middle[e] * row->along;",
        "at_end[e] = row->fixed[share] - middle[e] * row->along;",
        FORMULA,
    ),
    mutant(
        "the center's score at the wrong end",
        "row_terms",
        "row.fixed[k] = larger(z * t->center_lower[i], z * t->center_upper[i]);",
        "row.fixed[k] = lesser(z * t->center_lower[i], z * t->center_upper[i]);",
        HOLD,
    ),
    mutant(
        "the center's share forgotten",
        "row_terms",
        "double z = (1.0 - SHARES[k]) * row.z;",
        "double z = 0.0 * row.z;",
        HOLD,
    ),
    mutant(
        "the last piece left out",
        "variant_term",
        "for (int e = 1; e < n_ends - 1; e++) largest = larger(largest, over[e]);",
        "for (int e = 1; e < n_ends - 2; e++) largest = larger(largest, over[e]);",
        HOLD,
    ),
    mutant(
        "steepness without the row itself",
        "variant_sizes",
        "double least = row->along, most = row->along, slope = LARGEST_SHARE",
        "double least = 0.0, most = 0.0, slope = LARGEST_SHARE",
        FORMULA,
    ),
    mutant("steepness without the units", "variant_sizes", "least += low, most += high;", "", FORMULA),
    mutant(
        "steep on one side only",
        "variant_term",
        "steep = larger(falling, rising), at_end",
        "steep = falling, at_end",
        FORMULA,
    ),
    # --- variants of a row, and budgets -------------------------------------------------------------------------------
    mutant(
        "the first variant of a row alone",
        "row_gains",
        "if (is_base(t, start + v) && !(largest[v] <= base)) base = largest[v];",
        "if (is_base(t, start + v) && base == -INFINITY) base = largest[v];",
        HOLD,
    ),
    mutant(
        "the last variant skipped",
        "row_gains",
        "    for (index_t v = 0; v < n; v++)\n        if (is_base(t, start + v) &&",
        "    for (index_t v = 0; v < n - (n > 1); v++)\n        if (is_base(t, start + v) &&",
        HOLD,
    ),
    mutant(
        "the first variant that uses a budget alone",
        "row_gains",
        "if (!(gain <= gained[q])) gained[q] = gain;",
        "if (gained[q] == 0.0 && gain > 0.0) gained[q] = gain;",
        FORMULA,
    ),
    mutant(
        "one unit of each budget too few",
        "largest_gains",
        "for (index_t j = 0; j < k; j++) sum += s->ordered[j]",
        "for (index_t j = 0; j + 1 < k; j++) sum += s->ordered[j]",
        BUDGETS,
        LABELS,
    ),
    mutant(
        "one unit of each budget too many",
        "largest_gains",
        "k = t->budget[g] < n ? t->budget[g] : n;",
        "k = t->budget[g] + 1 < n ? t->budget[g] + 1 : n;",
        FORMULA,
        LABELS,
    ),
    mutant(
        "not the largest gains",
        "largest_gains",
        "largest_first(s->ordered, n_few, k);\n        s->least_gain",
        "s->least_gain",
        BUDGETS,
        LABELS,
    ),
    mutant(
        "gains below twice the least are left out",
        "largest_gains",
        "if (n_few < k) memcpy(s->ordered, s->gains[g], (size_t)n * sizeof(double)), n_few = n;",
        "k = k < n_few ? k : n_few;",
        BUDGETS,
        LABELS,
    ),
    mutant("the columns of one more chunk", "chunk_from", "t->complete + start * t->d}", "t->complete}", HOLD),
    mutant("three columns of four", "products", "+ by[3] * four[3 * n + i]", "", HOLD),
    mutant(
        "one unit of a row's group too few",
        "variant_term",
        "k < (n_gains[g] < used[g] ? n_gains[g] : used[g]); k++)",
        "k + 1 < (n_gains[g] < used[g] ? n_gains[g] : used[g]); k++)",
        BUDGETS,
    ),
    mutant(
        "the least gains of a row's units",
        "variant_term",
        "kept[place - 1] < gain)",
        "kept[place - 1] > gain)",
        BUDGETS,
    ),
    mutant(
        "so many units that none may differ",
        "variant_term",
        "if (used[group] >= 16) at_end[e] += gain;",
        "if (used[group] >= 16) ;",
        MANY,
    ),
    mutant("the base of a unit is forgotten", "variant_term", "                at_end[e] += base;\n", "", HOLD),
    mutant(
        "units as they are filled in are forgotten",
        "variant_term",
        "for (int e = 0; e < n_ends; e++) at_end[e] += rest;",
        "(void)rest;",
        HOLD,
    ),
    mutant(
        "gains that are not concave",
        "row_gains",
        "if (slope > steepest) steepest = slope, to = q;",
        "if (slope < steepest) steepest = slope, to = q;",
        BUDGETS,
        FORMULA,
    ),
    mutant(
        "gains of the first number alone",
        "row_gains",
        "if (slope > steepest) steepest = slope, to = q;",
        "(void)slope;",
        FORMULA,
        BUDGETS,
    ),
    mutant(
        "numbers between those that were looked at gain nothing",
        "row_gains",
        "if (gained[q] == 0.0 || !(gained[q] >= 0.0)) gained[q] = gained[q + 1];",
        "if (gained[q] != 0.0 && !(gained[q] >= 0.0)) gained[q] = gained[q + 1];",
        FORMULA,
        BUDGETS,
    ),
    mutant(
        "two groups gain what one of them does",
        "row_gains",
        "if (later || q == 0) continue;",
        "if (later || q == 0 || (g > 0 && used[0] != 0)) continue;",
        GROUPS,
        BUDGETS,
    ),
    mutant(
        "what a variant stands for is what it allows",
        "least_used",
        "if (used < most && used >= least) least = used + 1;",
        "if (used <= most && used >= least) least = used;",
        GROUPS,
    ),
    mutant(
        "gains without the weight of their row",
        "row_gains",
        "*to_gains++ = m * step;",
        "*to_gains++ = step;",
        FORMULA,
    ),
    # --- rounding (fp-row-sums) ---------------------------------------------------------------------------------------
    mutant(
        "terms without rounding",
        "row_terms",
        "error[v] = (double)(6 * t->d + 64) * EPS * size * (1.0 + 1e-6) + UNDERFLOW + TINY;",
        "error[v] = 0.0 * size;",
        CANCEL,
    ),
    mutant(
        "a residual without rounding",
        "bound_of",
        "double off = roundings * s->size[a] + UNDERFLOW,",
        "double off = 0.0 * roundings,",
        LEFT,
    ),
    mutant(
        "complete rows without rounding",
        "bound_of",
        "(double)(n + 2 * d + 32) * EPS * norm * t->complete_size + ",
        "0.0 * norm * t->complete_size + ",
        CANCEL,
    ),
    mutant(
        "the product with settled sums is not rounded",
        "bound_of",
        "of_settled *= (double)(d + 8) * EPS,",
        "of_settled *= 0.0 * EPS,",
        PRODUCT,
    ),
    mutant(
        "sizes that are not finite are passed over",
        "row_terms",
        "        if (!(error[v] < INFINITY)) error[v] = INFINITY;\n",
        "        if (!(error[v] < INFINITY)) error[v] = 0.0;\n",
        UNKNOWN,
        EDGES,
    ),
)
