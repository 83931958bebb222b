"""Upper bounds of ``y.w''`` for many directions y, as sums over the rows (Theorem 11)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ipub.certificates.row_sums.lines import Lines
from ipub.certificates.row_sums.multipliers import Choice, Worst, choose, refined
from ipub.certificates.row_sums.ranges import Ranges
from ipub.certificates.row_sums.row_terms import RowMultipliers, RowTerms, largest_row_terms, row_multipliers
from ipub.parallel import in_threads, row_slices
from ipub.rounding import EPS, UNDERFLOW, Array, overflow_means_unbounded

NUMBERS = 1 << 20
"""Numbers of a row sum that are looked at in one go: directions times rows, cells and columns."""

REFINEMENTS = (0.2, 0.14, 0.12, 0.1)
"""Lengths of the steps by which multipliers are refined."""


@overflow_means_unbounded()
def largest_scores(ranges: Ranges, Y: Array, n_refined: int = 0) -> Array:
    """Bound ``y.w''`` from above, for each direction in Y and the models w'' of all completions in the ranges.

    Parameters
    ----------
    ranges : Ranges
    Y : array of shape (k, d)
    n_refined : int
        How often multipliers are refined, at most len(REFINEMENTS): each time costs as much as the first bound.
    """
    table = ranges.table
    n_numbers = len(table.complete) + len(table.incomplete) * (len(table.w) + 8)
    n_numbers += 8 * len(ranges.variants.cells) + 4 * len(ranges.variants.row)

    def of_chunk(chunk: slice) -> Array:
        with overflow_means_unbounded():  # each thread has settings of its own
            try:
                return _refined_bound(ranges, Y[chunk], n_refined)
            except np.linalg.LinAlgError:
                return np.full(len(Y[chunk]), np.inf)

    chunks = list(row_slices(len(Y), n_numbers + len(table.w) ** 2, NUMBERS))
    if len(chunks) > 1:
        ranges.compute_shared()
    return np.concatenate([np.empty(0), *in_threads(of_chunk, chunks)])


def _refined_bound(ranges: Ranges, Y: Array, n_refined: int) -> Array:
    """Choose lines and mixtures, bound, and refine; the least of all bounds."""
    choice = choose(ranges, Y)
    if not n_refined or not len(ranges.table.incomplete):
        return _or_infinite(bound_with(ranges, Y, choice))
    bound, best = bound_and_worst(ranges, Y, choice), np.full(len(Y), np.inf)
    for step in REFINEMENTS[:n_refined]:
        np.minimum(best, _or_infinite(bound.upper), out=best)
        choice = refined(ranges, Y, choice, bound.worst, bound.size, step)
        bound = bound_and_worst(ranges, Y, choice)
    return np.asarray(np.minimum(best, _or_infinite(bound.upper)))


def _or_infinite(bound: Array) -> Array:
    return np.where(np.isnan(bound), np.inf, bound)


class BoundAndWorst(NamedTuple):
    """Upper bounds, where the terms of the incomplete rows are largest, and the sizes of their scores' multipliers."""

    upper: Array
    worst: Worst
    size: Array


def bound_with(ranges: Ranges, Y: Array, choice: Choice) -> Array:
    """Bound ``y.w''`` from above, with lines and mixtures that were chosen, whatever they are (Theorem 11)."""
    multipliers = row_multipliers(ranges, choice.u, choice.mixture, choice.shift)
    terms = [each.largest for each in _terms_of_labels(ranges, choice, multipliers)]
    return _bound(ranges, Y, choice, multipliers, terms)


def bound_and_worst(ranges: Ranges, Y: Array, choice: Choice) -> BoundAndWorst:
    """Bound ``y.w''`` as `bound_with` does, and say where the rows' terms are largest."""
    multipliers = row_multipliers(ranges, choice.u, choice.mixture, choice.shift)
    terms = _terms_of_labels(ranges, choice, multipliers, with_worst=True)
    upper = _bound(ranges, Y, choice, multipliers, [each.largest for each in terms])
    worst = terms[0].worst
    assert worst is not None
    if choice.labels is not None and (second := terms[1].worst) is not None:
        is_second, at = choice.labels.incomplete, ranges.table.cell_rows
        worst = Worst(
            np.where(is_second, second.score, worst.score),
            np.where(is_second[:, at], second.weights, worst.weights),
            tuple(
                np.where(is_second[:, missing.rows, None], theirs, own)
                for missing, theirs, own in zip(ranges.table.missing, second.levels, worst.levels, strict=True)
            ),
        )
    return BoundAndWorst(upper, worst, np.abs(multipliers.score))


def _terms_of_labels(
    ranges: Ranges, choice: Choice, multipliers: RowMultipliers, *, with_worst: bool = False
) -> list[RowTerms]:
    """Return the terms of the incomplete rows; where rows have two labels, with either of them."""
    of_labels = [ranges.points] if ranges.second_points is None else [ranges.points, ranges.second_points]
    return [
        largest_row_terms(ranges, choice.u, multipliers, points=points, with_worst=with_worst) for points in of_labels
    ]


def _bound(ranges: Ranges, Y: Array, choice: Choice, multipliers: RowMultipliers, terms: list[Array]) -> Array:
    """Add up what complete and incomplete rows, second labels, the residual and the tilt can do, rounded up."""
    table, lines, u = ranges.table, ranges.lines, choice.u
    n_complete, d = table.complete.shape
    along = u @ table.complete.T
    of_complete = [_complete_terms(each, choice, along) for each in (lines, lines.second) if each is not None]
    complete, incomplete = of_complete[0] @ table.complete_weight, terms[0] @ table.incomplete_weight
    norm = np.sqrt(np.einsum("kd,kd->k", u, u)) * (1.0 + (d + 4) * EPS) + UNDERFLOW
    error = (n_complete + 2 * d + 32) * EPS * norm * ranges.complete_size
    error = error + (len(table.incomplete) + 8) * EPS * (np.abs(terms[0]) @ table.incomplete_weight)
    gained = np.zeros(len(u))
    if table.labels is not None:
        first, second = (
            np.concatenate([each * table.complete_weight, more * table.incomplete_weight], axis=1)
            for each, more in zip(of_complete, terms, strict=True)
        )
        gained = table.labels.gained(first, second)
        error = 3.0 * error + (len(first.T) + 16) * EPS * (np.abs(terms[1]) @ table.incomplete_weight + gained)
    slope = np.take_along_axis(lines.slope.T, choice.lines.T, axis=1).T
    left = _residual_upper(ranges, Y, u, slope * along, norm, multipliers) @ ranges.weight_size
    tilt = np.abs(u) @ table.gradient_upper
    settled, around = -(u @ table.settled.middle), np.abs(u) @ table.settled.radius
    size = np.abs(u) @ np.abs(table.settled.middle)
    parts = np.stack([complete, incomplete, gained, error, left, tilt, settled, around, (d + 8) * EPS * size])
    return np.asarray(parts.sum(axis=0) + (d + 16) * EPS * np.abs(parts).sum(axis=0) + UNDERFLOW)


def _complete_terms(lines: Lines, choice: Choice, along: Array) -> Array:
    """Bound the terms of the complete rows with one of their labels, given ``x_i.u`` (Lemma 25)."""
    above, below = (np.take_along_axis(each.T, choice.lines.T, axis=1).T for each in (lines.above, lines.below))
    return np.where(along > 0.0, along * above, -along * below)


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
