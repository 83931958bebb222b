"""Many uncertain cells: what they add up to, block by block, so that nothing as long as the table is kept."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ipub.certificates.slope.bounds import ColumnGroups
from ipub.certificates.slope.cell_terms import CellTerms, best_share
from ipub.certificates.slope.column_bounds import LARGEST_WEIGHT, ColumnForms, column_sums
from ipub.engine.rows import Sums
from ipub.linalg import greatest_ratio_upper, positive_weights, rounded_up
from ipub.rounding import Array, sum_error, sum_upper, up


@dataclass(frozen=True)
class TuningChoices:
    """What prices and weights are chosen by, before the pass that needs them: any is valid, a good one is tight.

    Attributes
    ----------
    inverse : array of shape (n_features, n_features)
        About the inverse of the curvature.
    shares : array of shape (n_features,)
        Of each column, how much of its form goes to what depends on the move (Lemma 8).
    """

    inverse: Array
    shares: Array


def sums_of_cells(terms: CellTerms, guess: TuningChoices) -> Sums:
    """Return what the cells of a block add, in the order of the arguments of `SummedCells.of`."""
    some, d = terms.some, len(guess.shares)
    known = some.leverages(guess.inverse)
    lost, lost_cells, lost_size = some.hessian_loss((guess.inverse, known[1]))
    size = terms.own_size(guess.inverse, known)
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
        terms.products,
        *column_sums(terms, guess.inverse, known, size, guess.shares, np.arange(d)),
    )


@dataclass(frozen=True)
class SummedCells:
    """The terms of Theorem 6 that come from uncertain cells, in the grouped form (Lemma 8); see `CellTerms`."""

    guess: TuningChoices
    n_rows: int
    roundings: int
    shift: Array
    slack: Array
    force_shift: Array
    force_slack: Array
    crossing: Array
    loss: tuple[Array, Array, Array]
    columns: ColumnForms

    choices = ()
    """There are no missing categories."""

    @classmethod
    def of(cls, guess: TuningChoices, sums: Sums) -> SummedCells:
        """Put the sums over all blocks together; those of each block are rounded outward already."""
        counts, shift, shift_size, slack, force_shift, force_size, force_slack, crossing, crossed, *loss = sums[:12]
        n_cells, n_rows, n_blocks = (int(count) for count in counts)
        roundings = n_cells + n_rows + n_blocks + 20
        lost, lost_cells, lost_size = loss
        # Larger weights would enlarge what underflowed: no bound is made then (F3).
        products, *columns = sums[12:]
        if not columns[0].max(initial=0.0) <= LARGEST_WEIGHT:
            slack, force_slack = (np.full_like(slack, np.inf) for _ in range(2))
        return cls(
            guess,
            n_rows,
            roundings,
            shift,
            # The rounding of a block's own sums is in its slack.
            up(sum_upper(slack, n_blocks + 1) + sum_error(shift_size + products, n_blocks + 4)),
            force_shift,
            up(sum_upper(force_slack, n_blocks + 1) + sum_error(force_size, n_blocks + 1)),
            rounded_up(float(sum_upper(crossing, roundings)) * crossed, roundings),
            (lost, sum_upper(lost_cells, n_blocks + 1), lost_size),
            ColumnForms.of(np.arange(len(shift)), roundings, columns),
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
        total = sum_upper(self.columns.sizes.sum() + sides.sum(), self.roundings)
        form = self.columns.first.sum(axis=0)
        more_sides = np.divide(box * box, sides, out=np.zeros_like(box), where=box != 0.0)
        form[np.diag_indices(len(box))] += more_sides
        size = total * (self.columns.first_size.sum(axis=0) + more_sides)
        form = rounded_up(total * form, self.roundings + 2 * len(matrix), size)
        return float(up(np.sqrt(greatest_ratio_upper(form, matrix))))

    def grouped(self) -> ColumnGroups:
        """Bound each column by one form (Lemma 8)."""
        return self.columns.groups(self.guess.shares, self.roundings)

    def shares(self, inverse: Array) -> Array:
        """Choose shares for a similar problem, by what there is of each column; bends count as if they were pulls."""
        given, columns = self.guess.shares, self.columns
        moving = np.einsum("cjk,jk->c", columns.others, inverse) + np.diag(inverse) * columns.across
        fixed = np.einsum("cjk,jk->c", columns.first, inverse)
        pairs = zip(moving / (2.0 * (1.0 + 1.0 / given)), fixed, strict=True)
        return np.array([best_share(*pair) for pair in pairs])

    def least_half(self, U: Array) -> Array:
        """Return about how much the cells move ``u.g`` to first order alone, for each row u."""
        forms = self.columns.sizes[:, None, None] * self.columns.first
        return np.asarray(np.sqrt(np.maximum(np.einsum("ij,cjk,ik->ic", U, forms, U, optimize=True), 0.0)).sum(axis=1))
