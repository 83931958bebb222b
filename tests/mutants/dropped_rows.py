"""Mutants of absent rows, and of wrong labels in a budget."""

from __future__ import annotations

from mutants.entry import Mutant

SOUND = "soundness/test_dropped_rows.py"
EXACT = (f"{SOUND}::test_bounds_hold_without_any_rows_exactly",)
TOGETHER = (f"{SOUND}::test_bounds_hold_for_cells_labels_and_rows_together_exactly",)
L1 = (f"{SOUND}::test_bounds_hold_without_rows_under_an_l1_penalty_exactly",)
SAME_FIT = (f"{SOUND}::test_models_are_those_of_the_same_fit_without_the_rows",)
VARIANTS = (f"{SOUND}::test_one_variant_of_a_row_is_without_it_and_uses_nothing_else",)
SEARCH = (f"{SOUND}::test_the_search_finds_nearly_the_worst_rows_and_labels",)
PULLED = (f"{SOUND}::test_rows_that_pull_most_move_no_score_of_a_real_table_beyond_its_bounds",)
KERNEL = (
    "soundness/test_row_sum_kernel.py::test_row_sums_hold_for_every_w_and_completion_whatever_is_chosen",
    "soundness/test_row_sum_kernel.py::test_bounds_are_those_of_the_formula_and_never_below_it",
)
API = "promises/test_absent_rows.py"
OWN_NUMBERS = (f"{API}::test_each_kind_has_a_number_of_its_own",)
NOTHING = (f"{API}::test_what_is_not_proved_without_rows_is_not_bounded_and_the_note_says_why",)
WRONG_LABELS = (f"{API}::test_what_is_not_proved_with_wrong_labels_has_the_bounds_of_any_filling_with_wrong_labels",)

MUTANTS = (
    # --- the objective (lem-absent-row) -------------------------------------------------------------------------------
    Mutant(
        "an absent row leaves its part of the penalty",
        "penalty_term",
        "if (t->dropped_group < 0) return;",
        "if (t->dropped_group < 0 || t->d > 0) return;",
        (*KERNEL, *EXACT),
    ),
    Mutant(
        "an absent row adds its part of the penalty once more",
        "variant_term",
        "at_end[e] += s->of_penalty;",
        "at_end[e] -= s->of_penalty;",
        (*KERNEL, *EXACT),
    ),
    Mutant(
        "the part of the penalty of one model alone",
        "penalty_term",
        "number_term(slope, 0.0, 0.0, t->weight_middle[a], t->weight_radius[a])",
        "number_term(slope, 0.0, 0.0, t->weight_middle[a], 0.0)",
        KERNEL,
    ),
    Mutant(
        "the penalty at one end of the weights' ranges",
        "number_term",
        "return weight_coefficient * middle + fabs(weight_coefficient) * radius;",
        "return weight_coefficient * middle + weight_coefficient * radius;",
        KERNEL,
    ),
    Mutant(
        "the best of the signs of the l1 penalty",
        "penalty_term",
        "larger(u * t->l1_lower[a], u * t->l1_upper[a])",
        "lesser(u * t->l1_lower[a], u * t->l1_upper[a])",
        (*KERNEL, *L1),
    ),
    Mutant(
        "the sign of the least weight alone",
        "Ranges._penalty_fields",
        "l1.range(self.weight_lower, self.weight_upper)",
        "l1.range(self.weight_lower, self.weight_lower)",
        KERNEL,
    ),
    Mutant(
        "an l1 penalty that stays",
        "RowTable._of",
        "problem.penalty.kappa_vector(d) if dropped_rows else None",
        "None",
        L1,
    ),
    Mutant(
        "the part of the penalty is not rounded",
        "variant_sizes",
        "if (is_without_row(t, v)) sum += s->of_penalty_size;",
        "",
        KERNEL,
    ),
    # --- the rows -----------------------------------------------------------------------------------------------------
    Mutant(
        "an absent row that stays",
        "LossGraph.without",
        "np.where(is_dropped, 0.0, factor)",
        "np.where(is_dropped, 1.0, factor)",
        (*VARIANTS, *EXACT),
    ),
    Mutant(
        "no variant is without its row",
        "make_variants",
        ".without(which == DROPPED)",
        ".without(which > DROPPED)",
        (*VARIANTS, *EXACT),
    ),
    Mutant(
        "an absent row that costs nothing",
        "make_variants",
        "[int(number == table.dropped_group) for number in range(n_groups)]",
        "[0 for number in range(n_groups)]",
        VARIANTS,
    ),
    Mutant(
        "rows in which nothing else differs stay",
        "RowTable._of",
        "varies[:], dropped_group",
        "varies[:0], dropped_group",
        (*VARIANTS, *EXACT),
    ),
    Mutant(
        "rows of constant derivative stay",
        "Ranges.without_constant_rows",
        "if table.dropped_group != Group.CERTAIN:",
        "if table.dropped_group == Group.CERTAIN - 1:",
        (f"{SOUND}::test_scores_that_are_ruled_out_are_given_by_no_table_without_rows",),
    ),
    # --- how many -----------------------------------------------------------------------------------------------------
    Mutant("one absent row fewer", "RowTable._of", "(*budget, dropped_rows)", "(*budget, dropped_rows - 1)", EXACT),
    Mutant("one absent row more", "RowTable._of", "(*budget, dropped_rows)", "(*budget, dropped_rows + 1)", SAME_FIT),
    Mutant(
        "as many absent rows as wrong labels",
        "RowTable._of",
        "moves.count(DROPPED_ROWS)",
        "moves.count(WRONG_LABELS)",
        (*EXACT, *TOGETHER),
    ),
    Mutant(
        "wrong labels and absent rows exchanged",
        "moves_of",
        "(*cells, min(int(uncertainty.labels), len(filled.table)), int(uncertainty.rows))",
        "(*cells, int(uncertainty.rows), min(int(uncertainty.labels), len(filled.table)))",
        (*SAME_FIT, *OWN_NUMBERS),
    ),
    Mutant(
        "absent rows in the group of the wrong labels",
        "RowTable._of",
        "True, len(budget), (*budget, dropped_rows)",
        "True, max(len(budget) - 1, 0), (*budget, dropped_rows)",
        (*VARIANTS, *EXACT, *TOGETHER),
    ),
    Mutant("wrong labels that are right", "RowTable._of", "or moves.count(WRONG_LABELS)", "or 0", TOGETHER),
    # --- where nothing is proved --------------------------------------------------------------------------------------
    Mutant("bounds that know nothing of absent rows", "_others", "if uncertainty.rows:", "if False:", NOTHING),
    Mutant("bounds that know nothing of wrong labels", "_others", "if uncertainty.labels:", "if False:", WRONG_LABELS),
    Mutant(
        "the promise of any filling for wrong labels",
        "Budget.has_more_than_holes",
        "self.wrong_cells or self.labels or self.rows",
        "self.wrong_cells or self.rows",
        (*WRONG_LABELS, f"{API}::test_the_sentence_names_each_kind_with_its_number_and_what_stays"),
    ),
    # --- what is attained ---------------------------------------------------------------------------------------------
    Mutant("a search with one row more", "_largest", "[:count]", "[: count + 1]", SEARCH),
)
