"""Weighted sums of ``x x^T`` over rows, several at once and by groups of rows, in loops that Numba compiles.

Rows are copied, some hundred at a time, with their columns one after the other, so that they stay in the processor's
cache and a loop over them runs in vector registers. Only pairs of columns ``j <= k`` are computed, and no scaled copy
of the table is made. Sums are in another order than BLAS's, with fused multiply-add where the processor has it: F2
covers any order, and a call with the same arguments gives the same bits.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ipub.compiled import njit

AT_ONCE = 384
"""Rows that are copied at once: 28 columns of them, and the same scaled, are 170 kB."""

PADDING = 8
"""Numbers between two columns of the copy: at a distance of a power of two they would share places in the cache."""

TILE = 4
"""Columns on each side of the part of a matrix that is added up in registers."""


@njit(cache=True, nogil=True, fastmath={"contract", "reassoc", "nsz"})
def add_tile(gram: Any, left: Any, right: Any, j: int, k: int, n: int) -> None:
    """Add the products of four columns on the left, from j on, and four on the right, from k on, over n rows."""
    a0, a1, a2, a3 = left[j, :n], left[j + 1, :n], left[j + 2, :n], left[j + 3, :n]
    b0, b1, b2, b3 = right[k, :n], right[k + 1, :n], right[k + 2, :n], right[k + 3, :n]
    s00 = s01 = s02 = s03 = s10 = s11 = s12 = s13 = 0.0
    s20 = s21 = s22 = s23 = s30 = s31 = s32 = s33 = 0.0
    for i in range(n):
        x0, x1, x2, x3, y0, y1, y2, y3 = a0[i], a1[i], a2[i], a3[i], b0[i], b1[i], b2[i], b3[i]
        s00 += x0 * y0
        s01 += x0 * y1
        s02 += x0 * y2
        s03 += x0 * y3
        s10 += x1 * y0
        s11 += x1 * y1
        s12 += x1 * y2
        s13 += x1 * y3
        s20 += x2 * y0
        s21 += x2 * y1
        s22 += x2 * y2
        s23 += x2 * y3
        s30 += x3 * y0
        s31 += x3 * y1
        s32 += x3 * y2
        s33 += x3 * y3
    sums = ((s00, s01, s02, s03), (s10, s11, s12, s13), (s20, s21, s22, s23), (s30, s31, s32, s33))
    for p in range(4):
        for q in range(4):
            gram[j + p, k + q] += sums[p][q]


@njit(cache=True, nogil=True)
def copy_columns(columns: Any, rows: Any, which: Any) -> None:
    """Copy some of the rows, column by column."""
    for i in range(len(which)):
        row = rows[which[i]]
        for j in range(len(row)):
            columns[j, i] = row[j]


@njit(cache=True, nogil=True)
def scale_columns(scaled: Any, columns: Any, values: Any) -> None:
    """Multiply each row by its value."""
    for j in range(len(columns)):
        out, column = scaled[j], columns[j]
        for i in range(len(values)):
            out[i] = column[i] * values[i]


@njit(cache=True, nogil=True)
def weighted_grams(rows: Any, which: Any, starts: Any, values: Any, is_squared: bool, found: Any) -> None:
    """Set ``found[g, s]`` to ``sum_i values[s, i] x_i x_i^T`` over the rows of group g, squares of values if so said.

    The rows of group g are ``rows[which[starts[g]:starts[g + 1]]]``, and `values` are in the order of `which`.
    """
    d = rows.shape[1]
    wide = -(-d // TILE) * TILE
    columns, scaled = np.zeros((wide, AT_ONCE + PADDING)), np.zeros((wide, AT_ONCE + PADDING))
    right = scaled if is_squared else columns
    gram = np.zeros((len(values), wide, wide))
    for g in range(len(starts) - 1):
        gram[:] = 0.0
        for start in range(starts[g], starts[g + 1], AT_ONCE):
            stop = min(start + AT_ONCE, starts[g + 1])
            copy_columns(columns, rows, which[start:stop])
            for s in range(len(values)):
                scale_columns(scaled, columns, values[s, start:stop])
                for j in range(0, wide, TILE):
                    for k in range(j, wide, TILE):
                        add_tile(gram[s], scaled, right, j, k, stop - start)
        for s in range(len(values)):
            for j in range(d):
                for k in range(j, d):
                    found[g, s, j, k] = found[g, s, k, j] = gram[s, j, k]


@njit(cache=True, nogil=True)
def weighted_sums(rows: Any, which: Any, starts: Any, first: Any, last: Any, found: Any) -> None:
    """Set ``found[g, s]`` to ``sum_i (x_i first[s, i]) last[s, i]`` over the rows of group g; see `weighted_grams`."""
    for g in range(len(starts) - 1):
        found[g] = 0.0
        for i in range(starts[g], starts[g + 1]):
            row = rows[which[i]]
            for s in range(len(first)):
                total, a, b = found[g, s], first[s, i], last[s, i]
                for j in range(len(row)):
                    total[j] += (row[j] * a) * b
