"""The sphere is the paper's Algorithm 1 plus the true duality gap."""

from __future__ import annotations

import math

import numpy as np
import pytest

from ipub.certificates.sphere import certify_sphere, gap_upper
from ipub.losses import LOSSES
from support.cases import draw_case, draw_solution
from support.oracles.algorithm1 import loop_gap


@pytest.mark.share(5)
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
        region = certify_sphere(case.problem, solution).parts[0]
        assert region.radius == pytest.approx(math.sqrt(2.0 * computed / case.penalty.lam), rel=1e-14)
        assert (region.center == solution.w).all()
