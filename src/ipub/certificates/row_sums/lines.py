"""Lines below and above the derivative of every complete row over its scores: the slopes to choose from (Lemma 25)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ipub.certificates.row_sums.graphs import Graph, GraphPoints, graph_points
from ipub.numeric.parallel import CACHED_NUMBERS, row_slices
from ipub.numeric.rounding import UNDERFLOW, Array, down, up
from ipub.tables.interval_matrix import Indices

N_SLOPES = 9
"""Slopes of lines on either side of the derivative that a row chooses from: width against time and memory."""


class Envelope(NamedTuple):
    """Where the derivative leaves its convex envelope (from below), or its concave one (from above), about.

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
    """Bound functions that are linear along chords by their values at the points, the second axis (Lemma 24)."""
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
