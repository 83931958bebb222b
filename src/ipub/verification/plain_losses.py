"""The losses as the guide defines them: value, derivative, curvature, and the derivative in ball arithmetic."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Function = Callable[[Array, Array], Array]


class PlainLoss(NamedTuple):
    """A loss of the label y, or the target, and the score t."""

    value: Function
    derivative: Function
    curvature: Function
    ball_derivative: Callable[[float, Any], Any]
    """The derivative at a score that is a ball."""
    ball_curvature: Callable[[float, Any], Any]
    """The curvature there; of a kink, all that is between both sides."""
    steepness: float
    """Largest curvature; infinite if the derivative jumps."""
    softened: Callable[[float], PlainLoss] | None = None
    """Of a loss whose derivative jumps: a smooth loss near it, by the width of its kink."""


def plain_loss(name: str, hinge_width: float, huber_delta: float) -> PlainLoss:
    """Return a loss by the name that the estimators have for it.

    Examples
    --------
    >>> loss = plain_loss("huber", 0.5, 1.0)
    >>> float(loss.value(np.array(0.0), np.array(3.0))), float(loss.derivative(np.array(0.0), np.array(3.0)))
    (2.5, 1.0)
    """
    makers: dict[str, Callable[[], PlainLoss]] = {
        "log_loss": _logistic,
        "squared_error": _squared,
        "hinge": _hinge,
        "squared_hinge": _squared_hinge,
        "smoothed_hinge": lambda: _smoothed_hinge(float(hinge_width)),
        "huber": lambda: _huber(float(huber_delta)),
    }
    return makers[name]()


def _logistic() -> PlainLoss:
    def falling(z: Array) -> Array:
        """Return 1 / (1 + exp(z))."""
        small = np.exp(-np.abs(z))
        return np.where(z > 0.0, small, 1.0) / (1.0 + small)

    return PlainLoss(
        lambda y, t: np.logaddexp(0.0, -y * t),
        lambda y, t: -y * falling(y * t),
        lambda _, t: falling(t) * falling(-t),
        lambda y, t: -y / (1 + (t * y).exp()),
        lambda _, t: 1 / ((1 + t.exp()) * (1 + (-t).exp())),
        0.25,
    )


def _squared() -> PlainLoss:
    return PlainLoss(
        lambda y, t: (y - t) ** 2,
        lambda y, t: 2.0 * (t - y),
        lambda _, t: np.full_like(t, 2.0),
        lambda y, t: 2 * (t - y),
        lambda _, t: t * 0 + 2,
        2.0,
    )


def _huber(delta: float) -> PlainLoss:
    def value(y: Array, t: Array) -> Array:
        r = np.abs(y - t)
        return np.where(r <= delta, r**2 / 2.0, delta * (r - delta / 2.0))

    return PlainLoss(
        value,
        lambda y, t: np.clip(t - y, -delta, delta),
        lambda y, t: (np.abs(t - y) < delta).astype(float),
        lambda y, t: _least(_greatest(t - y, -delta), delta),
        lambda y, t: _step(t - y, -delta, delta, 1.0),
        1.0,
    )


def _squared_hinge() -> PlainLoss:
    return PlainLoss(
        lambda y, t: np.maximum(0.0, 1.0 - y * t) ** 2,
        lambda y, t: -2.0 * y * np.maximum(0.0, 1.0 - y * t),
        lambda y, t: np.where(y * t < 1.0, 2.0, 0.0),
        lambda y, t: -2 * y * _greatest(1 - t * y, 0.0),
        lambda y, t: _step(1 - t * y, 0.0, np.inf, 2.0),
        2.0,
    )


def _smoothed_hinge(width: float) -> PlainLoss:
    def value(y: Array, t: Array) -> Array:
        z = 1.0 - y * t
        return np.where(z > width, z - width / 2.0, np.maximum(z, 0.0) ** 2 / (2.0 * width))

    return PlainLoss(
        value,
        lambda y, t: -y * np.clip((1.0 - y * t) / width, 0.0, 1.0),
        lambda y, t: np.where((y * t < 1.0) & (y * t > 1.0 - width), 1.0 / width, 0.0),
        lambda y, t: -y * _least(_greatest((1 - t * y) / width, 0.0), 1.0),
        lambda y, t: _step(1 - t * y, 0.0, width, 1.0) / width,
        1.0 / width,
    )


def _hinge() -> PlainLoss:
    def ball_derivative(y: float, t: Any) -> Any:
        z = 1 - t * y
        if z > 0:
            return z * 0 - y
        return z * 0 if z < 0 else (z * 0).union(z * 0 - y)

    return PlainLoss(
        lambda y, t: np.maximum(0.0, 1.0 - y * t),
        lambda y, t: np.where(y * t < 1.0, -y, 0.0),
        lambda _, t: np.zeros_like(t),
        ball_derivative,
        lambda _, t: t * 0,
        np.inf,
        _smoothed_hinge,
    )


def _step(ball: Any, low: float, high: float, value: float) -> Any:
    """Return a value for what is between two ends, 0 for what is beyond them, and all between for what may be both."""
    if ball > low and ball < high:
        return ball * 0 + value
    return ball * 0 if ball < low or ball > high else (ball * 0).union(ball * 0 + value)


def _greatest(ball: Any, number: float) -> Any:
    """Return the larger of a ball and a number, as a ball."""
    return ball.max(type(ball)(number))


def _least(ball: Any, number: float) -> Any:
    return ball.min(type(ball)(number))
