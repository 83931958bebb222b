"""The slope certificate by itself, without the regions it is intersected with: exact proofs, and planted errors."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from ipub.certificates.pointwise import Stage
from ipub.certificates.slope.bounds import SlopeBounds
from ipub.certificates.slope.cell_terms import CellTerms, IncompleteRows
from ipub.certificates.slope.l1_signs import L1Signs
from ipub.losses import LOSSES, Logistic
from support.exact_proofs import assert_proven, each_intercept, each_penalty
from support.moves import (
    KINDS,
    Key,
    row_model_module,
    slope_module,
    wrong_forces,
    wrong_hessians,
    wrong_models,
    wrong_norms,
)
from support.planted import altered, half, nothing, replaced, scaled

SMOOTH = [name for name in LOSSES if LOSSES[name].is_smooth]
MODELS = ("one step", "noisy", "garbage")


@each_intercept
@each_penalty
@pytest.mark.parametrize("loss", LOSSES)
def test_every_claim_on_the_models_of_completions_holds_exactly(loss, penalty, intercept, report_proofs):
    models = [("trained", MODELS[number % 3]) for number in range(len(KINDS))]
    keys = [Key(loss, penalty, kind, intercept, m) for kind, pair in zip(KINDS, models, strict=True) for m in pair]
    assert_proven([wrong_models(key) for key in keys], report_proofs)


@pytest.mark.parametrize("size", [0.0, 1e-6, 0.02, 0.5])
@each_penalty
@pytest.mark.parametrize("loss", LOSSES)
def test_forces_hold_for_every_move_of_a_set_exactly(loss, penalty, size, report_proofs):
    models = ["trained" if number % 2 else MODELS[number // 2 % 3] for number in range(len(KINDS))]
    keys = [Key(loss, penalty, *rest) for rest in zip(KINDS, [False, True] * 4 + [False], models, strict=True)]
    assert_proven([wrong_forces(key, size) for key in keys], report_proofs)


@each_penalty
@pytest.mark.parametrize("loss", SMOOTH)
def test_hessians_and_norms_of_gradients_hold_exactly(loss, penalty, report_proofs):
    keys = [Key(loss, penalty, kind, bool(number % 2), "one step") for number, kind in enumerate(KINDS)]
    assert_proven([wrong_norms(key) for key in keys], report_proofs)
    assert_proven([wrong_hessians(key, 0.5) for key in keys[::2]], report_proofs)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(1, 7))
@each_intercept
@each_penalty
@pytest.mark.parametrize("loss", LOSSES)
def test_many_claims_hold_exactly(loss, penalty, intercept, seed, report_proofs):
    keys = [Key(loss, penalty, kind, intercept, m, seed) for kind in KINDS for m in ("trained", *MODELS)]
    assert_proven([wrong_models(key) for key in keys], report_proofs)
    assert_proven([wrong_forces(key, size) for key in keys for size in (1e-6, 0.02, 0.5)], report_proofs)


# --- planted errors ----------------------------------------------------------------------------------------------


def terms(**changes: Callable) -> Callable[[pytest.MonkeyPatch], None]:
    return altered(CellTerms, "of", **changes)


def lines(**changes: Callable) -> Callable[[pytest.MonkeyPatch], None]:
    return altered(row_model_module, "_lines", **changes)


def model(**changes: Callable) -> Callable[[pytest.MonkeyPatch], None]:
    return altered(slope_module, "linearize", **changes)


def pulls_of_groups_dropped(monkeypatch):
    honest = row_model_module.sorted_cells

    def planted(terms):
        groups, cells = honest(terms)
        return replace(groups, pulls=0.0 * groups.pulls), cells

    monkeypatch.setattr(row_model_module, "sorted_cells", planted)


def slopes_at_the_center_alone(monkeypatch):
    def planted(self, y, lower, upper, move):
        return self.curvature_range(y, 0.5 * (lower + upper), 0.5 * (lower + upper))

    monkeypatch.setattr(Logistic, "secant_range", planted)


def l1_spread_dropped(monkeypatch):
    honest = L1Signs.line
    monkeypatch.setattr(L1Signs, "line", lambda self, penalty, w: (*honest(self, penalty, w)[:2], 0.0 * w))


def signs_that_trust_half_the_way(monkeypatch):
    honest = L1Signs.within
    monkeypatch.setattr(L1Signs, "within", lambda self, w, farthest: honest(self, w, 0.5 * farthest))


def zeros_at_twice_the_threshold(monkeypatch):
    decided_by, line = L1Signs.decided_by, L1Signs.line

    def planted(self, bounds, penalty):
        with monkeypatch.context() as patch:
            patch.setattr(L1Signs, "line", lambda self, p, w: line(self, replace(p, kappa=p.kappa / 2.0), w))
            return decided_by(self, bounds, replace(penalty, kappa=2.0 * penalty.kappa))

    monkeypatch.setattr(L1Signs, "decided_by", planted)


def only_slopes_from_the_trained_model(monkeypatch):
    honest = row_model_module._lines
    monkeypatch.setattr(row_model_module, "_lines", lambda *args: honest(*args[:-1], False))


def trends_reversed(monkeypatch):
    honest = Stage.trend
    monkeypatch.setattr(Stage, "trend", lambda self, x: tuple(-end for end in reversed(honest(self, x))))


def trends_without_doubt(monkeypatch):
    honest = Stage.trend
    monkeypatch.setattr(Stage, "trend", lambda self, x: (0.5 * sum(honest(self, x)),) * 2)


def forces(size: float) -> Callable[[Key], tuple[int, list[str]]]:
    return lambda key: wrong_forces(key, size)


def hessians(key: Key) -> tuple[int, list[str]]:
    return wrong_hessians(key, 0.5)


GRADIENT, FAR, EXACT = forces(1e-6), forces(0.5), forces(0.0)
PLANTED = {
    "a shift with the wrong sign": (
        terms(shift=np.negative),
        GRADIENT,
        [
            Key("log_loss", "l2", "kinks", True, "trained", 0),
            Key("log_loss", "l2", "weak penalty", False, "garbage", 3),
        ],
    ),
    "half the generators": (
        terms(rise=half, level=half),
        GRADIENT,
        [Key("log_loss", "l2", "kinks", True, "trained", 0), Key("huber", "l2", "wide", False, "garbage", 1)],
    ),
    "no bend": (
        terms(bend_row=nothing, bend_cell=nothing),
        GRADIENT,
        [
            Key("log_loss", "elastic net", "kinks", False, "trained", 1),
            Key("squared_hinge", "l2", "kinks", False, "trained", 2),
        ],
    ),
    "no bend of rows": (
        terms(bend_row=nothing),
        GRADIENT,
        [
            Key("log_loss", "elastic net", "weights", False, "trained", 1),
            Key("log_loss", "l2", "weights", True, "one step", 0),
        ],
    ),
    "no bend of cells": (
        terms(bend_cell=nothing),
        GRADIENT,
        [
            Key("log_loss", "elastic net", "kinks", False, "trained", 1),
            Key("squared_hinge", "l2", "kinks", False, "trained", 2),
        ],
    ),
    "no crossing": (
        terms(crossing=nothing),
        GRADIENT,
        [Key("log_loss", "l2", "plain", False, "one step", 0), Key("log_loss", "l2", "one row", True, "garbage", 2)],
    ),
    "no slack of cells": (
        terms(slack=nothing),
        GRADIENT,
        [
            Key("log_loss", "l2", "weak penalty", False, "garbage", 3),
            Key("smoothed_hinge", "l2", "one row", False, "trained", 2),
        ],
    ),
    "no pull": (
        terms(pull_row=nothing, pull_cell=nothing),
        FAR,
        [
            Key("squared_error", "elastic net", "plain", False, "one step", 2),
            Key("huber", "l2", "weak penalty", True, "garbage", 2),
        ],
    ),
    "no pull of rows": (
        terms(pull_row=nothing),
        FAR,
        [
            Key("squared_error", "elastic net", "plain", False, "one step", 2),
            Key("huber", "l2", "weak penalty", True, "garbage", 2),
        ],
    ),
    "no pull of cells": (
        terms(pull_cell=nothing),
        FAR,
        [
            Key("squared_error", "elastic net", "plain", False, "one step", 2),
            Key("huber", "l2", "weak penalty", True, "garbage", 2),
        ],
    ),
    "no pull of groups": (
        pulls_of_groups_dropped,
        FAR,
        [
            Key("squared_error", "elastic net", "plain", False, "one step", 2),
            Key("huber", "l2", "weak penalty", True, "garbage", 2),
        ],
    ),
    "no looseness": (
        lines(looseness=nothing),
        FAR,
        [
            Key("log_loss", "elastic net", "kinks", False, "trained", 1),
            Key("huber", "l2", "collinear", True, "trained", 3),
        ],
    ),
    "no move of cells": (
        lines(cell_move=nothing),
        FAR,
        [
            Key("squared_hinge", "l2", "kinks", False, "trained", 2),
            Key("squared_hinge", "l2", "wide", False, "one step", 0),
        ],
    ),
    "no move of rows": (
        lines(row_move=nothing),
        FAR,
        [
            Key("huber", "l2", "collinear", True, "trained", 3),
            Key("smoothed_hinge", "elastic net", "kinks", True, "one step", 3),
        ],
    ),
    "half a jump": (
        lines(loose=half),
        FAR,
        [
            Key("hinge", "l2", "weak penalty", True, "trained", 0),
            Key("hinge", "elastic net", "plain", True, "one step", 3),
        ],
    ),
    "no rows at a jump": (
        model(jump_rows=lambda rows: rows[:0]),
        FAR,
        [
            Key("hinge", "l2", "weak penalty", True, "trained", 0),
            Key("hinge", "elastic net", "plain", True, "one step", 3),
        ],
    ),
    "no form of the rows at a jump": (
        model(jumps=nothing),
        FAR,
        [
            Key("hinge", "l2", "weak penalty", True, "trained", 0),
            Key("hinge", "elastic net", "plain", True, "one step", 3),
        ],
    ),
    "no energy of rows": (
        model(row_energy=nothing),
        FAR,
        [
            Key("log_loss", "elastic net", "kinks", False, "trained", 1),
            Key("huber", "l2", "collinear", True, "trained", 3),
        ],
    ),
    "no energy of cells": (
        model(cell_energy=nothing),
        FAR,
        [
            Key("huber", "l2", "strong penalty", True, "trained", 3),
            Key("smoothed_hinge", "elastic net", "plain", True, "garbage", 0),
        ],
    ),
    "slopes at the center alone": (
        slopes_at_the_center_alone,
        FAR,
        [
            Key("log_loss", "elastic net", "wide", True, "trained", 3),
            Key("log_loss", "l2", "weak penalty", True, "trained", 0),
        ],
    ),
    "no spread of the l1 part": (
        l1_spread_dropped,
        FAR,
        [
            Key("hinge", "elastic net", "one row", False, "one step", 2),
            Key("log_loss", "elastic net", "certain", True, "one step", 2),
        ],
    ),
    "signs that trust half the way": (
        signs_that_trust_half_the_way,
        FAR,
        [
            Key("hinge", "elastic net", "one row", False, "one step", 2),
            Key("log_loss", "elastic net", "certain", True, "one step", 2),
        ],
    ),
    "half the way": (
        altered(row_model_module.Linearization, "bounds", farthest=half),
        FAR,
        [
            Key("squared_hinge", "l2", "strong penalty", True, "garbage", 3),
            Key("squared_error", "elastic net", "collinear", True, "one step", 1),
        ],
    ),
    "no forms": (
        altered(row_model_module.Linearization, "bounds", forms=nothing),
        FAR,
        [
            Key("log_loss", "elastic net", "kinks", False, "trained", 1),
            Key("huber", "l2", "collinear", True, "trained", 3),
        ],
    ),
    "no slack": (
        altered(row_model_module.Linearization, "bounds", slack=nothing),
        FAR,
        [
            Key("squared_hinge", "l2", "strong penalty", True, "garbage", 3),
            Key("squared_error", "elastic net", "collinear", True, "one step", 1),
        ],
    ),
    "no rounding of the gradient": (
        model(error=nothing),
        EXACT,
        [
            Key("squared_error", "elastic net", "certain", True, "trained", 0),
            Key("squared_error", "l2", "certain", False, "one step", 2),
        ],
    ),
    "half the radius": (
        altered(row_model_module.Linearization, "ellipsoid", radius=half),
        wrong_models,
        [Key("huber", "l2", "weak penalty", True, "garbage", 2), Key("log_loss", "l2", "plain", False, "one step", 2)],
    ),
    "half the zonotope": (
        scaled(CellTerms, "zonotope_upper", 0.5),
        wrong_models,
        [Key("huber", "l2", "weak penalty", True, "garbage", 2), Key("log_loss", "l2", "plain", False, "one step", 2)],
    ),
    "zeros at twice the threshold": (
        zeros_at_twice_the_threshold,
        wrong_models,
        [
            Key("hinge", "elastic net", "one row", False, "one step", 2),
            Key("huber", "elastic net", "weights", False, "garbage", 0),
        ],
    ),
    "nothing missed by the inverse": (
        scaled(SlopeBounds, "_missed", 0.0),
        wrong_models,
        [
            Key("squared_hinge", "l2", "strong penalty", True, "garbage", 3),
            Key("squared_error", "elastic net", "collinear", True, "one step", 1),
        ],
    ),
    "half the reach": (
        scaled(SlopeBounds, "reach", 0.5),
        wrong_models,
        [Key("log_loss", "l2", "kinks", True, "trained", 0), Key("huber", "l2", "wide", False, "garbage", 1)],
    ),
    "no energy in the ellipsoid": (
        replaced(row_model_module, "greatest_ratio_upper", lambda *_: 0.0),
        wrong_models,
        [
            Key("huber", "l2", "collinear", True, "trained", 3),
            Key("smoothed_hinge", "elastic net", "one row", False, "garbage", 2),
        ],
    ),
    "a set that need not close": (
        replaced(slope_module, "definiteness", lambda _: 1.0),
        wrong_models,
        [
            Key("log_loss", "elastic net", "kinks", False, "trained", 1),
            Key("log_loss", "l2", "weak penalty", False, "one step", 0),
        ],
    ),
    "no shift of the force": (
        terms(force_shift=nothing),
        wrong_norms,
        [
            Key("squared_error", "elastic net", "weak penalty", False, "trained", 1),
            Key("smoothed_hinge", "l2", "kinks", True, "trained", 2),
        ],
    ),
    "no slack of the force": (
        terms(force_slack=nothing),
        wrong_norms,
        [
            Key("squared_error", "elastic net", "weak penalty", False, "trained", 1),
            Key("smoothed_hinge", "l2", "kinks", True, "trained", 2),
        ],
    ),
    "no loss of the Hessian": (
        scaled(IncompleteRows, "hessian_loss", 0.0),
        hessians,
        [
            Key("squared_error", "elastic net", "plain", False, "one step", 2),
            Key("huber", "l2", "weak penalty", True, "garbage", 2),
        ],
    ),
    "no gain of the Hessian": (
        scaled(IncompleteRows, "hessian_gain", 0.0),
        hessians,
        [
            Key("squared_error", "elastic net", "plain", False, "one step", 2),
            Key("huber", "l2", "weak penalty", True, "garbage", 2),
        ],
    ),
    "only slopes from the trained model": (
        only_slopes_from_the_trained_model,
        hessians,
        [
            Key("log_loss", "elastic net", "weights", False, "trained", 2),
            Key("log_loss", "elastic net", "plain", False, "one step", 1),
        ],
    ),
    "no slack of the mean value": (
        altered(row_model_module.Linearization, "_mean_value", slack=nothing),
        wrong_models,
        [
            Key("squared_hinge", "l2", "strong penalty", False, "one step", 2),
            Key("smoothed_hinge", "l2", "certain", True),
        ],
    ),
    "no spread of the mean value": (
        altered(row_model_module.Linearization, "_mean_value", spread=nothing),
        wrong_models,
        [
            Key("squared_error", "l2", "weak penalty", seed=2),
            Key("smoothed_hinge", "l2", "strong penalty", False, "one step"),
        ],
    ),
    "half the force of the mean value": (
        altered(row_model_module.Linearization, "_mean_value", force=half),
        wrong_models,
        [
            Key("smoothed_hinge", "l2", "one row", False, "garbage"),
            Key("log_loss", "l2", "collinear", False, "garbage", 3),
        ],
    ),
    "another center of the mean value": (
        altered(row_model_module.Linearization, "_mean_value", center=lambda center: 0.97 * center),
        wrong_models,
        [Key("squared_error", "l2", "weak penalty", seed=2), Key("log_loss", "l2", "collinear", False, "garbage", 3)],
    ),
    "trends reversed": (
        trends_reversed,
        wrong_models,
        [
            Key("squared_error", "l2", "weak penalty", False, "trained", 2),
            Key("smoothed_hinge", "l2", "strong penalty", False, "one step", 0),
        ],
    ),
    "trends without doubt": (
        trends_without_doubt,
        wrong_models,
        [
            Key("smoothed_hinge", "l2", "weak penalty", False, "garbage", 3),
            Key("squared_error", "l2", "wide", False, "trained", 1),
        ],
    ),
}


@pytest.mark.parametrize("name", PLANTED)
def test_a_planted_error_is_caught(monkeypatch, name):
    plant, check, keys = PLANTED[name]
    assert [wrong for key in keys for wrong in check(key)[1]] == []
    plant(monkeypatch)
    assert any(check(key)[1] for key in keys)
