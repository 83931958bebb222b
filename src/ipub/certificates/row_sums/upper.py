"""Upper bounds of ``y.w''`` for many directions y, as sums over the rows (thm-row-sums)."""

from __future__ import annotations

from typing import Any

import numpy as np

from ipub.certificates.row_sums.graphs import N_SLOPES
from ipub.certificates.row_sums.ranges import Ranges
from ipub.numeric.parallel import in_threads, n_threads
from ipub.numeric.rounding import Array

OF_THREAD = 2e6
"""Multiplications below which another thread is not started: it protects from threads that cost more than they save."""


def cost_of_kernel(ranges: Ranges) -> float:
    """Return about how many multiplications prepare the sums over ranges: those of lines with points of derivatives."""
    return 2.0 * N_SLOPES * (ranges.accuracy.pieces_of_lines + 1) * len(ranges.table.complete)


def cost_of_sum(ranges: Ranges) -> float:
    """Return about how many multiplications the sum of one direction takes."""
    table, accuracy, d = ranges.table, ranges.accuracy, len(ranges.table.w)
    n_points = (accuracy.pieces_of_variants + 1) * accuracy.finer
    of_curvature = (1 + accuracy.n_steps) * (len(table.complete) + len(table.incomplete)) * d * (d + 1) / 2
    return of_curvature + 4.0 * len(table.complete) * d + n_points * d * len(ranges.variants.row)


def largest_scores(ranges: Ranges, Y: Array) -> Array:
    """Bound ``y.w''`` from above, for each direction in Y and the models w'' of all completions in the ranges."""
    return _of_directions(ranges, ranges.kernel.upper, Y, cost_of_sum(ranges))


def first_order_rise(ranges: Ranges, Y: Array) -> Array:
    """Return how far the worst completion raises ``y.w''`` for each direction in Y, to first order."""
    return _of_directions(ranges, ranges.kernel.first_order, Y, float(ranges.table.incomplete.size))


def _of_directions(ranges: Ranges, compute: Any, Y: Array, price: float) -> Array:
    """Call a loop over directions, in threads if the `price` of all, in multiplications, is large."""
    Y, result = np.ascontiguousarray(Y, dtype=float), np.empty(len(Y))
    if Y.shape[1] != len(ranges.table.w):
        raise ValueError(f"rows have {Y.shape[1]} columns, and the table has {len(ranges.table.w)}")
    parts = np.array_split(np.arange(len(Y)), min(n_threads(), max(1, int(len(Y) * price / OF_THREAD))))
    slices = [slice(int(part[0]), int(part[-1]) + 1) for part in parts if len(part)]
    list(in_threads(lambda part: compute(Y[part], result[part]), slices))
    return result
