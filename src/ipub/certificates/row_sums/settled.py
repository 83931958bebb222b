"""Rows whose derivative is the same for the models of all completions: they are left out of the table, and added up."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ipub.certificates.certificate import Certificate
from ipub.engine import Block
from ipub.engine.completions import WholeTable, whole_block
from ipub.losses import Loss
from ipub.problem import Problem
from ipub.rounding import Array, down, sum_error, sum_upper, up


class _Sums(NamedTuple):
    force: Array
    size: Array
    radius: Array


class Unsettled(NamedTuple):
    """What settled rows add up to, and the others."""

    settled: Array
    radius: Array
    rows: WholeTable


def unsettled_rows(problem: Problem, known: Certificate, most: int) -> Unsettled | None:
    rows, d = problem.rows, problem.rows.n_features
    ends = known.score_bounds(np.eye(d))
    weight_size = np.abs(ends).max(axis=1)
    sums, table = rows.reduce_and_gather(_settle, problem.loss, known, weight_size, most=most * (d + 8))
    if table is None or not len(table.y):
        return None
    total = rows.total_weight
    error = sum_error(sums.size, rows.depth + 8)
    radius = sum_upper(sums.radius + error, rows.depth + 8)
    return Unsettled(sums.force / total, up(up(radius / total) + 4e-16 * np.abs(sums.force / total)), table)


def _settle(block: Block, loss: Loss, known: Certificate, weight_size: Array) -> tuple[_Sums, WholeTable]:
    d = block.center.shape[1]
    lower, upper = known.score_bounds(block.center).T
    move = np.bincount(block.cell_rows, block.cell_radii * weight_size[block.cell_columns], minlength=block.n_rows)
    move = sum_upper(move, d + 4)
    low, high = loss.derivative_range(block.y, down(lower - move), up(upper + move))
    is_settled = low == high
    is_settled[block.missing_categories.rows] = False
    pull = np.where(is_settled, block.weight * low, 0.0)
    radius = np.bincount(block.cell_columns, np.abs(pull)[block.cell_rows] * block.cell_radii, minlength=d)
    sums = _Sums(pull @ block.center, np.abs(pull) @ np.abs(block.center), radius)
    return sums, whole_block(block, ~is_settled & (block.weight > 0.0))
