"""What CONTRIBUTING says of a new loss: its class and its oracle, each registered, are all that the tests need."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from flint import fmpq

from ipub.certificates.sphere import gap_upper
from ipub.losses import LOSSES, ClippedLine
from ipub.numeric.rounding import Array
from support import enclosures
from support.cases import train, with_intercept
from support.exact_proofs import prove
from support.oracles.algorithm1 import loop_gap
from support.oracles.losses import ORACLES, LineOracle
from support.oracles.piecewise import Line
from support.oracles.rationals import rational
from support.tiny_cases import tiny_case


@dataclass(frozen=True)
class SkewHuber(ClippedLine):
    """Huber's loss with one steep and one gentle end."""

    name = "skew_huber"
    task = "regression"
    _width = 1.0

    def _ends(self, y: Array) -> tuple[Array, Array]:
        return np.full(np.shape(y), -0.25), np.full(np.shape(y), 0.75)


class SkewHuberOracle(LineOracle):
    domain = (-0.75, 0.25)

    def new_line(self, y: float | fmpq) -> Line:
        return Line(rational(y), fmpq(1), fmpq(-1, 4), fmpq(3, 4))

    def value(self, y: float, t: float) -> fmpq:
        d = rational(t) - rational(y)
        end = fmpq(3, 4) if d > 0 else fmpq(-1, 4)
        return d * d / 2 if abs(d) <= abs(end) else end * (d - end / 2)


@pytest.fixture(autouse=True)
def _registered(monkeypatch):
    monkeypatch.setitem(LOSSES, SkewHuber.name, SkewHuber())
    monkeypatch.setitem(ORACLES, SkewHuber.name, SkewHuberOracle)


@pytest.mark.parametrize(
    "check", ["values", "conjugates", "residuals", "residuals_between", "slopes", "near", "curvatures", "secants"]
)
def test_it_is_rounded_outward(check):
    assert list(getattr(enclosures, f"wrong_{check}")(SkewHuber())) == []


def test_its_sphere_is_that_of_the_papers_algorithm():
    for seed in range(5):
        case = tiny_case(np.random.default_rng(seed), "normal", SkewHuber.name, "elastic net", cells=2)
        solution = train(case.problem)
        assert gap_upper(case.problem, solution) == pytest.approx(sum(loop_gap(case, solution)), rel=1e-10, abs=1e-13)


@pytest.mark.parametrize("penalty", ["l2", "elastic net"])
@pytest.mark.parametrize("intercept", [False, True], ids=["no intercept", "intercept"])
def test_every_certificate_holds_exactly(penalty, intercept):
    for seed in range(4):
        case = tiny_case(np.random.default_rng(seed), "normal", SkewHuber.name, penalty, cells=2)
        case = with_intercept(case) if intercept else case
        made, failures = prove(case, [train(case.problem)], inner=1)
        assert made > 0
        assert failures == []
