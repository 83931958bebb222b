"""What the slope certificate claims of a training problem, for comparison with exact arithmetic.

Two claims are separate. One is about minimisers: where the models of all completions lie. The other holds for every
completion and every move v in a set, minimiser or not: what the forces ``u.(gradient at w' + v) - u.A v`` can be.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from unittest import mock

import numpy as np
from flint import arb, arb_mat, ctx, fmpq

from ipub.certificates import PointwiseBounds, SlopeBounds, TrainedModel, certify_slopes
from ipub.certificates.slopes import assemble as assemble_module
from ipub.certificates.slopes import attempt as attempt_module
from ipub.certificates.slopes import l1_signs as l1_signs_module
from ipub.certificates.slopes import linearization as linearize_module
from ipub.certificates.slopes import prove_moves as prove_module
from ipub.certificates.slopes.l1_signs import DecidedSigns, L1Signs
from ipub.losses import LOSSES
from ipub.losses.penalties import ElasticNet
from ipub.model_sets.move_sets import Ellipsoid, MoveSet, NoMove
from ipub.numeric.rounding import sum_upper
from ipub.problem.solvers import Solution
from support.cases import Case, draw_solution, intervals, train, vary_loss, with_intercept
from support.exact_proofs import exact_completions
from support.oracles.exact import ExactModel, exact_model
from support.oracles.intercept import exact_intercept_model
from support.oracles.losses import oracle_of
from support.oracles.rationals import Enclosure, as_float, exact_dot, holds, rational, rationals
from support.planted import planted_function

PRECISION = 240
KINDS = ("plain", "wide", "strong penalty", "weak penalty", "weights", "one row", "collinear", "kinks", "certain")


@dataclass(frozen=True)
class Key:
    """Names a drawn problem and the way its model came about."""

    loss: str
    penalty: str = "l2"
    kind: str = "plain"
    intercept: bool = False
    model: str = "trained"
    seed: int = 0


def draw(key: Key) -> Case:
    """Draw a tiny problem with at most three holes."""
    rng = np.random.default_rng([KINDS.index(key.kind), len(key.loss), key.intercept, key.seed])
    n, d = int(rng.integers(2, 6)), int(rng.integers(1, 4))
    table, radius = rng.normal(size=(n, d)), np.full((n, d), np.nan)
    if key.kind == "kinks":
        table = rng.integers(-2, 3, size=(n, d)).astype(float)
    if key.kind == "collinear":
        table[:, -1] = table[:, 0]
    cells = min(int(rng.integers(1, 4)), n * d)
    places = np.arange(min(cells, d)) if key.kind == "one row" else rng.choice(n * d, size=cells, replace=False)
    size = {"wide": rng.uniform(-0.5, 0.7)}.get(key.kind, rng.uniform(-3.0, -0.3))
    drawn_radii = 10.0**size * rng.uniform(0.3, 1.0, len(places))
    radius.flat[places] = {"kinks": 0.5, "certain": np.nan}.get(key.kind, drawn_radii)
    loss = LOSSES[key.loss]
    is_regression = loss.task == "regression"
    y = np.round(2.0 * rng.normal(size=n)) / 2.0 if is_regression else rng.choice([-1.0, 1.0], size=n)
    weight = rng.choice([0.5, 1.0, 3.0], size=n) if key.kind == "weights" else None
    strength = {"strong penalty": (0.5, 2.0), "weak penalty": (-6.0, -3.0)}.get(key.kind, (-2.0, 0.5))
    lam = 0.25 if key.kind == "kinks" else 10.0 ** rng.uniform(*strength)
    largest = float(np.abs(table.T @ y).max()) / n
    kappa = 0.0
    if key.penalty != "l2":
        kappa = 0.125 if key.kind == "kinks" else (largest or 1.0) * 10.0 ** rng.uniform(-2.0, 0.0)
    X_test = rng.normal(size=(2, d))
    case = vary_loss(rng, Case(intervals(table, radius), y, weight, loss, ElasticNet(lam, kappa), X_test))
    return with_intercept(case) if key.intercept else case


@cache
def drawn(key: Key) -> tuple[Case, Solution]:
    case = draw(key)
    rng = np.random.default_rng(key.seed)
    return case, train(case.problem) if key.model == "trained" else draw_solution(rng, case, key.model)


@cache
def exact_models(key: Key) -> list[ExactModel]:
    """Return the exact model of every vertex, and of points between."""
    case, penalty = draw(key), draw(key).penalty
    minimise = exact_intercept_model if penalty.n_free else exact_model
    inner = {1: 3, 2: 1}.get(case.matrix.n_uncertain, 0)
    return [
        minimise(table, case.y, case.weight, case.loss, penalty.lam, penalty.kappa)
        for table in exact_completions(case.matrix, inner)
    ]


# --- minimisers --------------------------------------------------------------------------------------------------


def wrong_models(key: Key) -> tuple[int, list[str]]:
    """Compare everything that is claimed of the models of completions with exact ones."""
    case, solution = drawn(key)
    decided: list[DecidedSigns] = []
    decide = l1_signs_module.decide_signs

    def recorded(signs: L1Signs, bounds: SlopeBounds, penalty: ElasticNet) -> DecidedSigns:
        found = decide(signs, bounds, penalty)
        if np.array_equal(bounds.w, solution.w):  # what is suggested may be about another model
            decided.append(found)
        return found

    # The mean value is kept wherever there is one, worth its work or not.
    always = mock.patch.object(attempt_module, "MEAN_VALUE_GAIN", np.inf)
    with planted_function(l1_signs_module, "decide_signs", recorded), always:
        certificate = certify_slopes(case.problem, solution)
    part = certificate.part(SlopeBounds)
    proved = prove_module.prove_move_set(case.problem, solution).found if case.loss.is_smooth else None
    if part is None:
        return 0, []
    X = np.vstack([case.X_test, np.eye(len(solution.w))])
    bounds = {name: np.column_stack(form.ends(X)) for name, form in _forms(part).items()}
    if case.loss.is_smooth and case.penalty.kappa == 0.0:
        retrained = replace(certificate, refinement=PointwiseBounds())
        near_exact = retrained.score_bounds(case.X_test, TrainedModel(case.problem, solution))
        bounds["pointwise"] = np.vstack([near_exact, np.tile([-np.inf, np.inf], (len(solution.w), 1))])
    here = [exact_dot(rationals(x), rationals(solution.w)) for x in X]
    limits = {"moves": part.as_move_set().max_score_move(X)}
    row_free = part.without_training_rows()
    if row_free is not None:
        limits["row-free moves"] = row_free.as_move_set().max_score_move(X)
        limits["row-free move limits"] = np.append(np.full(len(case.X_test), np.inf), row_free.move_limits)
    limits["move limits"] = np.append(np.full(len(case.X_test), np.inf), part.move_limits)
    for number, (_, move_limits) in enumerate(decided):
        limits[f"decided move limits {number}"] = np.append(np.full(len(case.X_test), np.inf), move_limits)
    count, wrong = 0, []
    for model in exact_models(replace(key, model="any")):
        scores = [model.score(x) for x in X]
        for name, ends in bounds.items():
            count += len(X)
            wrong += [f"{name}: {ends[k]}, {key}" for k in range(len(X)) if not holds(ends[k], scores[k])]
        for name, size in limits.items():
            moves = [(low - at, high - at) for (low, high), at in zip(scores, here, strict=True)]
            wrong += [f"{name}: {size[k]}, {key}" for k in range(len(X)) if not holds((-size[k], size[k]), moves[k])]
        wrong += [f"{problem}, {key}" for signs, _ in decided for problem in _wrong_signs(signs, model)]
        if proved is not None and not _is_inside(proved.ellipsoid, solution.w, model):
            wrong.append(f"ellipsoid, {key}")
    return count, wrong


def _forms(part: SlopeBounds) -> dict[str, SlopeBounds]:
    """Return the slope theorem and the mean-value theorem, each by itself, cell by cell and in columns."""
    alone = replace(part, mean_value=None)
    forms = {"ends": alone, "ends in columns": alone.in_columns(), "row-free ends": alone.without_training_rows()}
    forms["ends, another inverse"] = replace(alone, inverse=0.9 * part.inverse)
    if part.mean_value is not None:
        mean = replace(part, inverse=0.0 * part.inverse, move_limits=np.full_like(part.move_limits, 1e300))
        forms |= {"mean value": mean, "mean value in columns": mean.in_columns()}
    return {name: form for name, form in forms.items() if form is not None}


def every_form(part: SlopeBounds) -> dict[str, SlopeBounds]:
    """Return the bounds cell by cell, in columns, and without training rows, if they have that form."""
    forms = {"one by one": part, "in columns": part.in_columns(), "row-free": part.without_training_rows()}
    return {name: form for name, form in forms.items() if form is not None}


def _wrong_signs(signs: L1Signs, model: ExactModel) -> Iterator[str]:
    for j in range(len(model.w)):
        low, high = model.weight(j)
        if signs.zero[j] and not low == 0 == high:
            yield f"weight {j} is not zero"
        if low > 0 and not signs.lower[j] <= 1.0 <= signs.upper[j]:
            yield f"weight {j} is positive"
        if high < 0 and not signs.lower[j] <= -1.0 <= signs.upper[j]:
            yield f"weight {j} is negative"
        if not holds((-signs.largest[j], signs.largest[j]), (low, high)):
            yield f"weight {j} is larger"


def _is_inside(ellipsoid: Ellipsoid, w: np.ndarray, model: ExactModel) -> bool:
    matrix, radius = ellipsoid.matrix, ellipsoid.radius
    with ctx.workprec(PRECISION):
        v = [arb(value - rational(at), arb(model.error)) for value, at in zip(model.w, w, strict=True)]
        form = sum((v[j] * v[k] * matrix[j, k] for j in range(len(v)) for k in range(len(v))), arb(0))
        return not np.isfinite(radius) or bool(form <= arb(radius) ** 2)


# --- all moves ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Box(MoveSet):
    """The moves with ``|v_j| <= limits_j``."""

    limits: np.ndarray

    def max_score_move(self, X: np.ndarray) -> np.ndarray:
        return sum_upper(np.abs(X) @ self.limits, X.shape[1] + 1)


def wrong_forces(key: Key, size: float, moves: int = 6) -> tuple[int, list[str]]:
    """Compare bounds of forces with exact ones, for all vertices and corners of a box of moves, and points inside.

    `size` is that of the box, compared with the weights.
    """
    case, solution = drawn(key)
    rng = np.random.default_rng([key.seed, 1])
    w, d = solution.w, len(solution.w)
    limits = size * (np.abs(w).max() or 1.0) * rng.uniform(0.2, 1.0, size=d)
    signs = L1Signs.undecided(w).within(w, limits)
    linear = linearize_module.linearize(case.problem, solution, Box(limits))
    bounds = assemble_module.slope_bounds(linear, signs, None)
    if bounds is None:
        return 0, []
    U = np.vstack([np.eye(d), case.X_test @ bounds.inverse, *_hardly_moved(bounds)])
    with np.errstate(all="ignore"):
        ends = {"forces": bounds.forces(U), "forces in columns": bounds.in_columns().forces(U)}
        row_free = bounds.without_training_rows()
        ends |= {} if row_free is None else {"row-free forces": row_free.forces(U)}
    corners = [np.array(corner) for corner in itertools.product([-1.0, 1.0], repeat=d)]
    shares = [np.zeros(d), *corners[:: max(1, len(corners) // moves)], *rng.uniform(-1.0, 1.0, size=(2, d))]
    count, wrong = 0, []
    grid = {1: 3, 2: 1}.get(case.matrix.n_uncertain, 0)
    for table, share in itertools.product(exact_completions(case.matrix, grid), shares):
        v = [rational(value) for value in np.clip(share * limits, -limits, limits)]
        if share.any() and rng.random() < 0.5:
            # Exactly on the edge of a kink, if that is possible.
            v = _onto_a_kink(case, table, w, v, limits)
        for u, k in zip(U, range(len(U)), strict=True):
            exact = _force(case, table, w, v, rationals(u), bounds.curvature)
            for name, (low, high) in ends.items():
                count += 1
                if not (np.isnan(low[k]) or np.isnan(high[k]) or holds((low[k], high[k]), exact)):
                    wrong.append(f"{name}: ({low[k]}, {high[k]}), {[as_float(end) for end in exact]}, {key}")
    return count, wrong


def _hardly_moved(bounds: SlopeBounds) -> Iterator[np.ndarray]:
    """Yield directions in which the ends of a cell are nearly the same: what is between them counts."""
    cells = bounds.cells
    if cells is None:
        return
    columns = np.repeat(bounds.groups.columns, np.diff(cells.starts))
    for k, x in enumerate(cells.rows):
        z = cells.generator_row[k] * x
        z[columns[k]] += cells.generator_cell[k]
        if z @ z > 0.0 and len(z) > 1:
            yield x - (x @ z / (z @ z)) * z


def wrong_norms(key: Key) -> tuple[int, list[str]]:
    """Compare bounds of ``sqrt(g.M^-1 g)``, g the gradient at w', with exact ones for vertices and points inside."""
    case, solution = drawn(key)
    with np.errstate(all="ignore"):
        linear = linearize_module.linearize(case.problem, solution, NoMove())
        matrix = linear.curvature
        bound, choice = prove_module.force_upper(linear, matrix), rationals(linear.l1_choice())
    if not np.isfinite(bound):
        return 0, []
    nowhere, d, wrong = [fmpq(0)] * len(solution.w), len(solution.w), []
    plain = replace(case, penalty=replace(case.penalty, kappa=0.0))
    tables = exact_completions(case.matrix, {1: 7, 2: 3}.get(case.matrix.n_uncertain, 1))
    with ctx.workprec(PRECISION):
        for table in tables:
            gradient = []
            for j in range(d):
                unit = [fmpq(int(j == k)) for k in range(d)]
                low, high = _force(plain, table, solution.w, nowhere, unit, np.zeros((d, d)))
                gradient.append([arb((low + high) / 2 + choice[j], arb((high - low) / 2))])
            g = arb_mat(gradient)
            norm = (g.transpose() * arb_mat(matrix.tolist()).solve(g))[0, 0]
            if not norm <= arb(bound) ** 2:
                wrong.append(f"norm: {bound}, {key}")
    return len(tables), wrong


def wrong_hessians(key: Key, size: float) -> tuple[int, list[str]]:
    """Compare bounds of secant Hessians with exact ones in their worst direction: from w', and between two moves."""
    case, solution = drawn(key)
    rng = np.random.default_rng([key.seed, 2])
    w, d = solution.w, len(solution.w)
    limits = size * (np.abs(w).max() or 1.0) * rng.uniform(0.2, 1.0, size=d)
    here, between = (
        linearize_module.linearize(case.problem, solution, Box(limits), everywhere=all_) for all_ in (False, True)
    )
    count, wrong = 0, []
    for table in exact_completions(case.matrix, {1: 3, 2: 1}.get(case.matrix.n_uncertain, 0)):
        for _ in range(6):
            one, other = (rationals(np.sign(rng.normal(size=d)) * rng.uniform(0.0, 1.0) * limits) for _ in range(2))
            for model, start in ((here, [fmpq(0)] * d), (between, other)):
                hessian = _secant_hessian(case, table, w, start, one)
                bounds = [("lower", model.hessian_lower(), 1)]
                bounds += [("upper", model.hessian_upper(), -1)] if model.incomplete is not None else []
                for name, bound, sign in bounds:
                    difference = [[sign * (hessian[j][k] - rational(bound[j, k])) for k in range(d)] for j in range(d)]
                    floats = np.array([[as_float(entry) for entry in row] for row in difference])
                    z = rationals(np.linalg.eigh(floats)[1][:, 0])
                    count += 1
                    if sum(z[j] * z[k] * difference[j][k] for j in range(d) for k in range(d)) < 0:
                        wrong.append(f"{name} hessian, {key}")
    return count, wrong


def _secant_hessian(case: Case, table, w: np.ndarray, start: list[fmpq], end: list[fmpq]) -> list[list[fmpq]]:
    """Return the penalty's Hessian and secant slopes of the loss; those of the logistic to high precision."""
    d = len(w)
    lam = rationals(case.penalty.lam_vector(d))
    weight = rationals(np.ones(len(case.y)) if case.weight is None else case.weight)
    total = sum(weight, fmpq(0))
    hessian = [[lam[j] if j == k else fmpq(0) for k in range(d)] for j in range(d)]
    for row, y, s in zip(table, case.y.tolist(), weight, strict=True):
        x = [*row, *[fmpq(1)] * case.penalty.n_free]
        here = exact_dot(x, rationals(w))
        first, last = here + exact_dot(x, start), here + exact_dot(x, end)
        if first == last:
            last += fmpq(1, 10**20) * (1 if sum(x) > 0 else -1)
        certify_slopes = (_slope_ends(case, y, last)[0] - _slope_ends(case, y, first)[0]) / (last - first)
        for j, k in itertools.product(range(d), repeat=2):
            hessian[j][k] += s / total * certify_slopes * x[j] * x[k]
    return hessian


def _onto_a_kink(case: Case, table, w: np.ndarray, v: list[fmpq], limits: np.ndarray) -> list[fmpq]:
    """Scale a move so that the score of a row is its label, if it stays inside the box."""
    rows = [[*row, fmpq(1)] for row in table] if case.penalty.n_free else table
    for row, y in zip(rows, rationals(case.y), strict=True):
        along = exact_dot(row, v)
        if along != 0:
            share = (y - exact_dot(row, rationals(w))) / along
            if abs(share) <= 1:
                return [share * value for value in v]
    return v


def _force(case: Case, table, w: np.ndarray, v: list[fmpq], u: list[fmpq], curvature: np.ndarray) -> Enclosure:
    """Enclose ``u.(gradient of the completion's objective at w + v) - u.A v`` over all subgradients."""
    there = [rational(a) + b for a, b in zip(w, v, strict=True)]
    d, n_free = len(v), case.penalty.n_free
    lam, kappa = (rationals(part(d)) for part in (case.penalty.lam_vector, case.penalty.kappa_vector))
    low = sum((u[j] * lam[j] * there[j] for j in range(d)), fmpq(0))
    low -= sum((u[j] * rational(curvature[j, k]) * v[k] for j in range(d) for k in range(d)), fmpq(0))
    high = low
    for j in range(d):
        ends = (-1, 1) if there[j] == 0 else ((1, 1) if there[j] > 0 else (-1, -1))
        low += min(u[j] * kappa[j] * end for end in ends)
        high += max(u[j] * kappa[j] * end for end in ends)
    weight = rationals(np.ones(len(case.y)) if case.weight is None else case.weight)
    total = sum(weight, fmpq(0))
    for row, y, s in zip(table, case.y.tolist(), weight, strict=True):
        x = [*row, *[fmpq(1)] * n_free]
        factor = s / total * exact_dot(x, u)
        slopes = [factor * certify_slopes for certify_slopes in _slope_ends(case, y, exact_dot(x, there))]
        low, high = low + min(slopes), high + max(slopes)
    return low, high


def _slope_ends(case: Case, y: float, t: fmpq) -> tuple[fmpq, fmpq]:
    with ctx.workprec(PRECISION):
        slopes = oracle_of(case.loss).slopes(y, t)
    return slopes[0], slopes[-1]
