"""Rows whose derivative is the same for the models of all completions: they are added up, and left out of the table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ipub.losses import Loss
from ipub.model_sets.certificate import Certificate
from ipub.numeric.rounding import EPS, Array, down, sum_error, sum_upper, up
from ipub.problem.objective import Problem
from ipub.rows import Block
from ipub.rows.completions import WholeTable, whole_block


@dataclass(frozen=True, eq=False)
class ConstantDerivativeRows:
    """What rows with known derivatives p add to the gradient: ``sum_i m_i p_i (x_i + d_i)``."""

    middle: Array
    radius: Array
    """Shape (d,): how far the cells of the rows, and rounding, may move that."""

    @classmethod
    def nothing(cls, d: int) -> ConstantDerivativeRows:
        """Return what no rows add."""
        return cls(np.zeros(d), np.zeros(d))


class _Sums(NamedTuple):
    """Sums over rows of constant derivative: of ``s_i p_i x_i``, of its size, and of what cells can change."""

    gradient_sum: Array
    size: Array
    radius: Array


def sum_constant_rows(
    problem: Problem, known: Certificate, most: int
) -> tuple[ConstantDerivativeRows, WholeTable] | None:
    """Add up the rows whose derivative known bounds leave constant, gather the others; None if these are too many.

    Rows in which a category is missing, or whose label is uncertain, are always gathered.

    Parameters
    ----------
    problem : Problem
    known : Certificate
    most : int
        Rows to gather, at most.
    """
    rows, d = problem.rows, problem.rows.n_features
    weight_size = np.abs(known.score_bounds(np.eye(d))).max(axis=1)
    sums, table = rows.reduce_and_gather(_sum_constant, problem.loss, known.faster(), weight_size, most=most * (d + 8))
    if table is None or len(table.y) > most:
        return None
    middle, n = sums.gradient_sum / rows.total_weight, rows.depth + 8
    radius = up(sum_upper(sums.radius + sum_error(sums.size, n), n) / rows.total_weight)
    return ConstantDerivativeRows(middle, up(radius + 4.0 * EPS * np.abs(middle))), table


def _sum_constant(block: Block, loss: Loss, known: Certificate, weight_size: Array) -> tuple[_Sums, WholeTable]:
    """Sum up the rows of constant derivative of a block, and return the others."""
    d = block.center.shape[1]
    i, j, R = block.cell_rows, block.cell_columns, block.cell_radii
    moves: Array = np.bincount(i, R * weight_size[j], minlength=block.n_rows).astype(float)
    move = sum_upper(moves, d + 4)
    lower, upper = known.score_bounds(block.center).T
    low, high = loss.derivative_range(block.y, down(lower - move), up(upper + move))
    is_constant = low == high  # a NaN is not
    is_constant[block.missing_categories.rows] = False
    if (labels := block.label_uncertainty) is not None:
        is_constant &= (labels.radius == 0.0) & (labels.weight_radius == 0.0) & (labels.max_wrong_labels == 0)
    coefficients = np.where(is_constant, block.weight * low, 0.0)
    radius: Array = np.bincount(j, np.abs(coefficients)[i] * R, minlength=d).astype(float)
    sums = _Sums(coefficients @ block.center, np.abs(coefficients) @ np.abs(block.center), radius)
    return sums, whole_block(block, ~is_constant & (block.weight > 0.0))
