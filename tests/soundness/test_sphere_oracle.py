"""The sphere is the paper's Algorithm 1 plus the true duality gap."""

from __future__ import annotations

import math

import numpy as np
import pytest

from ipub.certificates.sphere import gap_upper, sphere
from ipub.losses import LOSSES
from oracles.algorithm1 import algorithm1_delta, duality_gap
from soundness.cases import draw_case, draw_solution


def loop_gap(case, solution) -> tuple[float, float]:
    """Return Delta of Algorithm 1 and the duality gap, from plain loops."""
    n = len(case.y)
    center = case.matrix.center_rows(slice(0, n))
    radius = case.matrix.radius.toarray()
    weight = np.ones(n) if case.weight is None else case.weight
    # The same dual point to the last bit: a narrowly smoothed hinge magnifies the rounding of a score.
    alpha = solution.dual_point(case.problem.rows.block(slice(0, n)))
    model = (
        case.y.tolist(), weight.tolist(), case.loss.name, case.penalty.lam, case.penalty.kappa,
        solution.w.tolist(), alpha.tolist(),
    )  # fmt: skip
    delta = algorithm1_delta((center - radius).tolist(), (center + radius).tolist(), center.tolist(), *model)
    return delta, duality_gap(center.tolist(), *model)


@pytest.mark.parametrize("model", ["trained", "loose", "noisy", "garbage"])
@pytest.mark.parametrize("family", ["plain", "weights", "one column", "degenerate", "kink"])
@pytest.mark.parametrize("penalty", ["l2", "elastic net"])
@pytest.mark.parametrize("loss_name", LOSSES)
def test_sphere_equals_the_papers_algorithm_plus_the_gap(loss_name, penalty, family, model):
    for seed in range(5):
        rng = np.random.default_rng(seed)
        case = draw_case(rng, family, loss_name, penalty)
        solution = draw_solution(rng, case, model)
        delta, gap = loop_gap(case, solution)
        computed = gap_upper(case.problem, solution)
        # The loops subtract losses from losses: near a zero gap only rounding, of the size of P(0), is left.
        rounding = 1e-13 * (1.0 + abs(case.y).max()) ** 2
        assert computed == pytest.approx(delta + gap, rel=1e-10, abs=rounding)
        region = sphere(case.problem, solution).parts[0]
        assert region.radius == pytest.approx(math.sqrt(2.0 * computed / case.penalty.lam), rel=1e-14)
        assert (region.center == solution.w).all()
