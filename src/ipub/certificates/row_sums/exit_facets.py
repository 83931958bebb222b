"""Ranges that no path leaves (Theorem 15): where row sums are not inside a range, no model lies on its end.

Row sums over ranges may be wider than these, so that the ranges do not prove themselves. But a path of models that left
them would first be at the end of one of them. So it is enough to suppose, for one end after the other, that a model is
there, and to rule that out as any other score.
"""

from __future__ import annotations

import time
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ipub.certificates.row_sums.prove import around, first_order_changes
from ipub.certificates.row_sums.ranges import Ranges
from ipub.certificates.row_sums.ruled_out_scores import SupposedScore, no_model_at
from ipub.certificates.row_sums.upper import largest_scores
from ipub.rounding import Array

FIRST_WIDTH = 1.75
"""Width of the first ranges, in first-order changes."""

REACH, LESS_REACH = 1.8, 0.85
"""How many times as wide as a range its row sums may be, if its end is to be ruled out; and what is left of that each
time an end resists."""

HOPELESS = 1.45
"""If the median of the row sums of a sample is wider than this many times the ranges, their ends are not ruled out."""

MOST_WIDENED = 6
"""How often ranges are made wider before their ends are ruled out, at most."""

GROWTH = 0.05
"""How much wider than its row sums a range is made that is not to be ruled out."""

MOST_RULED_OUT = 100
"""Complete rows, those that bend the sums most, whose ends are ruled out; those of the others are made wider."""

MOST_NARROWED = 60
"""Complete rows whose ranges are narrowed when an end is ruled out."""

N_SAMPLED = 48
"""Directions in the sample."""

N_WORST, ENOUGH_TO_TELL = 3, 5
"""Ends that are looked at first, and others whose time then tells how long all will take."""

NO_TIME = -1
"""Stands for an end, if the time is up or would not be enough."""

INSIDE = 0.999
"""The largest ratio of a range whose row sums are strictly inside."""


class _Sides(NamedTuple):
    """All directions and their opposites, and what is known of them at w."""

    directions: Array
    at_w: Array
    """Upper bounds of their products with w."""
    first: Array
    """What completions change, to first order."""

    @property
    def n(self) -> int:
        return len(self.at_w) // 2


def ranges_that_no_path_leaves(at_w: Ranges, seconds: float) -> Ranges | None:
    """Prove ranges for the models of all completions, given those that hold w alone; None if that fails.

    Parameters
    ----------
    at_w : Ranges
        On the path.
    seconds : float
        Processor time that may be spent, about.
    """
    table, until = at_w.table, time.process_time() + seconds
    if not table.is_coercive:
        return None
    both = np.concatenate([table.directions, -table.directions])
    sides = _Sides(both, np.concatenate([at_w.upper, -at_w.lower]), first_order_changes(at_w, both))
    change = FIRST_WIDTH * sides.first
    sampled = np.random.default_rng(0).permutation(len(both))[:N_SAMPLED]
    ranges = at_w.with_ends(*around(at_w.lower, at_w.upper, change))
    if not np.median(_ratios(ranges, sides, change, sampled)) <= HOPELESS:
        return None
    is_main, everything, reach, n_rounds = _main_sides(at_w, sides), np.arange(len(both)), REACH, 0
    while time.process_time() < until and np.isfinite(change).all() and reach > 1.0:
        ranges = at_w.with_ends(*around(at_w.lower, at_w.upper, change))
        ratios = _ratios(ranges, sides, change, everything)
        is_open = ~(ratios < 1.0)
        too_narrow = is_open & ~(is_main & (ratios < reach))
        n_rounds += 1
        if n_rounds > MOST_WIDENED or not too_narrow.any():
            resisting = _first_that_resists(ranges, sides, _sorted(is_open, ratios), until)
            if resisting is None or resisting == NO_TIME:
                return ranges if resisting is None else None
            too_narrow[resisting], reach, n_rounds = True, LESS_REACH * reach, 0
        wider = np.where(is_main, np.maximum(ratios / (0.9 * reach), 1.0 + GROWTH), (1.0 + GROWTH) * ratios)
        change = np.where(too_narrow, wider * change, change)
    return None


def _first_that_resists(ranges: Ranges, sides: _Sides, ends: NDArray[np.intp], until: float) -> int | None:
    """Return the first of some ends of ranges that is not ruled out, or `NO_TIME`; None if all are ruled out."""
    level, start = np.concatenate([ranges.upper, -ranges.lower]), time.process_time()
    for number, k in enumerate(ends):
        now = time.process_time()
        if number == N_WORST:
            start = now
        done = number - N_WORST
        if now > until or (done >= ENOUGH_TO_TELL and start + (now - start) / done * len(ends) > until):
            return NO_TIME
        if not no_model_at(ranges, SupposedScore(sides.directions[k], float(level[k])), until - now, MOST_NARROWED):
            return int(k)
    return None


def _sorted(is_open: NDArray[np.bool_], ratios: Array) -> NDArray[np.intp]:
    """Return the ends that are open: those most likely to resist, then the others in random order."""
    ends = np.flatnonzero(is_open)
    ends = ends[np.argsort(-ratios[ends])]
    return np.concatenate([ends[:N_WORST], np.random.default_rng(0).permutation(ends[N_WORST:])])


def _ratios(ranges: Ranges, sides: _Sides, change: Array, which: NDArray[np.intp]) -> Array:
    """Return how far row sums reach beyond w, over how far the ranges do; below 1 only where they are inside."""
    bounds, ends = largest_scores(ranges, sides.directions[which]), np.concatenate([ranges.upper, -ranges.lower])
    ratios = np.maximum((bounds - sides.at_w[which]) / change[which], 0.0)
    return np.where(bounds < ends[which], np.minimum(ratios, INSIDE), np.fmax(ratios, 1.0))


def _main_sides(at_w: Ranges, sides: _Sides) -> NDArray[np.bool_]:
    """Return which directions are incomplete rows, weights, or among the complete rows that bend the sums most."""
    table, n = at_w.table, sides.n
    width = (sides.first[:n] + sides.first[n:])[table.complete_at]
    along = table.complete @ (table.directions @ table.inverse_at_w).T
    bend = table.complete_weight * np.sqrt((along**2).mean(axis=1)) * width**2
    bend *= np.abs(table.complete_graph.slope(table.complete @ table.w))
    main = np.zeros(n, dtype=bool)
    main[table.complete_at[np.argsort(-bend)[:MOST_RULED_OUT]]] = True
    main[table.incomplete_at] = main[table.weights_at] = True
    return np.concatenate([main, main])
