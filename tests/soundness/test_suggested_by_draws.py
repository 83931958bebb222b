"""What a draw takes from another one is a suggestion: with any, however wrong, bounds hold exactly."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from ipub.certificates import NO_HINT, AnotherDraw, RowSumBounds, SlopeBounds, certify_tight
from ipub.losses import LOSSES
from ipub.numeric.linalg import Inverse
from ipub.problem.solvers import solve
from support.cases import train, vary_loss, with_intercept
from support.exact_proofs import prove
from support.tiny_cases import tiny_case

SMOOTH = tuple(name for name, loss in LOSSES.items() if loss.is_smooth)
SIZES = {"as it is": 1.0, "far too small": 1e-3, "far too large": 1e3, "nothing": 0.0, "no number": np.nan}


def gentle_case(rng, loss_name, penalty, intercept):
    case = vary_loss(rng, tiny_case(rng, "normal", loss_name, penalty, 3))
    matrix = replace(case.matrix, radii=0.1 * case.matrix.radii)
    case = replace(case, matrix=matrix, penalty=replace(case.penalty, lam=max(case.penalty.lam, 0.05)))
    return with_intercept(case) if intercept else case


def suggestion(rng, problem, solution, size):
    """Return the bounds of this problem, its moves made larger or smaller, as if they were those of another draw."""
    certificate = certify_tight(problem, solution)
    bounds = certificate.part(SlopeBounds)
    if bounds is None:
        return NO_HINT
    first = bounds.first and replace(bounds.first, excess=float(rng.choice([0.5, 1.0, 9.0])))
    bounds = replace(
        bounds, radius=size * bounds.radius, move_limits=size * bounds.move_limits, excess=1.0, first=first
    )
    if bounds.ellipsoid is not None and rng.random() < 0.5:
        d = len(bounds.w)
        other = rng.normal(size=(d, d))
        bounds = replace(bounds, ellipsoid=Inverse(other @ other.T + 0.1 * np.eye(d), np.zeros(d)))
    row_sums, widths = certificate.part(RowSumBounds), None
    if row_sums is not None and row_sums.widths is not None:
        widths = size * row_sums.widths * rng.uniform(0.5, 2.0, size=row_sums.widths.shape)
    elif rng.random() < 0.5:
        widths = rng.uniform(0.1, 5.0, size=(2, 3))  # of a table with other rows
    return AnotherDraw(bounds, slopes_are_enough=bool(rng.random() < 0.5), row_sum_widths=widths)


@pytest.mark.share(4)
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("penalty", ["l2", "elastic net"])
@pytest.mark.parametrize("loss_name", LOSSES)
def test_bounds_hold_whatever_another_draw_suggests(loss_name, penalty, size, report_proofs):
    rng = np.random.default_rng([41, list(LOSSES).index(loss_name), len(penalty), list(SIZES).index(size)])
    count = 0
    for k in range(4):
        case = gentle_case(rng, loss_name, penalty, intercept=k % 2 == 0)

        def hinted(problem, solution):
            hint = suggestion(rng, problem, solution, SIZES[size])
            return certify_tight(problem, solution, hint=hint)

        def in_columns(problem, solution):
            hint = suggestion(rng, problem, solution, SIZES[size])
            return certify_tight(problem, solution, hint=hint, in_columns=True).in_columns()

        made, failures = prove(case, [train(case.problem)], 0, {"hinted": hinted, "in columns": in_columns})
        assert failures == []
        count += made
    report_proofs(count)


@pytest.mark.parametrize("loss_name", SMOOTH)
def test_slopes_of_another_draw_give_nearly_the_same_bounds(loss_name):
    rng = np.random.default_rng([42, SMOOTH.index(loss_name)])
    for _ in range(4):
        case = gentle_case(rng, loss_name, "l2", intercept=True)
        problem, solution = case.problem, train(case.problem)
        certificate = certify_tight(problem, solution)
        hint = AnotherDraw.of(certificate, case.X_test) or NO_HINT
        again = certify_tight(problem, solution, hint=hint)
        widths = [np.ptp(each.score_bounds(case.X_test), axis=1).sum() for each in (certificate, again)]
        assert widths[1] <= 1.3 * widths[0] + 1e-9


@pytest.mark.parametrize("factor", [1.0, 0.01, 100.0, -1.0])
def test_any_hessian_leads_to_the_optimum(factor):
    rng = np.random.default_rng(0)
    case = gentle_case(rng, "log_loss", "l2", intercept=False)
    exact = train(case.problem).w
    hessian = factor * case.problem.evaluate(exact, case.loss).hessian
    found = solve(case.problem, start=exact + 0.1, hessian=hessian)
    assert found.converged
    assert np.allclose(found.w, exact, atol=1e-3)
