"""The derivative of a row's loss as a graph of scores and derivatives: points on it, and how far it leaves a chord."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np

from ipub.losses import Loss
from ipub.rounding import Array, midpoint_and_radius, up


class Graph(Protocol):
    """The derivatives of several rows, one for each; scores have the rows along their last axis."""

    def value(self, score: Array) -> Array:
        """Return a derivative, about."""
        ...

    def slope(self, score: Array) -> Array:
        """Return the derivative's slope, about."""
        ...

    def range(self, lower: Array, upper: Array) -> tuple[Array, Array]:
        """Bound every derivative at scores in [lower, upper]."""
        ...

    def slopes(self, lower: Array, upper: Array) -> tuple[Array, Array]:
        """Bound the slope of every secant between two scores in [lower, upper]."""
        ...

    def bend(self, lower: Array, upper: Array) -> Array:
        """Bound the size of the slope's own derivative over [lower, upper]; infinite if there is none."""
        ...


@dataclass(frozen=True)
class LossGraph(Graph):
    """The derivative of a loss at the labels y."""

    loss: Loss
    y: Array

    def value(self, score: Array) -> Array:
        return self.loss.derivative(self._labels(score), score)

    def slope(self, score: Array) -> Array:
        return self.loss.curvature(self._labels(score), score)

    def range(self, lower: Array, upper: Array) -> tuple[Array, Array]:
        return self.loss.derivative_range(self._labels(lower), lower, upper)

    def slopes(self, lower: Array, upper: Array) -> tuple[Array, Array]:
        return self.loss.curvature_range(self._labels(lower), lower, upper)

    def bend(self, lower: Array, upper: Array) -> Array:
        if not self.loss.has_bounded_third_derivative:
            return np.full(lower.shape, np.inf)
        low, high = self.loss.curvature_slope_range(self._labels(lower), lower, upper)
        return np.maximum(np.abs(low), np.abs(high))

    def _labels(self, score: Array) -> Array:
        return np.broadcast_to(self.y, score.shape)


@dataclass(frozen=True)
class SignGraph(Graph):
    """The subdifferential of ``kappa |t|``: a step at 0."""

    kappa: Array

    def value(self, score: Array) -> Array:
        return self.kappa * np.sign(score)

    def slope(self, score: Array) -> Array:
        return np.zeros_like(score)

    def range(self, lower: Array, upper: Array) -> tuple[Array, Array]:
        return np.where(lower > 0.0, self.kappa, -self.kappa), np.where(upper < 0.0, -self.kappa, self.kappa)

    def slopes(self, lower: Array, upper: Array) -> tuple[Array, Array]:
        return np.zeros_like(lower), np.where((lower > 0.0) | (upper < 0.0), 0.0, np.inf)

    def bend(self, lower: Array, upper: Array) -> Array:
        return self.slopes(lower, upper)[1]


@dataclass(frozen=True)
class JoinedGraphs(Graph):
    """The derivatives of rows, then those of an l1 penalty."""

    first: LossGraph
    second: SignGraph
    n_first: int

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

    def bend(self, lower: Array, upper: Array) -> Array:
        first = self.first.bend(self._of_first(lower), self._of_first(upper))
        return self._joined(first, self.second.bend(self._of_second(lower), self._of_second(upper)))

    def _of_first(self, score: Array) -> Array:
        return score[..., : self.n_first]

    def _of_second(self, score: Array) -> Array:
        return score[..., self.n_first :]

    def _joined(self, first: Array, second: Array) -> Array:
        return np.concatenate([first, second], axis=-1)


class GraphPoints(NamedTuple):
    """Points of the graph of each row at scores that cut its range into pieces of equal length.

    All have the points along the first axis; `off_chord` has one entry less.
    """

    score: Array
    middle: Array
    radius: Array
    """Every derivative at these scores is within this distance of the middle."""
    off_chord: Array
    """How far any derivative between two points may be from a chord between derivatives there (Lemma 24)."""


def graph_points(graph: Graph, lower: Array, upper: Array, n_pieces: int) -> GraphPoints:
    """Cut the range [lower, upper] of each row's scores into pieces."""
    share = np.linspace(0.0, 1.0, n_pieces + 1).reshape(-1, *(1,) * lower.ndim)
    score = np.clip(lower + (upper - lower) * share, lower, upper)
    score[0], score[-1] = lower, upper
    low, high = graph.range(score, score)
    least, greatest = graph.slopes(score[:-1], score[1:])
    with np.errstate(invalid="ignore"):
        length = up(score[1:] - score[:-1])
        turned = up(up(up(greatest - least) * length) * 0.25)
        bent = up(up(up(graph.bend(score[:-1], score[1:]) * length) * length) * 0.125)
    # A derivative rises, so it leaves no chord by more than the whole rise; an infinite slope says nothing.
    rise = np.maximum(up(high[1:] - low[:-1]), 0.0)
    return GraphPoints(score, *midpoint_and_radius(low, high), np.fmin(rise, np.fmin(turned, bent)))
