"""Proofs in ball arithmetic (python-flint): of single retrained models, and of all fillings of a small table.

The distance of a model from the exact one is bounded as in `plain_training`, with all sums as balls. For a box of
fillings each cell is a ball, and so is all that follows from it: the bound then holds for every filling of the box.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from typing import Any, NamedTuple

import numpy as np

from ipub.verification.checked_rows import CheckedRows, NearMiss
from ipub.verification.claim import Claim, Filling, Numbers
from ipub.verification.plain_losses import Array
from ipub.verification.plain_training import train
from ipub.verification.search_fillings import response

PRECISION = 200
"""Bits."""
REFINEMENTS = 8
"""Corrections of a model by a Hessian in floats: each gains about ten digits."""
MOST_CELLS = 50_000
"""Cells of a table that is looked at in ball arithmetic, at most."""
MOST_NUMBERS, MOST_ENTRIES = 2, 2_000
"""Missing numbers, and cells, of a table whose fillings are proved all at once, at most."""
DOUBLINGS = 900
SLACK = 0.01
"""By how much of their width bounds may be left: one that a filling attains cannot be told from one that is wrong."""
SHORTEST = 1e-6
"""Boxes that are shorter, as a share of the interval, are not cut."""


def is_installed() -> bool:
    """Whether python-flint is there."""
    return find_spec("flint") is not None


class _BallTable(NamedTuple):
    """A filled-in training table of balls."""

    X: Any
    """A matrix of balls; with an intercept its last column is 1."""
    y: list[float]
    share: list[Any]


def _ball_table(claim: Claim, filling: Filling, low: Array, high: Array) -> _BallTable:
    """Return the table of a filling in which the numbers that may vary lie between two ends."""
    from flint import arb, arb_mat

    table = claim.table.copy()
    for row, first, stop, level in zip(
        claim.categories.rows, claim.categories.first, claim.categories.stop, filling.levels, strict=True
    ):
        table[row, first:stop] = 0.0
        table[row, first + level] = 1.0
    cells = [[arb(value) for value in row] for row in np.nan_to_num(table).tolist()]
    for row, column, *ends in zip(
        claim.numbers.rows.tolist(), claim.numbers.columns.tolist(), low.tolist(), high.tolist(), strict=True
    ):
        cells[row][column] = arb(ends[0]).union(arb(ends[1]))
    cells = [scaled_balls(claim, row) for row in cells]
    if claim.objective.has_intercept:
        cells = [[*row, arb(1)] for row in cells]
    total = sum((arb(value) for value in filling.weight.tolist()), arb(0))
    return _BallTable(arb_mat(cells), filling.y.tolist(), [arb(value) / total for value in filling.weight.tolist()])


def scaled_balls(claim: Claim, row: list[Any]) -> list[Any]:
    """Return a row as the model sees it."""
    for name, operand in () if claim.scaling is None else claim.scaling.operations:
        step = _OPERATIONS[name]
        row = [step(cell, cell * 0 + float(number)) for cell, number in zip(row, operand.tolist(), strict=True)]
    return row


_OPERATIONS: dict[str, Callable[[Any, Any], Any]] = {
    "add": lambda cell, number: cell + number,
    "subtract": lambda cell, number: cell - number,
    "multiply": lambda cell, number: cell * number,
    "divide": lambda cell, number: cell / number,
    "maximum": lambda cell, number: cell.max(number),
    "minimum": lambda cell, number: cell.min(number),
}


class _Enclosure(NamedTuple):
    """Balls of the exact model's weights and intercept."""

    w: list[Any]
    """The middle."""
    error: Any
    intercept: Any
    longest: Any

    def score(self, row: list[Any]) -> Any:
        """Return a ball with the exact score of a row, given without the 1 of an intercept."""
        length = sum((x * x for x in row), self.error * 0).sqrt()
        score = sum((x * w for x, w in zip(row, self.w, strict=True)), self.error * 0)
        off = (length * self.error).upper()
        return score + self.intercept + (off * 0).union(off) - (off * 0).union(off)


def _enclosed(claim: Claim, table: _BallTable, w: list[Any], slopes: list[float]) -> _Enclosure | None:
    """Enclose the exact model of every table in a table of balls; None if its intercept is not bounded."""
    from flint import arb, arb_mat

    objective = claim.objective
    n, d = len(table.y), len(w) - objective.has_intercept
    scores = table.X * arb_mat([[each] for each in w])
    each_slope, rest = [], arb(0)
    for i in range(n):
        if objective.loss.softened is None:
            each_slope.append(objective.loss.ball_derivative(table.y[i], scores[i, 0]))
        else:
            z, dual = 1 - scores[i, 0] * table.y[i], arb(-table.y[i] * slopes[i])
            each_slope.append(arb(slopes[i]))
            rest += table.share[i] * (z * (1 - dual)).max(-z * dual)
    g = table.X.transpose() * arb_mat([[slope * m] for slope, m in zip(each_slope, table.share, strict=True)])
    squares, lam, kappa = arb(0), arb(objective.lam), arb(objective.kappa)
    for j in range(d):
        if w[j].is_zero() and objective.kappa:
            part = (abs(g[j, 0]) - kappa).max(arb(0))
        else:
            part = g[j, 0] + lam * w[j] + kappa * (1 if w[j] > 0 else -1 if w[j] < 0 else 0)
        squares += part * part
    along = arb(squares.upper()).max(arb(0)).sqrt()
    longest = arb(0)
    for i in range(n):
        if table.share[i] > 0:
            length = sum((table.X[i, j] * table.X[i, j] for j in range(d)), arb(0)).upper()
            longest = longest.max(arb(length).max(arb(0)).sqrt())
    intercept = arb(0)
    if objective.has_intercept:
        low, high = (_intercept_end(claim, table, scores, w[d], side) for side in (-1, 1))
        if low is None or high is None:
            return None
        intercept = low.union(high)
        along += longest * abs(g[d, 0])
        rest += abs(g[d, 0]) * abs(intercept - w[d])
    along, rest = arb(along.upper()), arb(rest.upper()).max(arb(0))
    error = arb(((along + (along * along + 4 * lam * rest).sqrt()) / (2 * lam)).upper())
    if objective.has_intercept:
        off = (longest * error).upper()
        intercept = (intercept - off).union(intercept + off)
    return _Enclosure(w[:d], error, intercept, longest)


def _intercept_end(claim: Claim, table: _BallTable, scores: Any, b: Any, side: int) -> Any:
    """Return an intercept beyond which none is best for the other weights; None if none is found."""
    from flint import arb

    step = arb(2) ** (-PRECISION + 20) * (1 + abs(b))
    for _ in range(DOUBLINGS):
        total = arb(0)
        for i, y in enumerate(table.y):
            total += table.share[i] * claim.objective.loss.ball_derivative(y, scores[i, 0] + side * step)
        if side * total > 0:
            return arb((b + side * step).mid())
        step = arb((2 * step).mid())
        if step > 1e9:
            return None
    return None


def _refined(claim: Claim, table: _BallTable, X: Array, w: Array) -> list[Any]:
    """Return weights that are more exact than floats, of a loss whose derivative does not jump."""
    from flint import arb, arb_mat

    objective, d = claim.objective, len(w)
    lam, kappa = np.full(d, objective.lam), np.full(d, objective.kappa)
    if objective.has_intercept:
        lam[-1] = kappa[-1] = 0.0
    share = np.array([float(each) for each in table.share])
    curvature = objective.loss.curvature(np.array(table.y), X @ w)
    exact = [arb(value) for value in w.tolist()]
    for _ in range(REFINEMENTS):
        scores = table.X * arb_mat([[each] for each in exact])
        slopes = [[objective.loss.ball_derivative(y, scores[i, 0]) * table.share[i]] for i, y in enumerate(table.y)]
        g = table.X.transpose() * arb_mat(slopes)
        right = np.array(
            [float((g[j, 0] + lam[j] * exact[j] + kappa[j] * float(np.sign(w[j]))).mid()) for j in range(d)]
        )
        step = response(claim, curvature, share, X, w, right)
        exact = [arb((value - float(move)).mid()) for value, move in zip(exact, step.tolist(), strict=True)]
    return exact


def prove_near_miss(rows: CheckedRows, near: NearMiss) -> tuple[float, float] | None:
    """Return floats between which the exact score of a filling lies, in ball arithmetic; None if nothing is proved.

    The score is that of the end of the row that the filling was trained for.
    """
    from flint import ctx

    claim = rows.claim
    with ctx.workprec(PRECISION):
        table = _ball_table(claim, near.filling, near.filling.numbers, near.filling.numbers)
        if claim.objective.loss.softened is None:
            w = _refined(claim, table, claim.filled(near.filling).X, near.w)
        else:
            w = _balls(near.w)
        found = _enclosed(claim, table, w, near.slopes.tolist())
        if found is None:
            return None
        score = found.score(_row_balls(rows, near.row, near.side, near.w))
        return _float_below(score), -_float_below(-score)


def _float_below(ball: Any) -> float:
    """Return the largest float that is not above a ball."""
    from flint import arb

    value = float(ball.lower())
    while not arb(value) <= ball:
        value = float(np.nextafter(value, -np.inf))
    return value


def _row_balls(rows: CheckedRows, row: int, side: float, w: Array) -> list[Any]:
    """Return a row to predict at the end of its own cells that is least (-1) or greatest (1), exactly scaled."""
    from flint import arb

    raw = rows.raw_ends(w, side)[row]
    return scaled_balls(rows.claim, [arb(value) for value in raw.tolist()])


class _Box(NamedTuple):
    """Fillings with each number between two ends, and the rows whose bounds are not proved for them."""

    low: Array
    high: Array
    rows: frozenset[int]


def prove_all_fillings(rows: CheckedRows, is_over: Callable[[], bool]) -> list[int] | None:
    """Return the rows whose bounds no filling leaves by more than `SLACK`, proved; None if the table is not small.

    Boxes of fillings are cut until the scores of each are within the bounds and the slack, or time is over.
    """
    from flint import ctx

    claim, numbers = rows.claim, rows.claim.numbers
    if not _is_small(claim):
        return None
    has_holes = (rows.cells.low != rows.cells.high).any(axis=1)
    proved = {row for row in np.flatnonzero(~has_holes).tolist() if rows.bounds[row, 0] <= rows.bounds[row, 1]}
    boxes: list[_Box] = [_Box(numbers.low, numbers.high, frozenset(proved))]
    start: Array | None = None
    with ctx.workprec(PRECISION):
        while boxes:
            box = boxes.pop()
            wanted = box.rows & proved
            if is_over():
                proved -= wanted
                continue
            left, start = _left_open(rows, box._replace(rows=wanted), start)
            if not left:
                continue
            halves = _halves(numbers, box._replace(rows=left))
            if not halves:
                proved -= left
            boxes += halves
    return sorted(proved)


def _is_small(claim: Claim) -> bool:
    """Whether nothing but few numbers varies, in a small table."""
    limits, numbers = claim.limits, claim.numbers
    has_others = len(claim.categories.rows) or limits.labels or limits.rows or len(claim.free_labels)
    is_limited = limits.holes is not None or bool((claim.targets[0] < claim.targets[1]).any())
    n_varying = int((numbers.high > numbers.low).sum())
    return not has_others and not is_limited and n_varying <= MOST_NUMBERS and claim.table.size <= MOST_ENTRIES


def _left_open(rows: CheckedRows, box: _Box, start: Array | None) -> tuple[frozenset[int], Array]:
    """Return the rows whose scores may leave their bounds in a box, and the model of its middle."""
    claim = rows.claim
    middle = claim.base._replace(numbers=np.clip(0.5 * box.low + 0.5 * box.high, box.low, box.high))
    filled = claim.filled(middle)
    model = train(filled, claim.objective, start)
    table = _ball_table(claim, middle, box.low, box.high)
    w = _balls(model.w)
    found = _enclosed(claim, table, w, model.slopes.tolist())
    if found is None:
        return box.rows, model.w
    score = found.score
    if claim.objective.loss.softened is None and not _may_change_signs(claim, found):
        at_middle = _ball_table(claim, middle, middle.numbers, middle.numbers)
        score = _Linearized(claim, filled.X, at_middle, table, w, found).score
    return frozenset(row for row in box.rows if not _is_inside(rows, row, score)), model.w


def _may_change_signs(claim: Claim, found: _Enclosure) -> bool:
    """Whether an l1 term may have another sign at the exact model."""
    return bool(claim.objective.kappa) and not all(abs(value) > found.error for value in found.w)


class _Linearized:
    """Scores of the exact models of a box of fillings, to first order in the cells, with all that is left as a ball.

    With z the weights and the intercept at the middle, A about the inverse Hessian there, and H the mean Hessian
    between z and the exact z*, ``z* - z = -A g + (I - A H)(z* - z)`` for the gradient g at z. What rows with
    missing values add to ``A g`` is that at the middle and the derivative by their cells times the move of these.
    """

    def __init__(
        self, claim: Claim, X: Array, middle: _BallTable, box: _BallTable, w: list[Any], found: _Enclosure
    ) -> None:
        from flint import arb, arb_mat

        self._claim, self._middle, self._box, self._w = claim, middle, box, w
        objective, n, d = claim.objective, len(box.y), len(w)
        self._penalised = d - objective.has_intercept
        off = found.error.upper()
        self._moves = [(-off).union(off)] * self._penalised
        if objective.has_intercept:
            self._moves.append(found.intercept - w[-1])
        lam = np.full(d, objective.lam)
        lam[self._penalised :] = 0.0
        share = np.array([float(each) for each in middle.share])
        curvature = objective.loss.curvature(np.array(box.y), X @ np.array([float(each) for each in w]))
        self._inverse = np.linalg.pinv((X.T * (share * curvature)) @ X + np.diag(lam))
        between = box.X * arb_mat(
            [[value + (move * 0).union(move)] for value, move in zip(w, self._moves, strict=True)]
        )
        curved = [objective.loss.ball_curvature(box.y[i], between[i, 0]) * box.share[i] for i in range(n)]
        rows = arb_mat([[curved[i] * box.X[i, j] for j in range(d)] for i in range(n)])
        self._hessian = box.X.transpose() * rows + arb_mat(
            [[arb(lam[j]) if j == k else arb(0) for k in range(d)] for j in range(d)]
        )
        self._holed = [i for i in range(n) if any(not (box.X[i, j] - middle.X[i, j]).is_zero() for j in range(d))]
        weights = arb_mat([[value] for value in w])
        self._scores, self._ranges = middle.X * weights, box.X * weights
        slopes = [[objective.loss.ball_derivative(y, self._scores[i, 0]) * box.share[i]] for i, y in enumerate(box.y)]
        g = middle.X.transpose() * arb_mat(slopes)
        sign = [1 if value > 0 else -1 for value in w[: self._penalised]]
        self._gradient = [
            g[j, 0] + (w[j] * lam[j] + objective.kappa * sign[j] if j < self._penalised else arb(0)) for j in range(d)
        ]

    def score(self, row: list[Any]) -> Any:
        """Return a ball with the scores of a row, given without the 1 of an intercept, under all exact models."""
        from flint import arb

        x = [*row, *([arb(1)] * (len(self._w) - self._penalised))]
        d, loss = len(x), self._claim.objective.loss
        u = [arb(value) for value in (self._inverse.T @ np.array([float(each.mid()) for each in x])).tolist()]
        score = sum((x[j] * self._w[j] - self._gradient[j] * u[j] for j in range(d)), arb(0))
        for i in self._holed:
            y, at = self._box.y[i], self._ranges[i, 0]
            slope, curvature = loss.ball_derivative(y, at), loss.ball_curvature(y, at)
            product = sum((self._box.X[i, j] * u[j] for j in range(d)), arb(0))
            for j in range(d):
                move = self._box.X[i, j] - self._middle.X[i, j]
                score -= self._box.share[i] * (curvature * self._w[j] * product + slope * u[j]) * move
        for k in range(d):
            left = x[k] - sum((u[j] * self._hessian[j, k] for j in range(d)), arb(0))
            score += left * self._moves[k]
        return score


def _halves(numbers: Numbers, box: _Box) -> list[_Box]:
    """Cut a box in two across its longest side; none if it is short."""
    whole = numbers.high - numbers.low
    shares = np.where(whole > 0.0, (box.high - box.low) / np.where(whole > 0.0, whole, 1.0), 0.0)
    if not len(shares) or shares.max() <= SHORTEST:
        return []
    k = int(np.argmax(shares))
    cut = 0.5 * box.low[k] + 0.5 * box.high[k]
    first, second = box.high.copy(), box.low.copy()
    first[k] = second[k] = cut
    return [_Box(box.low, first, box.rows), _Box(second, box.high, box.rows)]


def _balls(w: Array) -> list[Any]:
    from flint import arb

    return [arb(value) for value in w.tolist()]


def _is_inside(rows: CheckedRows, row: int, score: Callable[[list[Any]], Any]) -> bool:
    from flint import arb

    found = score(scaled_balls(rows.claim, _balls(rows.cells.table[row])))
    low, high = (arb(end) for end in rows.bounds[row].tolist())
    slack = SLACK * (high - low)
    return bool(found >= low - slack) and bool(found <= high + slack)
