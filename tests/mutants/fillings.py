"""Mutants of the bounds around a filled-in table, and of what may differ from one."""

from __future__ import annotations

from mutants.entry import Mutant

AROUND = "soundness/test_around_filling.py"
ROOM = "certificates/row_sums"
KERNEL = "numeric/compiled/row_sum_kernel.c"
OPTIONS = (f"{AROUND}::test_units_have_the_options_of_numbers_and_of_categories",)
SUMS = (f"{AROUND}::test_sums_hold_for_every_model_and_table_within_the_budget_whatever_is_chosen",)
MEET = (f"{AROUND}::test_groups_add_where_a_number_of_units_counts_as_the_next_larger_one",)
USED = (f"{AROUND}::test_a_variant_uses_nothing_of_a_budget_one_all_of_it_and_none_too_much",)
MODELS = (f"{AROUND}::test_bounds_hold_for_every_vertex_and_inner_point_exactly",)
WIDTHS = (f"{AROUND}::test_widths_of_another_budget_are_where_to_start_and_prove_nothing",)
ANY_WEIGHTS = (f"{AROUND}::test_bounds_hold_for_any_weights",)
NEARLY = (f"{AROUND}::test_the_bounds_of_short_intervals_are_nearly_attained",)
WITHOUT_WEIGHT = (f"{AROUND}::test_rows_without_weight_may_differ_as_they_like",)
ON_THE_WAY = (f"{AROUND}::test_ranges_hold_the_weights_that_they_were_proved_from",)

THIRD = ("losses/test_third_derivatives.py",)

ESTIMATORS = "estimators/test_uncertainty.py"
OUTSIDE = (
    f"{ESTIMATORS}::test_a_pipeline_that_fills_outside_the_intervals_is_certified_around_what_it_filled_in",
    f"{ESTIMATORS}::test_a_pipeline_that_fills_in_values_outside_the_intervals_is_within_the_bounds_of_its_budget",
)

MUTANTS = (
    # --- units and moves ----------------------------------------------------------------------------------------------
    Mutant(
        "a level that does not leave the filled-in one",
        "MovableRows.of_categories",
        "np.tile([1.0, -1.0]",
        "np.tile([1.0, 0.0]",
        OPTIONS,
    ),
    Mutant(
        "numbers that only grow",
        "MovableRows.of_numbers",
        "amounts = np.concatenate([-below, above])",
        "amounts = np.concatenate([0.0 * below, above])",
        OPTIONS,
    ),
    Mutant(
        "units that may not go down",
        "Units.of_movable",
        "np.minimum.at(lower, movable.option_unit, options[1][:, 0])",
        "np.maximum.at(lower, movable.option_unit, 0.0 * options[1][:, 0])",
        SUMS,
    ),
    Mutant(
        "units that may not go up",
        "Units.of_movable",
        "np.maximum.at(upper, movable.option_unit, options[1][:, 0])",
        "np.maximum.at(upper, movable.option_unit, 0.0 * options[1][:, 0])",
        SUMS,
    ),
    Mutant(
        "another level than the filled-in one",
        "Units.of_movable",
        "columns.index(filled)",
        "0",
        SUMS,
    ),
    Mutant(
        "one other level of a category",
        "Units.of_movable",
        "{filled, *options[0][own][:, 0].tolist()}",
        "{filled, *options[0][own][:1, 0].tolist()}",
        SUMS,
    ),
    Mutant(
        "a budget that is no limit one unit too early",
        "Units.of_movable",
        "moves.count(group) >= size for",
        "moves.count(group) >= size - 1 for",
        NEARLY,
        equivalent="What is free may differ as a budget allows, and in one unit more.",
    ),
    Mutant(
        "the units of the first row forgotten",
        "RowTable._of",
        "units = units.some(units.row >= 0)",
        "units = units.some(units.row > 0)",
        SUMS,
    ),
    Mutant(
        "units of rows without weight are those of the last row",
        "RowTable._of",
        "units = units.some(units.row >= 0)",
        "units = units.some(units.row >= -1)",
        WITHOUT_WEIGHT,
    ),
    Mutant(
        "a budget of one unit less",
        "RowTable._of",
        "tuple(moves.count(number) for number in range(N_CELL_GROUPS))",
        "tuple(max(moves.count(number) - 1, 0) for number in range(N_CELL_GROUPS))",
        (*USED, *SUMS),
    ),
    Mutant(
        "budgets of groups exchanged",
        "RowTable._of",
        "tuple(moves.count(number) for number in range(N_CELL_GROUPS))",
        "tuple(moves.count(1 - number) for number in range(N_CELL_GROUPS))",
        SUMS,
    ),
    Mutant(
        "no row as it is filled in",
        "_uses",
        "counts.append([0, *powers, most] if most else [0])",
        "counts.append([*powers, most] if most else [0])",
        USED,
    ),
    # --- what budgets gain (lem-budget) -------------------------------------------------------------------------------
    Mutant(
        "a second group gains beyond what the most units of the first do",
        "least_used",
        "if (used < most && used >= least) least = used + 1;",
        "least = most;",
        MEET,
    ),
    # --- ranges and bounds --------------------------------------------------------------------------------------------
    Mutant(
        "widths of another budget are a proof",
        "prove_ranges",
        "        start = np.maximum(_of_directions(table, widths), 1.0)",
        "        ends = around(at_w.lower, at_w.upper, _of_directions(table, widths) * change)\n"
        "        return ProvedRanges(at_w.with_ends(*ends), widths)\n"
        "        start = np.maximum(_of_directions(table, widths), 1.0)",
        WIDTHS,
    ),
    Mutant(
        "half the box of the weights",
        "with_box",
        'return Region("box", center, box, 0.0), bounds',
        'return Region("box", center, 0.5 * box, 0.0), bounds',
        MODELS,
    ),
    Mutant(
        "a box around w",
        "with_box",
        'return Region("box", center, box, 0.0), bounds',
        'return Region("box", ranges.table.w, box, 0.0), bounds',
        (*MODELS, *ANY_WEIGHTS),
    ),
    Mutant(
        "ranges that are about the models of completions alone from the start",
        "bounds_around_filling",
        "on_path=True)",
        "on_path=False)",
        ON_THE_WAY,
    ),
    # --- losses -------------------------------------------------------------------------------------------------------
    Mutant(
        "a curvature that falls fastest elsewhere",
        "STEEPEST_LOWER",
        "STEEPEST_LOWER, STEEPEST_UPPER = 1.316957896924, 1.316957896925",
        "STEEPEST_LOWER, STEEPEST_UPPER = 1.416957896924, 1.416957896925",
        THIRD,
    ),
    # --- from tables to units and back --------------------------------------------------------------------------------
    Mutant(
        "wrong categories are not looked at",
        "movable_cells",
        "if width > 1:",
        "if width > 9:",
        (f"{ESTIMATORS}::test_wrong_categories_and_wrong_numbers_of_a_frame_are_within_the_bounds",),
    ),
    Mutant(
        "intervals that are points, and not what was filled in, stay as they are",
        "_movable_numbers",
        "is_point = (radii == 0.0) & (values == centers)",
        "is_point = radii == 0.0",
        OUTSIDE,
    ),
    Mutant(
        "any filling is not one outside the intervals",
        "_widened",
        "return matrix if np.array_equal(wider, radii) else replace(matrix, radii=wider)",
        "return matrix",
        OUTSIDE,
    ),
)
