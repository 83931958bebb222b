"""Ranges of row sums, and scores ruled out in them, compared with the exact models of completions."""

from __future__ import annotations

import numpy as np

from ipub.certificates import CERTIFICATES, RowSumBounds
from ipub.certificates.per_row.ruled_out_scores import SupposedScore, is_on_one_side, no_model_at
from ipub.certificates.row_sums.ranges import Ranges
from ipub.certificates.row_sums.table import RowTable
from support.cases import Case, Generator
from support.exact_proofs import exact_completions
from support.oracles.exact import ExactModel, exact_model
from support.oracles.intercept import exact_intercept_model
from support.oracles.rationals import as_float, holds, rational

EFFORT = 0.01
"""For one score to be ruled out."""


def exact_models(case: Case, inner: int = 0) -> list[ExactModel]:
    """Return the exact models of completions: every vertex, and points between."""
    minimise = exact_intercept_model if case.penalty.n_free else exact_model
    arguments = case.y, case.weight, case.loss, case.penalty.lam, case.penalty.kappa
    return [minimise(table, *arguments) for table in exact_completions(case.matrix, inner)]


def known_ranges(case: Case, solution, name: str) -> Ranges:
    """Return the ranges that another certificate gives."""
    known = CERTIFICATES[name](case.problem, solution)
    table = RowTable.within(case.problem, solution, known)
    return Ranges.of(table, *known.score_bounds(table.directions).T, on_path=False)


def assert_hold(ranges: Ranges, models: list[ExactModel], X_test: np.ndarray) -> int:
    """Compare ranges, and row sums over them, with exact models; return how often."""
    found = RowSumBounds(ranges)
    for model in models:
        for y, low, high in zip(ranges.table.directions, ranges.lower, ranges.upper, strict=True):
            assert holds((low, high), model.score(y))
        for x, low, high in zip(X_test, *found.ends(X_test), strict=True):
            assert holds((low, high), model.score(x))
    return len(models) * (len(ranges.lower) + len(X_test))


def assert_not_ruled_out(rng: Generator, ranges: Ranges, t: np.ndarray, models: list[ExactModel]) -> int:
    """Suppose scores that some model has, or that are below those of all models, w's among them or not."""
    lowest = min(model.score(t)[0] for model in models)
    highest = max(model.score(t)[0] for model in models)
    width, at_w = as_float(highest - lowest), float(t @ ranges.table.w)
    attained = np.nextafter(as_float(highest), -np.inf)
    scores = [attained, attained - 1e-6 * width, attained - rng.random() * width, min(at_w, attained) - width - 1.0]
    for score in scores:
        assert rational(score) <= highest
        assert not no_model_at(ranges, SupposedScore(t, score), EFFORT)
    return len(scores)


def n_sides(ranges: Ranges, t: np.ndarray, models: list[ExactModel]) -> int:
    """Compare the sides that are proved with those of exact models; return how many are proved."""
    found, at_w = 0, float(t @ ranges.table.w)
    width = max(as_float(model.score(t)[1] - models[0].score(t)[0]) for model in models)
    low, high = (float(end[0]) for end in RowSumBounds(ranges).ends(t[None]))
    scores = (0.0, at_w + 0.3 * abs(width), low - 1.0, high + 1.0)
    for score in filter(np.isfinite, scores):
        if is_on_one_side(ranges, t, score, EFFORT):
            found += 1
            for model in models:
                low, high = model.score(t)
                assert low > rational(score) if at_w > score else high < rational(score)
    return found
