"""The derivative of a row's loss as a graph: points on it, how far it leaves a chord, and lines below and above it.

Lines are those of complete rows over their scores: the slopes to choose from (lem-complete-row).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ipub.losses import Loss
from ipub.numeric.parallel import CACHED_NUMBERS, row_slices
from ipub.numeric.rounding import EPS, UNDERFLOW, Array, down, midpoint_and_radius, up
from ipub.tables.interval_matrix import Indices

N_SLOPES = 9
"""Slopes of lines on either side of the derivative that a row chooses from: width against time and memory."""


class Graph(ABC):
    """The derivatives of several rows, one for each; scores have the rows along their last axis."""

    @property
    def is_step(self) -> bool:
        """Whether the derivatives of all rows are constant before their jump, and after it."""
        return False

    @abstractmethod
    def value(self, score: Array) -> Array:
        """Return the derivative, not rounded outward."""

    @abstractmethod
    def slope(self, score: Array) -> Array:
        """Return the derivative's slope, not rounded outward."""

    @abstractmethod
    def range(self, lower: Array, upper: Array) -> tuple[Array, Array]:
        """Bound every derivative at scores in [lower, upper]."""

    @abstractmethod
    def slopes(self, lower: Array, upper: Array) -> tuple[Array, Array]:
        """Bound the slope of every secant between two scores in [lower, upper]."""

    @abstractmethod
    def bends(self, lower: Array, upper: Array) -> tuple[Array, Array]:
        """Bound the slope's own derivative over [lower, upper]; infinite if there is none."""

    @abstractmethod
    def jump_at(self) -> Array | None:
        """Return the exact score of each row at which its derivative jumps, NaN if it does not; None: no row's does."""

    @abstractmethod
    def of_rows(self, which: NDArray[np.bool_]) -> Graph:
        """Return the derivatives of some of the rows."""


@dataclass(frozen=True)
class LossGraph(Graph):
    """The derivative of a loss at the labels y, times a factor of each row: 0, 1 or 2, which are exact."""

    loss: Loss
    y: Array
    factor: Array | None = None
    """None: 1."""

    @property
    def is_step(self) -> bool:
        return not self.loss.is_smooth

    def value(self, score: Array) -> Array:
        found = self.loss.derivative(*np.broadcast_arrays(self.y, score))
        return found if self.factor is None else self._times(found)

    def slope(self, score: Array) -> Array:
        found = self.loss.curvature(*np.broadcast_arrays(self.y, score))
        return found if self.factor is None else self._times(found)

    def range(self, lower: Array, upper: Array) -> tuple[Array, Array]:
        low, high = self.loss.derivative_range(*np.broadcast_arrays(self.y, lower, upper))
        return (low, high) if self.factor is None else (self._times(low), self._times(high))

    def slopes(self, lower: Array, upper: Array) -> tuple[Array, Array]:
        least, greatest = self.loss.curvature_range(*np.broadcast_arrays(self.y, lower, upper))
        return (least, greatest) if self.factor is None else (self._times(least), self._times(greatest))

    def bends(self, lower: Array, upper: Array) -> tuple[Array, Array]:
        y, lower, upper = np.broadcast_arrays(self.y, lower, upper)
        if not self.loss.has_bounded_third_derivative:
            return np.full(lower.shape, -np.inf), np.full(lower.shape, np.inf)
        least, most = self.loss.curvature_slope_range(y, lower, upper)
        return (least, most) if self.factor is None else (self._times(least), self._times(most))

    def jump_at(self) -> Array | None:
        return None if self.loss.is_smooth else self.loss.jump_at(self.y)

    def of_rows(self, which: NDArray[np.bool_] | Indices) -> LossGraph:
        return LossGraph(self.loss, self.y[which], None if self.factor is None else self.factor[which])

    def or_second(self, is_second: NDArray[np.bool_], second: LossGraph) -> LossGraph:
        """Return the derivatives with the label of another graph in some of the rows."""
        factor = None
        if self.factor is not None and second.factor is not None:
            factor = np.where(is_second, second.factor, self.factor)
        return LossGraph(self.loss, np.where(is_second, second.y, self.y), factor)

    def without(self, is_dropped: NDArray[np.bool_]) -> LossGraph:
        """Return the derivatives with 0 for some of the rows: those that are left out of the table."""
        if not is_dropped.any():
            return self
        factor = np.ones(len(self.y)) if self.factor is None else self.factor
        return LossGraph(self.loss, self.y, np.where(is_dropped, 0.0, factor))

    def _times(self, values: Array) -> Array:
        assert self.factor is not None
        # Nothing times an infinite slope is nothing.
        return np.asarray(self.factor * np.where(self.factor == 0.0, 0.0, values))


@dataclass(frozen=True)
class SignGraph(Graph):
    """The subdifferential of ``kappa |t|``: a step at 0."""

    kappa: Array

    @property
    def is_step(self) -> bool:
        return True

    def value(self, score: Array) -> Array:
        return self.kappa * np.sign(score)

    def slope(self, score: Array) -> Array:
        return np.zeros_like(score)

    def range(self, lower: Array, upper: Array) -> tuple[Array, Array]:
        return np.where(lower > 0.0, self.kappa, -self.kappa), np.where(upper < 0.0, -self.kappa, self.kappa)

    def slopes(self, lower: Array, upper: Array) -> tuple[Array, Array]:
        return np.zeros_like(lower), np.where((lower > 0.0) | (upper < 0.0), 0.0, np.inf)

    def bends(self, lower: Array, upper: Array) -> tuple[Array, Array]:
        steepest = self.slopes(lower, upper)[1]
        return -steepest, steepest

    def jump_at(self) -> Array:
        return np.zeros_like(self.kappa)

    def of_rows(self, which: NDArray[np.bool_]) -> SignGraph:
        return SignGraph(self.kappa[which])


@dataclass(frozen=True)
class JoinedGraphs(Graph):
    """The derivatives of rows, then those of an l1 penalty."""

    first: LossGraph
    second: SignGraph
    n_first: int

    @property
    def is_step(self) -> bool:
        return self.first.is_step

    def value(self, score: Array) -> Array:
        return self._joined(self.first.value(self._of_first(score)), self.second.value(self._of_second(score)))

    def slope(self, score: Array) -> Array:
        return self._joined(self.first.slope(self._of_first(score)), self.second.slope(self._of_second(score)))

    def range(self, lower: Array, upper: Array) -> tuple[Array, Array]:
        first = self.first.range(self._of_first(lower), self._of_first(upper))
        second = self.second.range(self._of_second(lower), self._of_second(upper))
        return self._joined(first[0], second[0]), self._joined(first[1], second[1])

    def slopes(self, lower: Array, upper: Array) -> tuple[Array, Array]:
        first = self.first.slopes(self._of_first(lower), self._of_first(upper))
        second = self.second.slopes(self._of_second(lower), self._of_second(upper))
        return self._joined(first[0], second[0]), self._joined(first[1], second[1])

    def bends(self, lower: Array, upper: Array) -> tuple[Array, Array]:
        first = self.first.bends(self._of_first(lower), self._of_first(upper))
        second = self.second.bends(self._of_second(lower), self._of_second(upper))
        return self._joined(first[0], second[0]), self._joined(first[1], second[1])

    def jump_at(self) -> Array:
        first, second = self.first.jump_at(), self.second.jump_at()
        return self._joined(np.full(self.n_first, np.nan) if first is None else first, second)

    def of_rows(self, which: NDArray[np.bool_]) -> JoinedGraphs:
        first, second = which[: self.n_first], which[self.n_first :]
        return JoinedGraphs(self.first.of_rows(first), self.second.of_rows(second), int(first.sum()))

    def _of_first(self, score: Array) -> Array:
        return score[..., : self.n_first]

    def _of_second(self, score: Array) -> Array:
        return score[..., self.n_first :]

    def _joined(self, first: Array, second: Array) -> Array:
        return np.concatenate([first, second], axis=-1)


class Between(NamedTuple):
    """Derivatives at points inside coarse pieces, as means of those at the two ends of the piece.

    All have shape (n_pieces, n_between, n_rows).
    """

    share: Array
    """Of the second of the two, from 0 to 1."""
    away: Array
    """How far the derivative may be from the mean."""


class GraphPoints(NamedTuple):
    """Points of the graph of each row at scores that cut its range into pieces of equal length.

    Where the derivative jumps there are two points with the same score. All have the points along the first axis;
    `above_chord` and `below_chord` have one entry less.
    """

    score: Array
    middle: Array
    radius: Array
    """Every derivative at these scores is within this distance of the middle; at a jump, the one before or after it."""
    above_chord: Array
    """How far any derivative between two points may be above a chord between derivatives there (lem-chords)."""
    below_chord: Array
    """The same below it: where the derivative bends one way only, one of both is 0."""
    finer: int = 1
    """Parts of a coarse piece: every `finer`-th point is the end of one."""
    between: Between | None = None
    """The others, if there are any."""


def graph_points(graph: Graph, lower: Array, upper: Array, n_pieces: int, finer: int = 1) -> GraphPoints:
    """Cut the range [lower, upper] of each row's scores into pieces, and each of these into finer ones."""
    share = np.linspace(0.0, 1.0, n_pieces * finer + 1).reshape(-1, *(1,) * lower.ndim)
    score = np.clip(lower + (upper - lower) * share, lower, upper)
    score[0], score[-1] = lower, upper
    jump = graph.jump_at()
    if jump is not None:
        inside = np.where((jump >= lower) & (jump <= upper), jump, upper)
        score = np.sort(np.concatenate([score, inside[None], inside[None]]), axis=0)
    low, high = graph.range(score, score)
    is_vertical = np.zeros(score[1:].shape, dtype=bool)
    if jump is not None:
        # The first point at a jump has the derivative before it, all others the one after it.
        at_jump = score == jump
        is_first = at_jump & (np.cumsum(at_jump, axis=0) == 1)
        low, high = np.where(at_jump & ~is_first, high, low), np.where(is_first, low, high)
        is_vertical = at_jump[:-1] & at_jump[1:]
    least, greatest = graph.slopes(score[:-1], score[1:])
    with np.errstate(invalid="ignore"):
        length = up(score[1:] - score[:-1])
        turned = up(up(up(greatest - least) * length) * 0.25)
        lowest, highest = graph.bends(score[:-1], score[1:])
        # What bends upwards hangs below its chords, what bends downwards stands above them.
        above, below = (up(up(up(curvature * length) * length) * 0.125) for curvature in (-lowest, highest))
    # A derivative rises, so it leaves no chord by more than the whole rise; an infinite slope says nothing.
    rise = np.where(is_vertical, 0.0, np.maximum(up(high[1:] - low[:-1]), 0.0))
    turned = np.fmin(rise, turned)
    above, below = (np.fmin(turned, np.where(bent <= 0.0, 0.0, bent)) for bent in (above, below))
    middle, radius = midpoint_and_radius(low, high)
    between = _points_between(middle, radius, finer) if finer > 1 else None
    return GraphPoints(score, middle, radius, above, below, finer, between)


def _points_between(middles: Array, radii: Array, every: int) -> Between:
    """Write derivatives at the points between every `every`-th one as means of the middles there."""
    first, last = middles[:-1:every, None], middles[every::every, None]
    inner = np.add.outer(np.arange(0, len(middles) - 1, every), np.arange(1, every))
    middle, radius = middles[inner], radii[inner]
    with np.errstate(divide="ignore", invalid="ignore"):
        share = np.clip(np.nan_to_num((middle - first) / (last - first)), 0.0, 1.0)
    mean = first + share * (last - first)
    size = np.abs(first) + np.abs(last) + np.abs(middle)
    return Between(share, up(up(np.abs(middle - mean) + radius) + 8.0 * EPS * size))


class Envelope(NamedTuple):
    """Where the derivative leaves its convex envelope (from below), or its concave one (from above), approximately.

    Below `knee` the convex envelope is the derivative itself, then a line; the concave one is a line up to its knee.
    """

    knee: Array
    slope: Array
    """Of the line."""


class Lines(NamedTuple):
    """For each row a choice of slopes k, and bounds of ``k s - psi(s)`` and of its negative over the row's scores.

    All have shape (2 N_SLOPES, n_rows): first the slopes of lines below the derivative, then of those above it.
    """

    lower: Array
    upper: Array
    """The rows' scores, shape (n_rows,)."""
    slope: Array
    above: Array
    """Upper bounds of ``k s - p`` for every derivative p at every score s."""
    below: Array
    """Upper bounds of ``p - k s``."""

    @classmethod
    def of(cls, graph: Graph, lower: Array, upper: Array, n_pieces: int) -> Lines:
        """Lay lines under and over the derivative of each row, whose scores are in [lower, upper]."""
        points = graph_points(graph, lower, upper, 1 if graph.is_step else n_pieces)
        slope = _slopes(graph, lower, upper, *envelopes(graph, points.score, points.middle))
        return cls(lower, upper, slope, *_heights(slope, points))


def heights_of_lines(graph: Graph, slope: Array, lower: Array, upper: Array, n_pieces: int) -> tuple[Array, Array]:
    """Bound ``k s - p`` and ``p - k s`` from above, for one slope k of each row and scores s in [lower, upper]."""
    (above,), (below,) = _heights(slope[None], graph_points(graph, lower, upper, n_pieces))
    return above, below


def _slopes(graph: Graph, lower: Array, upper: Array, convex: Envelope, concave: Envelope) -> Array:
    """Return the slopes of lines below a derivative, then of lines above it."""
    at = lower + (upper - lower) * np.linspace(0.0, 1.0, N_SLOPES)[:, None]
    margin = 1e-9 * (upper - lower)  # a knee is often one of these scores: rounding is not to decide
    tangents = graph.slope(at)
    return np.concatenate(
        [
            np.where(at <= convex.knee + margin, tangents, convex.slope),
            np.where(at >= concave.knee - margin, tangents, concave.slope),
        ]
    )


def _heights(slope: Array, points: GraphPoints) -> tuple[Array, Array]:
    """Bound ``k s - p`` and ``p - k s`` from above, for each slope k."""
    above, below = np.empty_like(slope), np.empty_like(slope)
    least, most = down(points.middle - points.radius), up(points.middle + points.radius)
    for some in row_slices(len(slope), points.score.size, CACHED_NUMBERS):
        rise = slope[some, None] * points.score
        above[some] = _largest(up(up(rise) - least), points.below_chord)
        below[some] = _largest(up(most - down(rise)), points.above_chord)
    return above, below


def _largest(at_points: Array, off_chord: Array) -> Array:
    """Bound functions that are linear along chords by their values at the points, the second axis (lem-chords)."""
    return np.asarray(up(np.maximum(at_points[:, :-1], at_points[:, 1:]) + off_chord).max(axis=1))


def envelopes(graph: Graph, score: Array, value: Array) -> tuple[Envelope, Envelope]:
    """Find the knees among rising points, along the first axis: the line to the far end is steepest from there."""
    to_upper = _steepness(value[-1] - value[:-1], score[-1] - score[:-1])
    from_lower = _steepness(value[1:] - value[0], score[1:] - score[0])
    first, last = to_upper.argmax(axis=0)[None], from_lower.argmax(axis=0)[None] + 1
    is_point = score[-1] - score[0] <= 1e-9 * (np.abs(value[0]) + np.abs(score[0]))
    tangent = graph.slope(score[0])

    def at(knee: Indices, slope: Array) -> Envelope:
        there = np.take_along_axis(score, knee, axis=0)[0]
        return Envelope(there, np.where(is_point, tangent, slope))

    steepest = np.take_along_axis(to_upper, first, axis=0)[0], np.take_along_axis(from_lower, last - 1, axis=0)[0]
    return at(first, steepest[0]), at(last, steepest[1])


def _steepness(rise: Array, length: Array) -> Array:
    """Divide; nothing is steep where there is no length, or where numbers have overflowed."""
    is_long = np.isfinite(length)
    is_long &= length > UNDERFLOW
    is_long &= np.isfinite(rise)
    return np.divide(rise, length, out=np.zeros_like(rise), where=is_long)
