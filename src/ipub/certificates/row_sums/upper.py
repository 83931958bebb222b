"""Upper bounds of ``y.w''`` for many directions y, as sums over the rows (Theorem 11)."""

from __future__ import annotations

import numpy as np

from ipub.certificates.row_sums.multipliers import Choice, choose
from ipub.certificates.row_sums.ranges import Ranges
from ipub.certificates.row_sums.row_terms import RowMultipliers, largest_row_terms, row_multipliers
from ipub.parallel import row_slices
from ipub.rounding import EPS, UNDERFLOW, Array, overflow_means_unbounded

NUMBERS = 1 << 20
"""Numbers of a row sum that are looked at in one go: directions times rows, cells and columns."""


@overflow_means_unbounded()
def largest_scores(ranges: Ranges, Y: Array) -> Array:
    """Bound ``y.w''`` from above, for each direction in Y and the models w'' of all completions in the ranges."""
    table, result = ranges.table, np.full(len(Y), np.inf)
    n_numbers = len(table.complete) + len(table.incomplete) * (len(table.w) + 8)
    n_numbers += 8 * len(ranges.variants.cells) + 4 * len(ranges.variants.row)
    for chunk in row_slices(len(Y), n_numbers + len(table.w) ** 2, NUMBERS):
        try:
            choice = choose(ranges, Y[chunk])
        except np.linalg.LinAlgError:
            continue
        bound = bound_with(ranges, Y[chunk], choice)
        result[chunk] = np.where(np.isnan(bound), np.inf, bound)
    return result


def bound_with(ranges: Ranges, Y: Array, choice: Choice) -> Array:
    """Bound ``y.w''`` from above, with lines and mixtures that were chosen, whatever they are (Theorem 11)."""
    table, lines, u = ranges.table, ranges.lines, choice.u
    n_complete, d = table.complete.shape
    along = u @ table.complete.T
    above, below, slope = (
        np.take_along_axis(each.T, choice.lines.T, axis=1).T for each in (lines.above, lines.below, lines.slope)
    )
    complete = np.where(along > 0.0, along * above, -along * below) @ table.complete_weight
    multipliers = row_multipliers(ranges, u, choice.mixture)
    terms = largest_row_terms(ranges, u, multipliers)
    incomplete = terms @ table.incomplete_weight
    norm = np.sqrt(np.einsum("kd,kd->k", u, u)) * (1.0 + (d + 4) * EPS) + UNDERFLOW
    error = (n_complete + 2 * d + 32) * EPS * norm * ranges.complete_size
    error = error + (len(table.incomplete) + 8) * EPS * (np.abs(terms) @ table.incomplete_weight)
    left = _residual_upper(ranges, Y, u, slope * along, norm, multipliers) @ ranges.weight_size
    tilt = np.abs(u) @ table.gradient_upper
    parts = np.stack([complete, incomplete, error, left, tilt])
    return np.asarray(parts.sum(axis=0) + (d + 16) * EPS * np.abs(parts).sum(axis=0) + UNDERFLOW)


def _residual_upper(
    ranges: Ranges, Y: Array, u: Array, pulls: Array, norm: Array, multipliers: RowMultipliers
) -> Array:
    """Bound what is left of y when all multipliers are taken off: ``|y - Lambda u - sum_i m_i (z_i x_i + zeta_i)|``."""
    table = ranges.table
    weight, d = table.incomplete_weight, len(table.w)
    scores = multipliers.score * weight
    cells = multipliers.cells * weight[table.cell_rows]
    left = Y - table.lam * u - (pulls * table.complete_weight) @ table.complete
    left -= scores @ table.incomplete + table.columns_of_cells(cells)
    size = np.abs(Y) + table.lam * np.abs(u) + norm[:, None] * ranges.curvature_size
    size += np.abs(scores) @ np.abs(table.incomplete) + table.columns_of_cells(np.abs(cells))
    for missing, of_levels in zip(table.missing, multipliers.levels, strict=True):
        part = of_levels * weight[missing.rows, None]
        left[:, missing.columns] -= part.sum(axis=1)
        size[:, missing.columns] += np.abs(part).sum(axis=1)
    roundings = len(table.complete) + len(table.incomplete) + len(table.cell_rows) + d + 32
    return np.abs(left) + 2.0 * roundings * EPS * size + UNDERFLOW
