"""What flipped rows add, part by part: nothing that some choice of rows, levels and ends of cells adds is left out."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from ipub.certificates.wrong_labels import WrongLabelTerms, cell_changes
from ipub.promises import largest_sum
from ipub.rows import Block
from ipub.tables.missing_category import Levels, MissingCategories


def draw_block(rng: np.random.Generator) -> Block:
    """Draw four rows with two uncertain cells in the first column, and a category that is missing in two rows."""
    choices = MissingCategories(np.array([1, 3]), np.array([0, 0]), (Levels(np.arange(1, 4)),))
    center = np.column_stack([rng.normal(size=4), np.eye(3)[rng.integers(0, 3, size=4)]])
    choices.put(center)
    cells = np.array([0, 1]), np.array([0, 0]), rng.uniform(0.1, 1.0, size=2)
    return Block(center, *cells, np.ones(4), np.ones(4), missing_categories=choices)


@pytest.mark.parametrize("count", [1, 2, 3])
@pytest.mark.parametrize("seed", range(5))
def test_cells_and_levels_of_flipped_rows_move_no_column_farther(seed, count):
    rng = np.random.default_rng(seed)
    block, factors = draw_block(rng), rng.uniform(0.1, 1.0, size=4)
    bound = largest_sum(cell_changes(block, factors), count)
    radius = np.zeros((4, 4))
    radius[block.cell_rows, block.cell_columns] = block.cell_radii
    # The largest distance of a level from the mean of three.
    radius[np.ix_(block.missing_categories.rows, [1, 2, 3])] = 2.0 / 3.0
    for some in itertools.combinations(range(4), count):
        assert (bound >= (factors[:, None] * radius)[list(some)].sum(axis=0) * (1.0 - 1e-12)).all()


def draw_rows(rng: np.random.Generator, flat: bool) -> np.ndarray:
    rows = rng.normal(size=(6, 3)) * 10.0 ** rng.uniform(-2.0, 0.0, size=(6, 1))
    rows[:, 1] = 0.0 if flat else rows[:, 1]
    return rows


@pytest.mark.parametrize("count", [1, 2, 4])
@pytest.mark.parametrize("flat", [False, True], ids=["all columns", "a column of zeros"])
@pytest.mark.parametrize("seed", range(5))
def test_the_form_holds_the_sum_of_the_largest_products(seed, flat, count):
    rng = np.random.default_rng(seed)
    rows = draw_rows(rng, flat)
    form = WrongLabelTerms(count, rows, np.zeros(3), np.zeros((0, 3)), True).form()
    aimed = [np.sign(signs) @ rows for signs in itertools.product((-1.0, 1.0), repeat=6)]
    for u in (*rng.normal(size=(50, 3)), *rows, *aimed):
        exact = np.sort(np.abs(rows @ u))[-count:].sum()
        assert np.sqrt(u @ form @ u) >= exact * (1.0 - 1e-12)


def test_the_form_for_rows_without_an_inverse_is_attained_where_all_rows_are_alike():
    rows = np.tile([0.5, 0.0, -2.0], (3, 1))
    form = WrongLabelTerms(3, rows, np.zeros(3), np.zeros((0, 3)), True).form()
    assert np.sqrt(rows[0] @ form @ rows[0]) >= 3.0 * (rows[0] @ rows[0]) * (1.0 - 1e-12)


def test_what_cells_add_is_part_of_the_slack():
    cells = np.array([0.1, 0.0, 3.0])
    slack = WrongLabelTerms(2, draw_rows(np.random.default_rng(0), False), cells, np.zeros((0, 3)), True).slack
    assert (slack > cells).all()
