"""What a search for narrower bounds may cost: counted, not timed, so that two calls give the same bounds."""

from __future__ import annotations

UNIT = 1e9
"""Multiplications, about, that an effort of 1.0 allows: width against time, 0.5 to 1 s on one core of 2021."""


class Work:
    """What may still be spent, in multiplications; prices are rough, and depend on nothing but shapes of arrays.

    Parameters
    ----------
    effort : float
        In units of `UNIT` multiplications.
    whole : Work, optional
        The limit that this is a part of: what is spent here is spent there too.
    """

    def __init__(self, effort: float, whole: Work | None = None) -> None:
        self._left, self._whole = UNIT * effort, whole

    def allows(self, price: float) -> bool:
        """Whether the multiplications may be spent."""
        return price <= self._left

    def spend(self, price: float) -> None:
        """Take note of multiplications; nothing more is allowed if they were too many."""
        self._left -= price
        if self._whole is not None:
            self._whole.spend(price)

    def part(self, fraction: float) -> Work:
        """Return a fraction of what is left, as its own limit."""
        return Work(fraction * max(0.0, self._left) / UNIT, self)
