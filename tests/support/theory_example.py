"""Two rows and one hole, carried through every theorem by the code itself."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from experiments.rivals.newton_steps import interval_newton
from ipub.certificates.ball import certify_ball
from ipub.certificates.origin import certify_origin
from ipub.certificates.per_row.pointwise import PointwiseBounds, Stage
from ipub.certificates.per_row.ruled_out_scores import SupposedScore, narrow_by_ruling_out, no_model_at
from ipub.certificates.per_row.tilted_half_ball import Reference, TiltedHalfBall
from ipub.certificates.row_sums.bounds import RowSumBounds, bounds_around_filling, prove_row_sums, ranges_at_w
from ipub.certificates.row_sums.one_matrix_sums import OneMatrixSums, OneMatrixTable
from ipub.certificates.row_sums.ranges import Ranges
from ipub.certificates.slopes.attempt import attempt_slope_bounds, certify_slopes
from ipub.certificates.slopes.prove_moves import prove_move_set
from ipub.certificates.sphere import certify_sphere, gap_upper
from ipub.certificates.uncertain_rows import bounds_of_uncertain_rows
from ipub.losses import LOSSES
from ipub.losses.penalties import ElasticNet
from ipub.model_sets.certificate import Certificate, TrainedModel
from ipub.model_sets.draws import DrawBounds
from ipub.model_sets.region import Region
from ipub.model_sets.supports import SupportBounds
from ipub.numeric.linalg import Inverse, definiteness
from ipub.numeric.rounding import EPS, sum_error
from ipub.problem.objective import Problem
from ipub.problem.solvers import Solution
from ipub.promises.base import UncertainLabels
from ipub.promises.draws import class_failure
from ipub.rows import MemoryRows
from ipub.tables.interval_matrix import IntervalMatrix
from ipub.tables.label_uncertainty import LabelUncertainty
from ipub.tables.missing_category import Levels, MissingCategories
from ipub.tables.movable_units import HOLES, WRONG_CELLS, BudgetMoves, MovableRows
from ipub.tables.quantile_regression import learn_conditional
from support.cases import Case, intervals, train

X, RADIUS, Y = np.eye(2), np.array([[np.nan, 0.5], [np.nan, np.nan]]), np.array([1.0, -1.0])
ASKED = np.array([[1.0, 0.0]])
CASE = Case(intervals(X, RADIUS), Y, None, LOSSES["squared_error"], ElasticNet(1.0), ASKED)

Numbers = dict[str, float]


def exact_model(value: float, first: float = 1.0, second: float = 0.0) -> np.ndarray:
    """Return the model with a value in the hole, and with other values in the first column."""
    completed = np.array([[first, value], [second, 1.0]])
    return np.linalg.solve(np.eye(2) + completed.T @ completed, completed.T @ Y)


def trained(case: Case = CASE) -> tuple[Problem, Solution]:
    return case.problem, train(case.problem)


def score_bounds(certificate: Certificate, x: np.ndarray = ASKED, case: Case = CASE) -> Numbers:
    ((low, high),) = certificate.score_bounds(x, TrainedModel(*trained(case)))
    return {"lower bound of the score": low, "upper bound of the score": high}


def setting() -> Numbers:
    problem, solution = trained()
    w, loss = solution.w, problem.loss
    one, score = Y[:1], X[:1] @ w
    alpha = -loss.derivative(one, score)
    reach = np.nan_to_num(RADIUS[0]) @ np.abs(w)
    return {
        r"center score $x\cdot w'$": float(ASKED[0] @ w),
        r"least score of a completion, at $c=-\frac12$": exact_model(-0.5)[0],
        r"greatest score of a completion, at $c=\frac12$": exact_model(0.5)[0],
        "objective $P_X(w')$": float(np.mean(loss.value(Y, X @ w)) + problem.penalty.value(w)),
        r"$\hat p_1$": reach,
        r"dual coordinate $\alpha_1=-\psi_1(p_1)$": alpha[0],
        r"residual $\mathrm{FY}_1(p_1+\hat p_1,\alpha_1)$": loss.residual_upper(one, score + reach, alpha)[0],
    }


def model_sets() -> Numbers:
    curvatures = [2.0 * np.eye(2), np.array([[2.0, 0.5], [0.5, 2.25]])]
    targets = [np.array([1.0, -1.0]), np.array([1.0, -0.5])]

    def score(tau: float) -> float:
        A, b = ((1.0 - tau) * each[0] + tau * each[1] for each in (curvatures, targets))
        return float(ASKED[0] @ np.linalg.solve(A, b))

    return {r"$x\cdot w_0$": score(0.0), r"$x\cdot w_{1/2}$": score(0.5), r"$x\cdot w_1$": score(1.0)}


def sphere() -> Numbers:
    problem, solution = trained()
    certificate = certify_sphere(problem, solution)
    return {
        r"$\Delta$": gap_upper(problem, solution),
        r"$\varrho$": certificate.parts_of(Region)[0].radius,
        **score_bounds(certificate),
    }


def half_ball() -> Numbers:
    certificate = certify_ball(*trained())
    region = min(certificate.parts_of(Region), key=lambda each: each.radius)
    return {
        r"half-width of the box, column 2": region.box[1],
        r"radius of the ball around the box": region.radius,
        **score_bounds(certificate),
        "radius of the origin": certify_origin(*trained()).parts_of(Region)[0].radius,
    }


def intercept() -> Numbers:
    case = replace(CASE, penalty=ElasticNet(1.0, 0.0, n_free=1))
    origin, ball = certify_origin(*trained(case)), certify_ball(*trained(case))
    unit, asked = np.array([[0.0, 0.0, 1.0]]), np.array([[1.0, 0.0, 1.0]])
    (first,), (bracket,) = origin.score_bounds(unit), ball.score_bounds(unit)
    return {
        "upper end of the first bracket of the intercept": first[1],
        "upper end of the half-ball's bracket": bracket[1],
        **score_bounds(ball, asked, case),
    }


def slopes() -> Numbers:
    proved, bounds = prove_move_set(*trained()).found, attempt_slope_bounds(*trained()).found
    assert proved is not None
    assert bounds is not None
    linear, ellipsoid = proved
    (generator,) = linear.cells.generators
    (low,), (high,) = bounds.ends(ASKED)
    move = float(bounds.move_limits[1])
    return {
        "least eigenvalue of $L$": float(np.linalg.eigvalsh(ellipsoid.matrix)[0]),
        "greatest eigenvalue of $U$": float(np.linalg.eigvalsh(linear.hessian_upper())[-1]),
        r"radius $\varrho_0$ of the ellipsoid that proves itself": ellipsoid.radius,
        "first coordinate of $G$": generator[0],
        "second coordinate of $G$": generator[1],
        r"$\hat v_2$ in the end": move,
        r"$\frac12+\frac18+\frac14\hat v_2$": 0.5 + 0.125 + 0.25 * move,
        "lower bound of the score": float(low),
        "upper bound of the score": float(high),
    }


def trends() -> Numbers:
    narrow = replace(CASE, matrix=intervals(X, 0.8 * RADIUS))

    def bracket(case: Case) -> float:
        stage = Stage.of(*trained(case))
        assert stage is not None
        return float(stage.trends.of_cells(ASKED)[1].item())

    model = TrainedModel(*trained(narrow))
    certificate = certify_slopes(*trained(narrow))
    refined = PointwiseBounds().prepared(certificate, model)
    ((low, high),) = refined.narrowed(ASKED, certificate.score_bounds(ASKED, model))
    return {
        r"greatest value of the bracket, $\lvert c\rvert\le\frac12$": bracket(CASE),
        r"greatest value of the bracket, $\lvert c\rvert\le0.4$": bracket(narrow),
        r"lower bound of the score, $\lvert c\rvert\le0.4$": low,
        r"upper bound of the score, $\lvert c\rvert\le0.4$": high,
    }


def proved_row_sums(case: Case = CASE) -> RowSumBounds:
    """Return the bounds by row sums, with a matrix for each direction."""
    found = prove_row_sums(ranges_at_w(*trained(case))).found
    assert found is not None
    return found


def row_sums() -> Numbers:
    table, numbers = OneMatrixTable.of(*trained()), {}
    assert table is not None
    middle = table.directions @ table.w
    for width in (0.3, 0.32):
        about = OneMatrixSums(table, middle - width, middle + width).about(np.eye(2))
        for end, direction in zip((about.high - about.low) / 2.0, ("(1,0)", "(0,1)"), strict=True):
            numbers[rf"half-width for $x={direction}$ over ranges of $\pm{width}$"] = float(end)
    bounds = proved_row_sums()
    _, (u,), (b,), (zeta,), _ = bounds.ranges.kernel.upper_with_multipliers(ASKED)
    low, high = bounds.ends(ASKED)
    return numbers | {
        "$u_1$, a matrix for each direction": u[0],
        "$u_2$": u[1],
        "$b_1$": b[0],
        r"$\zeta_{12}$": zeta[0],
        "lower bound of the score": float(low[0]),
        "upper bound of the score": float(high[0]),
    }


def budgets() -> Numbers:
    case = replace(CASE, matrix=intervals(X, np.full((2, 2), np.nan)))
    hole, half, quarter = np.zeros(1, dtype=np.intp), np.array([0.5]), np.full(2, 0.25)
    holes = MovableRows.of_numbers(hole, hole + 1, half, half, HOLES)
    units = holes.joined_to(MovableRows.of_numbers(np.arange(2), np.zeros(2, np.intp), quarter, quarter, WRONG_CELLS))

    def bounds(*counts: int) -> tuple[float, float]:
        found = bounds_around_filling(*trained(case), units, BudgetMoves(counts)).found
        assert found is not None
        (low,), (high,) = found.ends(ASKED)
        return float(low), float(high)

    grid = np.linspace(-1.0, 1.0, 21)
    wrong = [(1.0 + change, 0.0) for change in grid / 4.0] + [(1.0, change) for change in grid / 4.0]
    low, high = bounds(1)
    return {
        "lower bound of the score, $K_1=1$": low,
        "upper bound of the score, $K_1=1$": high,
        "upper bound of the score, $K_2=1$": bounds(0, 1)[1],
        "upper bound of the score, $K_1=K_2=1$": bounds(1, 1)[1],
        "greatest score found, $K_1=K_2=1$": max(exact_model(c, *each)[0] for c in grid / 2.0 for each in wrong),
    }


def labels() -> Numbers:
    uncertain = LabelUncertainty(np.array([0.1, 0.0]), np.zeros(2))
    rows = MemoryRows(CASE.matrix, Y, label_uncertainty=uncertain)
    problem = Problem(rows, CASE.loss, CASE.penalty)
    solution = train(problem)
    (block,) = rows.blocks()
    scores = X @ solution.w
    found = prove_row_sums(ranges_at_w(problem, solution)).found
    assert found is not None
    (low,), (high,) = found.ends(ASKED)
    ((_, ball),) = certify_ball(problem, solution).score_bounds(ASKED)
    return {
        r"$\hat\psi_1^y$": UncertainLabels().derivative_change(block, problem.loss, scores, scores)[0],
        "lower bound of the score": low,
        "upper bound of the score": high,
        "upper bound of the score by the half-ball": ball,
    }


def categories() -> Numbers:
    table = np.array([[0.5, 0.5], [0.0, 1.0]])
    missing = MissingCategories.of(np.array([[True], [False]]), [Levels(np.arange(2))])
    matrix = replace(IntervalMatrix.from_bounds(table, table), missing_categories=missing)
    case = replace(CASE, matrix=matrix)
    w = trained(case)[1].w
    (low,), (high,) = proved_row_sums(case).ends(ASKED)
    return {
        "$w'_1$": w[0],
        r"$\max_l\lvert\delta_l\cdot w'\rvert$": missing.score_change(w)[0],
        "width of the bounds of the score by row sums": high - low,
        "upper bound of the score by row sums": high,
    }


def rows_to_predict() -> Numbers:
    proved = proved_row_sums()

    def bounds(rows: np.ndarray) -> np.ndarray:
        return np.column_stack(proved.ends(rows))

    weights, cell = bounds(np.eye(2)), (np.array([0]), np.array([1]), np.array([0.25]))
    ((low, high),) = bounds_of_uncertain_rows(bounds, ASKED, cell, weights)
    above, below, difference = bounds(np.array([[1.0, -0.25], [1.0, 0.25], [0.0, -0.5]]))
    return {
        "upper bound of $w_2$": weights[1, 1],
        "lower bound of the uncertain row's score": low,
        "upper bound of the uncertain row's score": high,
        r"upper bound of the score of $(1,\frac14)$": below[1],
        r"lower bound of the score of $(1,-\frac14)$": above[0],
        "lower bound of the difference of both": difference[0],
    }


def ruled_out() -> Numbers:
    problem, solution = trained()
    w, nothing = solution.w, np.zeros((0, 2))
    ball = TiltedHalfBall.of(problem, Reference(w, w, np.sign(w), problem.loss, nothing, np.zeros(0), np.inf))
    at_w, known = ranges_at_w(problem, solution), certify_ball(problem, solution)
    assert ball is not None
    assert at_w is not None
    x, low_high = ASKED[0], known.score_bounds(ASKED)[0]
    ranges: Ranges = at_w.of_completions(*known.score_bounds(at_w.table.directions).T)
    narrowed = narrow_by_ruling_out(ranges, x, (float(low_high[0]), float(low_high[1])), np.inf)
    return {
        r"upper bound by the tilted half-ball, $\theta=\frac12$": ball.score_upper(x, 0.5),
        r"upper bound by the tilted half-ball, $\theta=\sqrt{3/16}$": ball.score_upper(x, float(np.sqrt(3.0 / 16.0))),
        "upper bound by scores ruled out in the half-ball's ranges": narrowed[1],
        "whether 0.588 is ruled out (0: no)": float(no_model_at(ranges, SupposedScore(x, 0.588))),
        "whether 0.5883 is ruled out": float(no_model_at(ranges, SupposedScore(x, 0.5883))),
    }


def supports() -> Numbers:
    bounds, row, nothing = proved_row_sums(), np.array([[2.0, -1.0]]), np.zeros((0, 2))

    def ends(directions: np.ndarray) -> SupportBounds:
        found = SupportBounds.of(lambda Y: np.column_stack(bounds.ends(Y)), directions)
        assert found is not None
        return found

    known = ends(np.array([[1.0, -1.0]]))
    return {
        "upper bound of $w_1$": known.upper[0],
        "lower bound of $w_2$": known.lower[1],
        r"upper bound of $y_3\cdot w$": known.upper[2],
        "upper bound of the score of $(2,-1)$ by supports": known.ends(row)[1][0],
        "by the unit vectors alone": ends(nothing).ends(row)[1][0],
        "by row sums, with the training rows": bounds.ends(row)[1][0],
    }


def draws() -> Numbers:
    members = []
    for drawn in (-0.25, 0.25):
        near = intervals(np.array([[1.0, drawn], [0.0, 1.0]]), 0.1 * RADIUS)
        members.append(Certificate("draw", (proved_row_sums(replace(CASE, matrix=near)),), 0.0))
    (low,), (high,) = DrawBounds(tuple(members), np.zeros((2, 2))).ends(ASKED)
    return {
        r"$\mathrm{low}(F_1)$": exact_model(-0.3)[0],
        r"$\mathrm{high}(F_2)$": exact_model(0.3)[0],
        "lower bound of the score over both draws": low,
        "upper bound of the score over both draws": high,
        r"bound of $\mathrm{fail}_2$": float(class_failure(2)),
        r"bound of $\mathrm{fail}_{37}$": float(class_failure(37)),
    }


def conditional_intervals() -> Numbers:
    values = np.append(np.arange(1, 101) / 100.0, np.nan)
    table = np.column_stack([values, np.ones(101)])
    found = learn_conditional(table, [0], np.array([[0.0, 1.0], [1.0, 1.0]]), 0.9, ["values"])
    (column,) = found.columns
    (low,), (high,) = column.intervals(table[-1:])
    return {
        "$t^-$": column.intercept[0],
        "$t^+$": column.intercept[1],
        r"$\hat e$": column.correction,
        "lower end of the interval": low,
        "upper end of the interval": high,
        "coverage of values that were held out, in 5 folds": found.report.coverage[0],
    }


def newton() -> Numbers:
    box = interval_newton(*trained())
    ((low, high),) = box.score_bounds(ASKED)
    return {
        "lower bound of the score by interval Newton": low,
        "upper bound of the score by interval Newton": high,
        "upper bound of $w_2$": box.upper[1],
    }


def dropped_rows() -> Numbers:
    case = replace(CASE, matrix=intervals(X, np.full((2, 2), np.nan)))
    found = bounds_around_filling(
        *trained(case), MovableRows.of_numbers([], [], [], []), BudgetMoves((0, 0, 0, 1))
    ).found
    assert found is not None
    (low,), (high,) = found.ends(ASKED)
    alone = np.linalg.solve(np.eye(2) + 2.0 * np.outer(X[0], X[0]), 2.0 * Y[0] * X[0])
    return {
        "score without row 2": float(ASKED[0] @ alone),
        "lower bound of the score": float(low),
        "upper bound of the score": float(high),
    }


def rounding() -> Numbers:
    w, curvature = trained()[1].w, 2.0 * np.eye(2)
    enclosed, margin = Inverse.of(curvature), definiteness(curvature)
    assert enclosed is not None
    assert margin is not None
    return {
        "error bound of $p_1$, in units of EPS": float(sum_error(np.abs(X[0]) @ np.abs(w), 3)) / EPS,
        "margin of the factorisation of $A$": margin,
        "error bound of $A^{-1}$, in units of EPS": enclosed.error[0] / EPS,
    }


NUMBERS: dict[str, Callable[[], Numbers]] = {
    "setting": setting,
    "model_sets": model_sets,
    "sphere": sphere,
    "half_ball": half_ball,
    "intercept": intercept,
    "slopes": slopes,
    "trends": trends,
    "row_sums": row_sums,
    "budgets": budgets,
    "labels": labels,
    "categories": categories,
    "rows_to_predict": rows_to_predict,
    "draws": draws,
    "ruled_out": ruled_out,
    "supports": supports,
    "dropped_rows": dropped_rows,
    "conditional_intervals": conditional_intervals,
    "interval_newton": newton,
    "rounding": rounding,
}
PAGES = tuple(NUMBERS)
