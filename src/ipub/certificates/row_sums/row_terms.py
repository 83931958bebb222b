"""What one incomplete row can add to a row sum: its cells, categories, score and weights at their worst (Lemma 26)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ipub.certificates.row_sums.multipliers import Mixture, level_spread
from ipub.certificates.row_sums.ranges import Ranges
from ipub.rounding import EPS, TINY, UNDERFLOW, Array

STEEPEST = 3.0
"""Multipliers of the score's own equation are at most this many times the score's multiplier, and one."""


class RowMultipliers(NamedTuple):
    """Multipliers of the incomplete rows, for each of k directions; any floats serve."""

    score: Array
    """z: of the score of a row's center, shape (k, n_incomplete)."""
    cells: Array
    """Of the weight that each cell meets, shape (k, n_cells)."""
    levels: tuple[Array, ...]
    """Of the weights of a missing category's levels, shape (k, n_missing, n_levels) for each category."""


def row_multipliers(ranges: Ranges, u: Array, mixture: Mixture) -> RowMultipliers:
    """Return the multipliers that belong to a mixture."""
    table = ranges.table
    along = u @ table.incomplete.T + table.sums_of_cells(mixture.mean * u[:, table.cell_columns])
    for missing, shares in zip(table.missing, mixture.shares, strict=True):
        change = np.einsum("kil,kl->ki", shares - missing.center, u[:, missing.columns])
        np.add.at(along, (slice(None), missing.rows), change)
    score = mixture.slope * along
    at = table.cell_rows
    cells = score[:, at] * mixture.mean + mixture.slope[:, at] * mixture.variance * u[:, table.cell_columns]
    levels = []
    for missing, shares in zip(table.missing, mixture.shares, strict=True):
        spread = level_spread(shares, u[:, None, missing.columns])
        part = score[:, missing.rows, None] * (shares - missing.center)
        levels.append(part + mixture.slope[:, missing.rows, None] * spread)
    return RowMultipliers(score, cells, tuple(levels))


class _LevelTerms(NamedTuple):
    """For one category and one multiplier: what each level adds, apart from the derivative times its part of u."""

    fixed: Array
    """Shape (k, n_missing, n_levels)."""
    change: Array
    """``d_l.u``, shape (k, n_levels)."""


def largest_row_terms(ranges: Ranges, u: Array, multipliers: RowMultipliers) -> Array:
    """Bound the term of each incomplete row from above, for each of k directions; shape (k, n_incomplete).

    ``z s + zeta.omega - psi(s + d.omega) (x + d).u`` over cells d, scores s of the center and weights omega in their
    ranges. For a fixed score ``s + d.omega`` and any factor nu of its definition this is a sum over the cells.
    """
    table, points = ranges.table, ranges.points
    along = u @ table.incomplete.T
    steepness = _steepness(ranges, u, along)
    best = np.full(along.shape, -np.inf)
    candidates = _score_factors(ranges, u, multipliers)
    for piece in range(len(points.off_chord)):
        mid = 0.25 * (points.lower[piece] + points.upper[piece] + points.lower[piece + 1] + points.upper[piece + 1])
        over_factors = np.full(along.shape, np.inf)
        for factor in candidates(mid):
            bound = _over_piece(ranges, u, along, multipliers, factor, piece, steepness)
            np.minimum(over_factors, bound, out=over_factors)
        np.maximum(best, over_factors, out=best)
    return best + _rounding(ranges, u, multipliers)


def _steepness(ranges: Ranges, u: Array, along: Array) -> Array:
    """Return how fast a row's term can change with its derivative: at most ``|(x + d).u|``."""
    table = ranges.table
    steepness = np.abs(along) + table.sums_of_cells(table.cell_radii * np.abs(u[:, table.cell_columns]))
    for missing in table.missing:
        change = np.abs(u[:, missing.columns] - missing.center * u[:, missing.columns].sum(axis=1, keepdims=True))
        np.add.at(steepness, (slice(None), missing.rows), change.max(axis=1)[:, None])
    return steepness


def _score_factors(ranges: Ranges, u: Array, multipliers: RowMultipliers):
    """Return for a derivative of each row the factors nu to try: 0, and those that settle one of its main cells."""
    table, z = ranges.table, multipliers.score
    limit = STEEPEST * np.abs(z) + 1.0
    middle = ranges.weight_middle
    ratios = []
    for cells in ranges.main_cells:
        weight = middle[table.cell_columns[cells]] if len(table.cell_columns) else np.zeros(len(cells))
        if not len(table.cell_columns):
            continue
        usable = (cells >= 0) & (np.abs(weight) > 1e-9)
        ratio = u[:, table.cell_columns[cells]] / np.where(usable, weight, 1.0)
        ratios.append((usable, ratio))
    for missing in table.missing:
        weight, part = middle[missing.columns], u[:, missing.columns]
        centered = weight - weight.mean()
        usable = np.zeros(len(table.incomplete), dtype=bool)
        usable[missing.rows] = True
        ratio = part @ centered / max(float(centered @ centered), 1e-12)
        ratios.append((usable, np.repeat(ratio[:, None], len(usable), axis=1)))

    def factors(derivative: Array) -> list[Array]:
        found = [np.zeros_like(z)]
        found += [np.where(usable, np.clip(-(z + derivative * r), -limit, limit), 0.0) for usable, r in ratios]
        return found

    return factors


def _over_piece(
    ranges: Ranges, u: Array, along: Array, multipliers: RowMultipliers, factor: Array, piece: int, steepness: Array
) -> Array:
    """Bound each row's term while its score is in one piece of its range, with one factor nu (Lemma 26)."""
    table, points = ranges.table, ranges.points
    at, columns, radius = table.cell_rows, table.cell_columns, table.cell_radii
    slope = multipliers.score + factor
    middle, doubt = ranges.weight_middle[columns], ranges.weight_radius[columns]
    turned = slope[:, at] * radius
    up_end, down_end = multipliers.cells - turned, multipliers.cells + turned
    at_upper = up_end * middle + np.abs(up_end) * doubt
    at_lower = down_end * middle + np.abs(down_end) * doubt
    levels = _level_terms(ranges, u, multipliers, slope)
    settled = -np.where(factor > 0.0, factor * ranges.row_lower, factor * ranges.row_upper)
    by_end, flat = [], []
    for end in (piece, piece + 1):
        both = []
        for derivative in (points.lower[end], points.upper[end]):
            pull = derivative[at] * radius * u[:, columns]
            part = table.sums_of_cells(np.maximum(at_upper - pull, at_lower + pull)) - derivative * along
            for missing, terms in zip(table.missing, levels, strict=True):
                each = (terms.fixed - derivative[missing.rows, None] * terms.change[:, None]).max(axis=2)
                np.add.at(part, (slice(None), missing.rows), each)
            both.append(part)
        flat.append(np.maximum(*both))
        by_end.append(flat[-1] + slope * points.score[end])
    off_chord = points.off_chord[piece]
    lost = np.where(off_chord > 0.0, steepness * off_chord, 0.0)
    along_chord = np.maximum(*by_end) + lost
    in_rectangle = np.maximum(*flat) + np.maximum(slope * points.score[piece], slope * points.score[piece + 1])
    return np.asarray(np.fmin(along_chord, in_rectangle) + settled)


def _level_terms(ranges: Ranges, u: Array, multipliers: RowMultipliers, slope: Array) -> list[_LevelTerms]:
    """Return for each category what its levels add, with weights at their worst."""
    terms = []
    for missing, of_levels in zip(ranges.table.missing, multipliers.levels, strict=True):
        columns, n = missing.columns, len(missing.columns)
        change = np.eye(n) - missing.center
        meets = of_levels[:, :, None] - slope[:, missing.rows, None, None] * change
        fixed = meets @ ranges.weight_middle[columns] + np.abs(meets) @ ranges.weight_radius[columns]
        part = u[:, columns]
        terms.append(_LevelTerms(fixed, part - missing.center * part.sum(axis=1, keepdims=True)))
    return terms


def _rounding(ranges: Ranges, u: Array, multipliers: RowMultipliers) -> Array:
    """Bound the rounding of each row's term: so many units of the sum of the sizes of all it is made of (F2)."""
    table, points = ranges.table, ranges.points
    slope = (1.0 + STEEPEST) * np.abs(multipliers.score) + 1.0
    score = np.maximum(np.abs(points.score[0]), np.abs(points.score[-1]))
    derivative = np.maximum(np.abs(points.lower), np.abs(points.upper)).max(axis=0)
    norms = np.sqrt(np.einsum("kd,kd->k", u, u))[:, None] * ranges.row_norms[1]
    at, columns, radius = table.cell_rows, table.cell_columns, table.cell_radii
    of_cells = (np.abs(multipliers.cells) + slope[:, at] * radius) * ranges.weight_size[columns]
    of_cells = of_cells + derivative[at] * radius * np.abs(u[:, columns])
    size = 2.0 * slope * score + derivative * norms + table.sums_of_cells(of_cells)
    for missing, of_levels in zip(table.missing, multipliers.levels, strict=True):
        weight, rows = ranges.weight_size[missing.columns], missing.rows
        each = np.abs(of_levels) @ weight + slope[:, rows] * (weight.max() + weight.mean())
        part = np.abs(u[:, missing.columns])
        each = each + derivative[rows] * (part.max(axis=1) + part.mean(axis=1))[:, None]
        np.add.at(size, (slice(None), rows), each)
    roundings = 4 * len(table.w) + 64
    return np.asarray(roundings * EPS * size * (1.0 + 1e-6) + UNDERFLOW + TINY)
