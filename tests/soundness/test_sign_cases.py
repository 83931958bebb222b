"""Undecided signs case by case (Theorem 19), by themselves: exact models, any multipliers, weights of both signs."""

from __future__ import annotations

import sys
from dataclasses import replace
from fractions import Fraction
from functools import cache
from itertools import product

import numpy as np
import pytest

from ipub import BoundedRegressor
from ipub.certificates import SlopeBounds, slope
from ipub.certificates.slope.sign_cases import SignCases, _by_case, _Split
from ipub.losses import LOSSES
from ipub.penalties import ElasticNet
from ipub.rounding import overflow_means_unbounded
from support.cases import Case, draw_solution, intervals, train
from support.exact_proofs import assert_proven, exact_completions
from support.oracles.exact import ExactModel, exact_model
from support.oracles.rationals import holds

sign_cases_module = sys.modules[SignCases.__module__]

N_WEIGHTS = 3
LOSS_NAMES = ("squared_error", "huber", "log_loss")
MODELS = ("trained", "noisy")
SEEDS = range(4)


def with_kappa(case: Case, kappa: float) -> Case:
    return replace(case, penalty=replace(case.penalty, kappa=kappa))


@cache
def drawn(loss_name: str, seed: int) -> Case:
    """Draw a table with two holes and a penalty at which the model is about to lose a weight."""
    rng = np.random.default_rng([len(loss_name), seed])
    loss, n = LOSSES[loss_name], 5
    table, radius = rng.normal(size=(n, N_WEIGHTS)), np.full((n, N_WEIGHTS), np.nan)
    radius.flat[rng.choice(table.size, size=2, replace=False)] = 10.0 ** rng.uniform(-2.5, -0.5, size=2)
    y = rng.normal(size=n) if loss.task == "regression" else rng.permutation([-1.0, 1.0, -1.0, 1.0, 1.0])
    case = Case(intervals(table, radius), y, None, loss, ElasticNet(0.3), rng.normal(size=(3, N_WEIGHTS)))
    if seed % 4 == 3:  # hardly any l1 part, and a column that the labels hardly depend on: its weight has either sign
        radius[0, 0] = 0.3
        table[:, 0] -= (table[:, 0] @ y) / (y @ y) * y
        return with_kappa(replace(case, matrix=intervals(table, radius)), 1e-4)
    few, many = 2.0 * float(np.abs(table.T @ y).max()) / n, 0.0
    for _ in range(20):
        kappa = 0.5 * (few + many)
        is_many = np.count_nonzero(train(with_kappa(case, kappa).problem).w) >= 1 + seed % 2
        few, many = (few, kappa) if is_many else (kappa, many)
    return with_kappa(case, few)


@cache
def certified(loss_name: str, seed: int, model: str) -> SlopeBounds | None:
    case = drawn(loss_name, seed)
    return slope(case.problem, draw_solution(np.random.default_rng(seed), case, model)).part(SlopeBounds)


@cache
def exact_models(loss_name: str, seed: int) -> list[ExactModel]:
    case = drawn(loss_name, seed)
    arguments = case.y, None, case.loss, case.penalty.lam, case.penalty.kappa
    return [exact_model(table, *arguments) for table in exact_completions(case.matrix, 1)]


@overflow_means_unbounded()
def by_cases(bounds: SlopeBounds, X: np.ndarray) -> np.ndarray:
    """Return the bounds of Theorem 19 alone."""
    assert bounds.sign_cases is not None
    return np.column_stack(bounds._by_cases(X, bounds.sign_cases))


def wrong_cases(loss_name: str, seed: int, model: str) -> tuple[int, list[str]]:
    """Compare the bounds with exact scores, in all forms."""
    bounds = certified(loss_name, seed, model)
    if bounds is None or bounds.sign_cases is None:
        return 0, []
    X = np.vstack([drawn(loss_name, seed).X_test, np.eye(N_WEIGHTS)])
    forms = {
        "cells": bounds,
        "columns": bounds.in_columns(),
        "other inverse": replace(bounds, inverse=0.9 * bounds.inverse),
    }
    found = {name: by_cases(form, X) for name, form in forms.items()}
    row_free = bounds.without_training_rows()
    found["ends"], found["row-free"] = (np.column_stack(form.ends(X)) for form in (bounds, row_free or bounds))
    wrong = [
        f"{name} {loss_name} {seed} {model}: {ends[k]}"
        for exact in exact_models(loss_name, seed)
        for name, ends in found.items()
        for k in range(len(X))
        if not holds(ends[k], exact.score(X[k]))
    ]
    return len(X) * len(found) * len(exact_models(loss_name, seed)), wrong


def all_checks() -> list[tuple[int, list[str]]]:
    return [wrong_cases(loss, seed, model) for loss in LOSS_NAMES for seed in SEEDS for model in MODELS]


def test_bounds_by_cases_hold_exactly(report_proofs):
    assert_proven(all_checks(), report_proofs)


@pytest.mark.parametrize("size", [0.1, 1.0, 30.0])
def test_bounds_by_cases_hold_exactly_whatever_the_multipliers_are(monkeypatch, size, report_proofs):
    rng = np.random.default_rng(3)

    def any_multipliers(split, *_):
        return size * rng.normal(size=split.columns.shape)

    monkeypatch.setattr(sign_cases_module, "_multipliers", any_multipliers)
    assert_proven(all_checks(), report_proofs)


@pytest.mark.parametrize("seed", range(20))
def test_what_a_case_adds_is_rounded_outward(seed):
    rng = np.random.default_rng(seed)
    numbers = {name: rng.uniform(0.5, 1.0, size=(1, 2)) for name in ("kappa", "slope", "middle", "spread")}
    moves, signs = (np.sort(rng.uniform(-1.0, 1.0, size=(1, 2, 3, 2)), axis=-1) for _ in range(2))
    columns, is_possible = np.array([[0, 1]]), np.full((1, 2, 3), True)
    u, low, high = rng.normal(size=(1, 2)), rng.normal(size=1), rng.normal(size=1)
    shift = (
        numbers["slope"] * u * (1.0 + 1e-8 * rng.normal(size=(1, 2)))
    )  # what is taken out of the line all but cancels
    found = _by_case(_Split(columns, **numbers, moves=moves, signs=signs, is_possible=is_possible), u, shift, low, high)
    for k, case in enumerate(product(range(3), repeat=2)):
        exact_low, exact_high = Fraction(low[0]), Fraction(high[0])
        for j, state in enumerate(case):
            kappa, slope, middle, spread = (Fraction(value[0, j]) for value in numbers.values())
            at, factor = Fraction(u[0, j]), Fraction(shift[0, j]) - slope * Fraction(u[0, j])
            ends = zip(signs[0, j, state], moves[0, j, state], strict=True)
            terms = [kappa * at * Fraction(sign) + factor * Fraction(move) - middle * at for sign, move in ends]
            exact_low, exact_high = (
                exact_low + min(terms) + spread * abs(at),
                exact_high + max(terms) - spread * abs(at),
            )
        assert Fraction(found.low[0, k]) <= exact_low
        assert Fraction(found.high[0, k]) >= exact_high


def test_the_drawn_problems_have_cases_of_all_kinds():
    cases = [
        bounds.sign_cases
        for loss in LOSS_NAMES
        for seed in SEEDS
        for model in MODELS
        if (bounds := certified(loss, seed, model)) is not None and bounds.sign_cases is not None
    ]
    assert len(cases) >= 6
    assert any(len(each.columns) >= 2 for each in cases)
    assert any((each.lower <= -1.0).any() and (each.upper >= 1.0).any() for each in cases)
    assert any(((each.lower > -1.0) & (each.upper >= 1.0)).any() for each in cases)
    assert any(((each.lower <= -1.0) & (each.upper < 1.0)).any() for each in cases)


def test_cases_narrow_bounds_and_never_widen_them():
    ratios = []
    for loss in LOSS_NAMES:
        for seed in SEEDS:
            bounds = certified(loss, seed, "trained")
            if bounds is None or bounds.sign_cases is None:
                continue
            X = drawn(loss, seed).X_test
            (low, high), (plain_low, plain_high) = bounds.ends(X), replace(bounds, sign_cases=None).ends(X)
            assert (low >= plain_low).all()
            assert (high <= plain_high).all()
            ratios.append(np.median((high - low) / (plain_high - plain_low)))
    assert min(ratios) < 0.9


@pytest.mark.parametrize("seed", range(3))
def test_bounds_of_a_row_do_not_depend_on_the_other_rows_of_a_call(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(60, 6))
    y = X[:, 0] - X[:, 1] + 0.05 * rng.normal(size=60)
    X[rng.random(X.shape) < 0.06] = np.nan
    model = BoundedRegressor(alpha=0.3, l1_ratio=0.5, certificate="slope").fit(X, y)
    rows = rng.normal(size=(40, 6))
    together, apart = model.predict_bounds(rows), [model.predict_bounds(row[None])[0] for row in rows]
    assert model.certificate_.part(SlopeBounds).sign_cases is not None
    assert together == pytest.approx(np.array(apart), rel=1e-9, abs=1e-9)
