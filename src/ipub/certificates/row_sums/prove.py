"""Ranges that prove themselves (thm-ranges): if the row sums over ranges lie strictly inside them, all models do.

A few directions stand for all of a table (lem-representatives): ranges of these and of the weights bound the others, as
``y.w = r.w + (y - r).w`` for a direction y near a representative r.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from ipub.certificates.row_sums.ranges import COARSE, FINE, Ranges
from ipub.certificates.row_sums.table import RowTable
from ipub.certificates.row_sums.upper import first_order_rise, largest_scores
from ipub.model_sets.base import Outcome, Reason
from ipub.model_sets.proofs import MOST_ROUNDS, Narrower, Relaxed, narrow, prove
from ipub.numeric.rounding import EPS, TINY, UNDERFLOW, Array, down, up
from ipub.tables.interval_matrix import Indices

FIRST_WIDTH = 1.25
"""Width of the first ranges, in first-order changes: width of what is proved against rounds."""

HOPELESS = 1.7
"""Ranges are given up if the median row sum of a sample is so many times as wide: it protects from rounds in vain."""

N_SAMPLED = 32
"""Directions in a sample: time against wrong decisions."""

WIDENING = (0.04, 0.12)
"""A range that does not close is widened to (1 + clip(r - 1, *WIDENING)) times the bound, r the bound over the range:
width of what is proved against rounds."""

COARSE_INFLATION, FINE_INFLATION = 0.15, 0.05
"""How much larger than those of own ranges the squares of ranges of representatives may be, while ranges close and
afterwards: width against time. On tables of 150 x 4, 0.05 for both changed bounds by 4 % narrower to 1 % wider."""

MAY_CLOSE = 1.06
"""Where coarse row sums do not close, and fine ones of a sample of directions come as near to their ranges as this, all
are tried with fine ones: tables that close against time. Without, huber on 150 x 4 was 25 times as wide."""

PATIENCE = 2
"""Rounds in which neither worst nor median row sum came closer, until ranges are given up: closing against time."""

WORTHWHILE = 0.98
"""Ranges are narrowed by their own row sums while a round narrows them to less than this: width against time."""

MOST_NARROWED = 4
"""Rounds of that, at most, where derivatives do not jump: without, breast_cancer_wisconsin at 0.003 took a fifth more
time for 0.8 % of width (`python -m benchmarks small`)."""

MANY, OF_MANY = 512, 0.96
"""More row sums than the first number must narrow a sample of ranges to less than the second: without, credit_approval
at 0.03 took half as much time again for 1.2 % of width (`python -m benchmarks small`)."""

MOST_INFLATED = 1.6
"""How much wider than its own range that of any row may be: width against time. No limit: by 0.5 % on 150 x 4."""

OF_INCOMPLETE = 4.0
"""How much more the range of an incomplete row counts than that of a complete one, which enters by its square alone:
width against time. On the same tables, 1 gave bounds 1 % narrower to 1 % wider."""

MOST_REPRESENTATIVES = 0.7
"""Representatives are used if they are at most this fraction of all directions: time, as more cost more than all."""


class ProvedRanges(NamedTuple):
    """Ranges of all models, and how they were proved."""

    ranges: Ranges
    widths: Array
    """How wide they were tried, in first-order changes: upward and downward, for each row and weight; shape (2, n)."""


def prove_ranges(at_w: Ranges, widths: Array | None = None) -> Outcome[ProvedRanges]:
    """Prove ranges for the models of all completions, given those that hold w alone (thm-ranges).

    With the `widths` that closed for a similar table, these are tried first, with coarse row sums alone.
    """
    table = at_w.table
    both = np.concatenate([table.directions, -table.directions])
    change = first_order_changes(at_w, both)
    start = np.full(len(both), FIRST_WIDTH)
    if widths is not None:
        start = np.maximum(_of_directions(table, widths), 1.0)  # what is narrower than that does not close
    coarse = replace(at_w, accuracy=COARSE)
    if widths is None and not _sampled_ratio(coarse, both, FIRST_WIDTH * change) < HOPELESS:
        return Outcome(None, Reason.HOPELESS)
    closing = _Closing(coarse, change, Representatives.choose(table, change, COARSE_INFLATION))
    closed, nearest = closing.from_widths(start)
    fine = replace(at_w, accuracy=FINE)
    is_near = closed.found is None and widths is None and np.isfinite(nearest.ratio)
    if is_near and _sampled_ratio(fine, both, nearest.widths * change) < MAY_CLOSE:
        closed = _Closing(fine, change, Representatives.all_of(table)).from_widths(nearest.widths)[0]
    if closed.found is None:
        return closed
    ranges, of_directions = closed.found
    of_rows = of_directions.reshape(2, -1)[:, table.rows_and_weights_at]
    return Outcome(ProvedRanges(replace(ranges, accuracy=FINE), of_rows), Reason.PROVED)


def _of_directions(table: RowTable, widths: Array) -> Array:
    """Return the widths of all directions and their opposites, given those of rows and weights of a similar table."""
    at = table.rows_and_weights_at
    if widths.shape[1] != len(at):
        return np.full(2 * len(table.directions), float(np.median(widths)))
    result = np.zeros((2, len(table.directions)))
    for side, of_rows in zip(result, widths, strict=True):
        np.maximum.at(side, at, of_rows)
    return result.ravel()


class _Nearest(NamedTuple):
    """Where ranges came nearest to closing."""

    ratio: float
    """The median of row sums over ranges."""
    widths: Array


class _Guess(NamedTuple):
    """Ranges that may hold all models."""

    change: Array
    """How far they reach beyond w: upward, then downward, for each representative."""
    least: Array
    """The least excess of row sums over ranges so far: the worst of all directions, and the median."""
    patience: int
    nearest: _Nearest


class _Closing:
    """Ranges of representatives that are widened until their row sums lie strictly inside."""

    def __init__(self, at_w: Ranges, change: Array, few: Representatives) -> None:
        n, Y = len(at_w.lower), at_w.table.directions[few.index]
        self._at_w, self._few, self._both = at_w, few, np.concatenate([Y, -Y])
        self._some = np.concatenate([few.index, n + few.index])
        self._low, self._high, self._first = at_w.lower[few.index], at_w.upper[few.index], change[self._some]

    def from_widths(self, widths: Array) -> tuple[Outcome[ProvedRanges], _Nearest]:
        """Start with ranges of these widths, in first-order changes; return where they came nearest to closing too."""
        nowhere = _Nearest(np.inf, widths)
        closed, last = prove(
            self._relax, _Guess(widths[self._some] * self._first, np.full(2, np.inf), PATIENCE, nowhere)
        )
        return closed, last.nearest

    def _relax(self, guess: _Guess) -> Relaxed[_Guess, ProvedRanges]:
        few, n_few, change = self._few, len(self._few.index), guess.change
        lower, upper = around(self._low, self._high, change)
        ranges = self._at_w.with_ends(*few.spread(lower, upper))
        bounds = largest_scores(ranges, self._both)
        # The weights are among the representatives: finite ranges are a bounded set.
        is_bounded = bool(np.isfinite(lower).all() and np.isfinite(upper).all())
        is_inside = is_bounded and bool(((bounds[:n_few] < upper) & (-bounds[n_few:] > lower)).all())
        widths = (change / self._first).reshape(2, n_few)[:, few.of].ravel()
        if not is_inside:
            wider = self._wider(guess, bounds, widths)
            return Relaxed(ProvedRanges(ranges, widths), is_inside, wider, is_hopeless=not wider.patience)
        closed = ranges.within(*few.spread(np.fmax(lower, -bounds[n_few:]), np.fmin(upper, bounds[:n_few])))
        return Relaxed(ProvedRanges(closed, widths), is_inside, guess)

    def _wider(self, guess: _Guess, bounds: Array, widths: Array) -> _Guess:
        """Return wider ranges; patience ends where neither the worst nor the median comes closer."""
        found = bounds - np.concatenate([self._high, -self._low])
        ratios = found / guess.change
        excess = np.array([np.max(ratios), np.median(ratios)])
        nearest = _Nearest(float(excess[1]), widths) if excess[1] < guess.nearest.ratio else guess.nearest
        patience = PATIENCE if (excess < guess.least).any() else guess.patience - 1
        change = np.maximum(guess.change, (1.0 + np.clip(ratios - 1.0, *WIDENING)) * found)
        return _Guess(change, np.fmin(guess.least, excess), patience, nearest)


def _sampled_ratio(at_w: Ranges, both: Array, change: Array) -> float:
    """Return the median of row sums over ranges of a sample of directions."""
    low, high = at_w.lower, at_w.upper
    sampled = np.random.default_rng(0).permutation(len(both))[:N_SAMPLED]
    ranges = at_w.with_ends(*around(low, high, change))
    found = largest_scores(ranges, both[sampled]) - np.concatenate([high, -low])[sampled]
    return float(np.median(found / change[sampled]))


def can_be_narrowed(ranges: Ranges, which: Indices | None = None, worthwhile: float = WORTHWHILE) -> bool:
    """Whether row sums of a sample of directions, or of some of them, narrow ranges to less than `worthwhile`."""
    which = np.arange(len(ranges.lower)) if which is None else which
    sampled = which[np.random.default_rng(0).permutation(len(which))[: N_SAMPLED // 2]]
    Y, width = ranges.table.directions[sampled], ranges.upper[sampled] - ranges.lower[sampled]
    found = largest_scores(ranges, np.concatenate([Y, -Y])).reshape(2, -1).sum(axis=0)
    return bool(np.median(found / width) < worthwhile)


class _Narrowing(NamedTuple):
    """Ranges that are narrowed, with the directions that stand for all, once they are chosen."""

    ranges: Ranges
    few: Representatives | None


def narrowed(ranges: Ranges, *, leaves_out_constant: bool = False) -> Ranges:
    """Return ranges narrowed by their own row sums, while that is worthwhile.

    Rows whose derivative becomes constant on the way may be left out: for the models of completions alone.
    """

    def relax(known: _Narrowing) -> Narrower[_Narrowing]:
        ranges, few = known
        if leaves_out_constant:
            ranges, few = ranges.without_constant_rows(), None
        is_first = few is None
        if few is None:
            Y = ranges.table.directions
            change = first_order_changes(ranges, np.concatenate([Y, -Y]))
            few = Representatives.choose(ranges.table, change, FINE_INFLATION)
        is_many = 2 * len(few.index) > MANY
        is_sampled = not leaves_out_constant and (is_many or not is_first)
        if is_sampled and not can_be_narrowed(ranges, few.index, OF_MANY if is_many else WORTHWHILE):
            return Narrower(_Narrowing(ranges, few), goes_on=False)
        Y, n = ranges.table.directions[few.index], len(few.index)
        bounds = largest_scores(ranges, np.concatenate([Y, -Y]))
        lower, upper = ranges.lower[few.index], ranges.upper[few.index]
        following = ranges.within(*few.spread(np.fmax(lower, -bounds[n:]), np.fmin(upper, bounds[:n])))
        before, after = (each.upper - each.lower for each in (ranges, following))
        goes_on = bool(after.sum() < WORTHWHILE * before.sum())
        return Narrower(_Narrowing(following, few), goes_on)

    most = MOST_ROUNDS if leaves_out_constant else MOST_NARROWED
    return narrow(relax, _Narrowing(ranges, None), most).ranges


def first_order_changes(at_w: Ranges, both: Array) -> Array:
    """Return how far ``y.w''`` rises above ``y.w'`` for every direction, to first order; never 0."""
    scale = np.concatenate([np.abs(at_w.lower) + np.abs(at_w.upper)] * 2)
    rise = first_order_rise(at_w, both)
    return np.asarray(np.maximum(rise, np.maximum(1e-6 * scale, 1e-9 * max(scale.max(), rise.max(), TINY))))


def around(low: Array, high: Array, change: Array) -> tuple[Array, Array]:
    """Return ranges that hold w strictly inside."""
    n = len(low)
    return down(low - change[n:]), up(high + change[:n])


@dataclass(frozen=True, eq=False)
class Representatives:
    """Directions that stand for others."""

    index: Indices
    """Shape (n_representatives,): which directions of the table they are; all weights are among them."""
    of: Indices
    """Shape (n_directions,): the representative of each direction, as a position in `index`."""
    weights_at: Indices
    """Shape (d,): which of them each weight is."""
    positive: Array
    negative: Array
    """Shape (n_directions, d): the parts of ``y - r`` above 0, and below 0."""
    size: Array
    """Shape (n_directions, d): ``|y| + |r|``; 0 for representatives."""

    @classmethod
    def choose(cls, table: RowTable, change: Array, inflation: float) -> Representatives:
        """Choose them, given how far all directions, then their opposites, move to first order.

        The direction whose range loses most is added until the mean loss is small: ranges of complete rows enter the
        bounds of others by their squares, each with the weight of its rows.

        Parameters
        ----------
        table : RowTable
        change : array of shape (2 n_directions,)
        inflation : float
            By how much the squares of ranges may be larger than those of own ones, as a mean over all rows.
        """
        Y, n = table.directions, len(table.directions)
        width = change[:n] + change[n:]
        of_complete = np.bincount(table.complete_at, table.complete_weight, minlength=n)
        of_incomplete = np.bincount(table.incomplete_at, table.incomplete_weight, minlength=n)
        importance = (of_complete + OF_INCOMPLETE * of_incomplete) * width**2
        of_weights, chosen = width[table.weights_at], list(dict.fromkeys(table.weights_at.tolist()))
        least, of = np.full(n, np.inf), np.zeros(n, dtype=np.intp)
        enough, added = inflation * importance.sum(), 0
        while True:
            for number in range(added, len(chosen)):
                r = chosen[number]
                inflated = (width[r] + np.abs(Y - Y[r]) @ of_weights) / width
                inflated[r] = 1.0
                is_less = inflated < least
                least[is_less], of[is_less] = inflated[is_less], number
            added, loss = len(chosen), importance * (least**2 - 1.0)
            too_wide = least > MOST_INFLATED
            if loss.sum() <= enough and not too_wide.any():
                break
            if len(chosen) > MOST_REPRESENTATIVES * n:
                return cls.all_of(table)
            chosen.append(int((loss if loss.sum() > enough else least).argmax()))
        return cls._of(table, np.array(chosen), of)

    @classmethod
    def all_of(cls, table: RowTable) -> Representatives:
        """Let every direction stand for itself alone."""
        everything = np.arange(len(table.directions))
        return cls._of(table, everything, everything)

    @classmethod
    def _of(cls, table: RowTable, index: Indices, of: Indices) -> Representatives:
        Y, place = table.directions, np.full(len(table.directions), -1)
        place[index] = np.arange(len(index))
        of = np.where(place >= 0, place, of)
        difference, size = Y - Y[index[of]], np.abs(Y) + np.abs(Y[index[of]])
        difference[index], size[index] = 0.0, 0.0
        return cls(index, of, place[table.weights_at], np.maximum(difference, 0.0), np.maximum(-difference, 0.0), size)

    def spread(self, lower: Array, upper: Array) -> tuple[Array, Array]:
        """Return ranges of all directions, given those of the representatives, rounded outward."""
        if len(self.index) == len(self.of):
            order = np.argsort(self.index)
            return lower[order], upper[order]
        low, high = lower[self.weights_at], upper[self.weights_at]
        error = (2 * len(low) + 16) * EPS * (self.size @ np.maximum(np.abs(low), np.abs(high))) + UNDERFLOW
        below, above = self.positive @ low - self.negative @ high, self.positive @ high - self.negative @ low
        all_lower = down(down(lower[self.of] + below) - error)
        all_upper = up(up(upper[self.of] + above) + error)
        all_lower[self.index], all_upper[self.index] = lower, upper
        return all_lower, all_upper
