"""The slope certificate by itself, without the regions it is intersected with: exact proofs, and planted errors."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from ipub import BoundedRegressor
from ipub.certificates.per_row import pointwise as pointwise_module
from ipub.certificates.slopes import cells as cell_terms_module
from ipub.certificates.slopes import column_bounds as column_bounds_module
from ipub.certificates.slopes import few_rows as few_rows_module
from ipub.certificates.slopes import hessian as hessian_module
from ipub.certificates.slopes import mean_value as mean_value_module
from ipub.certificates.slopes.cells import CellTerms
from ipub.certificates.slopes.l1_signs import L1Signs
from ipub.certificates.slopes.moves import InverseError, LinearizedMoves
from ipub.losses import LOSSES, Logistic
from support.exact_proofs import assert_proven, each_intercept, each_penalty
from support.moves import (
    KINDS,
    Key,
    assemble_module,
    l1_signs_module,
    linearize_module,
    prove_module,
    wrong_forces,
    wrong_hessians,
    wrong_models,
    wrong_norms,
)
from support.planted import altered, half, nothing, plant_function, replaced, scaled

SMOOTH = [name for name in LOSSES if LOSSES[name].is_smooth]
MODELS = ("one step", "noisy", "garbage")


@pytest.mark.share(3)
@each_intercept
@each_penalty
@pytest.mark.parametrize("loss", LOSSES)
def test_every_claim_on_the_models_of_completions_holds_exactly(loss, penalty, intercept, report_proofs):
    models = [("trained", MODELS[number % 3]) for number in range(len(KINDS))]
    keys = [Key(loss, penalty, kind, intercept, m) for kind, pair in zip(KINDS, models, strict=True) for m in pair]
    assert_proven([wrong_models(key) for key in keys], report_proofs)


@pytest.mark.share(4)
@pytest.mark.parametrize("size", [0.0, 1e-6, 0.02, 0.5])
@each_penalty
@pytest.mark.parametrize("loss", LOSSES)
def test_forces_hold_for_every_move_of_a_set_exactly(loss, penalty, size, report_proofs):
    models = ["trained" if number % 2 else MODELS[number // 2 % 3] for number in range(len(KINDS))]
    keys = [Key(loss, penalty, *rest) for rest in zip(KINDS, [False, True] * 4 + [False], models, strict=True)]
    assert_proven([wrong_forces(key, size) for key in keys], report_proofs)


@pytest.mark.share(2)
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


# --- planted errors ---------------------------------------------------------------------------------------------------


def terms(**changes: Callable) -> Callable[[pytest.MonkeyPatch], None]:
    return altered(cell_terms_module, "cell_terms", **changes)


def lines(**changes: Callable) -> Callable[[pytest.MonkeyPatch], None]:
    return altered(linearize_module, "row_lines", **changes)


def model(**changes: Callable) -> Callable[[pytest.MonkeyPatch], None]:
    return altered(linearize_module, "linearize", **changes)


def jumps(**changes: Callable) -> Callable[[pytest.MonkeyPatch], None]:
    return altered(linearize_module, "_jumps", **changes)


def product_vectors_dropped(monkeypatch):
    honest = column_bounds_module.sorted_cells

    def planted(terms):
        groups, cells = honest(terms)
        return replace(groups, product_vectors=0.0 * groups.product_vectors), cells

    plant_function(monkeypatch, column_bounds_module, "sorted_cells", planted)


def slopes_at_the_center_alone(monkeypatch):
    def planted(self, y, lower, upper, move):
        return self.curvature_range(y, 0.5 * (lower + upper), 0.5 * (lower + upper))

    monkeypatch.setattr(Logistic, "secant_range", planted)


def l1_spread_dropped(monkeypatch):
    honest = L1Signs.line
    monkeypatch.setattr(L1Signs, "line", lambda self, penalty, w: honest(self, penalty, w)._replace(spread=0.0 * w))


def signs_that_trust_half_the_way(monkeypatch):
    honest = L1Signs.within
    monkeypatch.setattr(L1Signs, "within", lambda self, w, limits: honest(self, w, 0.5 * limits))


def zeros_at_twice_the_threshold(monkeypatch):
    decide_signs, line = l1_signs_module.decide_signs, L1Signs.line

    def planted(signs, bounds, penalty):
        with monkeypatch.context() as patch:
            patch.setattr(L1Signs, "line", lambda self, p, w: line(self, replace(p, kappa=p.kappa / 2.0), w))
            return decide_signs(signs, bounds, replace(penalty, kappa=2.0 * penalty.kappa))

    plant_function(monkeypatch, l1_signs_module, "decide_signs", planted)


def only_slopes_from_the_trained_model(monkeypatch):
    honest = linearize_module.row_lines
    plant_function(monkeypatch, linearize_module, "row_lines", lambda *args: honest(*args[:-2], False, args[-1]))


def trends_reversed(monkeypatch):
    honest = pointwise_module.certain_trend
    reverse = lambda *args: tuple(-end for end in reversed(honest(*args)))  # noqa: E731
    plant_function(monkeypatch, pointwise_module, "certain_trend", reverse)


def trends_without_doubt(monkeypatch):
    honest = pointwise_module.certain_trend
    plant_function(monkeypatch, pointwise_module, "certain_trend", lambda *args: (0.5 * sum(honest(*args)),) * 2)


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
        terms(generator_row=half, generator_cell=half),
        GRADIENT,
        [Key("log_loss", "l2", "kinks", True, "trained", 0), Key("huber", "l2", "wide", False, "garbage", 1)],
    ),
    "no curvature": (
        terms(curvature_row=nothing, curvature_cell=nothing),
        GRADIENT,
        [
            Key("log_loss", "elastic net", "kinks", False, "trained", 1),
            Key("squared_hinge", "l2", "kinks", False, "trained", 2),
        ],
    ),
    "no curvature along rows": (
        terms(curvature_row=nothing),
        GRADIENT,
        [
            Key("log_loss", "elastic net", "weights", False, "trained", 1),
            Key("log_loss", "l2", "weights", True, "one step", 0),
        ],
    ),
    "no curvature along cells": (
        terms(curvature_cell=nothing),
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
    "no products": (
        terms(product_row=nothing, product_cell=nothing),
        FAR,
        [
            Key("squared_error", "elastic net", "plain", False, "one step", 2),
            Key("huber", "l2", "weak penalty", True, "garbage", 2),
        ],
    ),
    "no products along rows": (
        terms(product_row=nothing),
        FAR,
        [
            Key("squared_error", "elastic net", "plain", False, "one step", 2),
            Key("huber", "l2", "weak penalty", True, "garbage", 2),
        ],
    ),
    "no products along cells": (
        terms(product_cell=nothing),
        FAR,
        [
            Key("squared_error", "elastic net", "plain", False, "one step", 2),
            Key("huber", "l2", "weak penalty", True, "garbage", 2),
        ],
    ),
    "no product vectors of groups": (
        product_vectors_dropped,
        FAR,
        [
            Key("squared_error", "elastic net", "plain", False, "one step", 2),
            Key("huber", "l2", "weak penalty", True, "garbage", 2),
        ],
    ),
    "no radius of slopes": (
        lines(slope_radius=nothing),
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
        lines(derivative_radius=half),
        FAR,
        [
            Key("hinge", "l2", "weak penalty", True, "trained", 0),
            Key("hinge", "elastic net", "plain", True, "one step", 3),
        ],
    ),
    "no rows at a jump": (
        jumps(rows=lambda rows: 0.0 * rows),
        FAR,
        [
            Key("hinge", "l2", "weak penalty", True, "trained", 0),
            Key("hinge", "elastic net", "plain", True, "one step", 3),
        ],
    ),
    "no form of the rows at a jump": (
        jumps(form=nothing),
        FAR,
        [
            Key("hinge", "l2", "weak penalty", True, "trained", 0),
            Key("hinge", "elastic net", "plain", True, "one step", 3),
        ],
    ),
    "no form of the moves of rows": (
        model(row_move_form=nothing),
        FAR,
        [
            Key("log_loss", "elastic net", "kinks", False, "trained", 1),
            Key("huber", "l2", "collinear", True, "trained", 3),
        ],
    ),
    "no form of the moves of cells": (
        model(cell_move_form=nothing),
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
        altered(assemble_module, "slope_bounds", move_limits=half),
        FAR,
        [
            Key("squared_hinge", "l2", "strong penalty", True, "garbage", 3),
            Key("squared_error", "elastic net", "collinear", True, "one step", 1),
        ],
    ),
    "no forms": (
        altered(assemble_module, "slope_bounds", forms=nothing),
        FAR,
        [
            Key("log_loss", "elastic net", "kinks", False, "trained", 1),
            Key("huber", "l2", "collinear", True, "trained", 3),
        ],
    ),
    "no slack": (
        altered(assemble_module, "slope_bounds", slack=nothing),
        FAR,
        [
            Key("squared_hinge", "l2", "strong penalty", True, "garbage", 3),
            Key("squared_error", "elastic net", "collinear", True, "one step", 1),
        ],
    ),
    "no rounding of the gradient": (
        model(gradient_error=nothing),
        EXACT,
        [
            Key("squared_error", "elastic net", "certain", True, "trained", 0),
            Key("squared_error", "l2", "certain", False, "one step", 2),
        ],
    ),
    "half the radius": (
        altered(prove_module, "ellipsoid_of_moves", radius=half),
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
        scaled(InverseError, "upper", 0.0),
        wrong_models,
        [
            Key("squared_hinge", "l2", "strong penalty", True, "garbage", 3),
            Key("squared_error", "elastic net", "collinear", True, "one step", 1),
        ],
    ),
    "half the moves of scores": (
        scaled(LinearizedMoves, "max_score_move", 0.5),
        wrong_models,
        [Key("log_loss", "l2", "kinks", True, "trained", 0), Key("huber", "l2", "wide", False, "garbage", 1)],
    ),
    "no form of the moves in the ellipsoid": (
        lambda monkeypatch: monkeypatch.setattr(assemble_module, "greatest_ratio_upper", lambda *_: 0.0),
        wrong_models,
        [
            Key("huber", "l2", "collinear", True, "trained", 3),
            Key("smoothed_hinge", "elastic net", "one row", False, "garbage", 2),
        ],
    ),
    "a set that need not close": (
        replaced(prove_module, "closes", lambda *_: True),
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
        scaled(hessian_module, "hessian_loss", 0.0),
        hessians,
        [
            Key("squared_error", "elastic net", "plain", False, "one step", 2),
            Key("huber", "l2", "weak penalty", True, "garbage", 2),
        ],
    ),
    "no gain of the Hessian": (
        scaled(hessian_module, "hessian_gain", 0.0),
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
        altered(mean_value_module, "mean_value_bounds", slack=nothing),
        wrong_models,
        [
            Key("squared_hinge", "l2", "strong penalty", False, "one step", 2),
            Key("smoothed_hinge", "l2", "certain", True),
        ],
    ),
    "no spread of the mean value": (
        altered(mean_value_module, "mean_value_bounds", spread=nothing),
        wrong_models,
        [
            Key("squared_error", "l2", "weak penalty", seed=2),
            Key("smoothed_hinge", "l2", "strong penalty", False, "one step"),
        ],
    ),
    "half the force of the mean value": (
        altered(mean_value_module, "mean_value_bounds", force=half),
        wrong_models,
        [
            Key("smoothed_hinge", "l2", "one row", False, "garbage"),
            Key("log_loss", "l2", "collinear", False, "garbage", 3),
        ],
    ),
    "another center of the mean value": (
        altered(mean_value_module, "mean_value_bounds", center=lambda center: 0.97 * center),
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


@functools.cache
def is_right_unplanted(check: Callable[[Key], tuple[int, list[str]]], key: Key) -> bool:
    """Whether there is nothing wrong before an error is planted; many are planted under the same key."""
    return check(key)[1] == []


@pytest.mark.parametrize("name", PLANTED)
def test_a_planted_error_is_caught(monkeypatch, name):
    plant, check, keys = PLANTED[name]
    assert all(is_right_unplanted(check, key) for key in keys)
    plant(monkeypatch)
    assert any(check(key)[1] for key in keys)


# --- rows that are not kept one by one --------------------------------------------------------------------------------

JUMPS = [
    Key("hinge", penalty, kind, bool(number % 2), model, seed)
    for number, (penalty, kind, model, seed) in enumerate(
        [
            ("l2", "weak penalty", "trained", 0),
            ("elastic net", "plain", "one step", 3),
            ("l2", "kinks", "trained", 1),
            ("l2", "wide", "garbage", 2),
        ]
    )
]


def wrong_with_rows_together(monkeypatch) -> list[str]:
    monkeypatch.setattr(linearize_module, "MOST_JUMP_ROWS", 0)
    return [wrong for key in JUMPS for wrong in (*wrong_forces(key, 0.5)[1], *wrong_models(key)[1])]


def test_many_rows_at_a_jump_are_bounded_together_exactly(monkeypatch):
    assert wrong_with_rows_together(monkeypatch) == []
    jumps(form=lambda form: 0.5 * form)(monkeypatch)
    assert wrong_with_rows_together(monkeypatch) != []


FEW = [
    Key(loss, "l2", kind, False, model, seed)
    for loss in ("squared_error", "log_loss")
    for kind, model, seed in [("plain", "one step", 2), ("wide", "trained", 1), ("one row", "garbage", 0)]
]


def wrong_without_rows() -> list[str]:
    return [wrong for key in FEW for size in (1e-6, 0.5) for wrong in wrong_forces(key, size)[1]]


@pytest.mark.share(2)
@pytest.mark.parametrize("fewest", [2, 5])
@pytest.mark.parametrize("name", ["joint_form", "greatest_ratio_upper"])
def test_a_form_that_hides_few_rows_and_is_too_small_is_caught(monkeypatch, name, fewest):
    # With 2 most columns stay as they are, so that others can be joined to them.
    monkeypatch.setattr(few_rows_module, "FEWEST_ROWS", fewest)
    assert wrong_without_rows() == []
    honest = getattr(few_rows_module, name)
    monkeypatch.setattr(few_rows_module, name, lambda *args: 0.2 * honest(*args))
    assert wrong_without_rows() != []


def test_moves_of_the_weights_without_training_rows_hold_exactly(report_proofs):
    keys = [Key(loss, "l2", kind, bool(number % 2)) for loss in SMOOTH for number, kind in enumerate(KINDS[:4])]
    assert_proven([wrong_models(key) for key in keys], report_proofs)


@pytest.mark.parametrize("sign", [-1.0, 1.0])
@pytest.mark.parametrize("kappa", [1.05, 1.1, 1.2, 1.5])
@pytest.mark.parametrize("third", [0.0, 0.5])
def test_a_weight_that_is_zero_at_the_center_alone_is_not_taken_for_zero(third, kappa, sign):
    """Another completion's model has it: the threshold of lem-l1-signs is kappa, from both sides."""
    alpha, radius = kappa + 0.5, 0.3
    X, y = np.array([[np.nan, 1.0], [1.0, -1.0], [third, 3.0], [0.0, -3.0]]), np.array([1.0, 1.0, 9.0, -9.0])
    X[:, 0] *= sign
    lower, upper = X.copy(), X.copy()
    lower[0, 0], upper[0, 0] = sign - radius, sign + radius
    options = {"alpha": alpha, "l1_ratio": kappa / alpha, "fit_intercept": False, "tol": 1e-13}
    model = BoundedRegressor(certificate="slope", **options).fit(X, y, X_lower=lower, X_upper=upper)
    at_end = BoundedRegressor(**options).fit(np.where(np.isnan(X), sign * (1.0 - radius), X), y)
    low, high = model.coef_bounds_[0]
    assert low - 1e-9 <= at_end.coef_[0] <= high + 1e-9
    if third == 0.0 and kappa < 1.5:
        assert model.coef_[0] == 0.0
        assert abs(at_end.coef_[0]) > 0.01
