"""Mutants of draws: neighbourhoods, what is drawn, and the range over all of them."""

from __future__ import annotations

from mutants.entry import Mutant

EXACT = ("soundness/test_draws.py::test_the_neighbourhood_of_every_draw_is_bounded_exactly",)
TABLES = ("soundness/test_draws.py::test_scaled_columns_and_categories_have_the_tables_that_were_drawn",)
CELLS = (
    "soundness/test_draws.py::test_a_cell_that_may_be_anywhere_beside_the_neighbourhood_is_bounded_exactly",
    "training/test_draws.py::test_some_cells_may_differ_from_every_draw_by_any_amount",
)
RANGE = ("soundness/test_draws.py::test_the_range_is_that_over_all_draws",)
SAMPLERS = ("training/imputing/test_samplers.py",)

CLASSES = ("promises/test_draws.py",)

MUTANTS = (
    Mutant(
        "a class that is certain in one draw less",
        "_missed",
        "p**T * (1 - p)",
        "p ** (T + 1) * (1 - p)",
        CLASSES,
    ),
    Mutant(
        "a class that is promised of all rows together",
        "Draws.promise_for",
        '%, for each row by itself, chosen before the "\n            f"draws, it does',
        '%, for all rows, chosen before the "\n            f"draws, it does',
        CLASSES,
    ),
    Mutant(
        "a piece of probabilities without its largest",
        "class_failure",
        "_missed(T, min(max(low, peak), high))",
        "_missed(T, low)",
        CLASSES,
    ),
    Mutant(
        "one class of two",
        "class_failure",
        " + _missed(T, 1 - low)",
        "",
        CLASSES,
    ),
    Mutant(
        "a percentage that is rounded up",
        "percent_of_success",
        "ROUND_FLOOR",
        "ROUND_CEILING",
        CLASSES,
    ),
    Mutant(
        "a neighbourhood of half the radius",
        "DrawnTables.of",
        "up(float(radius) * radii[holes.cells])",
        "up(0.5 * float(radius) * radii[holes.cells])",
        EXACT,
    ),
    Mutant(
        "a neighbourhood to one side",
        "DrawnTables.matrix",
        "np.minimum(up(drawn + self.radii), self.upper)",
        "np.minimum(up(drawn), self.upper)",
        EXACT,
    ),
    Mutant(
        "no cell that may be anywhere",
        "bounds_around",
        "moves = BudgetMoves((movable.n_units, cells))",
        "moves = BudgetMoves((movable.n_units, 0))",
        CELLS,
    ),
    Mutant(
        "a neighbourhood that counts in the budget of cells",
        "bounds_around",
        "moves = BudgetMoves((movable.n_units, cells))",
        "moves = BudgetMoves((cells, cells))",
        CELLS,
    ),
    Mutant(
        "no neighbourhood beside the cells that may be anywhere",
        "bounds_around",
        "MovableRows.of_numbers(in_row, columns, radii, radii, HOLES)",
        "MovableRows.of_numbers(in_row, columns, 0.0 * radii, 0.0 * radii, HOLES)",
        CELLS,
    ),
    Mutant(
        "another level than the one that was drawn",
        "DrawnTables.matrix",
        "is_level = self.levels == ",
        "is_level = self.levels != ",
        TABLES,
    ),
    Mutant(
        "the middle of the interval instead of the drawn value",
        "DrawnTables.matrix",
        "np.where(self.numbers >= 0, _taken(filling.numbers, self.numbers), self.centers)",
        "np.where(self.numbers >= 1, _taken(filling.numbers, self.numbers), self.centers)",
        (*EXACT, *TABLES),
    ),
    Mutant(
        "cells of rows of unknown class that are not drawn",
        "_cells_of",
        "+ starts[source][in_row]",
        "+ starts[:-1][np.minimum(in_row, len(starts) - 2)]",
        ("soundness/test_draws.py::test_rows_of_unknown_class_have_the_values_that_were_drawn_twice",),
    ),
    Mutant(
        "one draw left out of the range",
        "DrawBounds.ends",
        "for member in self.members:",
        "for member in self.members[1:]:",
        RANGE,
    ),
    Mutant(
        "the greatest lower end",
        "DrawBounds.ends",
        "low, high = np.minimum(low, bounds[:, 0])",
        "low, high = np.maximum(np.where(np.isinf(low), -np.inf, low), bounds[:, 0])",
        RANGE,
    ),
    Mutant(
        "a probability with one end alone",
        "Draws.probability",
        "(self.n_draws - 1) / (self.n_draws + 1)",
        "self.n_draws / (self.n_draws + 1)",
        ("promises/test_draws.py::test_the_probability_is_that_of_two_ends_among_so_many_draws",),
    ),
    Mutant(
        "a changed observed cell is passed over",
        "FilledTableReader.filling",
        "~is_hole & (table != holes.table),",
        "is_hole & (table != table),",
        SAMPLERS,
    ),
    Mutant(
        "values outside the intervals are taken",
        "FilledTableReader.filling",
        "(numbers < holes.lower) | (numbers > holes.upper)",
        "numbers != numbers",
        SAMPLERS,
    ),
    Mutant(
        "the same seed for every draw",
        "_seeds",
        "np.random.SeedSequence(seed).spawn(draws.n_draws)",
        "[np.random.SeedSequence(seed)] * draws.n_draws",
        ("training/test_draws.py",),
    ),
)
