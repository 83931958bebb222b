"""Fillings that may break a bound: those that push the score of a row, and random ones."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize

from ipub.verification.claim import HOLES, WRONG, Claim, Filling, Indices
from ipub.verification.plain_losses import Array
from ipub.verification.plain_training import Model

ROUNDS = 3
"""Linear steps towards a row and side: few change anything after that."""
STEPS_INSIDE = 8
"""Steps of the search inside intervals."""
MOST_INSIDE = 2_000
"""Numbers that are searched inside their intervals, at most."""


class Goal(NamedTuple):
    """The score of a row, as the model sees it, to be pushed down (-1) or up (1)."""

    row: Array
    side: float


def base_filling(claim: Claim, rng: np.random.Generator) -> Filling:
    """Return the base filling, with random classes where they are unknown."""
    y = claim.base.y.copy()
    y[claim.free_labels] = rng.choice([-1.0, 1.0], size=len(claim.free_labels))
    return claim.base._replace(y=y)


def pushed(claim: Claim, filling: Filling, model: Model, goal: Goal, rng: np.random.Generator) -> Filling:
    """Return the filling within the limits that, by first-order effects at a model, pushes a score the most.

    What is limited starts at the base, what is not at the given filling.
    """
    limits, numbers, categories = claim.limits, claim.numbers, claim.categories
    start = _at_base_where_limited(claim, filling)
    table = claim.filled(start)
    effects = _Effects(claim, model, goal, table.X, start, rng)
    values, levels = start.numbers.copy(), start.levels.copy()
    ends, gains = effects.of_numbers()
    new_levels, level_gains = effects.of_levels()
    for group, limit in ((HOLES, limits.holes), (WRONG, limits.wrong_cells)):
        of_numbers, of_levels = numbers.group == group, categories.group == group
        every = np.concatenate([np.where(of_numbers, gains, 0.0), np.where(of_levels, level_gains, 0.0)])
        chosen = np.argsort(-every, kind="stable")[: len(every) if limit is None else limit]
        chosen = chosen[every[chosen] > 0.0]
        cells, kinds = chosen[chosen < len(gains)], chosen[chosen >= len(gains)] - len(gains)
        values[cells], levels[kinds] = ends[cells], new_levels[kinds]
    y, weight = effects.labels_and_weights(start)
    return Filling(values, levels, y, weight)


def _at_base_where_limited(claim: Claim, filling: Filling) -> Filling:
    limits, base = claim.limits, claim.base
    is_free = [limits.holes is None, limits.wrong_cells is None]
    keep_numbers = np.array(is_free)[claim.numbers.group]
    keep_levels = np.array(is_free)[claim.categories.group]
    y = base.y.copy()
    y[claim.free_labels] = filling.y[claim.free_labels]
    low, high = claim.targets
    y = np.where(low < high, filling.y, y)
    return Filling(
        np.where(keep_numbers, filling.numbers, base.numbers),
        np.where(keep_levels, filling.levels, base.levels),
        y,
        base.weight,
    )


class _Effects:
    """First-order effects, on the score of a row, of changes of rows of the training table."""

    def __init__(
        self, claim: Claim, model: Model, goal: Goal, X: Array, start: Filling, rng: np.random.Generator
    ) -> None:
        self.claim, self.goal, self.X, self.start = claim, goal, X, start
        loss = claim.objective.loss
        # The effect of a jump is that of a slope near it, of one size or another.
        self.loss = loss if loss.softened is None else loss.softened(10.0 ** rng.uniform(-3.0, 0.0))
        self.w = model.w
        self.scores = X @ model.w
        self.share = start.weight / start.weight.sum()
        self.u = response(claim, self.loss.curvature(start.y, self.scores), self.share, X, model.w, goal.row)
        self.xu = X @ self.u
        self.now = self._term(slice(None), 0.0, 0.0, start.y)

    def _term(self, rows: Indices | slice, score_change: Array | float, u_change: Array | float, y: Array) -> Array:
        """Return what rows contribute to the product of the gradient with u, after a change."""
        slopes = self.loss.derivative(y, self.scores[rows] + score_change)
        return np.asarray(self.share[rows] * slopes * (self.xu[rows] + u_change))

    def _gain(self, rows: Indices | slice, score_change: Array | float, u_change: Array | float, y: Array) -> Array:
        return np.asarray(-self.goal.side * (self._term(rows, score_change, u_change, y) - self.now[rows]))

    def of_numbers(self) -> tuple[Array, Array]:
        """Return for each number the end of its interval that pushes more, and by how much."""
        rows, columns, low, high, _ = self.claim.numbers
        gains = []
        for end in (low, high):
            move = self.claim.scaled_cells(end, columns) - self.X[rows, columns]
            gains.append(self._gain(rows, move * self.w[columns], move * self.u[columns], self.start.y[rows]))
        return np.where(gains[1] > gains[0], high, low), np.maximum(*gains)

    def of_levels(self) -> tuple[Indices, Array]:
        """Return for each category the level that pushes most, and by how much."""
        rows, first, stop, _ = self.claim.categories
        best, gains = self.start.levels.copy(), np.zeros(len(rows))
        for k, row in enumerate(rows):
            old = first[k] + self.start.levels[k]
            new = np.arange(first[k], stop[k])
            moves = self.w[new] - self.w[old], self.u[new] - self.u[old]
            each = self._gain(np.full(len(new), row), *moves, np.full(len(new), self.start.y[row]))
            best[k], gains[k] = int(np.argmax(each)), each.max()
        return best, gains

    def labels_and_weights(self, start: Filling) -> tuple[Array, Array]:
        """Return the labels and weights that push most, within the limits."""
        claim, limits = self.claim, self.claim.limits
        everything = slice(None)
        y, weight = start.y.copy(), start.weight.copy()
        flips = self._gain(everything, 0.0, 0.0, -start.y)
        flips[weight == 0.0] = 0.0
        free = claim.free_labels
        y[free] = np.where(flips[free] > 0.0, -y[free], y[free])
        if limits.labels:
            flips[free] = 0.0
            chosen = np.argsort(-flips, kind="stable")[: limits.labels]
            chosen = chosen[flips[chosen] > 0.0]
            y[chosen] = -y[chosen]
        low, high = claim.targets
        if (low < high).any():
            ends = [self._gain(everything, 0.0, 0.0, end) for end in (low, high)]
            y = np.where(low < high, np.where(ends[1] > ends[0], high, low), y)
        if limits.rows:
            gains = self.goal.side * self.now * (weight > 0.0)
            chosen = np.argsort(-gains, kind="stable")[: limits.rows]
            weight[chosen[gains[chosen] > 0.0]] = 0.0
        return y, weight


def response(claim: Claim, curvature: Array, share: Array, X: Array, w: Array, row: Array) -> Array:
    """Return u for which a change g of the gradient moves the score of a row by ``-u.g``, to first order."""
    objective, d = claim.objective, X.shape[1]
    lam, kappa = np.full(d, objective.lam), np.full(d, objective.kappa)
    if objective.has_intercept:
        lam[-1] = kappa[-1] = 0.0
    free = np.flatnonzero((w != 0.0) | (kappa == 0.0))
    u = np.zeros(d)
    if len(free):
        part = X[:, free]
        hessian = (part.T * (share * curvature)) @ part + np.diag(lam[free])
        u[free] = np.linalg.lstsq(hessian, row[free], rcond=None)[0]
    return u


def moved_inside(
    claim: Claim, filling: Filling, goal: Goal, which: Indices, retrain: Callable[[Filling], Model]
) -> Filling:
    """Move numbers inside their intervals along the exact gradient of a score; each step is one retraining."""
    numbers = claim.numbers
    rows, columns, low, high = numbers.rows[which], numbers.columns[which], numbers.low[which], numbers.high[which]
    width = high - low
    in_scale = claim.scaled_cells(high, columns) - claim.scaled_cells(low, columns)
    best: tuple[float, Filling] = (np.inf, filling)

    def at(places: Array) -> Filling:
        numbers = filling.numbers.copy()
        numbers[which] = np.clip(low + places * width, low, high)
        return filling._replace(numbers=numbers)

    def loss_of(places: Array) -> tuple[float, Array]:
        nonlocal best
        tried = at(places)
        model, table = retrain(tried), claim.filled(tried)
        loss = claim.objective.loss
        smooth = loss if loss.softened is None else loss.softened(1e-2)
        scores = table.X @ model.w
        curvature = smooth.curvature(table.y, scores)
        u = response(claim, curvature, table.share, table.X, model.w, goal.row)
        slopes = model.slopes[rows] * u[columns] + curvature[rows] * (table.X @ u)[rows] * model.w[columns]
        value = -goal.side * float(goal.row @ model.w)
        if value < best[0]:
            best = value, tried
        return value, goal.side * table.share[rows] * slopes * in_scale

    start = np.where(width > 0.0, (filling.numbers[which] - low) / np.where(width > 0.0, width, 1.0), 0.5)
    with np.errstate(all="ignore"):
        minimize(
            loss_of,
            np.clip(start, 0.0, 1.0),
            jac=True,
            method="L-BFGS-B",
            bounds=[(0.0, 1.0)] * len(which),
            options={"maxiter": STEPS_INSIDE, "maxfun": 2 * STEPS_INSIDE},
        )
    return best[1]


def may_move(claim: Claim, filling: Filling, rng: np.random.Generator) -> Indices:
    """Return the numbers that may move from a filling while it stays within the limits."""
    limits, numbers = claim.limits, claim.numbers
    is_limited = np.array([limits.holes is not None, limits.wrong_cells is not None])[numbers.group]
    free = np.flatnonzero((numbers.high > numbers.low) & (~is_limited | (filling.numbers != claim.base.numbers)))
    return free if len(free) <= MOST_INSIDE else np.sort(rng.choice(free, MOST_INSIDE, replace=False))


def random_filling(claim: Claim, rng: np.random.Generator) -> Filling:
    """Return a random filling within the limits: each kind of thing at an end, inside or as it is."""
    limits, numbers, categories, base = claim.limits, claim.numbers, claim.categories, claim.base
    places = rng.random(len(numbers.rows))
    kind = rng.choice(3)
    if kind:
        places = np.where(rng.random(len(places)) < 0.5 * kind, np.round(places), places)
    values = np.clip(numbers.low + places * (numbers.high - numbers.low), numbers.low, numbers.high)
    levels = (rng.random(len(categories.rows)) * (categories.stop - categories.first)).astype(np.intp)
    for group, limit in ((HOLES, limits.holes), (WRONG, limits.wrong_cells)):
        if limit is None:
            continue
        units = np.concatenate([numbers.group == group, categories.group == group])
        back = units.copy()
        back[rng.permutation(np.flatnonzero(units))[:limit]] = False
        stay, keep = back[: len(values)], back[len(values) :]
        values, levels = np.where(stay, base.numbers, values), np.where(keep, base.levels, levels)
    y, weight = base.y.copy(), base.weight.copy()
    low, high = claim.targets
    y = np.where(low < high, np.clip(low + rng.random(len(y)) * (high - low), low, high), y)
    y[claim.free_labels] = rng.choice([-1.0, 1.0], size=len(claim.free_labels))
    flippable = np.setdiff1d(np.arange(len(y)), claim.free_labels)
    flipped = rng.permutation(flippable)[: limits.labels]
    y[flipped] = -y[flipped]
    weight[rng.permutation(len(weight))[: limits.rows]] = 0.0
    return Filling(values, levels, y, weight)


def attempts(
    claim: Claim, goal: Goal, rng: np.random.Generator, retrain: Callable[[Filling], Model]
) -> Iterator[Filling]:
    """Yield fillings whose models were trained, towards a goal: at ends first, then inside intervals."""
    start = base_filling(claim, rng) if rng.random() < 0.5 else random_filling(claim, rng)
    model = retrain(start)
    best: tuple[float, Filling] = (-np.inf, start)
    for _ in range(ROUNDS):
        value = goal.side * float(goal.row @ model.w)
        if value > best[0]:
            best = value, start
        tried = pushed(claim, start, model, goal, rng)
        if all(np.array_equal(a, b) for a, b in zip(tried, start, strict=True)):
            break
        start, model = tried, retrain(tried)
        yield start
    if goal.side * float(goal.row @ model.w) > best[0]:
        best = 0.0, start
    which = may_move(claim, best[1], rng)
    if len(which):
        yield moved_inside(claim, best[1], goal, which, retrain)
