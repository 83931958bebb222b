"""Lines below and above the derivative of every complete row over its scores: the slopes to choose from (Lemma 25)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ipub.certificates.row_sums.graphs import Graph, GraphPoints, graph_points
from ipub.data.interval_matrix import Indices
from ipub.parallel import row_slices
from ipub.rounding import Array, down, up

N_PIECES = 24
"""Pieces of a row's range of scores: accuracy of the lines against time."""

N_SLOPES = 9
"""Slopes of lines on either side of the derivative that a row chooses from."""

NUMBERS = 1 << 15
"""Numbers of several lines that are looked at in one go; at least those of one line."""


SHORT = 1e-250
"""Scores that are nearer to each other count as one."""


class Envelope(NamedTuple):
    """Where the derivative leaves its convex envelope (from below), or its concave one (from above), about.

    Below `knee` the convex envelope is the derivative itself, then a line; the concave one is a line up to its knee.
    """

    knee: Array
    slope: Array
    """Of the line."""
    height: Array
    """The derivative at the knee."""


class Lines(NamedTuple):
    """For each row a choice of slopes k, and bounds of ``k s - psi(s)`` and of its negative over the row's scores.

    All have shape (2 N_SLOPES, n_rows): first the slopes of lines below the derivative, then of those above it. Where
    rows have two labels these are the slopes of the first, and as many of the second one follow.
    """

    lower: Array
    upper: Array
    """The rows' scores, shape (n_rows,)."""
    slope: Array
    above: Array
    """Upper bounds of ``k s - p`` for every derivative p at every score s."""
    below: Array
    """Upper bounds of ``p - k s``."""
    convex: Envelope
    concave: Envelope
    second: Lines | None = None
    """Where rows have two labels: the same slopes, and the derivatives of the second label."""

    @classmethod
    def of(cls, graph: Graph, lower: Array, upper: Array, second: Graph | None = None) -> Lines:
        """Lay lines under and over the derivative of each row, whose scores are in [lower, upper]."""
        points, convex, concave = _points_and_envelopes(graph, lower, upper)
        slope, other = _slopes(graph, lower, upper, convex, concave), None
        if second is not None:
            of_second, *both = _points_and_envelopes(second, lower, upper)
            slope = np.concatenate([slope, _slopes(second, lower, upper, both[0], both[1])])
            other = cls(lower, upper, slope, *_heights(slope, of_second), both[0], both[1])
        return cls(lower, upper, slope, *_heights(slope, points), convex, concave, other)

    def choose(
        self, score: Array, is_below: NDArray[np.bool_], is_second: NDArray[np.bool_] | None = None
    ) -> NDArray[np.intp]:
        """Return which slope touches the derivative where each score is, from below or from above."""
        width = np.maximum(self.upper - self.lower, 1e-300)
        place = np.clip(np.rint((score - self.lower) / width * (N_SLOPES - 1)), 0, N_SLOPES - 1)
        place = np.nan_to_num(place)  # any choice will do where numbers have overflowed
        chosen = np.asarray(place, dtype=np.intp) + np.where(is_below, 0, N_SLOPES)
        return chosen if is_second is None else chosen + np.where(is_second, 2 * N_SLOPES, 0)

    def envelope_at(
        self, graph: Graph, score: Array, is_below: NDArray[np.bool_], is_second: NDArray[np.bool_] | None = None
    ) -> tuple[Array, Array]:
        """Return about the height and the slope of an envelope at scores inside the ranges.

        The graph is that of the labels that are chosen.
        """
        knee, line, height = (
            np.where(is_below, convex, concave) for convex, concave in zip(self.convex, self.concave, strict=True)
        )
        if is_second is not None and self.second is not None:
            of_second = zip(self.second.convex, self.second.concave, strict=True)
            other = (np.where(is_below, convex, concave) for convex, concave in of_second)
            knee, line, height = (
                np.where(is_second, theirs, own) for theirs, own in zip(other, (knee, line, height), strict=True)
            )
        on_curve = np.where(is_below, score <= knee, score >= knee)
        slope = np.where(on_curve, graph.slope(score), line)
        return np.where(on_curve, graph.value(score), height + line * (score - knee)), slope


def _points_and_envelopes(graph: Graph, lower: Array, upper: Array) -> tuple[GraphPoints, Envelope, Envelope]:
    points = graph_points(graph, lower, upper, 1 if graph.is_step else N_PIECES)
    return points, *envelopes(graph, points.score, points.middle)


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
    for some in row_slices(len(slope), points.score.size, NUMBERS):
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
        there, height = (np.take_along_axis(each, knee, axis=0)[0] for each in (score, value))
        return Envelope(there, np.where(is_point, tangent, slope), height)

    steepest = np.take_along_axis(to_upper, first, axis=0)[0], np.take_along_axis(from_lower, last - 1, axis=0)[0]
    return at(first, steepest[0]), at(last, steepest[1])


def _steepness(rise: Array, length: Array) -> Array:
    """Divide; nothing is steep where there is no length, or where numbers have overflowed."""
    is_long = np.isfinite(length)
    is_long &= length > SHORT
    is_long &= np.isfinite(rise)
    return np.divide(rise, length, out=np.zeros_like(rise), where=is_long)
