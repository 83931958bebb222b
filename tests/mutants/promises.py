"""Mutants of how promises reach the certificates: fillings, budgets, claims, flip distances."""

from __future__ import annotations

from mutants.entry import Mutant

UNCERTAINTY = "estimators/test_uncertainty.py"
WITHIN = (f"{UNCERTAINTY}::test_every_table_within_a_budget_is_within_its_bounds",)
ATTAINED = (f"{UNCERTAINTY}::test_the_bounds_of_one_cell_are_nearly_attained_by_both_of_its_ends",)
WRONG = (f"{UNCERTAINTY}::test_the_bounds_of_one_wrong_cell_are_nearly_attained",)
LEVELS = (
    f"{UNCERTAINTY}::test_the_bounds_of_one_missing_category_are_nearly_attained_by_its_levels",
    f"{UNCERTAINTY}::test_every_level_of_few_missing_categories_is_within_the_bounds",
)
FLIPS = (
    f"{UNCERTAINTY}::test_the_bracket_is_narrow_where_the_penalty_is_strong",
    f"{UNCERTAINTY}::test_fewer_cells_than_the_certified_distance_change_no_class_and_the_found_number_does",
    f"{UNCERTAINTY}::test_the_certified_distance_of_a_tiny_table_is_at_most_the_true_one",
)

SAFE = ("estimators/test_safe_budget.py::test_a_fit_with_the_budget_that_is_named_has_the_same_bounds_and_share",)

MUTANTS = (
    Mutant(
        "bounds of half the number that is named",
        "_Search._share",
        "attempt_budget(self._filled, budget)",
        "attempt_budget(self._filled, Budget(cells=k // 2, filling=budget.filling))",
        SAFE,
    ),
    Mutant(
        "the share that another number keeps",
        "_Search.largest",
        "SafeBudget(k, n, self._shares[k], of_filled",
        "SafeBudget(k, n, max(self._shares.values()), of_filled",
        SAFE,
    ),
    Mutant(
        "half of the way down from a filled-in value",
        "_movable_numbers",
        "below = np.maximum(up(values - down(centers - radii)), 0.0)",
        "below = np.maximum(0.5 * up(values - down(centers - radii)), 0.0)",
        ATTAINED,
    ),
    Mutant(
        "no way up from a filled-in value",
        "_movable_numbers",
        "np.where(is_point, 0.0, above), group",
        "np.where(is_point, 0.0, 0.0 * above), group",
        ATTAINED,
    ),
    Mutant(
        "missing categories that stay at their level",
        "movable_holes",
        "        if len(which):\n            movable = movable.joined_to(",
        "        if len(which) < 0:\n            movable = movable.joined_to(",
        LEVELS,
    ),
    Mutant(
        "wrong cells that cannot be wrong",
        "moves_of",
        "min(int(uncertainty.wrong_cells), n_observed)",
        "0",
        WRONG,
    ),
    Mutant(
        "a share of the holes that can move alone",
        "count_missing",
        "int(np.count_nonzero(is_number)) + len(missing), ",
        "0, ",
        (
            "soundness/test_hard_fillings.py::test_a_share_is_of_all_missing_values_also_of_those_that_have_one_value_alone",
        ),
    ),
    Mutant(
        "what may be changed after fit is certified later",
        "_own",
        "return copy.deepcopy(models)",
        "return models",
        ("estimators/test_certified_at_request.py::test_changes_of_the_arrays_after_fit_change_no_bound",),
    ),
    Mutant(
        "distances for the middle of missing values of a row",
        "AskedRows.bounds",
        "if not self.is_uncertain:",
        "if True:",
        ("answers/test_budget_bounds.py",),
    ),
    Mutant(
        "distances to another threshold",
        "brackets_of",
        "known[which], threshold, ranges_of)",
        "known[which], 0.0, ranges_of)",
        ("answers/test_budget_bounds.py",),
    ),
    Mutant(
        "budgets of holes and of wrong cells exchanged",
        "moves_of",
        "uncertainty.count(filled.n_holes), min(int(uncertainty.wrong_cells), n_observed)",
        "min(int(uncertainty.wrong_cells), n_observed), uncertainty.count(filled.n_holes)",
        (*WITHIN, *WRONG),
    ),
    Mutant(
        "one cell fewer than the budget allows",
        "Budget.count",
        "return min(int(self.cells), n_holes)",
        "return min(int(self.cells) - 1, n_holes)",
        (*LEVELS, *WITHIN),
    ),
    Mutant(
        "any filling in place of all cells",
        "_others",
        "_of_wrong_cells(data, filled) if uncertainty.wrong_cells else",
        "_of_wrong_cells(data, filled) if False else",
        (f"{UNCERTAINTY}::test_what_cannot_be_certified_falls_back_to_any_filling_and_says_so",),
    ),
    Mutant(
        "a flip distance by a budget of one cell fewer",
        "FilledIn.moves",
        "return BudgetMoves((k, 0) if self.group == HOLES else (0, k))",
        "return BudgetMoves((k - 1, 0) if self.group == HOLES else (0, k - 1))",
        ("answers/test_budget_bounds.py",),
    ),
    Mutant(
        "a flip distance one too large",
        "brackets_of",
        "np.inf, largest + 1.0)",
        "np.inf, largest + 2.0)",
        FLIPS,
    ),
    Mutant(
        "a flip distance of the wrong budget",
        "least_numbers",
        "lowest[rows[certain]] = k",
        "lowest[rows[certain]] = 2 * k",
        ("answers/test_budget_bounds.py",),
    ),
)
