"""Prices of Lemma 4: what a product of a row and a cell costs the one or the other. Any are valid, good ones tight."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ipub.certificates.slopes.incomplete_rows import IncompleteRows
from ipub.numeric.linalg import rough_inverse
from ipub.numeric.rounding import Array
from ipub.rows import Block
from ipub.rows.ops import sum_by_index

SMALLEST, LARGEST = 1e-140, 1e140
"""Of all prices."""


class PriceSums(NamedTuple):
    """What prices are chosen by: sums over the uncertain cells of each column; block sums of them add."""

    leverages: Array
    """``sum m_i R_ij x_i.inverse x_i``."""
    radii: Array
    """``sum m_i R_ij``."""

    def prices(self, inverse: Array) -> Array:
        """Return tau_j for each column.

        The best price balances what a cross term costs the row and the cell, in the metric of the Hessian: the square
        root of (H^-1)_jj over the mean leverage of the rows with a hole in the column. A column without holes has the
        mean of all, if there are any, or about what a row has.
        """
        with np.errstate(divide="ignore", invalid="ignore"):
            overall = self.leverages.sum() / self.radii.sum()
            usual = overall if np.isfinite(overall) else float(len(inverse))
            leverage = np.where(self.radii > 0.0, self.leverages / self.radii, usual)
            price = np.sqrt(np.diag(inverse) / leverage)
        return np.clip(np.where(np.isfinite(price), price, 1.0), SMALLEST, LARGEST)


def price_sums(incomplete: IncompleteRows, leverages: Array) -> PriceSums:
    """Return what the incomplete rows add, with ``x.inverse x`` of each."""
    d, choices = incomplete.center.shape[1], incomplete.choices
    cells, levels = incomplete.weight[incomplete.cell_rows] * incomplete.cell_radii, incomplete.weight[choices.rows]
    weighted, plain = incomplete.column_sums(cells * leverages[incomplete.cell_rows]), incomplete.column_sums(cells)
    return PriceSums(
        weighted + choices.column_change(levels * leverages[choices.rows], d),
        plain + choices.column_change(levels, d),
    )


def block_price_sums(block: Block, inverse: Array) -> PriceSums:
    """Return what the uncertain cells of a block add, where no incomplete rows are at hand."""
    cells, d = block.weight[block.cell_rows] * block.cell_radii, block.center.shape[1]
    rows = block.center[block.cell_rows]
    leverages = ((rows @ inverse) * rows).sum(axis=1)
    return PriceSums(sum_by_index(block.cell_columns, cells * leverages, d), sum_by_index(block.cell_columns, cells, d))


def choose_prices(incomplete: IncompleteRows, hessian: Array) -> Array:
    """Choose tau_j of Lemma 4 for each column, by (about) the Hessian; all 1 if that has no inverse."""
    try:
        inverse = rough_inverse(hessian, pseudo=True)
    except np.linalg.LinAlgError:
        return np.ones(len(hessian))
    return price_sums(incomplete, incomplete.leverages(inverse).squares).prices(inverse)
