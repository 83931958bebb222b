"""Wrong labels: bounds hold for every set of at most k flipped ones, proven against exact minimisers."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from ipub import IntervalMatrix
from ipub.answers.attained import attained_bounds
from ipub.certificates import (
    RowSumBounds,
    SlopeBounds,
    certify_ball,
    certify_origin,
    certify_slopes,
    certify_sphere,
    certify_tight,
)
from ipub.certificates import ball as ball_module
from ipub.certificates import intercept as intercept_module
from ipub.certificates import origin as origin_module
from ipub.certificates.slopes import bounds as bounds_module
from ipub.certificates.slopes import mean_value as mean_value_module
from ipub.certificates.slopes.moves import WrongLabelMoves
from ipub.certificates.wrong_labels import WrongLabelTerms, cell_changes
from ipub.losses import LOSSES
from ipub.losses.penalties import ElasticNet
from ipub.model_sets.move_sets import NoMove
from ipub.promises import LargestValues
from ipub.rows import MemoryRows, with_wrong_labels
from ipub.tables.label_uncertainty import LabelUncertainty
from support.cases import MODELS, Case, draw_solution, intervals, train, vary_loss, with_intercept
from support.certificates_once import parts_computed_once
from support.exact_proofs import exact_completions
from support.moves import linearize_module
from support.oracles.exact import exact_model
from support.oracles.intercept import exact_intercept_model
from support.oracles.rationals import holds, rational
from support.planted import altered
from support.tiny_cases import tiny_case, tiny_choices
from support.uncertain_labels import flipped_labels, with_flips
from support.winners import win_rate

LOSS_NAMES = tuple(name for name, loss in LOSSES.items() if loss.task == "classification")
CERTIFIED: dict[str, Callable] = {
    "origin": certify_origin,
    "sphere": certify_sphere,
    "ball": certify_ball,
    "slope": certify_slopes,
    "tight": certify_tight,
    "grouped": lambda problem, solution: certify_slopes(problem, solution).without_training_rows(),
}
TABLES = ("integers", "normal", "weights", "mixed scales")


def prove(case: Case, count: int, certified: dict[str, Callable] = CERTIFIED, model=None) -> tuple[int, list[str]]:
    problem = with_flips(case, count)
    solution = model or train(problem)
    with parts_computed_once() as once:
        bounds = {name: once(make)(problem, solution).score_bounds(case.X_test) for name, make in certified.items()}
    minimise = exact_intercept_model if case.penalty.n_free else exact_model
    made, failures = 0, []
    for y in flipped_labels(case, count):
        for table in exact_completions(case.matrix, inner=0):
            exact = minimise(table, y, case.weight, case.loss, case.penalty.lam, case.penalty.kappa)
            for row, x in enumerate(case.X_test):
                score = exact.score(x)
                for name, ends in bounds.items():
                    made += 1
                    if not holds(ends[row], score):
                        failures.append(f"{name}, row {row}: {ends[row]} but exactly {score}; {y}, {case!r}")
    return made, failures


def draw(rng: np.random.Generator, loss_name: str, penalty: str, k: int) -> Case:
    return vary_loss(rng, tiny_case(rng, TABLES[k % len(TABLES)], loss_name, penalty, cells=k % 3))


def gentle(rng: np.random.Generator, loss_name: str, penalty: str = "l2", cells: int = 0, n: int = 7) -> Case:
    """A table that a wrong label or two does not turn around, so that thm-move-set closes its set."""
    table, radius = rng.normal(size=(n, 2)), np.full((n, 2), np.nan)
    for _ in range(cells):
        radius[rng.integers(n), rng.integers(2)] = 0.1
    loss = replace(LOSSES[loss_name], width=3.0) if loss_name == "smoothed_hinge" else LOSSES[loss_name]
    kappa = 0.0 if penalty == "l2" else 10.0 ** rng.uniform(-2.0, -1.0)
    lam = 10.0 ** rng.uniform(-0.7, 0.7)
    y = np.where(rng.normal(size=n) + table[:, 0] > 0.0, 1.0, -1.0)
    return Case(intervals(table, radius), y, None, loss, ElasticNet(lam, kappa), rng.normal(size=(3, 2)))


@pytest.mark.share(3)
@pytest.mark.parametrize("intercept", [False, True], ids=["no intercept", "intercept"])
@pytest.mark.parametrize("penalty", ["l2", "elastic net"])
@pytest.mark.parametrize("loss_name", LOSS_NAMES)
def test_bounds_hold_whichever_labels_are_wrong(loss_name, penalty, intercept, report_proofs):
    rng = np.random.default_rng([23, LOSS_NAMES.index(loss_name), len(penalty), intercept])
    total = 0
    for k in range(9):
        case = draw(rng, loss_name, penalty, k)
        case = with_intercept(case) if intercept else case
        model = None if k % 2 else draw_solution(rng, case, str(rng.choice(MODELS)))
        made, failures = prove(case, 1 + k // 3 % 2, model=model)
        assert failures == []
        total += made
    for k in range(3):
        case = gentle(rng, loss_name, penalty, cells=k % 2, n=5)
        made, failures = prove(with_intercept(case) if intercept else case, 1 + k // 2)
        assert failures == []
        total += made
    report_proofs(total)


@pytest.mark.parametrize("loss_name", ["log_loss", "squared_hinge"])
def test_bounds_hold_where_rows_are_too_many_to_be_looked_at_one_by_one(loss_name, monkeypatch, report_proofs):
    monkeypatch.setattr(bounds_module, "MOST_WRONG_LABEL_ROWS", 0)
    rng = np.random.default_rng([37, len(loss_name)])
    total = 0
    for k in range(6):
        made, failures = prove(gentle(rng, loss_name, cells=k % 2), 1 + k // 2 % 2)
        assert failures == []
        total += made
    report_proofs(total)


@pytest.mark.share(2)
@pytest.mark.parametrize("penalty", ["l2", "elastic net"])
@pytest.mark.parametrize("loss_name", LOSS_NAMES)
def test_bounds_hold_with_missing_categories_too(loss_name, penalty, report_proofs):
    rng = np.random.default_rng([29, LOSS_NAMES.index(loss_name), len(penalty)])
    total = 0
    for k in range(3):
        case = tiny_choices(rng, loss_name, penalty, gentle=k % 2 == 0)
        made, failures = prove(with_intercept(case) if k % 3 == 0 else case, 1 + k % 2)
        assert failures == []
        total += made
    report_proofs(total)


def medium(rng: np.random.Generator, loss_name: str, intercept: bool) -> Case:
    table, radius = rng.normal(size=(60, 3)), np.full((60, 3), np.nan)
    radius[rng.integers(60, size=3), rng.integers(3, size=3)] = 0.2
    y = np.where(table[:, 0] + 0.7 * rng.normal(size=60) > 0.0, 1.0, -1.0)
    penalty = ElasticNet(10.0 ** rng.uniform(-1.5, 0.0), 0.0)
    case = Case(intervals(table, radius), y, None, LOSSES[loss_name], penalty, rng.normal(size=(3, 3)))
    return with_intercept(case) if intercept else case


@pytest.mark.share(3)
@pytest.mark.parametrize("count", [1, 4])
@pytest.mark.parametrize("intercept", [False, True], ids=["no intercept", "intercept"])
@pytest.mark.parametrize("loss_name", LOSS_NAMES)
def test_what_wrong_labels_attain_lies_inside(loss_name, intercept, count):
    rng = np.random.default_rng([31, LOSS_NAMES.index(loss_name), intercept, count])
    case = medium(rng, loss_name, intercept)
    problem = with_flips(case, count)
    solution = train(problem)
    attained = attained_bounds(problem, solution, case.X_test).bounds
    assert (attained[:, 0] < attained[:, 1]).all()
    for make in CERTIFIED.values():
        low, high = make(problem, solution).score_bounds(case.X_test).T
        assert (low <= attained[:, 0] + 1e-7).all()
        assert (attained[:, 1] - 1e-7 <= high).all()


@pytest.mark.parametrize("loss_name", ["log_loss", "squared_hinge"])
def test_row_sums_and_else_slopes_win_where_few_labels_are_wrong(loss_name):
    case = medium(np.random.default_rng(1), loss_name, intercept=True)
    problem = with_flips(replace(case, penalty=replace(case.penalty, lam=1.0)), 1)
    certificate = certify_tight(problem, train(problem))
    assert win_rate(certificate, case.X_test)["row sums"] == 1.0
    parts = tuple(part for part in certificate.parts if not isinstance(part, RowSumBounds))
    certificate = replace(certificate, parts=parts)
    assert certificate.part(SlopeBounds) is not None
    assert win_rate(certificate, case.X_test)["slope"] == 1.0
    alone, together = (each.score_bounds(case.X_test) for each in (certificate, certificate.without_training_rows()))
    assert (np.diff(together) >= np.diff(alone)).all()
    assert np.diff(together).sum() < 2.0 * np.diff(alone).sum()


def test_more_wrong_labels_give_wider_bounds_and_none_the_bounds_without():
    case = medium(np.random.default_rng(2), "log_loss", intercept=True)
    solution = train(case.problem)
    widths = [
        np.diff(certify_tight(with_flips(case, count), solution).score_bounds(case.X_test)) for count in (1, 2, 3, 60)
    ]
    assert all((narrow < wide).all() for narrow, wide in itertools.pairwise(widths[:3]))
    assert np.isfinite(widths[2]).all()
    assert not np.isfinite(np.diff(certify_tight(with_flips(case, 60), solution).score_bounds(np.eye(4)[3:])))


def test_flips_and_other_doubts_do_not_mix():
    with pytest.raises(ValueError, match="not both"):
        LabelUncertainty(np.ones(3), np.zeros(3), max_wrong_labels=1)
    table, doubt = np.ones((3, 1)), LabelUncertainty(np.ones(3), np.zeros(3))
    rows = MemoryRows(IntervalMatrix.from_bounds(table, table), np.ones(3), None, doubt)
    with pytest.raises(ValueError, match="not both"):
        with_wrong_labels(rows, 1)


def _fewer(monkeypatch):
    honest = WrongLabelMoves.ends
    monkeypatch.setattr(WrongLabelMoves, "ends", lambda self, U: honest(replace(self, count=self.count - 1), U))


def _half_of_the_change(monkeypatch):
    for loss in LOSSES.values():
        honest = type(loss).wrong_label_upper
        monkeypatch.setattr(type(loss), "wrong_label_upper", lambda *args, honest=honest: 0.5 * honest(*args))


def _one_side(side):
    def plant(monkeypatch):
        honest = WrongLabelMoves.ends

        def flipped(*args):
            ends = list(honest(*args))
            ends[side] = np.zeros_like(ends[side])
            return tuple(ends)

        monkeypatch.setattr(WrongLabelMoves, "ends", flipped)

    return plant


def _scaled(name, factor):
    def plant(monkeypatch):
        honest = getattr(WrongLabelTerms, name)
        monkeypatch.setattr(WrongLabelTerms, name, lambda *args: factor * honest(*args))

    return plant


def _certain_cells(monkeypatch):
    honest = WrongLabelTerms.of
    monkeypatch.setattr(
        WrongLabelTerms,
        "of",
        lambda *args: replace(honest(*args), cells=np.zeros_like(honest(*args).cells)),
    )


def _times(factor):
    return lambda largest: replace(largest, values=factor * largest.values)


def _scaled_moves(factor):
    change = _times(factor)
    return altered(ball_module, "gradient_moves", norms=change, coordinates=change, cells=change)


def _without_wrong_labels(monkeypatch):
    monkeypatch.setattr(
        mean_value_module, "LargestValues", SimpleNamespace(of=lambda values, _: LargestValues(values, 0))
    )


PLANTED: dict[str, tuple[Callable, str, str, int]] = {
    "k - 1": (_fewer, "slope", "log_loss", 0),
    "k - 1, hinge": (_fewer, "slope", "hinge", 0),
    "half of the change": (_half_of_the_change, "slope", "log_loss", 0),
    "half of the change, squared hinge": (_half_of_the_change, "slope", "squared_hinge", 0),
    "half of the change, hinge": (_half_of_the_change, "slope", "hinge", 0),
    "nothing below": (_one_side(0), "slope", "log_loss", 0),
    "nothing above": (_one_side(1), "slope", "log_loss", 0),
    "force": (_scaled("norm_upper", 0.0), "slope", "log_loss", 0),
    "half of the force": (_scaled("norm_upper", 0.25), "slope", "squared_hinge", 0),
    "form": (_scaled("form", 0.3), "grouped", "log_loss", 0),
    "mean value": (_without_wrong_labels, "slope", "log_loss", 0),
    "cells": (_certain_cells, "slope", "log_loss", 1),
    "ball": (_scaled_moves(0.0), "ball", "log_loss", 0),
    "half of the ball": (_scaled_moves(0.5), "ball", "squared_hinge", 0),
    "intercept": (altered(intercept_module, "_slope_sums", rise=_times(0.0), fall=_times(0.0)), "ball", "log_loss", 0),
}


def confident(rng: np.random.Generator) -> Case:
    """A row of little weight, far on the right side, with a cell in a column that nothing else is in."""
    table, radius = np.zeros((7, 2)), np.full((7, 2), np.nan)
    table[:, 0] = [5.0, *(rng.choice([-1.0, 1.0], size=6) * rng.uniform(0.5, 1.5, size=6))]
    radius[0, 1] = 1.0
    weight = np.array([0.05, *np.ones(6)])
    X_test = np.array([[0.0, 1.0], [0.0, -1.0]])
    return Case(
        intervals(table, radius), np.sign(table[:, 0]), weight, LOSSES["log_loss"], ElasticNet(0.1, 0.0), X_test
    )


@pytest.mark.parametrize("name", PLANTED)
def test_planted_errors_are_caught(name, monkeypatch):
    plant, certificate, loss_name, cells = PLANTED[name]
    plant(monkeypatch)
    rng = np.random.default_rng(3)
    for k in range(80):
        case = gentle(rng, loss_name, cells=cells) if k % 2 else draw(rng, loss_name, "l2", 3 * k + cells)
        case = confident(rng) if name == "cells" else with_intercept(case) if name == "intercept" else case
        if prove(case, 1 + k // 2 % 2, {certificate: CERTIFIED[certificate]})[1]:
            return
    pytest.fail("no bound is violated")


def _flatter_hessians() -> list[np.ndarray]:
    """Return eigenvalues of what every choice of wrong labels leaves of the Hessian above its lower bound."""
    rng = np.random.default_rng(5)
    table = rng.normal(size=(8, 2))
    y = np.where(table[:, 0] > 0.0, 1.0, -1.0)
    table[0], y[0] = (6.0, 1.0), -1.0
    case = Case(intervals(table, np.full((8, 2), np.nan)), y, None, LOSSES["squared_hinge"], ElasticNet(0.1), table)
    problem = with_flips(case, 1)
    solution = replace(train(problem), w=np.array([1.0, 0.0]))
    least = linearize_module.linearize(problem, solution, NoMove()).hessian_lower()
    found = []
    for labelled in flipped_labels(case, 1):
        curvature = case.loss.curvature(labelled, table @ solution.w) / len(y)
        found.append(np.linalg.eigvalsh((table * curvature[:, None]).T @ table + 0.1 * np.eye(2) - least))
    return found


def test_flipped_rows_curve_no_less_than_the_bound_of_the_hessian_says(monkeypatch):
    assert np.min(_flatter_hessians()) > -1e-12
    monkeypatch.setattr(WrongLabelTerms, "hessian_loss", lambda *_: 0.0)
    assert np.min(_flatter_hessians()) < -1e-3


def test_the_origin_counts_the_wrong_labels(monkeypatch):
    table = np.random.default_rng(7).normal(size=(8, 2))
    y = np.array([1.0, *-np.ones(7)])
    case = Case(intervals(table, np.full((8, 2), np.nan)), y, None, LOSSES["log_loss"], ElasticNet(0.5), table)
    case = replace(case, penalty=replace(case.penalty, n_free=1))
    problem = with_flips(case, 2)
    solution = train(problem)
    constants = np.array([0.0, y.mean(), solution.w[-1]])
    values = [case.loss.value(each[:, None], constants).mean(axis=0).min() for each in flipped_labels(case, 2)]
    assert 0.5 * certify_origin(problem, solution).parts[0].radius ** 2 >= max(values) - 1e-12
    altered(origin_module, "_origin_sums", more=_times(0.0))(monkeypatch)
    assert 0.5 * certify_origin(problem, solution).parts[0].radius ** 2 < max(values) - 1e-3


def test_the_ball_counts_the_cells_of_a_row_whose_right_label_is_flat():
    """With the right label the row adds nothing whatever its cell is, and with the other one all that it holds."""
    table, radius = np.array([[1.0]]), np.array([[0.5]])
    case = Case(intervals(table, radius), np.ones(1), None, LOSSES["hinge"], ElasticNet(4.0), table)
    model = replace(train(with_flips(case, 1)), w=np.array([3.0]))
    made, failures = prove(case, 1, {"ball": certify_ball}, model)
    assert made > 0
    assert failures == []


def test_the_slope_counts_the_cells_of_a_row_far_on_the_right_side():
    rng = np.random.default_rng(3)
    for k in range(8):
        made, failures = prove(confident(rng), 1 + k // 2 % 2, {"slope": certify_slopes})
        assert made > 0
        assert failures == []


def test_cells_of_a_row_move_it_by_no_more_than_is_said():
    for k in range(20):
        case = tiny_choices(np.random.default_rng(k), "log_loss", "l2", gentle=False)
        (block,) = MemoryRows(case.matrix, case.y).blocks()
        factors = 2.0 ** np.arange(len(case.y))  # products with these are exact
        said = cell_changes(block, factors)
        for table in exact_completions(case.matrix, inner=0):
            for place, row in enumerate(np.flatnonzero(block.incomplete)):
                for value, center, most in zip(table[row], block.center[row], said[place], strict=True):
                    assert rational(factors[row]) * abs(value - rational(center)) <= rational(most)


@pytest.mark.parametrize("is_flat", [False, True], ids=["an ellipsoid", "no inverse"])
@pytest.mark.parametrize("count", [1, 5])
def test_the_form_is_at_least_what_the_worst_labels_add(count, is_flat):
    rng = np.random.default_rng(11)
    rows = rng.normal(size=(6, 3))
    rows[:, 2] = rows[:, 1] if is_flat else rows[:, 2]
    S = WrongLabelTerms(count, rows, np.zeros(3), rows[:0], alike=True).form()
    for u in np.concatenate([rows, rng.normal(size=(50, 3))]):
        assert u @ S @ u >= np.sort(np.abs(rows @ u))[-count:].sum() ** 2 * (1.0 - 1e-12)
