"""Metrics of more than two classes, row by row: each class has a model and a score of its own."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ipub.answers.certainty import possible_labels
from ipub.answers.metrics.metric import Metric, Near, mean_range, quotient_range
from ipub.errors import IpubError
from ipub.losses.logistic import sigmoid, sigmoid_range
from ipub.numeric.rounding import ELEMENTARY_ULPS, EPS, UNDERFLOW, Array, down, sum_error, sum_upper, up


@dataclass(frozen=True)
class AccuracyOfClasses(Metric):
    """Share of right predictions; or, if balanced, the mean of that over the classes that occur."""

    is_balanced: bool = False

    @property
    def is_rate(self) -> bool:
        return True

    def ends(self, low: Array, high: Array, y: Array) -> tuple[Array, Array]:
        surely, maybe = _right(low, high, y)
        if not self.is_balanced:
            n = float(len(y))
            return quotient_range(_count(surely), n)[0], quotient_range(_count(maybe), n)[1]
        shares = [
            (quotient_range(_count(surely[..., of]), n)[0], quotient_range(_count(maybe[..., of]), n)[1])
            for of, n in ((y == label, float((y == label).sum())) for label in np.unique(y))
        ]
        least, most = (np.stack(each, axis=-1) for each in zip(*shares, strict=True))
        lower, upper = mean_range(least, most)
        return lower, np.minimum(upper, 1.0)

    def slopes(self, near: Near, y: Array) -> Array:
        rows, label = np.arange(len(y)), np.where(np.isnan(y), 0.0, y).astype(np.intp)
        others = near.scores.copy()
        others[rows, label] = -np.inf
        rival = others.argmax(axis=1)
        is_open = (near.low[rows, label] <= near.high.max(axis=1)) & (near.high[rows, label] >= near.low.max(axis=1))
        pull = near.step(near.scores[rows, label] - others[rows, rival]) * (is_open & ~np.isnan(y))
        if self.is_balanced:
            pull /= np.bincount(label)[label]
        found = np.zeros_like(near.scores)
        found[rows, label], found[rows, rival] = pull, -pull
        return found

    def check(self, y: Array) -> None:
        unknown = np.flatnonzero(np.isnan(y))
        if self.is_balanced and len(unknown):
            raise IpubError(
                "{name} of more than two classes needs all labels, and y has none in {row}: drop these rows.",
                name=self.name,
                row=int(unknown[0]),
            )


def _count(which: NDArray[np.bool_]) -> Array:
    return np.asarray(np.count_nonzero(which, axis=-1), dtype=float)


def _right(low: Array, high: Array, y: Array) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return which predictions are surely right, and which may be, by the rule of `possible_labels`."""
    m, n_classes = low.shape[-2:]
    bounds = np.stack([low, high], axis=-1).reshape(-1, n_classes, 2)
    possible = possible_labels(bounds).reshape(*low.shape[:-2], m, n_classes)
    is_known = ~np.isnan(y)
    label = np.where(is_known, y, 0.0).astype(np.intp)
    of_label = possible[..., np.arange(m), label]
    # A label that is unknown may be the one that is predicted, and another one.
    return of_label & (possible.sum(axis=-1) == 1) & is_known, of_label | ~is_known


@dataclass(frozen=True)
class LogLossOfClasses(Metric):
    """The mean of ``-log p``, p the probability of the label: its sigmoid over the sum of those of all classes."""

    def ends(self, low: Array, high: Array, y: Array) -> tuple[Array, Array]:
        n_classes = low.shape[-1]
        least, most = sigmoid_range(low, high)
        of_class = np.stack([_minus_log(least, most, k) for k in range(n_classes)], axis=-2)  # (..., m, K, 2)
        label = np.where(np.isnan(y), 0.0, y).astype(np.intp)
        own = of_class[..., np.arange(len(y)), label, :]
        unknown = np.isnan(y)
        lower = np.where(unknown, of_class[..., 0].min(axis=-1), own[..., 0])
        upper = np.where(unknown, of_class[..., 1].max(axis=-1), own[..., 1])
        return mean_range(lower, upper)

    def slopes(self, near: Near, y: Array) -> Array:
        # -log p_y + log(sum of p_k), p the sigmoids: d p = p (1 - p).
        p, is_known = sigmoid(near.scores), ~np.isnan(y)
        found = p * (1.0 - p) / p.sum(axis=1, keepdims=True)
        known, label = np.flatnonzero(is_known), y[is_known].astype(np.intp)
        found[known, label] -= 1.0 - p[known, label]
        return np.where(is_known[:, None], found, 0.0)


def _minus_log(least: Array, most: Array, k: int) -> Array:
    """Bound ``log((p_k + rest) / p_k) = log1p(rest / p_k)``: it falls with p_k and rises with all others."""
    slack = (ELEMENTARY_ULPS + 2) * EPS
    others, n = np.arange(least.shape[-1]) != k, least.shape[-1]
    few, many = least[..., others].sum(axis=-1), most[..., others].sum(axis=-1)
    few = np.maximum(down(few - sum_error(few, n)), 0.0)
    with np.errstate(divide="ignore", over="ignore"):
        low = np.log1p(np.maximum(down(few / most[..., k]), 0.0))
        high = np.log1p(up(sum_upper(many, n) / least[..., k]))
    low = np.maximum(down(down(low * (1.0 - slack)) - UNDERFLOW), 0.0)
    return np.stack([low, up(up(high * (1.0 + slack)) + UNDERFLOW)], axis=-1)
