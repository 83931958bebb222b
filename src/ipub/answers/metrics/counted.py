"""Metrics of two classes that count right and wrong predictions.

The class of a score t is ``classes_[1]`` if ``t > 0``. A score whose interval holds 0 may give either class. So where
rows move independently, any number of the rows of the second class, from those that are surely predicted so to those
that may be, are true positives; likewise the others and false positives.

All metrics here but the selection rate rise, or stay, with true positives and true negatives and fall, or stay, with
false ones (with 0/0 = 0, as scikit-learn has it). So their extremes are where every row whose class is open is right,
or wrong. A row of unknown label is right if its label is what is predicted: for the greatest value all of them are.
Where the prediction is open too, it is a true positive or a true negative, and how many are which is tried
(lem-row-by-row).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ipub.answers.metrics.conflicts import Steps
from ipub.answers.metrics.lines import KnownScores, Lines, above_step, below_step
from ipub.answers.metrics.metric import UNKNOWN, Ends, Metric, Near, quotient_range
from ipub.numeric.rounding import Array, down, up


class Counts(NamedTuple):
    """Numbers of rows by prediction and label."""

    tp: Array
    fp: Array
    fn: Array
    tn: Array


@dataclass(frozen=True)
class Counted(Metric):
    """A metric of the four counts that rises with right predictions and falls with wrong ones."""

    @property
    def is_rate(self) -> bool:
        return True

    def of_counts(self, n: Counts) -> tuple[Array, Array]:
        """Enclose the metric of counts."""
        raise NotImplementedError

    def weights(self, n_positive: int, n_negative: int) -> tuple[int, int, int] | None:  # noqa: ARG002 (it has none)
        """Return weights of true positives and true negatives, and what the weighted sum is divided by, if it is one.

        All are whole numbers; none of both weights is negative.
        """
        return None

    def steps(self, y: Array) -> Steps | None:
        is_positive = y == 1.0
        weights = self.weights(int(is_positive.sum()), int((~is_positive).sum()))
        if weights is None or np.isnan(y).any():
            return None
        *of_class, divisor = weights
        return Steps(np.where(is_positive, 1.0, -1.0), np.where(is_positive, *of_class).astype(float), float(divisor))

    def lines(self, known: KnownScores, side: float) -> Lines | None:
        steps = self.steps(known.y)
        return None if steps is None else lines_of_steps(known, steps, side)

    def ends(self, low: Array, high: Array, y: Array) -> tuple[Array, Array]:
        surely, maybe = low > 0.0, high >= 0.0
        positive, negative, unknown = y == 1.0, y == 0.0, np.isnan(y)
        n_positive, n_negative = float(positive.sum()), float(negative.sum())
        least_tp, most_tp = _count(surely & positive), _count(maybe & positive)
        least_fp, most_fp = _count(surely & negative), _count(maybe & negative)
        worst = Counts(least_tp, most_fp, n_positive - least_tp, n_negative - most_fp)
        best = Counts(most_tp, least_fp, n_positive - most_tp, n_negative - least_fp)
        if not unknown.any():
            return self.of_counts(worst)[0], self.of_counts(best)[1]
        selected, rejected = _count(surely & unknown), _count(~maybe & unknown)
        open_ = _count(unknown) - selected - rejected
        k = np.minimum(np.arange(unknown.sum() + 1.0), open_[..., None])  # of the open ones, on the last axis
        worst = Counts(*(np.expand_dims(np.asarray(each), -1) for each in worst))
        best = Counts(*(np.expand_dims(np.asarray(each), -1) for each in best))
        selected, rejected, open_ = selected[..., None], rejected[..., None], open_[..., None]
        worst = worst._replace(fp=worst.fp + selected + k, fn=worst.fn + rejected + open_ - k)
        best = best._replace(tp=best.tp + selected + k, tn=best.tn + rejected + open_ - k)
        return self.of_counts(worst)[0].min(axis=-1), self.of_counts(best)[1].max(axis=-1)

    def slopes(self, near: Near, y: Array) -> Array:
        positive, negative = y == 1.0, y == 0.0
        tp, fp = _count((near.scores > 0.0) & positive), _count((near.scores > 0.0) & negative)
        fn, tn = positive.sum() - tp, negative.sum() - fp
        of_positive = self._change(Counts(tp, fp, fn, tn), Counts(*map(np.array, (0.5, 0.0, -0.5, 0.0))))
        of_negative = self._change(Counts(tp, fp, fn, tn), Counts(*map(np.array, (0.0, 0.5, 0.0, -0.5))))
        return np.asarray(may_cross(near) * (positive * of_positive + negative * of_negative))

    def _change(self, counts: Counts, step: Counts) -> float:
        """Return how much higher the metric is a step on than a step back; counts stay above 0."""
        ends = [
            Counts(*(np.maximum(a + sign * b, 0.0) for a, b in zip(counts, step, strict=True))) for sign in (-1.0, 1.0)
        ]
        before, after = (float(np.mean(self.of_counts(each))) for each in ends)
        return after - before


@dataclass(frozen=True)
class OfAllCounts(Counted):
    """A metric of the four counts that other metrics bound together."""

    def from_others(self, ends_of: Callable[[Metric], Ends], y: Array) -> Ends:
        """Try every number of true positives with the least and the greatest of true negatives (lem-counts)."""
        n_positive, n_negative = float((y == 1.0).sum()), float((y == 0.0).sum())
        if np.isnan(y).any() or not n_positive or not n_negative:
            return UNKNOWN
        least_tp, most_tp = whole_numbers(ends_of(Recall("recall")), n_positive)
        least_tn, most_tn = whole_numbers(ends_of(Specificity("specificity")), n_negative)
        least, most = whole_numbers(ends_of(Accuracy("accuracy")), float(len(y)))
        tp = np.arange(least_tp, most_tp + 1.0)
        fewest, greatest = np.maximum(least_tn, least - tp), np.minimum(most_tn, most - tp)
        is_possible = fewest <= greatest
        tp, fewest, greatest = tp[is_possible], fewest[is_possible], greatest[is_possible]
        if not len(tp):
            return UNKNOWN
        worst, best = (
            self.of_counts(Counts(tp, n_negative - tn, n_positive - tp, tn))[end].tolist()
            for end, tn in enumerate((fewest, greatest))
        )
        return Ends(min(worst), max(best))


def whole_numbers(share: Ends, n: float) -> tuple[float, float]:
    """Return the least and greatest whole number of which the share of n is between some ends."""
    lower, upper = down(down(share.lower) * n), up(up(share.upper) * n)
    return max(float(np.ceil(lower)), 0.0), min(float(np.floor(upper)), n)


def lines_of_steps(known: KnownScores, steps: Steps, side: float) -> Lines:
    """Return the sum of lines above, or below, weighted steps of margins, which are scores with a sign."""
    sign, weight, divisor = steps
    low, high = (np.where(sign > 0.0, *each) for each in ((known.low, -known.high), (known.high, -known.low)))
    of_side = above_step if side > 0.0 else below_step
    offsets, slopes = of_side(low, high, sign * known.at)
    slopes = sign * np.where(slopes > 0.0, np.maximum(down(weight * slopes), 0.0), 0.0)
    return Lines(float((weight * offsets).sum()), slopes, np.zeros_like(slopes), divisor, 1.0)


def may_cross(near: Near) -> Array:
    """Return about how near each score is to 0, from 0 to 1; 0 if it surely stays on its side."""
    is_open = (near.low <= 0.0) & (near.high >= 0.0)
    return np.where(is_open, near.step(near.scores), 0.0)


def _count(which: NDArray[np.bool_]) -> Array:
    return np.asarray(np.count_nonzero(which, axis=-1), dtype=float)


@dataclass(frozen=True)
class Accuracy(Counted):
    """Share of right predictions."""

    def weights(self, n_positive: int, n_negative: int) -> tuple[int, int, int]:
        return 1, 1, n_positive + n_negative

    def of_counts(self, n: Counts) -> tuple[Array, Array]:
        return quotient_range(n.tp + n.tn, n.tp + n.tn + n.fp + n.fn)


@dataclass(frozen=True)
class Precision(OfAllCounts):
    """Share of the rows predicted to be of the second class that are; 0 if there are none."""

    def of_counts(self, n: Counts) -> tuple[Array, Array]:
        return quotient_range(n.tp, n.tp + n.fp)


@dataclass(frozen=True)
class Recall(Counted):
    """Share of the rows of the second class that are predicted so."""

    def weights(self, n_positive: int, n_negative: int) -> tuple[int, int, int]:  # noqa: ARG002
        return 1, 0, n_positive

    def of_counts(self, n: Counts) -> tuple[Array, Array]:
        return quotient_range(n.tp, n.tp + n.fn)

    def undefined(self, y: Array) -> str:
        return "" if (y == 1.0).any() else "no row is known to be of the second class"


@dataclass(frozen=True)
class Specificity(Counted):
    """Share of the rows of the first class that are predicted so."""

    def of_counts(self, n: Counts) -> tuple[Array, Array]:
        return quotient_range(n.tn, n.tn + n.fp)

    def weights(self, n_positive: int, n_negative: int) -> tuple[int, int, int]:  # noqa: ARG002
        return 0, 1, n_negative


@dataclass(frozen=True)
class F1(OfAllCounts):
    """Harmonic mean of precision and recall; 0 if nothing is of the second class, nor predicted so."""

    def of_counts(self, n: Counts) -> tuple[Array, Array]:
        return quotient_range(2.0 * n.tp, 2.0 * n.tp + n.fp + n.fn)


@dataclass(frozen=True)
class BalancedAccuracy(OfAllCounts):
    """Mean over both classes of the share of their rows that is predicted right."""

    def weights(self, n_positive: int, n_negative: int) -> tuple[int, int, int]:
        return n_negative, n_positive, 2 * n_positive * n_negative

    def of_counts(self, n: Counts) -> tuple[Array, Array]:
        parts = quotient_range(n.tp, n.tp + n.fn), quotient_range(n.tn, n.tn + n.fp)
        lower, upper = (parts[0][end] + parts[1][end] for end in (0, 1))
        is_exact = (parts[0][0] == parts[0][1]) & (parts[1][0] == parts[1][1])  # both are 0 or 1
        return 0.5 * np.where(is_exact, lower, np.maximum(down(lower), 0.0)), 0.5 * np.where(
            is_exact, upper, np.minimum(up(upper), 2.0)
        )

    def undefined(self, y: Array) -> str:
        return "" if (y == 1.0).any() and (y == 0.0).any() else "no row is known to be of one of the classes"


@dataclass(frozen=True)
class SelectionRate(Metric):
    """Share of the rows predicted to be of the second class, whatever their labels are."""

    @property
    def is_rate(self) -> bool:
        return True

    def ends(self, low: Array, high: Array, y: Array) -> tuple[Array, Array]:
        n = float(len(y))
        return quotient_range(_count(low > 0.0), n)[0], quotient_range(_count(high >= 0.0), n)[1]

    def slopes(self, near: Near, y: Array) -> Array:  # noqa: ARG002 (of any label)
        return may_cross(near)

    def steps(self, y: Array) -> Steps:
        return Steps(np.ones(len(y)), np.ones(len(y)), float(len(y)))

    def lines(self, known: KnownScores, side: float) -> Lines:
        return lines_of_steps(known, self.steps(known.y), side)
