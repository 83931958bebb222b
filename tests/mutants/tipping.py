"""Mutants of tipping points and explanations."""

from __future__ import annotations

from mutants.entry import Mutant

BUDGETS = ("answers/test_budget_bounds.py",)
GRIDS = ("answers/test_shifts.py",)
TESTS = ("estimators/test_tipping.py",)
EXACT = ("soundness/test_around_filling.py",)

MUTANTS = (
    Mutant(
        "ranges of a smaller number for a larger one",
        "larger_numbers",
        "step = steps[place]",
        "step = steps[max(place - 1, 0)]",
        BUDGETS,
    ),
    Mutant("sums of no units", "BudgetBounds._at", "self._moves(k))", "self._moves(0))", BUDGETS),
    Mutant(
        "narrower ranges than were proved",
        "bounds_of_smaller_budget",
        "Ranges.of(table, bounds.ranges.lower, bounds.ranges.upper,",
        "Ranges.of(table, *[0.5 * (bounds.ranges.lower + bounds.ranges.upper)] * 2,",
        EXACT,
    ),
    Mutant(
        "narrower ranges than a certificate gives",
        "budget_bounds_within",
        "Ranges.of(table, lower, upper,",
        "Ranges.of(table, *[0.5 * (lower + upper)] * 2,",
        EXACT,
    ),
    Mutant(
        "narrower ranges than any filling has",
        "narrowed_by_all_fillings",
        "bounds.ranges.within(low, high)",
        "bounds.ranges.within(0.5 * (low + high), 0.5 * (low + high))",
        ("soundness/test_around_filling.py::test_bounds_of_budgets_hold_over_their_ranges_and_those_of_larger_ones",),
    ),
    Mutant(
        "a certificate of fewer units than differ",
        "BudgetBounds._of",
        "number <= self._covered",
        "number <= self._covered + 99",
        BUDGETS,
    ),
    Mutant(
        "a number that was not proved",
        "NumberSearch._look",
        "rows[which[is_certain_here]]] = numbers[here]",
        "rows[which[is_certain_here]]] = numbers[here] + 1",
        BUDGETS,
    ),
    Mutant(
        "all but one are all", "least_numbers", "np.where(lowest >= count,", "np.where(lowest >= count - 1,", BUDGETS
    ),
    Mutant("a share too large by one value", "_share_below", "max(0.0, least - 1.0) / n", "least / n", TESTS),
    Mutant(
        "fillings that are not retrained", "FlipSearch.flip_at", "self.filled.models_at(positions)", "self._base", TESTS
    ),
    Mutant("the other end", "FilledIn.positions", "positions[k] = side if", "positions[k] = -side if", TESTS),
    Mutant(
        "a column with most of its missing values as they are",
        "_of_units",
        "group[units] = HOLES",
        "group[units[:1]] = HOLES",
        TESTS,
    ),
    Mutant(
        "rows of a column that differ in more values than it has",
        "_of_units",
        "is_counted & (brackets.at_least <= len(units))",
        "is_counted & (brackets.at_least < len(units) - 1)",
        TESTS,
    ),
    Mutant("only the row at its middle", "AskedRows.highest", "self.radius[number] * np.sign(v)", "0.0 * v", TESTS),
    Mutant("intervals that do not grow", "_grown", "up(engine.matrix.radii * factor)", "engine.matrix.radii", TESTS),
    Mutant("a cell that ends at its point", "Shift.around", "0.5 * (here + after)", "here", GRIDS),
    Mutant("the middle of a cell alone", "ShiftedTables.within", "ends.max(axis=0)", "ends.min(axis=0)", GRIDS),
    Mutant(
        "cells in floats that are not rounded",
        "ShiftedTables.within",
        "down(centers - radii)",
        "centers - 0.5 * radii",
        GRIDS,
    ),
    Mutant(
        "one row of a cell is enough",
        "_Search.look",
        "bool(is_safe[counts].all())",
        "bool(is_safe[counts].any())",
        GRIDS,
    ),
    Mutant("certain of another class", "_Search._is_proved", " & is_own", "", GRIDS),
    Mutant(
        "the class of most rows", "grid_of", "(counted == TIPS).any(axis=0)", "(counted == TIPS).all(axis=0)", GRIDS
    ),
)
