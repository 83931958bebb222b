"""The parameters of an estimator, as reading, training and certifying use them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from ipub.errors import IpubError
from ipub.losses import Loss
from ipub.losses.penalties import ElasticNet
from ipub.tables.categories import TableEncoder

SEEDS = 2**31 - 1
"""Seeds for scikit-learn are below this."""


@dataclass(frozen=True, eq=False)
class Parameters:
    """The parameters of a training. The fields are the parameters of the estimators, which document them."""

    kind: type[Any]
    """Class of the estimator, which scikit-learn's checks and the error messages name."""
    loss: Loss
    """With its own parameters (`hinge_width`, `huber_delta`) in it."""
    alpha: float
    """A number: with an `alpha_rule`, that which is kept where cross-validation cannot pick one."""
    l1_ratio: float
    fit_intercept: bool
    certificate: str | None
    intervals: Any
    interval_level: float
    scale: str | None
    precision: Any
    handle_unknown: str
    tol: float
    max_iter: int
    verbose: int
    class_weight: Any = None
    unknown_labels: bool = False
    max_label_errors: int = 0
    uncertainty: Any = "worst"
    random_state: Any = None
    alpha_rule: str = ""
    """How alpha is to be picked once the table is read; empty if it is a number."""

    @property
    def penalty(self) -> ElasticNet:
        """The penalty ``alpha ((1 - l1_ratio)/2 |w|_2^2 + l1_ratio |w|_1)``; an intercept is free in it."""
        alpha, l1_ratio = float(self.alpha), float(self.l1_ratio)
        return ElasticNet(alpha * (1.0 - l1_ratio), alpha * l1_ratio, n_free=int(self.fit_intercept))

    def by_name(self, encoder: TableEncoder) -> Parameters:
        """Return the parameters with `intervals` and `precision` given by the names of columns of numbers."""
        intervals, precision = (encoder.by_name(getattr(self, each), each) for each in ("intervals", "precision"))
        return replace(self, intervals=intervals, precision=precision)

    def refuse_conditional(self, where: str, remedy: str) -> None:
        """Raise an error if intervals are to be learnt from other columns, which needs the table in memory."""
        given = self.intervals.values() if isinstance(self.intervals, Mapping) else [self.intervals]
        if any(isinstance(value, str) and value == "conditional" for value in given):
            raise IpubError(f"intervals='conditional' needs the table in memory, and X is {where}: {remedy}.")
