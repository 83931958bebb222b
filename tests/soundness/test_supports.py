"""No retrained completion leaves the bounds that combine ends in generic directions."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from ipub.certificates import Certificate, TrainedModel, certify_tight
from ipub.losses import LOSSES
from ipub.model_sets.supports import SupportBounds
from ipub.problem.objective import Problem
from ipub.problem.solvers import Solution
from ipub.training.without_rows import generic_directions
from support.attacks import Tally, attack
from support.cases import FAMILIES, MODELS, draw_case, draw_solution, vary_loss, with_intercept


def certify_supports(problem: Problem, solution: Solution) -> Certificate:
    """Return the supports of a file without rows, and nothing else; what bounds them where they have no ends."""
    known = certify_tight(problem, solution)
    directions = generic_directions(TrainedModel(problem, solution))
    assert directions is not None
    # Fewer directions leave more of a row to its weights.
    supports = SupportBounds.of(known.score_bounds, directions[:: np.random.default_rng(0).integers(1, 6)])
    return known if supports is None else replace(known, parts=(supports,))


@pytest.mark.share(4)
@pytest.mark.parametrize("intercept", [False, True], ids=["no intercept", "intercept"])
@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("penalty", ["l2", "elastic net"])
@pytest.mark.parametrize("loss_name", tuple(LOSSES))
def test_no_completion_breaks_a_bound_by_supports(loss_name, penalty, family, intercept, report_attack):
    rng = np.random.default_rng([20, list(FAMILIES).index(family), len(loss_name), len(penalty)])
    case = vary_loss(rng, draw_case(rng, family, loss_name, penalty))
    case = with_intercept(case) if intercept else case
    tally = Tally()
    attack(
        rng, case, draw_solution(rng, case, str(rng.choice(MODELS))), tally, certificates={"supports": certify_supports}
    )
    report_attack(tally)
    assert tally.checks >= 20
    assert tally.violations == []
