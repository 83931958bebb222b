"""What every question needs of the estimator it is asked of."""

from __future__ import annotations

from typing import Any

from ipub.numeric.rounding import Array
from ipub.tables.interval_matrix import IntervalMatrix
from ipub.training import Training


class Asked:
    """A fitted estimator, as `ipub.estimators.linear_model.BoundedLinearModel` provides it."""

    verbose: int
    effort: float
    uncertainty: Any

    @property
    def training_(self) -> Training:
        """What was read, trained and certified."""
        raise NotImplementedError

    def _uncertain_rows(self, training: Training, X: Any) -> IntervalMatrix:
        """Read rows to bound."""
        raise NotImplementedError

    def _scores(self, training: Training, X: Any) -> Array:
        """Return the scores of rows under each model that predicts, shape (m, K)."""
        raise NotImplementedError
