"""Many uncertain cells: what they add up to, block by block, so that nothing as long as the table is kept."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ipub.certificates.slopes.categories import ChoiceTerms
from ipub.certificates.slopes.cell_coefficients import TuningChoices, best_moving_share
from ipub.certificates.slopes.cell_groups import CellTable, ColumnGroups, SignedColumns
from ipub.certificates.slopes.cells import CellTerms
from ipub.certificates.slopes.column_bounds import (
    LARGEST_WEIGHT,
    ColumnForms,
    FormSums,
    SignedSums,
    column_forms,
    column_sums,
    signed_columns,
)
from ipub.certificates.slopes.hessian import HessianChange, hessian_loss
from ipub.certificates.slopes.incomplete_rows import PriceSums, price_sums
from ipub.numeric.linalg import form_norm_upper, positive_weights, rounded_up
from ipub.numeric.rounding import Array, sum_error, sum_upper, up


class CellSums(NamedTuple):
    """What the cells of a block add to `SummedCells`; fields without a docstring are those of `CellTerms`."""

    n_cells: float
    n_rows: float
    n_crossing_rows: float
    n_blocks: float
    shift: Array
    shift_size: Array
    slack: Array
    force_shift: Array
    force_shift_size: Array
    force_slack: Array
    crossing_sum: float
    crossing_form: Array
    lost: HessianChange
    prices: PriceSums
    product_sizes: Array
    forms: FormSums
    signed: SignedSums


def cell_sums(terms: CellTerms, tuning: TuningChoices) -> CellSums:
    """Return what the cells of a block add."""
    incomplete, d = terms.incomplete, len(tuning.moving_shares)
    leverages = incomplete.leverages(tuning.inverse)
    weights = terms.weights(tuning.inverse, leverages)
    columns = np.arange(d)
    forms, signed = column_sums(terms, tuning.inverse, leverages, weights, tuning.moving_shares, columns)
    return CellSums(
        n_cells=float(len(weights)),
        n_rows=float(len(incomplete.y)),
        n_crossing_rows=float(np.count_nonzero(incomplete.has_several_parts)),
        n_blocks=1.0,
        shift=terms.shift,
        shift_size=np.abs(terms.shift),
        slack=terms.slack,
        force_shift=terms.force_shift,
        force_shift_size=np.abs(terms.force_shift),
        force_slack=terms.force_slack,
        crossing_sum=terms.crossing_sum,
        crossing_form=terms.crossing_form,
        lost=hessian_loss(incomplete, tuning.prices),
        prices=price_sums(incomplete, leverages.squares),
        product_sizes=terms.product_sizes,
        forms=forms,
        signed=signed,
    )


@dataclass(frozen=True)
class SummedCells:
    """What uncertain cells add (thm-slopes), summed over each column (lem-column-form); see `CellTerms`."""

    tuning: TuningChoices
    n_rows: int
    n_crossing_rows: int
    roundings: int
    shift: Array
    slack: Array
    force_shift: Array
    force_slack: Array
    crossing: Array
    lost: HessianChange
    prices: PriceSums
    columns: ColumnForms
    signed: SignedColumns

    choices: tuple[ChoiceTerms, ...] = ()
    """There are no missing categories."""

    @property
    def middle(self) -> Array:
        """Missing categories would move the middle of the gradient."""
        return np.zeros_like(self.shift)

    def hessian_loss(self, curvature: Array) -> HessianChange:  # noqa: ARG002 (prices are chosen already)
        """Return what uncertain cells can take from the Hessian (lem-hessian)."""
        return self.lost

    def zonotope_upper(
        self,
        matrix: Array,
        box: Array,
        jump_rows: Array | None = None,  # noqa: ARG002 (there are none)
        jump_form: Array | None = None,  # noqa: ARG002
    ) -> float:
        """Bound ``sqrt(z.M^-1 z)`` over all ``z = sum_k xi_k G_k`` plus a vector in a box; see `CellTerms`."""
        sides = positive_weights(box * np.sqrt(np.maximum(np.diag(self.tuning.inverse), 0.0)))
        sides = np.where(box == 0.0, 0.0, sides)
        total = sum_upper(self.columns.weights.sum() + sides.sum(), self.roundings)
        form = self.columns.generator_forms.sum(axis=0)
        side_squares = np.divide(box * box, sides, out=np.zeros_like(box), where=box != 0.0)
        form[np.diag_indices(len(box))] += side_squares
        size = total * (self.columns.generator_form_sizes.sum(axis=0) + side_squares)
        return form_norm_upper(rounded_up(total * form, self.roundings + 2 * len(matrix), size), matrix)

    def groups(self, inverse: Array, *, with_forms: bool) -> tuple[ColumnGroups, CellTable | None]:  # noqa: ARG002
        """Return the cells of each column as a form (lem-column-form)."""
        return self.columns.groups(self.tuning.moving_shares, self.roundings, self.signed), None

    def gradient_sizes(self) -> tuple[Array, Array] | None:
        """Return nothing: they are not summed."""
        return None

    def tuning_for_sums(self, inverse: Array) -> TuningChoices:
        """Choose for a similar problem; what is of second order counts as if it depended on the move."""
        given, columns = self.tuning.moving_shares, self.columns
        moving = np.einsum("cjk,jk->c", columns.other_rows, inverse) + np.diag(inverse) * columns.other_cells
        fixed = np.einsum("cjk,jk->c", columns.generator_forms, inverse)
        pairs = zip(moving / (2.0 * (1.0 + 1.0 / given)), fixed, strict=True)
        moving_shares = np.array([best_moving_share(*pair) for pair in pairs])
        return TuningChoices(inverse, moving_shares, self.prices.prices(self.tuning.inverse))

    def first_order_half_width(self, U: Array) -> Array:
        """Return about how much the cells move ``u.g`` to first order alone, for each row u."""
        forms = self.columns.weights[:, None, None] * self.columns.generator_forms
        return np.asarray(np.sqrt(np.maximum(np.einsum("ij,cjk,ik->ic", U, forms, U, optimize=True), 0.0)).sum(axis=1))


def summed_cells(tuning: TuningChoices, sums: CellSums) -> SummedCells:
    """Put the sums over all blocks together; those of each block are rounded outward already."""
    n_cells, n_rows, n_blocks = int(sums.n_cells), int(sums.n_rows), int(sums.n_blocks)
    roundings, columns = n_cells + n_rows + n_blocks + 20, np.arange(len(sums.shift))
    slack, force_slack = sums.slack, sums.force_slack
    # Larger weights would enlarge what underflowed: no bound is made then (fp-underflow).
    if not sums.forms.weights.max(initial=0.0) <= LARGEST_WEIGHT:
        slack, force_slack = np.full_like(slack, np.inf), np.full_like(slack, np.inf)
    crossing = float(sum_upper(sums.crossing_sum, roundings)) * sums.crossing_form
    return SummedCells(
        tuning=tuning,
        n_rows=n_rows,
        n_crossing_rows=int(sums.n_crossing_rows),
        roundings=roundings,
        shift=sums.shift,
        # The rounding of a block's own sums is in its slack.
        slack=up(sum_upper(slack, n_blocks + 1) + sum_error(sums.shift_size + sums.product_sizes, n_blocks + 4)),
        force_shift=sums.force_shift,
        force_slack=up(sum_upper(force_slack, n_blocks + 1) + sum_error(sums.force_shift_size, n_blocks + 1)),
        crossing=rounded_up(crossing, roundings),
        lost=sums.lost._replace(diagonal=sum_upper(sums.lost.diagonal, n_blocks + 1)),
        prices=sums.prices,
        columns=column_forms(columns, sums.forms),
        signed=signed_columns(columns, sums.signed, roundings),
    )
