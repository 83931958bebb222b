"""What certificates of similar problems say: it saves time, and may change the width of bounds, never their truth."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ipub.certificates.row_sums.bounds import RowSumBounds
from ipub.certificates.slopes.bounds import FirstRound, SlopeBounds
from ipub.certificates.slopes.cell_coefficients import TuningChoices
from ipub.certificates.slopes.hint import Hint
from ipub.certificates.slopes.prove_moves import GROWTH, Suggestion
from ipub.model_sets.certificate import Certificate
from ipub.model_sets.move_sets import Ellipsoid
from ipub.numeric.linalg import Inverse
from ipub.numeric.rounding import Array, overflow_means_unbounded
from ipub.problem.objective import Problem

NEAR_MARGIN = 0.15
"""Enlargement of a neighbouring problem's set beyond its predicted growth, times its excess: it protects from a pass
over the table that proves nothing."""

DRAW_MARGIN = 1.15
"""By which factor the ellipsoid of another draw of the same table is made larger, so that most close at once: width
against passes over the table."""

HARDLY_WIDER = 1.05
"""Bounds of a draw that are at most so many times as wide without some parts are made without them in other draws, and
bounds at most so many times as wide as those of another draw are not narrowed further: width against time. On 6,000 x 6
with 10 % of the cells missing, 1.15 for the latter gave bounds 7 % wider in 0.9 of the time."""


@dataclass(frozen=True)
class Neighbour(Hint):
    """The bounds of a problem that differs in the strength of its penalty alone."""

    bounds: SlopeBounds
    lam: float
    """Its L2 penalty."""
    growth: Array
    """Shape (n_features,): predicted ratio of the moves of each weight, here over there."""
    radius_growth: float
    """The same for the radius of the ellipsoid."""

    is_given = True
    tries_row_sums = False

    @overflow_means_unbounded()
    def suggestion(self, problem: Problem) -> Suggestion | None:
        """Return its set of moves, with the other penalty, and larger."""
        bounds, first, penalty = self.bounds, self.bounds.first, problem.penalty
        if not problem.loss.is_smooth or bounds.ellipsoid is None or first is None:
            return None
        matrix = bounds.curvature + np.diag((penalty.lam - self.lam) * ~penalty.is_free(len(bounds.w)))
        inverse = Inverse.of(matrix)
        if inverse is None:
            return None
        # A remainder of (excess - 1) times the first order grows with the set: so the margin grows with the excess.
        larger = 1.0 + NEAR_MARGIN * first.excess
        size = larger / GROWTH * self.radius_growth
        limits = larger * self.growth * first.move_limits if penalty.kappa == 0.0 else None
        tuning = _tuning_of(bounds, inverse.center)
        return Suggestion(Ellipsoid(matrix, inverse, size * first.radius), limits, tuning)


@dataclass(frozen=True)
class AnotherDraw(Hint):
    """The bounds of the same problem with other values drawn for its holes: a warm start."""

    bounds: SlopeBounds
    """Without a mean value if that hardly narrowed them."""
    slopes_are_enough: bool
    """Whether the other parts of its certificate hardly narrow them."""
    row_sum_widths: Array | None = None
    """`RowSumBounds.widths` if row sums are among those that do; else None."""

    is_given = True
    takes_move_limits = True

    @classmethod
    @overflow_means_unbounded()
    def of(cls, certificate: Certificate, rows: Array) -> AnotherDraw | None:
        """Take the slopes of a certificate, if any, compared with its other parts on some training `rows`."""
        bounds = certificate.part(SlopeBounds)
        if bounds is None:
            return None
        rows = np.vstack([rows, np.eye(len(bounds.w))])
        parts = replace(bounds, mean_value=None), bounds
        alone, with_mean_value = (replace(certificate, parts=(part,)).score_bounds(rows) for part in parts)
        widths = [np.ptp(each, axis=1) for each in (alone, with_mean_value, certificate.score_bounds(rows))]
        least = widths[2].sum()
        is_alone = [bool(width.sum() <= HARDLY_WIDER * least) for width in widths]
        chosen = 0 if is_alone[0] else 1
        row_sums = certificate.part(RowSumBounds)
        if row_sums is None:
            return cls(parts[chosen], is_alone[chosen])
        others = replace(certificate, parts=tuple(part for part in certificate.parts if part is not row_sums))
        is_worthwhile = least * HARDLY_WIDER < np.ptp(others.score_bounds(rows), axis=1).sum()
        return cls(parts[chosen], is_alone[chosen], row_sums.widths if is_worthwhile else None)

    @property
    def tries_row_sums(self) -> bool:  # type: ignore[override]
        return self.row_sum_widths is not None

    @property
    def tries_slopes(self) -> bool:  # type: ignore[override]
        return self.bounds.ellipsoid is not None

    @property
    def wants_mean_value(self) -> bool:  # type: ignore[override]
        return self.bounds.mean_value is not None

    def last_round(self) -> tuple[float, FirstRound | None] | None:
        """Return excess and first round if further rounds hardly narrowed the bounds of the other draw."""
        first, excess = self.bounds.first, self.bounds.excess
        needs_one_round = first is not None and first.excess <= HARDLY_WIDER * excess
        return (excess, first) if needs_one_round else None

    def is_narrow_enough(self, excess: float) -> bool:
        return excess <= HARDLY_WIDER * self.bounds.excess

    @overflow_means_unbounded()
    def suggestion(self, problem: Problem) -> Suggestion | None:
        """Return its last set of moves, a little larger."""
        bounds = self.bounds
        if not problem.loss.is_smooth or bounds.ellipsoid is None:
            return None
        try:
            matrix = np.linalg.inv(bounds.ellipsoid.center)
        except np.linalg.LinAlgError:
            return None
        matrix = 0.5 * (matrix + matrix.T)
        inverse = Inverse.of(matrix)
        if inverse is None:
            return None
        tuning = _tuning_of(bounds, bounds.inverse)
        return Suggestion(Ellipsoid(matrix, inverse, DRAW_MARGIN / GROWTH * bounds.radius), None, tuning)


def _tuning_of(bounds: SlopeBounds, inverse: Array) -> TuningChoices | None:
    """Return the choices that bounds of a similar problem suggest, if its cells are summed."""
    if bounds.moving_shares is None or bounds.prices is None:
        return None
    return TuningChoices(inverse, bounds.moving_shares, bounds.prices)
