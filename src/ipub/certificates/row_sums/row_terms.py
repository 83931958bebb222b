"""What one incomplete row can add to a row sum: its cells, categories, score and weights at their worst (Lemma 26)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ipub.certificates.row_sums.graphs import GraphPoints
from ipub.certificates.row_sums.multipliers import Mixture, Shift, Worst, level_spread
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


def row_multipliers(ranges: Ranges, u: Array, mixture: Mixture, shift: Shift | None = None) -> RowMultipliers:
    """Return the multipliers that belong to a mixture, and what is added to them."""
    table = ranges.table
    along = u @ table.incomplete.T + table.sums_of_cells(mixture.mean * u[:, table.cell_columns])
    for missing, shares in zip(table.missing, mixture.shares, strict=True):
        change = np.einsum("kil,kl->ki", shares - missing.center, u[:, missing.columns])
        np.add.at(along.T, missing.rows, change.T)
    score = mixture.slope * along
    at = table.cell_rows
    cells = score[:, at] * mixture.mean + mixture.slope[:, at] * mixture.variance * u[:, table.cell_columns]
    levels = []
    for missing, shares in zip(table.missing, mixture.shares, strict=True):
        spread = level_spread(shares, u[:, None, missing.columns])
        part = score[:, missing.rows, None] * (shares - missing.center)
        levels.append(part + mixture.slope[:, missing.rows, None] * spread)
    if shift is not None:
        score, cells = score + shift.score, cells + shift.cells
    return RowMultipliers(score, cells, tuple(levels))


class RowTerms(NamedTuple):
    """Bounds of the terms of the incomplete rows, and where they are largest."""

    largest: Array
    """Shape (k, n_incomplete)."""
    worst: Worst | None


def largest_row_terms(
    ranges: Ranges,
    u: Array,
    multipliers: RowMultipliers,
    *,
    points: GraphPoints | None = None,
    with_worst: bool = False,
) -> RowTerms:
    """Bound the term of each incomplete row from above, for each of k directions.

    ``z s + zeta.omega - psi(s + d.omega) (x + d).u`` over cells d, scores s of the center and weights omega in their
    ranges. For a fixed score ``s + d.omega`` and any factor nu of its definition this is a sum over the cells.

    Parameters
    ----------
    ranges : Ranges
    u : array of shape (k, d)
    multipliers : RowMultipliers
    points : GraphPoints, optional
        Those of psi: `Ranges.points`, or those of the rows' second labels.
    with_worst : bool
    """
    points = ranges.points if points is None else points
    terms = _VariantTerms(ranges, u, multipliers, points)
    best = np.full(terms.along.shape, -np.inf)
    places = _Places(best.shape) if with_worst else None
    for piece in range(len(points.off_chord)):
        over_factors = np.full(best.shape, np.inf)
        for factor in terms.factors(piece):
            bound = terms.largest_over(piece, factor)
            if places is not None:
                places.use_factor(factor, bound < over_factors)
            np.fmin(over_factors, bound, out=over_factors)
        if places is not None:
            places.use_piece(piece, over_factors > best)
        np.maximum(best, over_factors, out=best)
    largest = ranges.variants.largest_of_row(best + terms.rounding())
    return RowTerms(largest, None if places is None else terms.worst(best, places.piece, places.factor))


class _Places:
    """Where the term of each variant is largest: the piece of its scores, and the factor that bounds it best there."""

    def __init__(self, shape: tuple[int, ...]) -> None:
        self.piece, self.factor = np.zeros(shape, dtype=np.int8), np.zeros(shape)
        self._factor_here = np.zeros(shape)

    def use_factor(self, factor: Array, is_best: NDArray[np.bool_]) -> None:
        """Take note of a factor that is better than those before, in the piece that is looked at."""
        np.copyto(self._factor_here, factor, where=is_best)

    def use_piece(self, piece: int, is_larger: NDArray[np.bool_]) -> None:
        """Take note of a piece where terms are larger than in those before."""
        np.copyto(self.piece, piece, where=is_larger)
        np.copyto(self.factor, self._factor_here, where=is_larger)


class _VariantTerms:
    """The terms of all variants, for k directions."""

    def __init__(self, ranges: Ranges, u: Array, multipliers: RowMultipliers, points: GraphPoints) -> None:
        table, variants = ranges.table, ranges.variants
        self.ranges, self.u, self.multipliers, self.points = ranges, u, multipliers, points
        self.row, self.at = variants.row, variants.cell_variants
        self.columns = table.cell_columns[variants.cells]
        self.score = multipliers.score[:, self.row]
        self.cells = multipliers.cells[:, variants.cells]
        self.along = (u @ table.incomplete.T)[:, self.row]
        self.u_cells = u[:, self.columns]
        self.weight, self.doubt = ranges.weight_middle[self.columns], ranges.weight_radius[self.columns]
        size = np.maximum(np.abs(variants.lower), np.abs(variants.upper))
        self.steepness = np.abs(self.along) + variants.sums(size * np.abs(self.u_cells))
        self.change = []
        for levels in variants.levels:
            missing = table.missing[levels.category]
            part = u[:, missing.columns]
            change = part - missing.center * part.sum(axis=1, keepdims=True)
            own = np.where(levels.is_center, 0.0, change[:, levels.level])[..., None]
            self.change.append(own if levels.is_settled else change[:, None])
            np.add.at(self.steepness.T, levels.rows, np.abs(change).max(axis=1))

    def factors(self, piece: int) -> list[Array]:
        """Return factors nu to try: 0, and those that settle a main cell or category for the piece's derivative."""
        ranges, points, z = self.ranges, self.points, self.score
        limit = STEEPEST * np.abs(z) + 1.0
        derivative = 0.5 * (points.middle[piece] + points.middle[piece + 1])
        found = [np.zeros_like(z)]
        for cells in ranges.main_cells:
            weight = self.weight[cells]
            usable = (cells >= 0) & (np.abs(weight) > 1e-9 * np.abs(self.weight).max())
            ratio = self.u_cells[:, cells] / np.where(usable, weight, 1.0)
            found.append(np.where(usable, np.clip(-(z + derivative * ratio), -limit, limit), 0.0))
        for levels in ranges.variants.levels:
            if levels.is_settled:
                continue
            missing = ranges.table.missing[levels.category]
            weight = ranges.weight_middle[missing.columns]
            centered = weight - weight.mean()
            ratio = self.u[:, missing.columns] @ centered / max(float(centered @ centered), TINY)
            usable = np.zeros(len(self.row), dtype=bool)
            usable[levels.rows] = True
            found.append(np.where(usable, np.clip(-(z + derivative * ratio[:, None]), -limit, limit), 0.0))
        return found

    def largest_over(self, piece: int, factor: Array) -> Array:
        """Bound each variant's term while its score is in one piece of its range, with one factor nu (Lemma 26)."""
        ranges, points, variants = self.ranges, self.points, self.ranges.variants
        slope = self.score + factor
        turned = slope[:, self.at]
        ends = []
        for change in (variants.lower, variants.upper):
            meets = self.cells - turned * change
            ends.append(meets * self.weight + np.abs(meets) * self.doubt)
        levels = self._levels(slope)
        settled = -np.where(factor > 0.0, factor * ranges.row_lower[self.row], factor * ranges.row_upper[self.row])
        by_end, flat = [], []
        for end in (piece, piece + 1):
            derivative = points.middle[end]
            pull = derivative[self.at] * self.u_cells
            part = variants.sums(np.maximum(ends[0] - pull * variants.lower, ends[1] - pull * variants.upper))
            part -= derivative * self.along
            for each, fixed, along in zip(variants.levels, levels, self.change, strict=True):
                of_level = fixed - derivative[each.rows, None] * along
                np.add.at(part.T, each.rows, of_level.max(axis=2).T)
            flat.append(part + self.steepness * points.radius[end])
            by_end.append(flat[-1] + slope * points.score[end])
        off_chord = points.off_chord[piece]
        along_chord = np.maximum(*by_end) + np.where(off_chord > 0.0, self.steepness * off_chord, 0.0)
        in_rectangle = np.maximum(*flat) + np.maximum(slope * points.score[piece], slope * points.score[piece + 1])
        return np.asarray(np.fmin(along_chord, in_rectangle) + settled)

    def _levels(self, slope: Array) -> list[Array]:
        """Return for each category what its levels add, weights at their worst: of all levels, or of the settled one.

        Shape (k, n, n_levels), or (k, n, 1) if each variant has one level.
        """
        ranges, terms = self.ranges, []
        for each in ranges.variants.levels:
            missing = ranges.table.missing[each.category]
            middle, radius = ranges.weight_middle[missing.columns], ranges.weight_radius[missing.columns]
            of_rows = np.where(each.is_center, 0.0, slope[:, each.rows])[..., None]
            apart = self.multipliers.levels[each.category][:, each.places] + of_rows * missing.center
            total = (apart @ middle + np.abs(apart) @ radius)[..., None]
            if each.is_settled:
                at = np.broadcast_to(each.level[:, None], (*total.shape[:2], 1))
                apart = np.take_along_axis(apart, at, axis=2)
                middle, radius = middle[each.level, None], radius[each.level, None]
            terms.append(total - of_rows * middle + (np.abs(apart - of_rows) - np.abs(apart)) * radius)
        return terms

    def worst(self, best: Array, piece: NDArray[np.integer], factor: Array) -> Worst:
        """Return about where each row's term is largest, given its variants' terms, and in which piece they are."""
        ranges, table, variants, points = self.ranges, self.ranges.table, self.ranges.variants, self.points
        variant = variants.best_of_row(best)
        piece, factor = np.take_along_axis(piece, variant, axis=1), np.take_along_axis(factor, variant, axis=1)
        score, value = points.score[piece, variant], points.middle[piece, variant]
        slope, at = self.multipliers.score + factor, table.cell_rows
        places = variants.places[variant[:, at], variants.rank_of_cell]
        turned, pull = slope[:, at], value[:, at] * self.u[:, table.cell_columns]
        middle, radius = ranges.weight_middle[table.cell_columns], ranges.weight_radius[table.cell_columns]
        ends, weights = [], []
        for change in (variants.lower[places], variants.upper[places]):
            meets = self.multipliers.cells - turned * change
            ends.append(meets * middle + np.abs(meets) * radius - pull * change)
            weights.append(middle + np.sign(meets) * radius)
        is_upper = ends[1] > ends[0]
        chosen = np.where(is_upper, weights[1], weights[0])
        moved = np.where(is_upper, variants.upper[places], variants.lower[places]) * chosen
        center = score - table.sums_of_cells(moved)
        return Worst(np.clip(center, ranges.row_lower, ranges.row_upper), chosen)

    def rounding(self) -> Array:
        """Bound the rounding of each term: so many units of the sum of the sizes of all it is made of (F2)."""
        ranges, points, variants = self.ranges, self.points, self.ranges.variants
        slope = (1.0 + STEEPEST) * np.abs(self.score) + 1.0
        score = (
            np.maximum(np.abs(points.score[0]), np.abs(points.score[-1]))
            + np.maximum(np.abs(ranges.row_lower), np.abs(ranges.row_upper))[self.row]
        )
        derivative = (np.abs(points.middle) + points.radius).max(axis=0)
        norms = np.sqrt(np.einsum("kd,kd->k", self.u, self.u))[:, None] * ranges.row_norms[1][self.row]
        radius = np.maximum(np.abs(variants.lower), np.abs(variants.upper))
        of_cells = (np.abs(self.cells) + slope[:, self.at] * radius) * ranges.weight_size[self.columns]
        of_cells = of_cells + derivative[self.at] * radius * np.abs(self.u_cells)
        size = 2.0 * slope * score + derivative * norms + variants.sums(of_cells)
        for each in variants.levels:
            missing = ranges.table.missing[each.category]
            weight = ranges.weight_size[missing.columns]
            of_levels = np.abs(self.multipliers.levels[each.category][:, each.places]) @ weight
            of_levels = of_levels + slope[:, each.rows] * (weight.max() + weight.mean())
            part = np.abs(self.u[:, missing.columns])
            of_levels = of_levels + derivative[each.rows] * (part.max(axis=1) + part.mean(axis=1))[:, None]
            np.add.at(size.T, each.rows, of_levels.T)
        roundings = 4 * len(ranges.table.w) + 64
        return np.asarray(roundings * EPS * size * (1.0 + 1e-6) + UNDERFLOW + TINY)
