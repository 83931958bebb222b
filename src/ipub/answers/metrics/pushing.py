"""The search for fillings that push a metric: its slopes in the scores make one row, whose score is pushed.

To first order a metric of the rows X changes by ``sum_i c_i x_i.w``, c its slopes (of a smooth metric near it): the
score of the single row ``sum_i c_i x_i``. So what moves the score of a row (`ipub.answers.attained`) moves a metric.
Each model that is trained on the way counts for every metric; whatever suggested its filling, it is attained.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ipub.answers.attained import BudgetSearch
from ipub.answers.attained.first_order import KINK_WIDTH, inverse_times
from ipub.answers.attained.inside import cell_slopes, completion_hessians
from ipub.answers.attained.labels import with_adversarial_labels
from ipub.answers.attained.retraining import gathered
from ipub.answers.attained.search import Search, level_gains
from ipub.answers.metrics.metric import Metric, Near
from ipub.answers.metrics.retrained import RetrainedScores
from ipub.certificates import TrainedModel
from ipub.model_sets.draws import DrawBounds
from ipub.numeric.rounding import Array
from ipub.rows.completions import Positions, side_by_side
from ipub.tables.interval_matrix import Indices
from ipub.training import Training
from ipub.training.training import ExtendedRows

STEPS = ((1.0, 1.0), (0.3, 1.0), (0.1, 1.0), (0.5, 0.5), (0.2, 0.5), (0.1, 0.25), (0.05, 0.5), (0.5, 0.25))
"""For each step how wide steps of a metric are taken to be, in widths of the scores' intervals, and how far missing
values go towards the ends of theirs. Each costs a retraining for each metric, group and side."""
MOST_CELLS = 1 << 30
"""Cells of the training table, times retrainings: larger tables have fewer steps, down to `FEWEST_STEPS`."""
FEWEST_STEPS = 2
MOST_TARGETS = 40
"""Metrics of groups that are pushed, at most; all others take what is found for these."""


class Target(NamedTuple):
    """What is pushed: a metric of some rows, or of some rows less that of others."""

    metric: Metric
    rows: Indices
    less: Indices | None = None

    def values(self, scores: RetrainedScores) -> Array:
        """Return its value for each model."""
        value = np.mean(scores.ends(self.metric, self.rows), axis=0)
        if self.less is not None:
            value = value - np.mean(scores.ends(self.metric, self.less), axis=0)
        return np.asarray(value)

    def slopes(self, near: Near, y: Array) -> Array:
        """Return about how it changes with each score."""
        found = np.zeros_like(near.scores)
        for rows, sign in ((self.rows, 1.0), (self.less, -1.0)):
            if rows is not None:
                part = Near(near.scores[rows], near.low[rows], near.high[rows], near.width)
                found[rows] += sign * _normal(self.metric.slopes(part, y[rows]))
        return found


def _normal(slopes: Array) -> Array:
    """Return slopes with the sum 1 of their sizes: groups of a difference weigh the same."""
    total = float(np.abs(slopes).sum())
    return slopes / total if 0.0 < total < np.inf else np.zeros_like(slopes)


@dataclass(frozen=True, eq=False)
class Pushed:
    """What is pushed in a search: targets, the rows they are of, and bounds of their scores."""

    targets: Sequence[Target]
    rows: ExtendedRows
    bounds: Array
    """Shape (m, 2) or (m, n_classes, 2)."""
    y: Array

    def aims(self, target: Target, side: float, model: Array, share: float) -> Array:
        """Return (K, d): the rows whose scores are to be moved up, one for each of K models."""
        scores = self.rows.center @ model.T
        low, high = self.bounds[..., 0], self.bounds[..., 1]
        widths = (high - low)[np.isfinite(low) & (high > low)]
        width = share * float(np.median(widths)) if len(widths) else 1.0
        scores = scores[:, 0] if self.bounds.ndim == 2 else scores
        found = side * target.slopes(Near(scores, low, high, width), self.y)
        return np.asarray(found.reshape(len(scores), -1).T @ self.rows.center)

    def values(self, pairs: Sequence[tuple[Target, float]], models: Array) -> Array:
        """Return (len(pairs), n): each target, times its side, under models of shape (n, K, d); ``-inf`` if unknown."""
        scores, found = RetrainedScores.of(self.rows, models, self.y), np.full((len(pairs), len(models)), -np.inf)
        for k, (target, side) in enumerate(pairs):
            found[k, scores.which] = side * target.values(scores)
        return found


def retrained_models(training: Training, pushed: Pushed, effort: float, report: Callable[[float], None]) -> Array:
    """Return models, shape (n, K, d), that were trained on fillings which push the targets to both sides."""
    draws = [certificate.part(DrawBounds) for certificate in training.certificates]
    if draws[0] is not None:
        return np.stack([each.weights for each in draws if each is not None], axis=1)
    models = training.unchanged_models()
    problem = models[0].problem
    pairs = [(target, side) for target in pushed.targets[:MOST_TARGETS] for side in (-1.0, 1.0)]
    cells = max(1, problem.rows.n_rows * problem.rows.n_features * len(models) * len(pairs))
    steps = STEPS[: int(np.clip(MOST_CELLS * effort // cells, FEWEST_STEPS, len(STEPS)))]
    if training.around is not None:
        return _within_budget(training, models, pushed, pairs, steps, report)
    if not problem.rows.uncertain_labels:
        return _Filling(models, pushed).run(pairs, steps, report)
    found = []
    for number, (target, side) in enumerate(pairs):
        aim = pushed.aims(target, side, models[0].solution.w[None], STEPS[0][0])
        certain = [
            TrainedModel(*with_adversarial_labels(*each, own, 1.0)) for each, own in zip(models, aim, strict=True)
        ]
        found.append(_Filling(certain, pushed).run([(target, side)], steps, lambda _: None))
        report((number + 1) / len(pairs))
    return np.concatenate(found)


# --- any filling -----------------------------------------------------------------------------------


class _Filling:
    """The search for fillings, for the models of all classes together."""

    def __init__(self, models: Sequence[TrainedModel], pushed: Pushed) -> None:
        self.searches = [Search(*model) for model in models]
        self.pushed, first = pushed, self.searches[0]
        self.layout, self.rows_at_once = first.layout, 2 * first.rows_at_once
        self.center = np.stack([search.w for search in self.searches])
        loss = first.problem.loss
        self.smooth, self.ahead = loss.smoothed(KINK_WIDTH), 0.0 if loss.is_smooth else 0.5 * KINK_WIDTH
        self.positions, self.models = self.layout.center[None], self.center[None]
        """All fillings that were trained on, and their models."""
        self.values = np.zeros((0, 1))
        """How far each model pushes each target; of a table in which categories are still missing, nothing."""

    def run(
        self,
        pairs: Sequence[tuple[Target, float]],
        steps: Sequence[tuple[float, float]],
        report: Callable[[float], None],
    ) -> Array:
        """Return the models of all fillings that were tried."""
        n_cells = self.layout.n_cells
        is_settled = (self.positions[:, n_cells:] >= 0.0).all(axis=1)
        self.values = np.where(is_settled, self.pushed.values(pairs, self.models), -np.inf)
        for number, step in enumerate(steps):
            for start in range(0, len(pairs), self.rows_at_once):
                chunk = slice(start, start + self.rows_at_once)
                best = self.values[chunk, : len(pairs) * number + 1].argmax(axis=1)
                positions, models = self._step(pairs[chunk], best, step)
                self.positions = np.concatenate([self.positions, positions])
                self.models = np.concatenate([self.models, models])
                self.values = np.hstack([self.values, self.pushed.values(pairs, models)])
                report((number + start / len(pairs)) / len(steps))
        report(1.0)
        return self.models[(self.positions[:, n_cells:] >= 0.0).all(axis=1)]

    def _step(
        self, pairs: Sequence[tuple[Target, float]], start: Indices, step: tuple[float, float]
    ) -> tuple[Positions, Array]:
        """Return a filling for each target and side, a step on from one that is known, and its models."""
        share, length = step
        here, models = self.positions[start], self.models[start]
        aims = np.array([self.pushed.aims(*pair, model, share) for pair, model in zip(pairs, models, strict=True)])
        slopes, levels = self._gains(here, models, aims)
        n_cells = self.layout.n_cells
        ends = np.where(slopes == 0.0, here[:, :n_cells], np.sign(slopes))
        cells = here[:, :n_cells] + length * (ends - here[:, :n_cells])
        drawn = np.random.default_rng(0).random(levels.shape) < length
        levels = np.where(drawn | (here[:, n_cells:] < 0.0), levels, here[:, n_cells:])
        proposed = np.hstack([cells, levels]).astype(self.positions.dtype)
        trained = [search.retrained(proposed, models[:, k]) for k, search in enumerate(self.searches)]
        return proposed, np.stack(trained, axis=1)

    def _gains(self, positions: Positions, models: Array, aims: Array) -> tuple[Array, Indices]:
        """Return how far the score of the aims rises with each cell, and the best level of each missing category."""
        slopes, gains = 0.0, 0.0
        for k, search in enumerate(self.searches):
            w, rows = models[:, k], side_by_side(search.problem.rows, self.layout, positions)
            (hessians,) = rows.reduce(completion_hessians, self.smooth, self.ahead, w.T)
            each = zip(hessians / search.problem.rows.total_weight, w, aims[:, k], strict=True)
            u = np.array([inverse_times(search.problem, *parts) for parts in each])
            found, levels = gathered(rows, cell_slopes, self.smooth, self.ahead, w.T, u.T, np.ones(len(w)))
            slopes = slopes + np.nan_to_num(found.T)
            if len(self.searches) > 1:
                (of_levels,) = gathered(rows, level_gains, self.smooth, self.ahead, w.T, u.T)
                gains = gains + of_levels
        return np.asarray(slopes), levels.T if len(self.searches) == 1 else np.argmax(gains, axis=-1).T


# --- a budget --------------------------------------------------------------------------------------


def _within_budget(
    training: Training,
    models: Sequence[TrainedModel],
    pushed: Pushed,
    pairs: Sequence[tuple[Target, float]],
    steps: Sequence[tuple[float, float]],
    report: Callable[[float], None],
) -> Array:
    """Return models of tables within the budget."""
    assert training.around is not None
    movable, moves, _ = training.around
    searches = [BudgetSearch(*model, movable) for model in models]
    found = [np.stack([search.w for search in searches])]
    for number, (target, side) in enumerate(pairs):
        at, table = found[0], searches[0].X
        for share, _ in steps:
            aims = pushed.aims(target, side, at, share)
            if len(searches) == 1:
                changes = searches[0].chosen(aims[0], at[0], table, 1.0, moves)
                options = changes.options
                trained = searches[0].retrained(options, at[0], changes.wrong_labels, changes.dropped_rows)[None]
            else:
                each = zip(searches, aims, at, strict=True)
                gains = np.sum([search.gains(aim, w, table) for search, aim, w in each], axis=0)
                options = searches[0].within(searches[0].order(gains), moves)
                trained = np.stack([search.retrained(options, w) for search, w in zip(searches, at, strict=True)])
            found.append(trained)
            before, after = pushed.values([(target, side)], np.stack([at, trained]))[0]
            if after > before:
                at, table = trained, searches[0].table_with(options)
        report((number + 1) / len(pairs))
    return np.stack(found)
