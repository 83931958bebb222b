"""What one incomplete row can add to a row sum: its cells, categories, score and weights at their worst (Lemma 26)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from ipub.certificates.row_sums.compiled import AnyLevels, VariantInputs, VariantMaxima, largest_variant_terms
from ipub.certificates.row_sums.compiled import loops as compiled_loops
from ipub.certificates.row_sums.graphs import Between, GraphPoints
from ipub.certificates.row_sums.multipliers import Mixture, Shift, Worst, level_spread
from ipub.certificates.row_sums.ranges import Ranges
from ipub.certificates.row_sums.variants import CENTER, UNSETTLED
from ipub.data.interval_matrix import Indices
from ipub.rounding import EPS, TINY, UNDERFLOW, Array

SHARES = (1.5, 1.25, 1.0, 0.67, 0.33, 0.0)
"""How much of the multiplier of a center's score is for the completed score: the share that bounds best is used."""

MARGIN = 1e-7
"""A choice must be better by this, relatively: so that rounding does not decide between two that are as good."""

MANY_TERMS = 1 << 16
"""Variants times directions, both ways, from which compiled loops are used: loading them takes half a second."""


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
        levels = [each + more for each, more in zip(levels, shift.levels, strict=True)]
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
    ranges. For a fixed score ``s + d.omega``, and any share of z that is for it, this is a sum over the cells.

    Parameters
    ----------
    ranges : Ranges
    u : array of shape (k, d)
    multipliers : RowMultipliers
    points : GraphPoints, optional
        Those of psi: `Ranges.points`, or those of the rows' second labels.
    with_worst : bool
    """
    terms = _VariantTerms(ranges, u, multipliers, ranges.points if points is None else points)
    found = terms.maxima()
    largest = ranges.variants.largest_of_row(found.best + terms.rounding())
    return RowTerms(largest, terms.worst(found) if with_worst else None)


class _OverPiece(NamedTuple):
    """The terms of all variants at the ends of one piece of their scores, each with the share that bounds it best."""

    first: Array
    last: Array
    """Bounds at the ends, but for what the completed score itself adds."""
    slope: Array
    """What multiplies the completed score."""
    in_rectangle: Array
    """The least bound that takes no chord: with the derivative at one end, and the score at any."""


class _LevelTerms(NamedTuple):
    """What a missing category adds to the terms of its rows, but for what its levels do to the derivative's part."""

    own: Array
    """With each level, shape (k, n_missing, n_levels)."""
    center: Array
    """With the center in place of a level, shape (k, n_missing)."""


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
        self.settled = [levels for levels in variants.levels if levels.is_settled]
        self.unsettled = [levels for levels in variants.levels if not levels.is_settled]
        for levels in self.settled:  # a level that is settled moves the row, as if the row's center were elsewhere
            own = self._level_changes(levels.category)[:, levels.level]
            self.along[:, levels.rows] += np.where(levels.is_center, 0.0, own)
        ends = variants.lower * self.u_cells, variants.upper * self.u_cells
        least, most = self.along + variants.sums(np.minimum(*ends)), self.along + variants.sums(np.maximum(*ends))
        self.changes = [self._level_changes(levels.category) for levels in self.unsettled]
        for levels, change in zip(self.unsettled, self.changes, strict=True):
            least[:, levels.rows] += change.min(axis=1, keepdims=True)
            most[:, levels.rows] += change.max(axis=1, keepdims=True)
        # By how much the term can grow with a smaller derivative, and with a larger one.
        self.falling, self.rising = np.maximum(most, 0.0), np.maximum(-least, 0.0)
        self.steepness = np.maximum(self.falling, self.rising)

    def _level_changes(self, category: int) -> Array:
        """Return ``d_l.u`` for each level of a category, shape (k, n_levels)."""
        missing = self.ranges.table.missing[category]
        part = self.u[:, missing.columns]
        return np.asarray(part - missing.center * part.sum(axis=1, keepdims=True))

    def maxima(self) -> VariantMaxima:
        """Bound each variant's term from above: compiled, if there are enough of them and Numba is installed."""
        loops = compiled_loops() if 2 * len(self.ranges.table.directions) * len(self.row) >= MANY_TERMS else None
        return self.maxima_by_arrays() if loops is None else largest_variant_terms(loops, self._inputs())

    def maxima_by_arrays(self) -> VariantMaxima:
        """Bound each variant's term from above, by NumPy."""
        points, shape = self.points, self.score.shape
        found = VariantMaxima(np.full(shape, -np.inf), np.zeros(shape, dtype=np.int8), np.zeros(shape))
        ends = range(0, len(points.score), points.finer)
        at_ends = [self.at_points(share, ends) for share in SHARES]
        for number, piece in enumerate(ends[:-1]):
            over = self.best_share(piece, [(at[number], at[number + 1]) for at in at_ends])
            largest = self.largest_over(piece, over)
            is_larger = largest - MARGIN * np.abs(largest) > found.best
            np.copyto(found.piece, piece, where=is_larger)
            np.copyto(found.slope, over.slope, where=is_larger)
            np.maximum(found.best, largest, out=found.best)
        return found

    def _inputs(self) -> VariantInputs:
        """Gather what the compiled loops read."""
        points, variants = self.points, self.ranges.variants
        levels = [{each.category: self._levels(each.category, share) for each in variants.levels} for share in SHARES]
        fixed = np.stack([self._fixed(share, each) for share, each in zip(SHARES, levels, strict=True)])
        between = points.between or Between(*(np.empty((1, 1, len(self.row))) for _ in Between._fields))
        return VariantInputs(
            shares=np.array(SHARES),
            margin=MARGIN,
            score=self.score,
            along=self.along,
            falling=self.falling,
            rising=self.rising,
            steepness=self.steepness,
            fixed=fixed,
            cells=self.cells,
            u_cells=self.u_cells,
            cell_lower=variants.lower,
            cell_upper=variants.upper,
            weight=self.weight,
            doubt=self.doubt,
            ranks=np.array(variants.ranks, dtype=np.intp),
            levels=self._any_levels(levels),
            scores=points.score,
            middle=points.middle,
            radius=points.radius,
            below_chord=points.below_chord,
            above_chord=points.above_chord,
            finer=points.finer,
            between_share=between.share,
            between_away=between.away,
        )

    def _any_levels(self, levels: list[dict[int, _LevelTerms]]) -> AnyLevels:
        """Gather the categories that may have any level in a variant."""
        k, parts, own, n_own, n_change = len(self.u), [np.empty((4, 0), dtype=np.intp)], [], 0, 0
        for each, change in zip(self.unsettled, self.changes, strict=True):
            n_levels = change.shape[1]
            own.append(np.stack([of_share[each.category].own for of_share in levels]).reshape(len(SHARES), k, -1))
            ones = np.ones_like(each.rows)
            parts.append(np.stack([each.rows, n_own + each.places * n_levels, n_change * ones, n_levels * ones]))
            n_own, n_change = n_own + own[-1].shape[2], n_change + n_levels
        where = np.concatenate(parts, axis=1)
        return AnyLevels(
            variant=where[0],
            own_at=where[1],
            change_at=where[2],
            n_levels=where[3],
            own=np.concatenate([np.empty((len(SHARES), k, 0)), *own], axis=2),
            change=np.concatenate([np.empty((k, 0)), *self.changes], axis=1),
        )

    def at_points(self, share: float, ends: Iterable[int]) -> list[Array]:
        """Bound each variant's term at points of its graph, but for what the completed score itself adds (Lemma 26).

        Parameters
        ----------
        share : float
            How much of the score's multiplier is for the completed score; the rest is for that of the center.
        ends : iterable of int
            The points.
        """
        points, variants = self.points, self.ranges.variants
        turned, of_cells = (share * self.score)[:, self.at], []
        for change in (variants.lower, variants.upper):
            meets = self.cells - turned * change
            of_cells.append(meets * self.weight + np.abs(meets) * self.doubt)
        levels = {each.category: self._levels(each.category, share) for each in variants.levels}
        fixed = self._fixed(share, levels)
        found = []
        for end in ends:
            derivative = points.middle[end]
            pull = derivative[self.at] * self.u_cells
            part = variants.sums(np.maximum(of_cells[0] - pull * variants.lower, of_cells[1] - pull * variants.upper))
            part += fixed + self.steepness * points.radius[end] - derivative * self.along
            for each, change in zip(self.unsettled, self.changes, strict=True):
                of_level = levels[each.category].own[:, each.places] - derivative[each.rows, None] * change[:, None]
                part[:, each.rows] += of_level.max(axis=2)
            found.append(part)
        return found

    def _fixed(self, share: float, levels: dict[int, _LevelTerms]) -> Array:
        """Return what does not depend on the derivative: the score of the center, and levels that are settled."""
        left = (1.0 - share) * self.multipliers.score
        fixed = np.maximum(left * self.ranges.row_lower, left * self.ranges.row_upper)[:, self.row]
        for each in self.settled:
            own = levels[each.category].own[:, each.places, each.level]
            fixed[:, each.rows] += np.where(each.is_center, levels[each.category].center[:, each.places], own)
        return fixed

    def best_share(self, piece: int, at_ends: list[tuple[Array, Array]]) -> _OverPiece:
        """Choose for each variant the share with which its term is least along the chord of a piece."""
        score, shape = self.points.score, self.score.shape
        least, best = np.full(shape, np.inf), _OverPiece(*(np.full(shape, np.inf) for _ in _OverPiece._fields))
        for share, (first, last) in zip(SHARES, at_ends, strict=True):
            slope = share * self.score
            moves = slope * score[piece], slope * score[piece + self.points.finer]
            on_chord = np.maximum(first + moves[0], last + moves[1])
            is_better = on_chord + MARGIN * np.abs(on_chord) < least
            for chosen, other in zip((least, *best[:3]), (on_chord, first, last, slope), strict=True):
                np.copyto(chosen, other, where=is_better)
            np.fmin(best.in_rectangle, np.maximum(first, last) + np.maximum(*moves), out=best.in_rectangle)
        return best

    def largest_over(self, piece: int, over: _OverPiece) -> Array:
        """Bound each variant's term while its score is in one piece: over the finer parts, or the whole (Lemma 24)."""
        points, finer, slope = self.points, self.points.finer, over.slope
        moves = [slope * points.score[piece + part] for part in range(finer + 1)]
        rise, before, result = over.last - over.first, over.first + moves[0], np.full(slope.shape, -np.inf)
        for part in range(finer):
            if points.between is not None and part < finer - 1:
                share, away = (each[piece // finer, part] for each in points.between)
                after = over.first + share * rise + self.steepness * away + moves[part + 1]
            else:
                after = over.last + moves[finer]
            below, above = points.below_chord[piece + part], points.above_chord[piece + part]
            off_chord = np.maximum(
                np.where(below > 0.0, self.falling * below, 0.0), np.where(above > 0.0, self.rising * above, 0.0)
            )
            np.maximum(result, np.maximum(before, after) + off_chord, out=result)
            before = after
        return np.asarray(np.fmin(result, over.in_rectangle))

    def _levels(self, category: int, share: float) -> _LevelTerms:
        """Return what each level of a category adds where it is missing, weights at their worst."""
        missing = self.ranges.table.missing[category]
        middle, radius = (each[missing.columns] for each in (self.ranges.weight_middle, self.ranges.weight_radius))
        zeta = self.multipliers.levels[category]
        slope = (share * self.multipliers.score[:, missing.rows])[..., None]
        apart = zeta + slope * missing.center
        total = (apart @ middle + np.abs(apart) @ radius)[..., None]
        own = total - slope * middle + (np.abs(apart - slope) - np.abs(apart)) * radius
        return _LevelTerms(own, zeta @ middle + np.abs(zeta) @ radius)

    def worst(self, found: VariantMaxima) -> Worst:
        """Return about where each row's term is largest, given its variants' terms, and in which piece they are."""
        ranges, table, variants, points = self.ranges, self.ranges.table, self.ranges.variants, self.points
        variant = variants.best_of_row(found.best)
        piece = np.take_along_axis(found.piece, variant, axis=1)
        slope = np.take_along_axis(found.slope, variant, axis=1)
        score, value = points.score[piece, variant], points.middle[piece, variant]
        at = table.cell_rows
        places = variants.places[variant[:, at], variants.rank_of_cell]
        turned, pull = slope[:, at], value[:, at] * self.u[:, table.cell_columns]
        middle, radius = ranges.weight_middle[table.cell_columns], ranges.weight_radius[table.cell_columns]
        ends, weights = [], []
        for change in (variants.lower[places], variants.upper[places]):
            meets = self.multipliers.cells - turned * change
            ends.append(meets * middle + np.abs(meets) * radius - pull * change)
            size = np.abs(self.multipliers.cells) + np.abs(turned * change)
            weights.append(middle + np.where(np.abs(meets) > MARGIN * size, np.sign(meets), 0.0) * radius)
        is_upper = ends[1] > ends[0] + MARGIN * np.abs(ends[0])
        chosen = np.where(is_upper, weights[1], weights[0])
        moved = np.where(is_upper, variants.upper[places], variants.lower[places]) * chosen
        center = score - table.sums_of_cells(moved)
        of_levels: list[Array] = []
        for category, missing in enumerate(table.missing):
            rows = missing.rows
            level = variants.level_of[category][variant[:, rows]]
            met, move = self._worst_levels(category, level, slope[:, rows], value[:, rows])
            of_levels.append(met)
            center[:, rows] -= move
        return Worst(np.clip(center, ranges.row_lower, ranges.row_upper), chosen, tuple(of_levels))

    def _worst_levels(self, category: int, level: Indices, slope: Array, value: Array) -> tuple[Array, Array]:
        """Return the worst weights of a category's levels, and what its level then does to the score, about.

        Parameters
        ----------
        category : int
        level : array of shape (k, n_missing)
            Of the worst variant of each row: a level, `CENTER` or `UNSETTLED`.
        slope, value : arrays of shape (k, n_missing)
            What multiplies the completed score in it, and the derivative there.
        """
        missing = self.ranges.table.missing[category]
        middle, radius = (each[missing.columns] for each in (self.ranges.weight_middle, self.ranges.weight_radius))
        zeta, change = self.multipliers.levels[category], self._level_changes(category)
        apart = zeta + slope[..., None] * missing.center
        own = np.abs(apart - slope[..., None]) - np.abs(apart)
        of_levels = own * radius - slope[..., None] * middle - value[..., None] * change[:, None]
        chosen = np.where(level == UNSETTLED, of_levels.argmax(axis=2), level)
        is_own = chosen[..., None] == np.arange(len(middle))
        moved = np.where((chosen == CENTER)[..., None], 0.0, is_own - missing.center)
        meets = zeta - slope[..., None] * moved
        size = np.abs(zeta) + np.abs(slope)[..., None]
        weights = middle + np.where(np.abs(meets) > MARGIN * size, np.sign(meets), 0.0) * radius
        return weights, np.einsum("kil,kil->ki", moved, weights)

    def rounding(self) -> Array:
        """Bound the rounding of each term: so many units of the sum of the sizes of all it is made of (F2)."""
        ranges, points, variants = self.ranges, self.points, self.ranges.variants
        slope = max(SHARES) * np.abs(self.score)  # also what is left for the center, times 1 - share
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
            of_levels = (np.abs(self.multipliers.levels[each.category]) @ weight)[:, each.places]
            of_levels = of_levels + slope[:, each.rows] * (weight.max() + weight.mean())
            part = np.abs(self.u[:, missing.columns])
            of_levels = of_levels + derivative[each.rows] * (part.max(axis=1) + part.mean(axis=1))[:, None]
            size[:, each.rows] += of_levels
        roundings = 4 * len(ranges.table.w) + 64
        return np.asarray(roundings * EPS * size * (1.0 + 1e-6) + UNDERFLOW + TINY)
