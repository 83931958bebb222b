"""The bounds that a model states for some rows, and what retrained models say of them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ipub.verification.claim import Cells, Claim, Filling, in_scale, level_columns, read_cells
from ipub.verification.plain_losses import Array
from ipub.verification.plain_training import Model

KEPT = 10
"""Fillings whose scores came closest to a bound, which ball arithmetic looks at again."""

WIDE = 10.0
"""Bounds are wide enough to say where in them a score lies if they are so many times as wide as its error."""

LISTED = 20
"""Violations that are kept, at most."""


class Violation(NamedTuple):
    """A bound that a filling breaks."""

    what: str
    """What is bounded: a row, a weight, the intercept, or the promise."""
    bounds: tuple[float, float]
    found: tuple[float, float]
    """Ends between which the exact value for the filling lies."""
    filling: Filling | None = None

    def __str__(self) -> str:
        if self.filling is None and np.isnan(self.found[0]):
            return self.what
        low, high = self.bounds
        return f"{self.what}: bounds {low!r} to {high!r}, and a filling has {self.found[0]!r} to {self.found[1]!r}"


class NearMiss(NamedTuple):
    """A filling that came close to a bound of a row."""

    gap: float
    """Distance from the bound, in widths; negative beyond it."""
    row: int
    side: float
    filling: Filling
    w: Array
    slopes: Array


@dataclass(eq=False)
class CheckedRows:
    """The rows whose bounds under one model are checked, and how near to these retrained models came."""

    model: Any
    claim: Claim
    number: int
    """Which of several models it is."""
    cells: Cells
    bounds: Array
    """Shape (m, 2)."""
    coef_bounds: Array
    intercept_bounds: Array
    violations: list[Violation] = field(default_factory=list)
    n_checks: int = 0
    n_violated: int = 0
    last: Any = None
    """The model that was trained last: the next one starts from it."""
    near: dict[tuple[int, float], NearMiss] = field(default_factory=dict)
    """For each row and side the filling that came closest."""
    gaps: Array = field(init=False)
    """Shape (m, 2): the same distances, of rows whose bounds are wide enough; infinite of others."""
    errors: Array = field(init=False)
    """Shape (m,): the least error of a score of each row."""

    def __post_init__(self) -> None:
        self.gaps, self.errors = np.full(self.bounds.shape, np.inf), np.full(len(self.bounds), np.inf)
        wrong = np.isnan(self.bounds).any(axis=1) | (self.bounds[:, 0] > self.bounds[:, 1])
        for row in np.flatnonzero(wrong):
            low, high = self.bounds[row].tolist()
            self._violated(f"{self.name(int(row))}: its bounds {low!r} and {high!r} have nothing between them", row)

    def name(self, row: int) -> str:
        """Name a row for a person."""
        classes = getattr(self.model, "classes_", ())
        return f"row {row}" + (f", class {classes[self.number]}" if len(classes) > 2 else "")

    def raw_ends(self, w: Array, side: float) -> Array:
        """Return the rows, not scaled, with what is missing in them such that scores are least (-1) or greatest (1)."""
        d = self.cells.table.shape[1]
        rows = np.where(side * w[:d] > 0.0, self.cells.high, self.cells.low)
        for first, stop in level_columns(self.model):
            missing = np.isnan(rows[:, first])
            rows[missing, first:stop] = 0.0
            rows[missing, first + int(np.argmax(side * w[first:stop]))] = 1.0
        return rows

    def ends(self, w: Array) -> tuple[Array, Array]:
        """Return the same as the model sees them: for the least and for the greatest scores."""
        found = []
        for side in (-1.0, 1.0):
            X = in_scale(self.claim.scaling, self.raw_ends(w, side))
            found.append(np.column_stack([X, np.ones(len(X))]) if self.claim.objective.has_intercept else X)
        return found[0], found[1]

    def check(self, filling: Filling, trained: Model) -> None:
        """Compare the scores, weights and intercept of a filling's exact model with their bounds."""
        if not np.isfinite(trained.error):
            return
        has_intercept = self.claim.objective.has_intercept
        least, greatest = self.ends(trained.w)
        width = self.bounds[:, 1] - self.bounds[:, 0]
        for X, side in ((least, -1.0), (greatest, 1.0)):
            low, high = trained.scores(X, has_intercept)
            self.n_checks += len(X)
            outside = (high < self.bounds[:, 0]) | (low > self.bounds[:, 1])
            for row in np.flatnonzero(outside):
                self._found(self.name(int(row)), self.bounds[row], (float(low[row]), float(high[row])), filling)
            with np.errstate(all="ignore"):
                gaps = np.where(side < 0.0, low - self.bounds[:, 0], self.bounds[:, 1] - high) / width
            self._compare_widths(gaps, high - low, width, ~outside, int(side > 0.0))
            for row in np.flatnonzero(np.isfinite(gaps) & ~outside):
                key = int(row), side
                if key not in self.near or gaps[row] < self.near[key].gap:
                    self.near[key] = NearMiss(float(gaps[row]), int(row), side, filling, trained.w, trained.slopes)
        self._check_weights(filling, trained)

    def _compare_widths(self, gaps: Array, error: Array, width: Array, inside: NDArray[np.bool_], side: int) -> None:
        """Keep the distances from bounds that are wider than the error of the scores."""
        self.errors = np.fmin(self.errors, np.where(inside, error, np.inf))
        seen = inside & np.isfinite(gaps) & (width > WIDE * error)
        self.gaps[seen, side] = np.minimum(self.gaps[seen, side], np.maximum(gaps[seen], 0.0))

    def compare(self, near: NearMiss, found: tuple[float, float]) -> None:
        """Compare a score that was found in ball arithmetic with the bounds of its row."""
        low, high = self.bounds[near.row]
        self.n_checks += 1
        if found[1] < low or found[0] > high:
            self._found(f"{self.name(near.row)} (in ball arithmetic)", self.bounds[near.row], found, near.filling)

    def _check_weights(self, filling: Filling, trained: Model) -> None:
        d = len(self.coef_bounds)
        w, error = trained.w[:d], trained.error
        self.n_checks += d
        for j in np.flatnonzero((w + error < self.coef_bounds[:, 0]) | (w - error > self.coef_bounds[:, 1])):
            self._found(f"weight {j}", self.coef_bounds[j], (float(w[j] - error), float(w[j] + error)), filling)
        if self.claim.objective.has_intercept:
            off = trained.longest_row * error
            low, high = trained.lowest_intercept - off, trained.highest_intercept + off
            self.n_checks += 1
            if high < self.intercept_bounds[0] or low > self.intercept_bounds[1]:
                self._found("the intercept", self.intercept_bounds, (low, high), filling)

    def _found(self, what: str, bounds: Array, found: tuple[float, float], filling: Filling | None) -> None:
        self.n_violated += 1
        if len(self.violations) < LISTED:
            self.violations.append(Violation(what, (float(bounds[0]), float(bounds[1])), found, filling))

    def _violated(self, what: str, row: Any) -> None:
        self.n_violated += 1
        if len(self.violations) < LISTED:
            low, high = self.bounds[row].tolist()
            self.violations.append(Violation(what, (low, high), (np.nan, np.nan)))

    def nearest(self) -> list[NearMiss]:
        """Return the fillings that came closest to a bound, the closest first."""
        return sorted(self.near.values(), key=lambda each: each.gap)[:KEPT]

    def wide_gaps(self) -> Array:
        """Return the distances, in widths, of scores of fillings from both bounds of each row with wide bounds."""
        return np.asarray(self.gaps[np.isfinite(self.gaps).all(axis=1)])

    def how_near_narrow(self) -> Array:
        """Return by how much, at most, scores of fillings differ from bounds that are too narrow for a share."""
        width = self.bounds[:, 1] - self.bounds[:, 0]
        narrow = np.isinf(self.gaps).all(axis=1) & np.isfinite(self.errors) & np.isfinite(width)
        return np.asarray((width + self.errors)[narrow])


def rows_with_bounds(model: Any, claims: list[Claim], X: Any) -> list[CheckedRows]:
    """Return the rows of X with the bounds that a model states for them, one object for each model it consists of."""
    is_classifier = hasattr(model, "classes_")
    bounds = np.asarray(model.decision_bounds(X) if is_classifier else model.predict_bounds(X), dtype=float)
    cells = read_cells(model, X)
    K = len(claims)
    several = bounds.reshape(len(bounds), K, 2)
    coef_bounds = np.reshape(model.coef_bounds_, (K, -1, 2))
    intercept_bounds = np.reshape(model.intercept_bounds_, (K, 2))
    return [
        CheckedRows(model, claim, k, cells, several[:, k], coef_bounds[k], intercept_bounds[k])
        for k, claim in enumerate(claims)
    ]
