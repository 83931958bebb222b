"""What a user says about the cells of a table: where missing values lie, and how observed ones are read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from numbers import Real
from typing import Any

from ipub.errors import IpubError
from ipub.promises.described import Described

LEVEL = 0.9
"""Fraction of the observed values inside an interval, if nothing else is said."""

FORMER_PARAMETERS = {"interval_level": "level", "precision": "precision", "handle_unknown": "handle_unknown"}
"""Parameters that estimators had, and still take with a warning, and what they are called in `Intervals`."""


@dataclass(frozen=True, eq=False, repr=False)
class Intervals(Described):
    """How the cells of a table are read: the parameter `intervals` of the estimators, with all that belongs to it.

    Parameters
    ----------
    kind : {"quantile", "observed", "conditional"}, mapping or array of shape (n_features, 2), default="quantile"
        Where missing values lie, as the parameter `intervals` of `BoundedClassifier` says.
    level : float, default=0.9
        Fraction of the observed values that lie inside a quantile interval, or least probability that a value lies
        inside a conditional one.
    precision : float, mapping or None, default=None
        By how much observed numbers may be off, in the units of X. Every observed cell, of training and test rows, is
        then the interval ``value ± precision``. ``{column: number}`` gives it for some columns. The scaling of the
        columns stays what was learnt from the values as they are.
    handle_unknown : {"any", "error"}, default="any"
        What to do with a category in a test row that was neither there in training nor declared by the column's type:
        warn, and take it for a missing one, which may be any of those that were; or raise an error. It alone may
        change after `fit`.

    Examples
    --------
    >>> from ipub import BoundedRegressor, Intervals
    >>> reg = BoundedRegressor(intervals=Intervals("observed", precision=0.5))
    >>> reg.set_params(intervals__precision={"age": 0.5}).intervals
    Intervals(kind='observed', precision={'age': 0.5})
    """

    kind: Any = "quantile"
    level: float = LEVEL
    precision: Any = None
    handle_unknown: str = field(default="any", compare=False)

    def check(self) -> None:
        """Raise an error if a parameter has a value that it cannot have; `kind` is checked with the table."""
        if not (_is_number(self.level) and 0.0 < float(self.level) <= 1.0):
            raise IpubError(f"level of Intervals is {self.level!r}: give a fraction above 0, at most 1.")
        is_number = _is_number(self.precision) and 0.0 <= float(self.precision) < float("inf")
        if not (self.precision is None or is_number or isinstance(self.precision, Mapping)):
            raise IpubError(
                f"precision of Intervals is {self.precision!r}: give a number, at least 0, in the units of X, or a "
                "mapping {column: number}."
            )
        if self.handle_unknown not in ("error", "any"):
            raise IpubError(f"handle_unknown of Intervals is {self.handle_unknown!r}: use 'any' or 'error'.")

    def get_params(self, deep: bool = True) -> dict[str, Any]:  # noqa: ARG002 (as in scikit-learn)
        """Return the parameters by name, as estimators of scikit-learn do."""
        return {each.name: getattr(self, each.name) for each in fields(self)}

    def with_params(self, **params: Any) -> Intervals:
        """Return the object with some other parameters."""
        unknown = params.keys() - self.get_params().keys()
        if unknown:
            raise IpubError(f"Intervals has no parameter {min(unknown)!r}: use {', '.join(self.get_params())}.")
        return replace(self, **params)


def _is_number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)
