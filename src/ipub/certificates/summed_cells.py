"""Many uncertain cells: what they add up to, block by block, so that nothing as long as the table is kept."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from ipub.certificates.cells import CellTerms, best_share
from ipub.certificates.definite import greatest_ratio_upper, positive_weights, rounded_up
from ipub.certificates.slope_bounds import Groups
from ipub.data.blocks import Sums
from ipub.data.intervals import Indices
from ipub.rounding import Array, sum_error, sum_upper, up

T = TypeVar("T", bound=np.generic)

LARGEST_WEIGHT = 1e100
"""Of the weights of all cells of a column together."""


@dataclass(frozen=True)
class Guess:
    """What prices and weights are chosen by, before the pass that needs them: any is valid, a good one is tight.

    Attributes
    ----------
    metric, inverse : arrays of shape (n_features, n_features)
        The curvature, about, and its inverse.
    shares : array of shape (n_features,)
        Of each column, how much of its form goes to what depends on the move (Lemma 8).
    """

    metric: Array
    inverse: Array
    shares: Array


def sums_of_cells(terms: CellTerms, guess: Guess) -> Sums:
    """Return what the cells of a block add, in the order of the arguments of `SummedCells.of`."""
    some, d = terms.some, len(guess.metric)
    known = some.leverages(guess.inverse)
    lost, lost_cells, lost_size = some.hessian_loss(guess.metric, (guess.inverse, known[1]))
    size, columns = terms.own_size(guess.inverse, known), some.cell_columns
    share = guess.shares[columns]
    # Roots first and squares last, so that nothing underflows that a sum of weights then enlarges (F9).
    root = np.sqrt(size)
    pull, bend = np.sqrt(2.0 * (1.0 + 1.0 / share)) / root, np.sqrt(0.5) / root
    along = np.hypot(pull * terms.pull_row, bend * terms.bend_row)
    across = (pull * terms.pull_cell) ** 2 + (bend * terms.bend_cell) ** 2
    rise, level = terms.rise / root, terms.level / root
    by_column = _ByColumn.of(columns, d)
    rows = some.center[by_column.sorted(some.cell_rows)]
    risen, moved = (rows * by_column.sorted(factor)[:, None] for factor in (rise, along))
    return (
        np.array([len(size), len(some.y), 1.0]),
        terms.shift,
        np.abs(terms.shift),
        terms.slack,
        terms.force_shift,
        np.abs(terms.force_shift),
        terms.force_slack,
        terms.crossing_sum,
        terms.crossing_form,
        lost,
        lost_cells,
        lost_size,
        np.bincount(columns, size, minlength=d),
        by_column.forms(risen),
        by_column.sums(risen, by_column.sorted(level)),
        np.bincount(columns, level * level, minlength=d),
        by_column.forms(moved),
        np.bincount(columns, across, minlength=d),
    )


PIECE = 64
"""Cells of one product in sums by column."""


@dataclass(frozen=True)
class _ByColumn:
    """Cells sorted by column, in pieces of one column each; the last of a column is filled up with nothing."""

    order: Indices
    places: Indices
    """Where each sorted cell stands."""
    pieces: Indices
    """Number of pieces of each column."""

    @classmethod
    def of(cls, columns: Indices, d: int) -> _ByColumn:
        counts = np.bincount(columns, minlength=d)
        pieces = -(-counts // PIECE)
        shift = PIECE * (np.cumsum(pieces) - pieces) - (np.cumsum(counts) - counts)
        return cls(np.argsort(columns, kind="stable"), np.arange(len(columns)) + np.repeat(shift, counts), pieces)

    def sorted(self, values: NDArray[T]) -> NDArray[T]:
        """Put values of the cells in place, 0 where there is none."""
        placed = np.zeros(PIECE * int(self.pieces.sum()), dtype=values.dtype)
        placed[self.places] = values[self.order]
        return placed

    def forms(self, rows: Array) -> Array:
        """Return ``sum_k z_k z_k^T`` over the rows z of each column's cells, shape (d, d, d)."""
        z = rows.reshape(-1, PIECE, rows.shape[1])
        return self._added(z.transpose(0, 2, 1) @ z)

    def sums(self, rows: Array, factors: Array) -> Array:
        """Return ``sum_k factors_k z_k`` over the rows z of each column's cells, shape (d, d)."""
        return self._added((factors.reshape(-1, 1, PIECE) @ rows.reshape(-1, PIECE, rows.shape[1]))[:, 0])

    def _added(self, parts: Array) -> Array:
        """Add up the pieces of each column."""
        total = np.zeros((len(self.pieces), *parts.shape[1:]))
        some = np.flatnonzero(self.pieces)
        if len(some):
            total[some] = np.add.reduceat(parts, (np.cumsum(self.pieces) - self.pieces)[some])
        return total


def _first(rows: Array, cross: Array, own: Array) -> tuple[Array, Array]:
    """Return ``sum_k G_k G_k^T / weight_k`` of each column from its parts, and what its rounding is relative to.

    ``G = rise x + level e_j``: rows has the squares of the first part, own those of the second, cross their products.
    """
    first, columns = rows.copy(), np.arange(len(own))
    first[columns, columns] += cross
    first[columns, :, columns] += cross
    first[columns, columns, columns] += own
    size = np.einsum("cjj->cj", rows).copy()
    size[columns, columns] += own
    return first, size


@dataclass(frozen=True)
class SummedCells:
    """The terms of Theorem 6 that come from uncertain cells, in the grouped form (Lemma 8); see `CellTerms`."""

    guess: Guess
    n_rows: int
    roundings: int
    shift: Array
    slack: Array
    force_shift: Array
    force_slack: Array
    crossing: Array
    loss: tuple[Array, Array, Array]
    sizes: Array
    """Sum of the weights of the cells of each column."""
    first: Array
    """For each column, ``sum_k G_k G_k^T / weight_k``."""
    first_size: Array
    """What its rounding is relative to: a diagonal for each column."""
    others: Array
    """The same of what depends on the move, and of bends, times what the column's share says; along rows."""
    across: Array
    """And along the cell itself."""

    choices = ()
    """There are no missing categories."""

    @classmethod
    def of(cls, guess: Guess, sums: Sums) -> SummedCells:
        """Put the sums over all blocks together; those of each block are rounded outward already."""
        counts, shift, shift_size, slack, force_shift, force_size, force_slack, crossing, crossed, *loss = sums[:12]
        n_cells, n_rows, n_blocks = (int(count) for count in counts)
        roundings = n_cells + n_rows + n_blocks + 20
        lost, lost_cells, lost_size = loss
        # Larger weights would enlarge what underflowed: no bound is made then (F3).
        if not sums[12].max(initial=0.0) <= LARGEST_WEIGHT:
            slack, force_slack = (np.full_like(slack, np.inf) for _ in range(2))
        return cls(
            guess,
            n_rows,
            roundings,
            shift,
            up(sum_upper(slack, n_blocks + 1) + sum_error(shift_size, n_blocks + 1)),
            force_shift,
            up(sum_upper(force_slack, n_blocks + 1) + sum_error(force_size, n_blocks + 1)),
            rounded_up(float(sum_upper(crossing, roundings)) * crossed, roundings),
            (lost, sum_upper(lost_cells, n_blocks + 1), lost_size),
            sums[12],
            *_first(*sums[13:16]),
            *sums[16:],
        )

    @property
    def middle(self) -> Array:
        """Missing categories would move the middle of the gradient."""
        return np.zeros_like(self.shift)

    def hessian_loss(self, metric: Array) -> tuple[Array, Array, Array]:  # noqa: ARG002 (prices are chosen already)
        """Return what uncertain cells can take from the Hessian (Lemma 4): a form, a diagonal, a size for rounding."""
        return self.loss

    def zonotope_upper(self, matrix: Array, box: Array, more: Array | None = None) -> float:  # noqa: ARG002 (no jumps)
        """Bound ``sqrt(z.M^-1 z)`` over all ``z = sum_k D_k G_k`` plus a vector in a box; see `CellTerms`."""
        sides = positive_weights(box * np.sqrt(np.maximum(np.diag(self.guess.inverse), 0.0)))
        sides = np.where(box == 0.0, 0.0, sides)
        total = sum_upper(self.sizes.sum() + sides.sum(), self.roundings)
        form = self.first.sum(axis=0)
        more_sides = np.divide(box * box, sides, out=np.zeros_like(box), where=box != 0.0)
        form[np.diag_indices(len(box))] += more_sides
        size = total * (self.first_size.sum(axis=0) + more_sides)
        form = rounded_up(total * form, self.roundings + 2 * len(matrix), size)
        return float(up(np.sqrt(greatest_ratio_upper(form, matrix))))

    def grouped(self, inverse: Array, jumps: Array) -> tuple[Groups, None]:  # noqa: ARG002 (weights are chosen already)
        """Bound each column by one form (Lemma 8)."""
        d, nothing = len(self.sizes), np.zeros((0, len(self.sizes)))
        forms = (1.0 + self.guess.shares)[:, None, None] * self.first + self.others
        forms[np.arange(d), np.arange(d), np.arange(d)] += self.across
        # Where parts of a generator cancel, rounding is relative to them.
        relative = np.einsum("cjj->cj", forms) + (1.0 + self.guess.shares)[:, None] * self.first_size
        parts = zip(self.sizes, forms, relative, strict=True)
        whole = [rounded_up(size * form, self.roundings + 30, size * diagonal) for size, form, diagonal in parts]
        return Groups(np.zeros(0, dtype=np.intp), nothing, nothing, np.array(whole)), None

    def shares(self, inverse: Array) -> Array:
        """Choose shares for a similar problem, by what there is of each column; bends count as if they were pulls."""
        given = self.guess.shares
        moving = np.einsum("cjk,jk->c", self.others, inverse) + np.diag(inverse) * self.across
        fixed = np.einsum("cjk,jk->c", self.first, inverse)
        pairs = zip(moving / (2.0 * (1.0 + 1.0 / given)), fixed, strict=True)
        return np.array([best_share(*pair) for pair in pairs])

    def least_half(self, U: Array) -> Array:
        """Return about how much the cells move ``u.g`` to first order alone, for each row u."""
        forms = self.sizes[:, None, None] * self.first
        return np.asarray(np.sqrt(np.maximum(np.einsum("ij,cjk,ik->ic", U, forms, U, optimize=True), 0.0)).sum(axis=1))
