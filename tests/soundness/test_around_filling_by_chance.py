"""Bounds for random moves around a filled-in table fail no more often than they may (Theorem 10)."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.stats import binom

from ipub.certificates.around_filling.attempt import certify_around
from ipub.certificates.around_filling.bounds import FilledEllipsoid
from ipub.certificates.around_filling.filled_table import FilledTable
from ipub.certificates.around_filling.hessian_loss import _loss_by_chance, hessian_loss
from ipub.certificates.around_filling.moves import BudgetMoves
from ipub.certificates.around_filling.random_moves import (
    RandomMoves,
    RowEvents,
    _chord_bound,
    _subgaussian_norm,
    log_inverse_upper,
)
from ipub.certificates.around_filling.table_metric import Metric
from ipub.certificates.around_filling.units import MovableRows
from ipub.losses import LOSSES
from ipub.penalties import ElasticNet
from support.cases import train
from support.fillings import FilledCase

Generator = np.random.Generator
N_DRAWS = 300
ALLOWANCE = 1e-7
"""A law is accused if so many failures or more have less than this probability where each fails with delta."""


def signs(n: int) -> np.ndarray:
    """Return all vectors of n signs."""
    return np.array(list(itertools.product([-1.0, 1.0], repeat=n)))


@pytest.mark.parametrize("delta", [0.3, 0.1, 0.02])
@pytest.mark.parametrize("mean", [0.0, 0.3])
def test_sums_exceed_the_chord_bound_no_more_often_than_delta_for_every_two_point_law(delta, mean):
    rng = np.random.default_rng([1, int(100 * delta)])
    for trial in range(6):
        sizes = rng.uniform(size=12) ** (1 + trial)
        all_signs = signs(12)
        probabilities = np.prod(np.where(all_signs > 0.0, 0.5 * (1.0 + mean), 0.5 * (1.0 - mean)), axis=1)
        sums = all_signs @ sizes
        exponents = np.geomspace(0.05, 20.0, 30)
        (bound,) = _chord_bound(sizes[None], sizes[None], mean * sizes[None], delta, exponents)
        assert probabilities[sums > bound].sum() <= delta
        # It is not far from the quantile, or the worst case: an error of a third would be noticed.
        least = min(t for t in np.sort(sums) if probabilities[sums > t].sum() <= delta)
        assert bound <= sizes.sum() * (1.0 + 1e-12)
        assert bound <= max(2.2 * least, 1.6 * np.sqrt(2.0 * np.log(1 / delta) * (sizes @ sizes)) + mean * sizes.sum())


def test_the_chord_bound_is_the_worst_case_where_the_mean_may_be_at_the_end():
    sizes = np.array([[1.0, 2.0, 0.5]])
    (bound,) = _chord_bound(sizes, sizes, sizes, 0.1, np.geomspace(0.1, 10.0, 9))
    assert 3.5 <= bound <= 3.5 * (1.0 + 1e-12)


def test_the_chord_bound_is_attained_by_one_block_that_is_rarely_large():
    # Y = 1 with probability .1, else 0: at delta < .1 nothing below 1 is a bound.
    (bound,) = _chord_bound(np.ones((1, 1)), np.zeros((1, 1)), np.full((1, 1), 0.1), 0.09, np.geomspace(0.1, 50.0, 40))
    assert bound >= 1.0


@pytest.mark.parametrize("delta", [0.3, 0.1, 0.02])
@pytest.mark.parametrize("d", [1, 2, 3])
def test_norms_of_random_sums_exceed_their_bound_no_more_often_than_delta(delta, d):
    rng = np.random.default_rng([2, d])
    movable = MovableRows.of_numbers(np.arange(12), np.zeros(12, dtype=int), np.ones(12), np.ones(12))
    for blocks in ("rows", "cells"):
        Z = rng.normal(size=(12, d))
        chance = RandomMoves(bias=0.0, delta=0.1, blocks=blocks)
        (bound,) = chance.norm_upper(movable, Z[None], np.zeros((1, 12)), delta)
        norms = np.linalg.norm(signs(12) @ Z, axis=1)
        assert np.mean(norms > bound) <= delta
        assert np.mean(norms > 0.4 * bound) > delta


def test_norms_of_sums_whose_rows_are_locked_exceed_their_bound_no_more_often_than_delta():
    # Three units in each of four rows, which move together: the law that is worst for a block.
    rng = np.random.default_rng(3)
    movable = MovableRows.of_numbers(np.repeat(np.arange(4), 3), np.tile(np.arange(3), 4), np.ones(12), np.ones(12))
    Z = np.repeat(rng.normal(size=(4, 1)), 3, axis=0) * rng.uniform(0.5, 1.0, size=(12, 1))
    locked = np.repeat(signs(4), 3, axis=1)
    for delta in (0.3, 0.1):
        (bound,) = RandomMoves(bias=0.0).norm_upper(movable, Z[None], np.zeros((1, 12)), delta)
        assert np.mean(np.abs(locked @ Z[:, 0]) > bound) <= delta


def test_a_mean_that_is_off_is_part_of_the_norm():
    movable = MovableRows.of_numbers(np.arange(12), np.zeros(12, dtype=int), np.ones(12), np.full(12, 0.5))
    Z, error = np.ones((1, 12, 1)), np.zeros((1, 12))
    none, some = (RandomMoves(bias=bias).norm_upper(movable, Z, error, 0.1)[0] for bias in (0.0, 0.4))
    # Half-widths are 3/4 of the longer way, which the generator has.
    assert some >= none + 0.4 * 0.75 * 12
    assert _subgaussian_norm(np.array([[12.0]]), 0.1)[0] == pytest.approx(none, rel=1e-6)


def test_the_hessian_loses_more_than_its_bound_no_more_often_than_delta():
    rng = np.random.default_rng(4)
    for loss, size in (("squared_error", 0.2), ("log_loss", 0.2), ("squared_error", 1.0)):
        case = rows_with_one_hole(rng, loss, n=12, size=size)
        w = train(case.problem).w
        chance = RandomMoves(bias=0.0, delta=0.5, claim="all")
        table = FilledTable.of(case.problem, w, case.movable, chance)
        assert table is not None
        metric = Metric.of(table, np.ones(len(table.X)))
        assert metric is not None
        bound = _loss_by_chance(metric, chance)
        assert hessian_loss(metric) <= bound + 1e-9
        losses = []
        for moves in signs(12)[::5]:
            X = case.X.copy()
            X[np.arange(12), 0] += moves * size
            X = np.column_stack([X, np.ones(12)])
            hessian = (X * (table.m * case.loss.curvature(case.y, X @ w))[:, None]).T @ X + np.diag(table.lam)
            losses.append(1.0 - np.linalg.eigvalsh(metric.K @ hessian @ metric.K.T)[0])
        assert np.mean(np.array(losses) > bound) <= chance.delta_hessian
        # Whatever the sign, some loss is there: an error of a factor of eight would be noticed.
        assert np.mean(np.array(losses) > 0.12 * bound) > chance.delta_hessian


def rows_with_one_hole(rng: Generator, loss: str, n: int, size: float) -> FilledCase:
    """Return a table whose first column may move by `size` in every row, with an intercept."""
    X = rng.normal(size=(n, 2))
    y = np.where(rng.random(n) < 0.5, 1.0, -1.0)
    y[:2] = [1.0, -1.0]
    movable = MovableRows.of_numbers(np.arange(n), np.zeros(n, dtype=int), np.full(n, size), np.full(n, size))
    X_test = np.column_stack([rng.normal(size=(4, 2)), np.ones(4)])
    return FilledCase(X, y, None, LOSSES[loss], ElasticNet(1.0, 0.0, 1), movable, X_test)


def rows_with_several_holes(rng: Generator, loss: str, blocks: int, size: float) -> FilledCase:
    """Return a table with asymmetric intervals, up to three in a row."""
    case = rows_with_one_hole(rng, loss, n=3 * blocks, size=size)
    rows = np.repeat(np.arange(blocks), 2)
    columns = np.tile([0, 1], blocks)
    below, above = size * rng.uniform(0.3, 1.0, size=(2, len(rows)))
    movable = MovableRows.of_numbers(rows, columns, below, above)
    return FilledCase(case.X, case.y, None, case.loss, case.penalty, movable, case.X_test)


def draw(rng: Generator, law: str, below: np.ndarray, above: np.ndarray, rows: np.ndarray, bias: float) -> np.ndarray:
    """Draw moves whose means are at most `bias` half-widths from 0."""
    shift = bias * 0.5 * (below + above)
    share = np.clip((below + shift) / (below + above), 0.0, 1.0)  # P(up) of a two-point law with this mean
    if law == "two-point":
        return np.where(rng.random(len(below)) < share, above, -below)
    if law == "row-locked":
        return np.where(rng.random(rows.max() + 1)[rows] < share, above, -below)
    if law == "uniform":
        half = np.minimum(below, above)
        return np.minimum(half * rng.uniform(-1.0, 1.0, size=len(below)) + np.minimum(shift, above - half), above)
    # rarely far up, else a little below
    rare, little = 0.1, np.minimum(below, above * 0.1 / 0.9)
    return np.where(rng.random(len(below)) < rare, little * (1.0 - rare) / rare, -little)


def newton(X: np.ndarray, case: FilledCase, start: np.ndarray) -> np.ndarray:
    """Retrain with Newton steps from a near model: more than enough beside the width of bounds."""
    lam, w = np.append(np.full(X.shape[1] - 1, case.penalty.lam), 0.0), start.copy()
    for _ in range(12):
        score = X @ w
        gradient = case.loss.derivative(case.y, score) @ X / len(X) + lam * w
        step = np.linalg.solve(
            (X * case.loss.curvature(case.y, score)[:, None]).T @ X / len(X) + np.diag(lam), gradient
        )
        w = w - step
        if np.abs(step).max() < 1e-12:
            break
    return w


@pytest.mark.parametrize("loss", ["log_loss", "squared_error"])
@pytest.mark.parametrize("law", ["two-point", "row-locked", "uniform", "skewed"])
@pytest.mark.parametrize("bias", [0.0, 0.3])
def test_bounds_fail_no_more_often_than_delta_under_many_laws(loss, law, bias):
    rng = np.random.default_rng([5, len(loss), len(law), int(10 * bias)])
    n_closed = 0
    for delta, blocks in itertools.product((0.3, 0.1), ("rows", "cells")):
        if law == "row-locked" and blocks == "cells":
            continue
        case = rows_with_several_holes(rng, loss, blocks=6, size=0.3)
        solution = train(case.problem)
        chance = RandomMoves(bias, delta, blocks, "rows", len(case.X_test))
        attempt = certify_around(case.problem, solution, case.movable, chance)
        claim_for_all = certify_around(case.problem, solution, case.movable, RandomMoves(bias, delta, blocks, "all"))
        if attempt.bounds is None or claim_for_all.bounds is None:
            continue
        n_closed += 1
        assert isinstance(claim_for_all.bounds, FilledEllipsoid)
        movable = case.movable
        rows = movable.rows[movable.unit_row]
        starts = movable.option_starts
        below, above = -movable.option_amounts[starts, 0], movable.option_amounts[starts + 1, 0]
        columns = movable.option_columns[starts, 0]
        ends = [bounds.ends(case.X_test) for bounds in (attempt.bounds, claim_for_all.bounds)]
        failures = np.zeros(2, dtype=int)
        for _ in range(N_DRAWS):
            X = case.X.copy()
            X[rows, columns] += draw(rng, law, below, above, rows, bias)
            scores = case.X_test @ newton(np.column_stack([X, np.ones(len(X))]), case, solution.w)
            failures += [bool(((scores < low) | (scores > high)).any()) for low, high in ends]
        assert (failures <= binom.isf(ALLOWANCE, N_DRAWS, delta)).all()
    assert n_closed > 0


def test_random_moves_are_no_worse_than_any_moves_and_better_where_there_are_many():
    rng = np.random.default_rng(6)
    case = rows_with_one_hole(rng, "log_loss", n=60, size=0.1)
    solution = train(case.problem)
    widths = []
    for moves in (RandomMoves(bias=0.0, delta=0.1), RandomMoves(bias=1.0, delta=0.1), BudgetMoves((60,))):
        attempt = certify_around(case.problem, solution, case.movable, moves)
        assert attempt.bounds is not None
        low, high = attempt.bounds.ends(case.X_test)
        widths.append((high - low).mean())
    assert widths[0] < 0.75 * widths[2]
    assert widths[1] <= 1.0001 * widths[2]


def test_the_probabilities_of_all_events_sum_to_delta():
    chance = RandomMoves(delta=0.2)
    row, training = chance.events(), chance.training_events(50)
    total = 2 * row.end + row.product + chance.delta_force + chance.delta_hessian
    total += 50 * (2 * training.end + training.product)
    assert total == pytest.approx(0.2, rel=1e-12)
    claimed = RandomMoves(delta=0.2, claim="rows", n_rows=7).events()
    assert isinstance(claimed, RowEvents)
    assert claimed.end == pytest.approx(row.end / 7)
    assert claimed.product == pytest.approx(row.product / 7)
    everything = RandomMoves(delta=0.2, claim="all")
    assert everything.delta_force + everything.delta_hessian == pytest.approx(0.2)
    assert log_inverse_upper(0.2) >= np.log(5.0)
