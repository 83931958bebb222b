"""Rows of several parts: every line, form and force of thm-slopes holds for every level, label and move."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import pytest

from ipub import BoundedRegressor, IntervalMatrix
from ipub.certificates import bounds_of_uncertain_rows
from ipub.certificates.slopes.assemble import slope_bounds
from ipub.certificates.slopes.l1_signs import L1Signs
from ipub.certificates.slopes.linearization import Linearization, linearize
from ipub.certificates.slopes.prove_moves import force_upper
from ipub.certificates.uncertain_rows import MOST_COMBINATIONS, every_level
from ipub.losses import LOSSES
from ipub.losses.penalties import ElasticNet
from ipub.model_sets.move_sets import MoveSet
from ipub.numeric.rounding import overflow_means_unbounded
from ipub.problem.objective import Problem
from ipub.rows import MemoryRows, with_intercept_column, with_label_uncertainty, with_labels
from ipub.tables.label_uncertainty import LabelUncertainty
from ipub.tables.missing_category import Levels, MissingCategories
from support.cases import train
from support.moves import every_form

SMOOTH = tuple(name for name, loss in LOSSES.items() if loss.is_smooth)


@dataclass(frozen=True)
class Box(MoveSet):
    """All moves v with ``|v_j| <= limits_j``."""

    limits: np.ndarray

    def max_score_move(self, X: np.ndarray) -> np.ndarray:
        return np.abs(X) @ self.limits


@dataclass(frozen=True)
class Parts:
    """A problem whose first row has an uncertain cell, two missing categories and perhaps a doubtful label."""

    problem: Problem
    completions: list[tuple[np.ndarray, np.ndarray, np.ndarray]]
    """Tables, targets and weights over the total weight."""

    def draw_moves(self, rng: np.random.Generator, limits: np.ndarray) -> Iterator[np.ndarray]:
        yield np.zeros_like(limits)
        for _ in range(6):
            yield limits * rng.choice([-1.0, 1.0], size=len(limits))


def draw_parts(rng: np.random.Generator, loss_name: str, doubt: bool, intercept: bool) -> Parts:
    sizes, loss = (int(rng.integers(2, 4)), int(rng.integers(2, 5))), LOSSES[loss_name]
    n, d = 5, 1 + sum(sizes)
    table = np.concatenate([rng.normal(size=(n, 1)), *(np.eye(c)[rng.integers(0, c, size=n)] for c in sizes)], axis=1)
    missing = np.zeros((n, 2), dtype=bool)
    missing[0] = missing[1, rng.integers(2)] = True
    levels = [Levels(np.arange(1, 1 + sizes[0])), Levels(np.arange(1 + sizes[0], d))]
    missing_categories = MissingCategories.of(missing, levels)
    missing_categories.put(table)
    radius = np.zeros((n, d))
    radius[0, 0] = float(rng.choice([0.0, 0.25, 1.0]))
    matrix = replace(IntervalMatrix.from_bounds(table - radius, table + radius), missing_categories=missing_categories)
    y = rng.normal(size=n) if loss.task == "regression" else rng.choice([-1.0, 1.0], size=n)
    weight = np.where(missing.any(axis=1), 1.0, 0.1)
    tables = []
    for side, chosen in itertools.product(
        (-1.0, 1.0), itertools.product(*(range(sizes[k]) for k in missing_categories.categories))
    ):
        filled = table + side * radius
        missing_categories.put(filled, np.array(chosen))
        tables.append(filled)
    labels = [(y, weight / weight.sum())]
    rows = MemoryRows(matrix, y, weight)
    if doubt and loss.task == "regression":
        off = np.zeros(n)
        off[0] = float(rng.choice([0.25, 1.0]))
        rows = with_label_uncertainty(rows, LabelUncertainty(off, np.zeros(n)))
        labels = [(y + side * off, weight / weight.sum()) for side in (-1.0, 1.0)]
    elif doubt:
        twice, share = np.append(np.arange(n), 0), np.zeros(n + 1)
        share[[0, n]] = 1.0
        y, half = y[twice], weight[twice] * np.where(share > 0.0, 0.5, 1.0)
        y[[0, n]] = 1.0, -1.0
        rows = MemoryRows(matrix.take(twice), y, half, label_uncertainty=LabelUncertainty(np.zeros(n + 1), share))
        tables = [filled[twice] for filled in tables]
        both = np.array([1.0, -1.0])
        labels = []
        for sign in both:
            settled = half.copy()
            settled[[0, n]] *= 1.0 + sign * both
            labels.append((y, settled / half.sum()))
    if intercept:
        tables = [np.column_stack([filled, np.ones(len(filled))]) for filled in tables]
    penalty = ElasticNet(10.0 ** rng.uniform(-1.0, 0.5), 0.0, n_free=int(intercept))
    problem = Problem(with_intercept_column(rows) if intercept else rows, loss, penalty)
    return Parts(problem, [(filled, *label) for filled in tables for label in labels])


def laid(rng: np.random.Generator, parts: Parts) -> tuple[Linearization, np.ndarray]:
    """Return the lines about a model that need not be trained, and how far it may move."""
    solution = train(parts.problem)
    w = solution.w * rng.choice([1.0, 1.0, -1.0]) + 10.0 ** rng.uniform(-3.0, 0.0) * rng.normal(size=len(solution.w))
    limits = 10.0 ** rng.uniform(-3.0, 0.0, size=len(w))
    return linearize(parts.problem, replace(solution, w=w), Box(limits)), limits


def gradient(model: Linearization, completion: tuple[np.ndarray, ...], w: np.ndarray) -> np.ndarray:
    table, y, weight = completion
    lam = model.problem.penalty.lam_vector(len(w))
    return lam * w + (weight * model.problem.loss.derivative(y, table @ w)) @ table


def broken(rng: np.random.Generator, loss_name: str, doubt: bool, intercept: bool) -> set[str]:
    """Return what does not hold for some level, label and move of a problem."""
    parts = draw_parts(rng, loss_name, doubt, intercept)
    model, limits = laid(rng, parts)
    w, loss, wrong = model.w, parts.problem.loss, set()
    U = np.vstack([np.eye(len(w)), rng.normal(size=(6, len(w)))])
    bounds = slope_bounds(model, L1Signs.undecided(w), None)
    assert bounds is not None
    least, metric = model.hessian_lower(), model.curvature + 0.1 * np.eye(len(w))
    force = force_upper(model, metric)
    with overflow_means_unbounded():
        ends = {name: form.forces(U) for name, form in every_form(bounds).items()}
    for completion in parts.completions:
        table, y, weight = completion
        here = gradient(model, completion, w)
        if np.sqrt(here @ np.linalg.solve(metric, here)) > force * (1.0 + 1e-9):
            wrong.add("force")
        for v in parts.draw_moves(rng, limits):
            rest = U @ (gradient(model, completion, w + v) - bounds.curvature @ v)
            slack = 1e-9 * (1.0 + np.abs(rest))
            wrong |= {
                name for name, (low, high) in ends.items() if ((rest < low - slack) | (rest > high + slack)).any()
            }
            move = table @ v
            change = loss.derivative(y, table @ (w + v)) - loss.derivative(y, table @ w)
            secant = np.where(
                np.abs(move) > 1e-7, change / np.where(move == 0.0, 1.0, move), loss.curvature(y, table @ w)
            )
            hessian = (table * (weight * secant)[:, None]).T @ table
            hessian += np.diag(parts.problem.penalty.lam_vector(len(w)))
            if np.linalg.eigvalsh(hessian - least)[0] < -1e-6 * np.abs(hessian).max():
                wrong.add("curvature")
    return wrong


@pytest.mark.parametrize("doubt", [False, True], ids=["certain labels", "uncertain labels"])
@pytest.mark.parametrize("loss_name", SMOOTH)
def test_lines_forms_and_forces_hold_for_every_level_label_and_move(loss_name, doubt):
    rng = np.random.default_rng([41, SMOOTH.index(loss_name), doubt])
    for k in range(12):
        assert broken(rng, loss_name, doubt, intercept=k % 2 == 1) == set()


def exact_bounds(models: np.ndarray, X: np.ndarray) -> np.ndarray:
    scores = X @ models.T
    return np.column_stack([scores.min(axis=1), scores.max(axis=1)])


@pytest.mark.parametrize("sizes", [(2, 3), (3, 2, 2), (16, 17), (17, 16, 2), (300, 2)])
def test_every_combination_of_levels_of_a_test_row_is_bounded(sizes):
    """Beyond MOST_COMBINATIONS some category is a box, which is wider; up to it, bounds are exact."""
    rng = np.random.default_rng(sum(sizes))
    starts = 1 + np.concatenate([[0], np.cumsum(sizes)])
    levels = [Levels(np.arange(a, b)) for a, b in itertools.pairwise(starts)]
    models = rng.normal(size=(4, starts[-1]))
    center = np.column_stack([rng.normal(size=3), *(np.eye(c)[rng.integers(0, c, size=3)] for c in sizes)])
    missing = np.array([[True] * len(sizes), [False] * (len(sizes) - 1) + [True], [False] * len(sizes)])
    missing_categories = MissingCategories.of(missing, levels)
    missing_categories.put(center)
    cells = np.array([0, 2]), np.array([0, 0]), np.array([0.5, 0.25])
    coef_bounds = np.column_stack([models.min(axis=0), models.max(axis=0)])
    bounds = bounds_of_uncertain_rows(lambda X: exact_bounds(models, X), center, cells, coef_bounds, missing_categories)
    for row in range(3):
        spread = np.bincount(cells[0], cells[2], minlength=3)[row]
        scores = models[:, :1] * (center[row, 0] + spread * np.array([-1.0, 1.0]))
        low, high = scores.min(axis=1), scores.max(axis=1)
        for k, each in enumerate(levels):
            part = models[:, each.columns]
            at = part if missing[row, k] else (part @ center[row, each.columns])[:, None]
            low, high = low + at.min(axis=1), high + at.max(axis=1)
        assert bounds[row, 0] <= low.min() + 1e-12
        assert bounds[row, 1] >= high.max() - 1e-12
        if np.prod(np.array(sizes)[missing[row]]) <= MOST_COMBINATIONS:
            np.testing.assert_allclose(bounds[row], [low.min(), high.max()], atol=1e-9)
    assert len(every_level(center, cells, missing_categories)[0]) <= MOST_COMBINATIONS + max(sizes[-1], 1) + 1


@pytest.mark.parametrize("scale", ["standard", "minmax"])
def test_levels_of_an_interval_matrix_survive_scaling_or_are_refused(scale):
    """Scaled columns of a category are no longer 0 and 1: either they stay as they are, or this is refused."""
    rng = np.random.default_rng(0)
    number, level = rng.normal(size=30), rng.integers(0, 3, size=30)
    whole = np.column_stack([number, np.eye(3)[level]])
    y, missing = number + np.array([0.0, 1.0, 5.0])[level], np.zeros((30, 1), dtype=bool)
    missing[:2] = True
    missing_categories = MissingCategories.of(missing, [Levels(np.arange(1, 4))])
    holed = whole.copy()
    missing_categories.put(holed)
    matrix = replace(IntervalMatrix.from_bounds(holed, holed), missing_categories=missing_categories)
    X = np.column_stack([np.zeros(3), np.eye(3)])
    try:
        model = BoundedRegressor(alpha=0.1, scale=scale).fit(matrix, y)
    except ValueError:
        return
    low, high = model.predict_bounds(X).T
    for chosen in itertools.product(range(3), repeat=2):
        table = whole.copy()
        table[:2, 1:] = np.eye(3)[list(chosen)]
        scaled = model.scaling_.rows(table)
        exact = BoundedRegressor(alpha=0.1).fit(scaled, y).predict(model.scaling_.rows(X))
        assert (low <= exact + 1e-6).all()
        assert (exact <= high + 1e-6).all()


@pytest.mark.parametrize("own", [1e-6, 0.1])
def test_a_choice_meets_the_moves_of_the_rest_of_its_row(own):
    """Levels far apart and w' = 0 leave nothing of lem-levels but products with v, the row's other parts included."""
    rng = np.random.default_rng(5)
    for _ in range(20):
        parts = draw_parts(rng, "squared_error", doubt=False, intercept=False)
        rows = with_labels(parts.problem.rows, np.full(5, 20.0), parts.problem.rows.labels().weight)
        problem, w = replace(parts.problem, rows=rows), np.zeros(rows.n_features)
        first = rows.categories[0].columns
        limits = np.full(len(w), 1e-6)
        limits[0], limits[first] = 0.5, own
        model = linearize(problem, replace(train(problem), w=w), Box(limits))
        bounds = slope_bounds(model, L1Signs.undecided(w), None)
        # The center's products with these are 0.
        U = np.eye(len(w))[first[:-1]] - np.eye(len(w))[first[1:]]
        with overflow_means_unbounded():
            low, high = bounds.forces(U)
        for table, _, weight in parts.completions:
            for v in parts.draw_moves(rng, limits):
                rest = U @ (gradient(model, (table, rows.labels().y, weight), v) - bounds.curvature @ v)
                assert (low <= rest + 1e-9).all()
                assert (rest <= high + 1e-9).all()


def test_products_of_two_levels_with_a_move_differ_by_no_more_than_is_kept():
    """lem-levels-product: the products of a row's levels with v, for moves to every corner of a box of equal sides."""
    rng = np.random.default_rng(6)
    for _ in range(20):
        problem = draw_parts(rng, "squared_error", doubt=False, intercept=False).problem
        solution, d = train(problem), problem.rows.n_features
        model, n_pairs = linearize(problem, solution, Box(np.full(d, 0.5))), 0
        for terms, sides in itertools.product(model.cells.choices, itertools.product((-0.5, 0.5), repeat=d)):
            u, v = rng.normal(size=d), np.array(sides)
            u[terms.levels.columns] *= rng.choice([0.0, 1.0])
            z, along = terms.levels.changes(u), terms.levels.changes(v)
            across, moved = (terms.rows @ u)[:, None], (terms.rows @ v)[:, None]
            products = terms.weighted_slope[:, None] * ((across + z) * along + z * moved)
            gap = np.abs(products[:, :, None] - products[:, None, :])
            kept = terms.product_row[:, None, None] * (np.abs(across) + np.abs(z))[:, None, :]
            kept = kept + terms.product_level[:, None, None] * np.abs(z[:, None] - z)
            assert (gap <= kept * (1.0 + 1e-9) + 1e-12).all()
            n_pairs += gap.size
        assert n_pairs > 0


@pytest.mark.parametrize("limits", [(0.5, 0.2, 0.4), (1.0, 0.0, 0.0), (0.0, 0.0, 3.0)])
def test_no_level_moves_a_score_by_more_than_is_said_for_all_moves(limits):
    levels = Levels(np.arange(1, 4))
    missing_categories = MissingCategories.of(np.array([[True]]), [levels])
    most = missing_categories.score_change_within(np.array([9.0, *limits]))
    for sides in itertools.product((-1.0, 1.0), repeat=3):
        moved = levels.changes(np.array([9.0, *np.multiply(sides, limits)]))
        assert np.abs(moved).max() <= most[0] * (1.0 + 1e-12)


@pytest.mark.parametrize("cell", [-1.0, 0.5, 1.0])
def test_a_line_reaches_as_far_as_a_cell_moves_the_score(cell):
    """The weight of the cell is 0 in w' and not in w'': the center of the row does not move at all."""
    table, radius = np.array([[1.0, 0.0]]), np.array([[0.0, 1.0]])
    rows = MemoryRows(IntervalMatrix.from_bounds(table - radius, table + radius), np.ones(1))
    problem = Problem(rows, LOSSES["log_loss"], ElasticNet(1.0, 0.0))
    w, v = np.zeros(2), np.array([0.0, 2.0])
    lines = linearize(problem, replace(train(problem), w=w), Box(v)).incomplete.lines
    scores = np.array([0.0, cell * v[1]])
    slope = np.subtract(*problem.loss.derivative(np.ones(2), scores)) / np.subtract(*scores)
    assert lines.least_slope[0] <= slope <= lines.greatest_slope[0]


@pytest.mark.parametrize("missing", [False, True], ids=["complete row", "row with a missing category"])
@pytest.mark.parametrize("sign", [-1.0, 1.0])
def test_where_one_class_is_flat_an_unknown_label_may_take_all_the_curvature_or_none(sign, missing):
    """Squared hinge at a score of 3: one entry of the row is on its line, the other flat, whatever the move."""
    table = np.array([[sign, 1.0, 0.0], [0.5, 0.0, 1.0], [-0.5, 1.0, 0.0], [sign, 1.0, 0.0]])
    missing_categories = MissingCategories.of(
        np.array([[missing], [False], [False], [missing]]), [Levels(np.arange(1, 3))]
    )
    missing_categories.put(table)
    matrix = replace(IntervalMatrix.from_bounds(table, table), missing_categories=missing_categories)
    y, share = np.array([1.0, 1.0, -1.0, -1.0]), np.array([1.0, 0.0, 0.0, 1.0])
    weight = np.array([0.5, 0.01, 0.01, 0.5])
    rows = MemoryRows(matrix, y, weight, label_uncertainty=LabelUncertainty(np.zeros(4), share))
    problem = Problem(rows, LOSSES["squared_hinge"], ElasticNet(0.1, 0.0))
    w, limits = np.array([3.0, 0.0, 0.0]), np.array([1.0, 1e-3, 1e-3])
    model = linearize(problem, replace(train(problem), w=w), Box(limits))
    bounds, least = slope_bounds(model, L1Signs.undecided(w), None), model.hessian_lower()
    U = np.eye(3)
    with overflow_means_unbounded():
        ends = [form.forces(U) for form in every_form(bounds).values()]
    for level, side, theta in itertools.product((0, 1) if missing else (0,), (-1.0, 1.0), (-1.0, 1.0)):
        filled = table.copy()
        missing_categories.put(filled, np.full(len(missing_categories), level))
        settled = weight * (1.0 + theta * share * y) / weight.sum()
        v = side * limits
        change = gradient(model, (filled, y, settled), w + v) - gradient(model, (filled, y, settled), w)
        rest = U @ (gradient(model, (filled, y, settled), w + v) - bounds.curvature @ v)
        for low, high in ends:
            assert (low <= rest + 1e-9).all()
            assert (rest <= high + 1e-9).all()
        # The mean Hessian along v is change.v, and L is below it.
        assert v @ least @ v <= change @ v + 1e-9


def test_the_force_is_that_of_the_levels_and_not_of_their_mean():
    """A level's gradient is beyond that of the center, which no level has."""
    rng = np.random.default_rng(8)
    for _ in range(30):
        c = int(rng.integers(2, 5))
        table = np.vstack([np.full(c, 1.0 / c), np.eye(c)[:1]])
        missing = np.array([[True], [False]])
        missing_categories = MissingCategories.of(missing, [Levels(np.arange(c))])
        missing_categories.put(table)
        matrix = replace(IntervalMatrix.from_bounds(table, table), missing_categories=missing_categories)
        rows = MemoryRows(matrix, np.zeros(2), np.array([1.0, 1e-3]))
        problem = Problem(rows, LOSSES["squared_error"], ElasticNet(float(rng.choice([0.5, 1.0, 2.0])), 0.0))
        w = rng.normal(size=c)
        model = linearize(problem, replace(train(problem), w=w - w.mean()), Box(np.zeros(c)))
        for metric in (np.eye(c), model.curvature):
            force = force_upper(model, metric)
            for level in range(c):
                filled = table.copy()
                missing_categories.put(filled, np.array([level]))
                here = gradient(model, (filled, rows.y, rows.weight / rows.total_weight), model.w)
                assert np.sqrt(here @ np.linalg.solve(metric, here)) <= force * (1.0 + 1e-9)


@pytest.mark.parametrize("part", ["cell", "category"])
def test_the_force_of_a_doubtful_target_reaches_the_uncertain_part_of_its_row(part):
    """With w' = 0 and y = 0 the gradient is that of the doubt alone, times a completion of the row."""
    c = 4
    table = np.vstack([np.full(c, 0.25 if part == "category" else 0.0), np.eye(c)[:1]])
    missing_categories = MissingCategories.of(np.array([[part == "category"], [False]]), [Levels(np.arange(c))])
    radius = np.zeros_like(table)
    radius[0, 0] = 0.0 if part == "category" else 1.0
    matrix = replace(IntervalMatrix.from_bounds(table - radius, table + radius), missing_categories=missing_categories)
    doubt = LabelUncertainty(np.array([1.0, 0.0]), np.zeros(2))
    rows = MemoryRows(matrix, np.zeros(2), np.array([1.0, 1e-3]), doubt)
    problem = Problem(rows, LOSSES["squared_error"], ElasticNet(1.0, 0.0))
    model = linearize(problem, replace(train(problem), w=np.zeros(c)), Box(np.zeros(c)))
    filled = np.eye(c)[[0, 0]]
    here = gradient(model, (filled, np.array([1.0, 0.0]), rows.weight / rows.total_weight), model.w)
    assert np.linalg.norm(here) <= force_upper(model, np.eye(c)) * (1.0 + 1e-9)


def test_a_doubtful_target_may_take_the_curvature_of_a_row_near_the_kink():
    """Huber's loss: on its line at the middle of the target's interval, beyond the kink at an end."""
    table = np.array([[1.0], [1.0]])
    rows = MemoryRows(IntervalMatrix.from_bounds(table, table), np.zeros(2), np.array([1.0, 1e-3]))
    rows = with_label_uncertainty(rows, LabelUncertainty(np.array([0.5, 0.0]), np.zeros(2)))
    problem = Problem(rows, LOSSES["huber"], ElasticNet(0.1, 0.0))
    w, v = np.array([0.8]), np.array([0.1])
    model = linearize(problem, replace(train(problem), w=w), Box(v))
    weight = rows.labels().weight / rows.total_weight
    for target in (-0.5, 0.5):
        ends = (gradient(model, (table, np.array([target, 0.0]), weight), w + step) for step in (v, 0.0 * v))
        assert v @ model.hessian_lower() @ v <= v @ np.subtract(*ends) + 1e-9
