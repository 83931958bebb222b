"""Whether any model gives a row a certain score or more: suppose one does, and narrow all ranges under that.

What is narrowed under ``t.w'' >= c`` holds for higher scores than c too: what is learnt from a score that cannot be
ruled out serves for those. And if ``t.w'' <= b`` is all that can be said of t under the supposition, with ``b >= c``,
then b bounds ``t.w''`` without it (thm-ruled-out).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import cycle
from typing import NamedTuple

import numpy as np

from ipub.certificates.per_row.work import Work
from ipub.certificates.row_sums.ranges import FINE, Ranges
from ipub.certificates.row_sums.table import RowTable
from ipub.certificates.row_sums.units import Group
from ipub.certificates.row_sums.upper import cost_of_kernel, cost_of_sum, largest_scores
from ipub.numeric.rounding import EPS, UNDERFLOW, Array, dot_bounds, overflow_means_unbounded, up
from ipub.tables.interval_matrix import Indices

ACCURACIES = FINE, replace(FINE, n_steps=1)
"""Accuracies of the sums of rounds in turn, the last one first: odd and even numbers of Newton steps suit different
directions. On three tables with squared errors, `FINE` alone gave bounds 0.3 % to 1.6 % wider in the same time."""

ACCURACY_OF_JUMPS = replace(FINE, n_steps=4)
"""Accuracy of the sums where derivatives jump: width against time. On hinge tables of 150 x 4 and 300 x 5, `FINE` gave
bounds 6 % and 4 % wider in 0.9 of the time."""

LEAST_NARROWING, LEAST_NARROWING_OF_JUMPS = 0.1, 0.02
"""A round that narrows the ranges by a smaller fraction is the last: width against rounds. The first where other scores
can be tried (0.02 took 1.6 times as long on 150 x 4 for bounds 0.4 % narrower), the second where derivatives jump (0.1
gave bounds 11 % to 14 % wider) or there is one score alone."""

MOST_COMPLETE = 400
"""Complete rows whose ranges are narrowed, those that matter most for the score: width against time. The others keep
their ranges. Between 160 and 400, bounds of 500 x 6 became 2 % narrower in the same time."""

ENOUGH = 0.02
"""A bound nearer to a score that could not be ruled out is left, in distances from the score of w: width against time.
At 0.1 bounds were 1 % to 3 % wider, at 0 up to 1.6 % narrower in up to four times the time."""

FACTORS = np.array([0.0, 0.25, 0.5, 1.0, 2.0, 4.0])
"""Multiples of t to add to a direction, in units of how far both can move: width against time. Without the second and
the last, bounds of a hinge table of 150 x 4 were 1.5 % wider in 0.95 of the time."""


@dataclass(frozen=True)
class SupposedScore:
    """A row t and a score that some model is supposed to give it, or a higher one."""

    t: Array
    score: float


@overflow_means_unbounded()
def no_model_at(ranges: Ranges, supposed: SupposedScore, effort: float = np.inf) -> bool:
    """Prove that no model gives a row a score or a higher one; False if that fails, or takes more work.

    Parameters
    ----------
    ranges : Ranges
        Of the models of all completions.
    supposed : SupposedScore
    effort : float
        See `Work`.
    """
    ranges = _to_be_narrowed(ranges)
    found = _narrowed_under(
        ranges, _Directions.of(ranges, supposed.t), supposed, LEAST_NARROWING_OF_JUMPS, Work(effort)
    )
    return found.highest < supposed.score


def is_on_one_side(ranges: Ranges, t: Array, score: float, effort: float = np.inf) -> bool:
    """Prove that all models give a row a score on the same side of a number as w does; False if that fails."""
    low, high = (float(end[0]) for end in dot_bounds(t[None], ranges.table.w))
    if low <= score <= high:
        return False
    above = SupposedScore(t, score) if high < score else SupposedScore(-t, -score)
    return no_model_at(ranges, above, effort)


def narrow_by_ruling_out(ranges: Ranges, t: Array, bounds: tuple[float, float], effort: float) -> tuple[float, float]:
    """Narrow the bounds of a row's score by scores that no model gives it, with the work that is allowed.

    Parameters
    ----------
    ranges : Ranges
        Of the models of all completions.
    t : array of shape (d,)
    bounds : tuple of float
        What is known of the score.
    effort : float
        For both ends together (see `Work`); what the lower one leaves is for the upper one.
    """
    ranges, work, (low, high) = _to_be_narrowed(ranges), Work(effort), bounds
    return -_lowered(ranges, -t, -low, work.part(0.5)), _lowered(ranges, t, high, work)


def _to_be_narrowed(ranges: Ranges) -> Ranges:
    """Return ranges of the models of completions alone; the same object for all rows."""
    return ranges.of_models(ACCURACY_OF_JUMPS if _jumps(ranges) else ACCURACIES[-1])


def _jumps(ranges: Ranges) -> bool:
    """Whether derivatives jump."""
    return ranges.variants.graph.is_step


@overflow_means_unbounded()
def _lowered(ranges: Ranges, t: Array, bound: float, work: Work) -> float:
    """Lower an upper bound of ``t.w''``."""
    at_w = float(dot_bounds(t[None], ranges.table.w)[1][0])
    if not (np.isfinite(bound) and at_w < bound and work.allows(cost_of_kernel(ranges))):
        return bound
    directions = _Directions.of(ranges, t)
    reached, score, enough = at_w, 0.5 * at_w + 0.5 * bound, ENOUGH * (bound - at_w)
    least_gain = LEAST_NARROWING_OF_JUMPS if _jumps(ranges) else LEAST_NARROWING
    while bound - reached > enough and reached < score < bound:
        found = _narrowed_under(ranges, directions, SupposedScore(t, score), least_gain, work)
        bound = min(bound, max(found.highest, score))
        if found.is_cut_short:
            break
        if found.highest >= score:
            # What was narrowed holds for higher scores too.
            reached, ranges, directions = score, found.ranges, found.directions
        score = 0.5 * reached + 0.5 * bound
    return bound


@dataclass(frozen=True, eq=False)
class _Directions:
    """The directions of a table that are narrowed for a row t, and what completions do to them to first order."""

    which: Indices
    """Shape (k,): directions of the table."""
    both: Array
    """Shape (2 k, d): these directions, then their opposites."""
    at_w: float
    """About ``t.w``."""
    rise: float
    """How far the worst completion raises ``t.w''`` above that, to first order."""
    unit: Array
    """Shape (2 k,): how much farther each direction can rise than t."""
    rises: Array
    """Shape (n_factors, 2 k): how far direction plus factor times unit times t can rise."""

    @classmethod
    def of(cls, ranges: Ranges, t: Array) -> _Directions:
        """Choose those of incomplete rows, of weights, and of the complete rows that effect the sum for t most."""
        table, inverse = ranges.table, _inverse(ranges)
        u = t @ inverse
        effect = table.complete_weight * np.abs(table.complete @ u)
        effect *= (ranges.upper - ranges.lower)[table.complete_at] ** 2
        most_curved = table.complete_at[np.argsort(-effect)[:MOST_COMPLETE]]
        which = np.unique(np.concatenate([most_curved, table.incomplete_at, table.weights_at]))
        Y = table.directions[which]
        both = np.concatenate([Y, -Y])
        of_t, of_both = first_order_effects(table, u[None]), first_order_effects(table, both @ inverse)
        rise, rises = max(float(of_t.total()[0]), 1e-300), of_both.total()
        unit = rises / rise
        of_factors = [of_both.plus(of_t, factor * unit).total() for factor in FACTORS[1:]]
        return cls(which, both, float(t @ table.w), rise, unit, np.stack([rises, *of_factors]))


class _Narrowed(NamedTuple):
    """Ranges of the models that are supposed to give a row a score or more."""

    ranges: Ranges
    directions: _Directions
    highest: float
    """Their highest score of the row, at most; minus infinity if there are none."""
    is_cut_short: bool
    """Whether more work would have narrowed them further."""


def _narrowed_under(
    ranges: Ranges, directions: _Directions, supposed: SupposedScore, least_gain: float, work: Work
) -> _Narrowed:
    """Narrow ranges of the models that have a supposed score or more, until there are none, or little changes."""
    highest = np.inf
    for accuracy in cycle((ACCURACY_OF_JUMPS,) if _jumps(ranges) else ACCURACIES):
        smaller = ranges.without_constant_rows()
        if smaller is not ranges:
            ranges = replace(smaller, accuracy=ranges.accuracy)
            directions = _Directions.of(ranges, supposed.t)
        price = cost_of_kernel(ranges) + (1 + len(directions.both)) * cost_of_sum(ranges)
        if not work.allows(price):
            return _Narrowed(ranges, directions, highest, is_cut_short=True)
        work.spend(price)
        highest = min(
            highest, float(np.nan_to_num(largest_scores(ranges, supposed.t[None])[0], nan=np.inf, posinf=np.inf))
        )
        if highest < supposed.score:
            break
        which, n = directions.which, len(directions.which)
        found = _largest_if_supposed(ranges, directions.both, supposed, _Advice(directions, highest))
        upper, lower = ranges.upper.copy(), ranges.lower.copy()
        upper[which] = np.fmin(upper[which], found[:n])
        lower[which] = np.fmax(lower[which], -found[n:])
        if (lower > upper).any():
            highest = -np.inf
            break
        before, after = ranges.upper[which] - ranges.lower[which], upper[which] - lower[which]
        ranges = replace(ranges, lower=lower, upper=upper, accuracy=accuracy)
        if not after.sum() < (1.0 - least_gain) * before.sum():
            break
    return _Narrowed(ranges, directions, highest, is_cut_short=False)


def _inverse(ranges: Ranges) -> Array:
    """Return about the inverse of the curvature, of the chords over the ranges."""
    try:
        return ranges.inverse
    except np.linalg.LinAlgError:
        return np.eye(len(ranges.table.w))  # any inverse is valid, a good one is narrow


class _Advice(NamedTuple):
    """What multiples of t are chosen by."""

    directions: _Directions
    highest: float
    """What the row sums say of t."""


def _largest_if_supposed(ranges: Ranges, Y: Array, supposed: SupposedScore, advice: _Advice) -> Array:
    """Bound ``y.w''`` from above for models with ``t.w'' >= c``: ``U(y + f t) - f c``, for a good factor f >= 0."""
    factor = np.maximum(_factors(supposed, advice), 0.0)
    moved = Y + factor[:, None] * supposed.t
    # y and (moved - f t) differ by rounding, which meets weights of known size.
    size = np.abs(Y) + np.abs(factor)[:, None] * np.abs(supposed.t)
    error = 4.0 * EPS * (size @ ranges.weight_size) + 4.0 * EPS * np.abs(factor * supposed.score) + UNDERFLOW
    return up(up(largest_scores(ranges, moved) - factor * supposed.score) + 2.0 * error)


def _factors(supposed: SupposedScore, advice: _Advice) -> Array:
    """Choose multiples of t by what completions do to first order, scaled to what the row sums now say of t."""
    directions, highest = advice
    rise, at_w = directions.rise, directions.at_w
    highest_rise = max(highest - at_w, rise) if np.isfinite(highest) else rise
    gains = FACTORS[:, None] * directions.unit * (supposed.score - at_w)
    return np.asarray(
        FACTORS[np.argmin(max(1.0, highest_rise / rise) * directions.rises - gains, axis=0)] * directions.unit
    )


@dataclass(frozen=True)
class FirstOrderEffects:
    """What each unit of a table's rows, and each label, can do to ``y.w''`` for k directions, to first order."""

    table: RowTable
    numbers: Array
    """Shape (k, n_units): what a change by 1 of each number does; 0 for categories."""
    levels: tuple[Array, ...]
    """Shape (k, n, n_levels): what each level does, for the units of each category that varies."""
    labels: tuple[Array, Array]
    """Shape (k, n_incomplete): what the first and the second label of each row do."""

    def total(self) -> Array:
        """Return how far all of them together can raise it, as far as budgets allow."""
        table, units = self.table, self.table.units
        gains = np.maximum(self.numbers * units.lower, self.numbers * units.upper)
        for number, effects in zip(_categories(table), self.levels, strict=True):
            gains[:, units.category == number] = effects.max(axis=2)
        of_labels = np.maximum(*self.labels)
        total = gains[:, units.group == Group.FREE].sum(axis=1) + of_labels[:, table.label_group == Group.FREE].sum(
            axis=1
        )
        for number, most in enumerate(table.budget):
            of_group = [gains[:, units.group == number], of_labels[:, table.label_group == number]]
            of_group = np.maximum(np.concatenate(of_group, axis=1), 0.0)
            k = min(most, of_group.shape[1])
            total = total + (np.partition(of_group, -k, axis=1)[:, -k:].sum(axis=1) if k else 0.0)
        return np.asarray(total)

    def plus(self, other: FirstOrderEffects, factors: Array) -> FirstOrderEffects:
        """Return the effects on directions to which multiples of another direction are added."""
        return FirstOrderEffects(
            self.table,
            self.numbers + factors[:, None] * other.numbers,
            tuple(a + factors[:, None, None] * b for a, b in zip(self.levels, other.levels, strict=True)),
            (self.labels[0] + factors[:, None] * other.labels[0], self.labels[1] + factors[:, None] * other.labels[1]),
        )


def _categories(table: RowTable) -> list[int]:
    """Return the categories that vary in some row."""
    return [int(number) for number in np.unique(table.units.category) if number >= 0]


def first_order_effects(table: RowTable, U: Array) -> FirstOrderEffects:
    """Return what units and labels do to first order, given ``K^-1 y`` of each direction."""
    units, graph, weight = table.units, table.incomplete_graph, table.incomplete_weight
    score = table.incomplete @ table.w
    value, slope = graph.value(score), graph.slope(score)
    along = U @ table.incomplete.T
    row = units.row
    factors = -weight[row] * value[row], -(weight * slope)[row] * along[:, row]
    numbers = np.where(units.is_number, factors[0] * U[:, units.column] + factors[1] * table.w[units.column], 0.0)
    levels = []
    for number in _categories(table):
        here, columns = np.flatnonzero(units.category == number), units.levels[number]
        effects = factors[0][here, None] * U[:, None, columns] + factors[1][:, here, None] * table.w[columns]
        base = np.where(units.base[here] >= 0, effects[:, np.arange(len(here)), units.base[here]], effects.mean(axis=2))
        levels.append(effects - base[..., None])
    is_certain = table.label_group == Group.CERTAIN
    first, second = (np.where(is_certain, 0.0, -weight * (each.value(score) - value)) * along for each in table.labels)
    return FirstOrderEffects(table, numbers, tuple(levels), (first, second))
