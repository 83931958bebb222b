"""Objects that a user passes as the parameter `uncertainty`: how they are shown."""

from __future__ import annotations

import decimal
from dataclasses import fields
from typing import Any, cast


class Described:
    """Base of dataclasses that are shown by what is not at its default, as scikit-learn shows estimators."""

    def __repr__(self) -> str:
        given = {field.name: (getattr(self, field.name), field.default) for field in fields(cast(Any, self))}
        shown = [
            f"{name}={value!r}"
            for name, (value, default) in given.items()
            if not (value is default or (isinstance(value, int | float | str) and value == default))
        ]
        return f"{type(self).__name__}({', '.join(shown)})"


def percent_of_success(failure: decimal.Decimal, digits: int = 6) -> str:
    """Return the probability that something does not fail in per cent, rounded down: never more than is proved.

    Examples
    --------
    >>> from decimal import Decimal
    >>> percent_of_success(Decimal("0.01")), percent_of_success(Decimal("1e-30")), percent_of_success(Decimal(2) / 6)
    ('99', '99.9999', '66.6666')
    """
    success = decimal.Context(prec=digits, rounding=decimal.ROUND_FLOOR).subtract(decimal.Decimal(1), failure)
    return f"{(100 * max(decimal.Decimal(0), success)).normalize():f}"
