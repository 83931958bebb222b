"""Ranges of metrics of tiny tables, compared with the exact models of their completions; no tolerance."""

import itertools

import numpy as np
import pytest
from flint import fmpq

from ipub.answers.metrics.joint import Joint, LinearForms
from ipub.answers.metrics.known_metrics import LOSSES_OF_TARGETS, LOSSES_OF_TWO_CLASSES, OF_TARGETS, OF_TWO_CLASSES
from ipub.answers.metrics.near_scores import NearScores
from ipub.answers.metrics.ways import InBoxes
from ipub.certificates import CERTIFICATES
from ipub.losses import LOSSES
from ipub.numeric.rounding import overflow_means_unbounded
from ipub.rows.sparse_array import unit_rows
from ipub.tables.missing_category import NOTHING_MISSING
from ipub.training.training import ExtendedRows
from support.cases import Case, train, with_intercept
from support.exact_ranges import exact_models
from support.oracles.rationals import as_float, rational
from support.tiny_cases import tiny_case, tiny_choices


def enclosed(exact) -> tuple[float, float]:
    """Return floats around an exact score; the same one if it is a float."""
    low, high = (as_float(each) for each in exact)
    return (
        low if rational(low) <= exact[0] else np.nextafter(low, -np.inf),
        high if rational(high) >= exact[1] else np.nextafter(high, np.inf),
    )


def joint_way(case: Case, certificate, center: np.ndarray, y: np.ndarray, radius: np.ndarray) -> Joint:
    """Return the joint way of rows that are uncertain themselves, without categories."""
    d = center.shape[1]
    weights = certificate.score_bounds(unit_rows(d))
    cells = np.nonzero(radius)
    rows = ExtendedRows(center, (*cells, radius[cells]), NOTHING_MISSING)
    moved = radius @ np.abs(weights).max(axis=1) * (1.0 + 1e-12)
    bounds = certificate.score_bounds(center) + np.column_stack([-moved, moved])
    bounds[~np.isfinite(bounds).all(axis=1)] = -np.inf, np.inf
    solution = train(case.problem)
    low, high = bounds[:, 0], bounds[:, 1]
    near = NearScores(center @ solution.w, low, high, y, None)
    forms = LinearForms(certificate.score_bounds, rows, weights, d - case.penalty.n_free)
    return Joint(InBoxes(low, high, y), forms, near, 1000)


def rows_of(rng, case: Case, m: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Draw rows to test on, labels, and the radii of their own cells: all of them multiples of 1/4."""
    d = case.matrix.shape[1]
    center = np.round(4.0 * rng.normal(size=(m, d))) / 4.0
    radius = np.where(rng.random((m, d)) < 0.1, 0.25, 0.0)
    if case.penalty.n_free:
        center, radius = np.column_stack([center, np.ones(m)]), np.column_stack([radius, np.zeros(m)])
    if case.loss.task == "regression":
        return center, np.round(4.0 * rng.normal(size=m)) / 4.0, radius
    return center, np.array([0.0, 1.0, *rng.integers(0, 2, m - 2)]), radius


def wrong_ranges(rng, case: Case, report_proofs) -> list[str]:
    certificate = CERTIFICATES["tight"](case.problem, train(case.problem))
    center, y, radius = rows_of(rng, case, 9)
    way, rows = joint_way(case, certificate, center, y, radius), np.arange(9)
    makes = {**OF_TARGETS, **LOSSES_OF_TARGETS}
    if case.loss.task == "classification":
        makes = {**OF_TWO_CLASSES, **LOSSES_OF_TWO_CLASSES}
    metrics = [make(name) for name, make in makes.items()]
    metrics = [each for each in metrics if not each.undefined(y) and not each.undefined(y[:5])]
    groups = rows[:5], rows[5:]
    with overflow_means_unbounded():
        ranges = [(way.of_group(each, rows), way.of_group(each, groups[0])) for each in metrics]
        differences = [None if each.undefined(y[5:]) else way.of_difference(each, *groups) for each in metrics]
    wrong, count = [], 0
    for model, sign in itertools.product(exact_models(case, inner=1), (-1.0, 0.0, 1.0)):
        # Each row's own cells where they raise, lower, or leave every score of this model.
        filled = center + sign * radius * np.sign(
            [as_float(sum(model.weight(j), fmpq(0))) for j in range(center.shape[1])]
        )
        low, high = np.array([enclosed(model.score(x)) for x in filled]).T
        for metric, of_rows, difference in zip(metrics, ranges, differences, strict=True):
            ends = [np.ravel(metric.ends(low[None, at], high[None, at], y[at])) for at in (rows, *groups)]
            for found, (least, most) in zip(of_rows, ends, strict=False):
                count += 1
                if not (found.lower <= most and least <= found.upper):
                    wrong.append(f"{metric}: {found}, {least, most}; {case!r}")
            if difference is not None:
                exact = [rational(float(a)) - rational(float(b)) for a, b in zip(ends[1], ends[2][::-1], strict=True)]
                for end, value in ((difference.lower, -exact[1]), (-difference.upper, exact[0])):
                    if np.isfinite(end) and rational(end) > -value:
                        wrong.append(f"difference of {metric}: {difference}, {exact}; {case!r}")
    report_proofs(count)
    return wrong


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("intercept", [False, True], ids=["no intercept", "intercept"])
@pytest.mark.parametrize("kind", ["integers", "normal", "mixed scales", "weights"])
@pytest.mark.share(4)
def test_no_completion_leaves_a_joint_range(loss, intercept, kind, report_proofs):
    rng = np.random.default_rng([70, len(loss), intercept, len(kind)])
    for _ in range(2):
        case = tiny_case(rng, kind, loss, "l2", cells=2)
        case = with_intercept(case) if intercept else case
        assert wrong_ranges(rng, case, report_proofs) == []


@pytest.mark.parametrize("loss", ["log_loss", "squared_error"])
def test_no_level_of_a_category_leaves_a_joint_range(loss, report_proofs):
    rng = np.random.default_rng([71, len(loss)])
    for gentle in (True, False):
        assert wrong_ranges(rng, tiny_choices(rng, loss, "l2", gentle), report_proofs) == []
