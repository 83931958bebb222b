"""The training problem: loss, penalty and rows together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal, NamedTuple

import numpy as np

from ipub.losses import Loss
from ipub.losses.penalties import ElasticNet
from ipub.numeric.rounding import UNDERFLOW, Array
from ipub.promises.base import AnyFilling, AnyLevel, Together, UncertainLabels, Uncertainty, WrongLabels
from ipub.rows import Block, PerBlock, Rows
from ipub.rows.ops import weighted_gram, weighted_squares

SAMPLING_INTERVAL, MOST_SAMPLED, LEAST_SAMPLED_PER_COLUMN = 16, 1 << 14, 100
"""A sample has one row in so many, at most so many rows, and at least so many for each column: a better start against
time."""
LEAST_SAMPLED_RATIO = 8
"""A sample is drawn only from a table with at least this many times its rows."""

Sum = tuple[Any, ...]
"""A kernel and its arguments."""


class Point(NamedTuple):
    """A primal point and a dual point, ``alpha_i = -dual_loss.derivative(y_i, x_i.dual_w)``, `dual_w` = w if None."""

    w: Array
    dual_loss: Loss
    dual_w: Array | None = None

    def dual_point(self, block: Block, score: Array | None = None) -> Array:
        """Return the dual coordinates of a block's rows, floats in the conjugate's domain; `score` saves work."""
        if score is None or self.dual_w is not None:
            score = block.center @ (self.w if self.dual_w is None else self.dual_w)
        return -self.dual_loss.derivative(block.y, score)


@dataclass(frozen=True)
class HessianProducts:
    """The Hessian of a smooth mean loss at w by its products, each a pass over the rows: a matrix is too large."""

    rows: Rows
    loss: Loss
    w: Array
    diagonal: Array

    def __matmul__(self, vector: Array) -> Array:
        (total,) = self.rows.reduce(_product_sums, self._curvature, vector)
        return np.asarray(total / self.rows.total_weight)

    @cached_property
    def _curvature(self) -> PerBlock:
        """Weight times curvature of each row: one number each, kept for all products."""
        return self.rows.map(_curvatures, self.loss, self.w)


Hessian = Array | HessianProducts
"""The Hessian of the mean loss: a matrix, or its products where that is too large."""


def diagonal_of(hessian: Hessian) -> Array:
    """Return the diagonal of a Hessian."""
    return hessian.diagonal if isinstance(hessian, HessianProducts) else np.diag(hessian)


def sample_size(n_rows: int, n_features: int) -> int | None:
    """Return how many rows a sample of a table has; None if the table is too short for one."""
    size = max(LEAST_SAMPLED_PER_COLUMN * n_features, min(n_rows // SAMPLING_INTERVAL, MOST_SAMPLED))
    return size if n_rows >= LEAST_SAMPLED_RATIO * size else None


@dataclass(frozen=True)
class Problem:
    """Minimise ``sum_i s_i loss(y_i, x_i.w) / sum_i s_i + penalty(w)`` at the center of the rows.

    An intercept is the last coordinate of w, free in the penalty, with `ipub.rows.with_intercept_column`.
    """

    rows: Rows
    loss: Loss
    penalty: ElasticNet
    cells: AnyFilling = field(default_factory=AnyFilling)
    """Which moves of the uncertain cells are possible."""

    @property
    def uncertainty(self) -> Uncertainty:
        """What may vary in each row: cells, missing categories, the target's radius; `wrong_labels` are apart."""
        members: list[Uncertainty] = [self.cells]
        if self.rows.categories:
            members.append(AnyLevel())
        if self.has_uncertain_targets:
            members.append(UncertainLabels())
        return members[0] if len(members) == 1 else Together(tuple(members))

    @property
    def has_uncertain_targets(self) -> bool:
        """Whether each label may vary whatever the others do; at most k wrong ones are `wrong_labels`."""
        return self.rows.uncertain_labels and not self.rows.max_wrong_labels

    @property
    def wrong_labels(self) -> WrongLabels:
        """How many labels, in any rows, may be wrong: what they add is no part of `uncertainty`."""
        return WrongLabels(self.rows.max_wrong_labels)

    @cached_property
    def _found_beside(self) -> dict[Any, tuple[Sum, Any]]:
        """Arguments and sums of the kernels that `evaluate` computed beside its own; not those of a changed copy."""
        return {}

    def reduce(self, kernel: Any, *args: Any) -> Any:
        """Sum a kernel over the rows, in no pass at all if `evaluate` did so with the same arguments."""
        known, found = self._found_beside.get(kernel, (None, None))
        return found if _is_same(args, known) else self.rows.reduce(kernel, *args)

    def evaluate(
        self,
        w: Array,
        dual_loss: Loss,
        dual_w: Array | None = None,
        hessian: Hessian | None = None,
        beside: Sum | None = None,
    ) -> Evaluation:
        """Evaluate everything a Newton step and its stopping rule need, in one pass over the rows.

        The dual point is ``alpha_i = -dual_loss.derivative(y_i, x_i.dual_w)``, with `dual_w` = w if left
        out: a function of a score, so that no vector as long as the table is ever kept. A given `hessian` is used as
        it is, which saves most of the work. The sum `beside` is computed in the same pass, and kept for `reduce`.
        """
        own = (_evaluation_sums, self.loss, dual_loss, w, dual_w, self._wanted(hessian is None))
        if beside is None:
            sums = self.rows.reduce(*own)
        else:
            sums, found = self.rows.reduce_several(own, beside)
            self._found_beside[beside[0]] = beside[1:], found
        return self._evaluation(sums, w, dual_loss, hessian)

    def evaluate_several(self, points: Sequence[Point]) -> list[Evaluation]:
        """Evaluate several points in one pass.

        A point with a dual point of its own has no Hessian: no step starts there.
        """
        calls = (
            (_evaluation_sums, self.loss, dual_loss, w, dual_w, self._wanted(dual_w is None))
            for w, dual_loss, dual_w in points
        )
        evaluated = []
        for sums, (w, dual_loss, dual_w) in zip(self.rows.reduce_several(*calls), points, strict=True):
            evaluated.append(self._evaluation(sums, w, dual_loss, None if dual_w is None else self._no_hessian(w)))
        return evaluated

    def evaluate_and_try(
        self, w: Array, dual_loss: Loss, start: Array, direction: Array, steps: Array
    ) -> tuple[Evaluation, Array]:
        """Evaluate w, and compute the slopes of `trial` along a direction from `start`, in one pass."""
        sums, (slopes,) = self.rows.reduce_several(
            (_evaluation_sums, self.loss, dual_loss, w, None, self._wanted(True)),
            (_trial_sums, dual_loss, start, direction, steps),
        )
        return self._evaluation(sums, w, dual_loss, None), self._slopes(slopes, start, direction, steps)

    def _wanted(self, with_hessian: bool) -> Wanted:
        if not with_hessian:
            return "nothing"
        return "matrix" if self.rows.allows_matrices else "diagonal"

    def _no_hessian(self, w: Array) -> Hessian:
        zero = np.zeros(len(w))
        return np.diag(zero) if self.rows.allows_matrices else HessianProducts(self.rows, self.loss, w, zero)

    def _evaluation(self, sums: _EvaluationSums, w: Array, dual_loss: Loss, hessian: Hessian | None) -> Evaluation:
        mean = _EvaluationSums(*(np.asarray(total / self.rows.total_weight) for total in sums))
        gradient = mean.gradient
        if hessian is None:
            found = np.asarray(mean.hessian)
            hessian = found if self.rows.allows_matrices else HessianProducts(self.rows, dual_loss, w, found)
        penalised = slice(0, len(w) - self.penalty.n_free)
        # A free coordinate b: its slope times a Newton step in b alone estimates how far the smoothed problem is from
        # its optimum; the dual point is outside the domain of the conjugate by the slope, which costs abs(b) times it.
        slope, curvature = np.abs(gradient[penalised.stop :]), diagonal_of(hessian)[penalised.stop :]
        step = np.divide(slope, curvature, out=np.ones_like(slope), where=curvature > 0.0)
        imbalance = float(slope @ np.abs(w[penalised.stop :]))
        decrement = float(slope @ step)
        paid = self.penalty.value(w)
        return Evaluation(
            primal=float(mean.value + paid),
            dual=float(-mean.conjugate - self.penalty.conjugate(-gradient)[penalised].sum() - decrement - imbalance),
            loss_gap=float(mean.residual),
            penalty_gap=float(self.penalty.residual(w, -gradient)[penalised].sum() + decrement),
            objective=float(mean.smoothed_value) + paid,
            gradient=gradient,
            hessian=hessian,
            imbalance=imbalance,
        )

    def sample(self) -> Problem | None:
        """Return the problem of a sample of the rows, if there are many more: its solution is a start, not a proof."""
        n_rows = sample_size(self.rows.n_rows, self.rows.n_features)
        drawn = None if n_rows is None else self.rows.sample(n_rows)
        return None if drawn is None else replace(self, rows=drawn)

    def trial(self, w: Array, direction: Array, steps: Array, dual_loss: Loss) -> Array:
        """Return the slope of the (smoothed) objective along `direction` at each of several steps, in one pass."""
        (slopes,) = self.rows.reduce(_trial_sums, dual_loss, w, direction, steps)
        return self._slopes(slopes, w, direction, steps)

    def _slopes(self, slopes: Array, w: Array, direction: Array, steps: Array) -> Array:
        points = w + steps[:, None] * direction
        signs = np.where(points != 0.0, np.sign(points), np.sign(direction))
        lam, kappa = self.penalty.lam_vector(len(w)), self.penalty.kappa_vector(len(w))
        penalty = points @ (lam * direction) + signs @ (kappa * direction)
        return np.asarray(slopes / self.rows.total_weight + penalty)


@dataclass(frozen=True)
class Evaluation:
    """The problem at one point w, with its dual point: objective values, the true gap, derivatives."""

    primal: float
    dual: float
    loss_gap: float
    """Mean Fenchel-Young residual of the loss."""
    penalty_gap: float
    """Fenchel-Young residual of the penalty: how far the smoothed problem is from its optimum.

    That of a free coordinate is infinite; its slope times a Newton step is used instead.
    """
    objective: float
    """Of the smoothed problem, if the loss is smoothed."""
    gradient: Array
    """Gradient of the mean (smoothed) loss; its negative is the dual point of the penalty."""
    hessian: Any
    """A `Hessian`: of a table with few columns, a matrix."""
    imbalance: float = 0.0
    """Slope in the free coordinates times their size."""

    @property
    def gap(self) -> float:
        """The duality gap, as a sum of non-negative terms (no cancellation).

        With a free coordinate b it is an estimate, right if the optimal b is no farther away than abs(b) and a Newton
        step (sec-intercept).
        """
        return self.loss_gap + self.penalty_gap + self.imbalance

    @property
    def relative_gap(self) -> float:
        """The gap over max(abs(primal), abs(dual)); if both are zero, a gap below all underflows counts as 0."""
        scale = max(abs(self.primal), abs(self.dual))
        return self.gap / scale if scale > 0.0 else (0.0 if self.gap < UNDERFLOW else np.inf)


def _is_same(first: Any, second: Any) -> bool:
    """Whether arguments are the same, arrays number by number."""
    if isinstance(first, tuple) and isinstance(second, tuple):
        return len(first) == len(second) and all(map(_is_same, first, second))
    if isinstance(first, np.ndarray) or isinstance(second, np.ndarray):
        return type(first) is type(second) and np.array_equal(first, second)
    return bool(first == second)


Number = float | Array
"""A number, or an array of no dimension."""

Wanted = Literal["nothing", "matrix", "diagonal"]
"""What of the Hessian is computed."""


class _EvaluationSums(NamedTuple):
    smoothed_value: Number
    value: Number
    conjugate: Number
    residual: Number
    gradient: Array
    hessian: Number


def _evaluation_sums(
    block: Block, loss: Loss, dual_loss: Loss, w: Array, dual_w: Array | None, wanted: Wanted
) -> _EvaluationSums:
    y, weight, score = block.y, block.weight, block.center @ w
    dual_score = score if dual_w is None else block.center @ dual_w
    slope = dual_loss.derivative(y, dual_score)
    values = dual_loss.value(y, score)
    smooth = weight @ values
    conjugate: Number
    residual: Number
    gradient = (weight * slope) @ block.center
    if dual_loss is loss and dual_w is None:
        # A derivative at the score itself: there the inequality of Fenchel and Young is an equality.
        value, conjugate, residual = smooth, weight @ (slope * score - values), 0.0
    else:
        value = smooth if dual_loss is loss else weight @ loss.value(y, score)
        conjugate = weight @ loss.conjugate(y, -slope)
        residual = weight @ loss.residual_upper(y, score, -slope)
    hessian: Number = 0.0
    if wanted != "nothing":
        summed = weighted_gram if wanted == "matrix" else weighted_squares
        hessian = summed(block.center, weight * dual_loss.curvature(y, dual_score))
    return _EvaluationSums(smooth, value, conjugate, residual, gradient, hessian)


def _trial_sums(block: Block, loss: Loss, w: Array, direction: Array, steps: Array) -> tuple[Array]:
    score, change = block.center @ w, block.center @ direction
    slopes = loss.derivative(block.y[:, None], score[:, None] + change[:, None] * steps)
    return ((block.weight * change) @ slopes,)


def _curvatures(block: Block, loss: Loss, w: Array) -> Array:
    return block.weight * loss.curvature(block.y, block.center @ w)


def _product_sums(block: Block, curvatures: Array, vector: Array) -> tuple[Array]:
    return ((curvatures * (block.center @ vector)) @ block.center,)
