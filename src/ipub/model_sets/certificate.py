"""A certificate: named bounds of the score, each of which holds for the model of every completion."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any, NamedTuple, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from ipub.numeric.parallel import row_slices
from ipub.numeric.rounding import Array, floats, overflow_means_unbounded
from ipub.problem.objective import Problem
from ipub.problem.solvers import Solution
from ipub.rows.sparse_array import row_width

FEWEST_ROWS = 5
"""A sum over the values of fewer training rows than this counts as training rows: a form that keeps none has no such
sum. (A sum over one row is that row up to a factor.)"""

Progress = Callable[[int, int], None]
"""Called with the number of rows done and their total."""

ANY_FILLING = "Always: the bounds hold for every filling of the missing values inside their intervals."
"""What a certificate promises if nothing else is said."""

P = TypeVar("P", bound="ScoreBounds")


class Needs(NamedTuple):
    """What bounds of the score require: of the problem, of memory, and of the caller that evaluates them."""

    smooth_loss: bool = False
    """The derivative of the loss must not jump."""
    l2_only: bool = False
    """The penalty must have no l1 part."""
    matrices: bool = False
    """They keep matrices of shape (n_features, n_features)."""
    training_rows: bool = False
    """They keep training rows; `ScoreBounds.without_training_rows` is the form that does not."""
    training: bool = False
    """They retrain, so evaluating them takes the training problem and its solution."""


class TrainedModel(NamedTuple):
    """A training problem and its solution."""

    problem: Problem
    solution: Solution


class ScoreBounds(ABC):
    """Bounds of ``x.w''`` for any row x, w'' being the model of any completion."""

    name: str
    """Which theorem they come from."""

    @property
    @abstractmethod
    def needs(self) -> Needs:
        """What these bounds require."""

    @abstractmethod
    def ends(self, X: Array) -> tuple[Array, Array]:
        """Return a lower and an upper bound of the score of each row of X; what is infinite or NaN bounds nothing."""

    @abstractmethod
    def without_training_rows(self) -> ScoreBounds | None:
        """Return bounds that keep no training row, nor a sum over fewer than `FEWEST_ROWS`; None if there are none."""

    def in_columns(self) -> ScoreBounds:
        """Return bounds that take the uncertain cells of a column together, not one by one: wider, and faster."""
        return self

    @property
    def terms_per_row(self) -> int:
        """How many uncertain cells, and levels of missing categories, are looked at for each row that is bounded."""
        return 0

    @property
    def is_for_asked_rows(self) -> bool:
        """Whether bounds take so long that only rows a user asks for are worth it: a fit does without them."""
        return False

    def faster(self) -> ScoreBounds:
        """Return bounds for many rows: a little wider than these, if they are faster."""
        return self

    @classmethod
    def ends_of_all(cls, parts: Sequence[Self], X: Array) -> tuple[Array, Array]:
        """Return the ends of several bounds of this kind, each of shape (len(X), len(parts))."""
        low, high = zip(*(part.ends(X) for part in parts), strict=True)
        return np.column_stack(low), np.column_stack(high)


class RetrainingBounds(ScoreBounds):
    """Bounds that are found by retraining for each row: without the training problem they are infinite."""

    def ends(self, X: Array) -> tuple[Array, Array]:
        return np.full(len(X), -np.inf), np.full(len(X), np.inf)

    @abstractmethod
    def narrowed(
        self, X: Array, bounds: Array, certificate: Certificate, training: TrainedModel, progress: Progress | None
    ) -> Array:
        """Return (m, 2): `bounds` of the scores of X, which `certificate` gives without retraining, made narrower."""


@dataclass(frozen=True)
class Certificate:
    """Score bounds that each hold for the model of every completion; a bound is the best that any of them gives.

    Attributes
    ----------
    name : str
        The certificate that was requested.
    parts : tuple of ScoreBounds
    gap : float
        Duality gap of the trained model at the center.
    note : str
        What could not be certified as requested, and which certificate is used instead.
    promise : str
        One sentence: for which tables the bounds hold, and whether always or with which probability.
    """

    name: str
    parts: tuple[ScoreBounds, ...]
    gap: float
    note: str = ""
    promise: str = ANY_FILLING

    def score_bounds(self, X: Array, training: TrainedModel | None = None, progress: Progress | None = None) -> Array:
        """Return (m, 2): the lowest and highest score that any completion's model may give each row.

        Guarantee: for every completion of the training table inside its intervals, the exact minimiser w
        of the training problem has ``lower <= x.w <= upper``. With an intercept the last column of X, its
        factor, is 1 (0 bounds a sum of weights without it), and every minimiser is meant, if there are several.

        Parameters
        ----------
        X : array of shape (m, n_features)
        training : TrainedModel, optional
            Parts that retrain are used only if this is given.
        progress : callable, optional
            Called with the number of rows finished, and with their total.
        """
        low, high, _, _ = self._intersect(X)
        bounds = np.column_stack([low, high])
        for part in self.parts:
            if training is not None and isinstance(part, RetrainingBounds):
                bounds = part.narrowed(X, bounds, self, training, progress)
        return bounds

    @property
    def needs(self) -> Needs:
        """What any of the parts requires."""
        return Needs(*(any(needs) for needs in zip(*(part.needs for part in self.parts), strict=True)))

    @property
    def terms_per_row(self) -> int:
        """How many uncertain cells, and levels of missing categories, a bound looks at for each row."""
        return sum(part.terms_per_row for part in self.parts)

    @property
    def needs_training(self) -> bool:
        """Whether bounds are narrower if `score_bounds` is given the training problem."""
        return self.needs.training

    def part(self, kind: type[P]) -> P | None:
        """Return the first part of a kind, if there is one."""
        return next((part for part in self.parts if isinstance(part, kind)), None)

    def parts_of(self, kind: type[P]) -> tuple[P, ...]:
        """Return all parts of a kind."""
        return tuple(part for part in self.parts if isinstance(part, kind))

    def in_fit(self) -> Certificate:
        """Return the certificate for what a fit itself asks."""
        return replace(self, parts=tuple(part for part in self.parts if not part.is_for_asked_rows))

    def faster(self) -> Certificate:
        """Return the certificate for many rows: up to about a tenth wider, and up to twice as fast."""
        return replace(self, parts=tuple(part.faster() for part in self.parts))

    def in_columns(self) -> Certificate:
        """Return the certificate that takes the uncertain cells of a column together: fast, wider by some per cent.

        It keeps sums over the training rows alone, but these may be sums over a single one.
        """
        return replace(self, parts=tuple(part.in_columns() for part in self.parts))

    def without_training_rows(self) -> Certificate:
        """Return the certificate that keeps no training rows, nor sums over fewer than `FEWEST_ROWS` of them.

        Uncertain cells are bounded as in `in_columns`, and what columns with few of them do is hidden in other sums.
        """
        parts = (part.without_training_rows() for part in self.parts)
        return replace(self, parts=tuple(part for part in parts if part is not None))

    def shares(self, X: Array) -> dict[str, float]:
        """Return for each theorem the fraction of ends (lower and upper) for which it gave the bound."""
        *_, lower_from, upper_from = self._intersect(X)
        names = np.array([part.name for part in self._evaluated])
        winners = names[np.concatenate([lower_from, upper_from])]
        return {str(name): float(np.mean(winners == name)) for name in dict.fromkeys(names)}

    @property
    def _evaluated(self) -> tuple[ScoreBounds, ...]:
        """The parts that bound a score by themselves."""
        return tuple(part for part in self.parts if not part.needs.training)

    def _intersect(self, X: Array) -> tuple[Array, Array, NDArray[np.intp], NDArray[np.intp]]:
        """Take the best lower and upper end that any part gives, and say which one it was."""
        X = floats(X)  # integers would wrap around in a norm
        slices = list(row_slices(len(X), row_width(X) + len(self.parts))) or [slice(0, 0)]
        ends = [self._ends(X[rows]) for rows in slices]
        low, high = (np.concatenate(part) for part in zip(*ends, strict=True))
        return low.max(axis=1), high.min(axis=1), low.argmax(axis=1), high.argmin(axis=1)

    def _ends(self, X: Array) -> tuple[Array, Array]:
        """Return the ends that each part gives, one column for each part."""
        with overflow_means_unbounded():
            groups = [list(parts) for _, parts in groupby(self._evaluated, type)]
            low, high = zip(*(parts[0].ends_of_all(parts, X) for parts in groups), strict=True)
        # A bound that overflowed to NaN becomes infinite, never a number.
        return (
            np.nan_to_num(np.concatenate(low, axis=1), nan=-np.inf, posinf=-np.inf, neginf=-np.inf),
            np.nan_to_num(np.concatenate(high, axis=1), nan=np.inf, posinf=np.inf, neginf=np.inf),
        )

    def __repr__(self) -> str:
        names = ", ".join(dict.fromkeys(part.name for part in self._evaluated))
        return f"Certificate({self.name!r}: {names}; gap={self.gap:.1e})"


def without_training_rows(certificate: Certificate | tuple[Certificate, ...]) -> Any:
    """Return a certificate, or those of several classes, in the form that keeps no training rows."""
    if isinstance(certificate, tuple):
        return tuple(each.without_training_rows() for each in certificate)
    return certificate.without_training_rows()


def keeps_training_rows(certificate: Certificate | tuple[Certificate, ...] | None) -> bool:
    """Whether a certificate, or one of several, keeps training rows; None keeps nothing."""
    if certificate is None:
        return False
    return any(each.needs.training_rows for each in (certificate if isinstance(certificate, tuple) else (certificate,)))


def intersection(name: str, certificates: Sequence[Certificate]) -> Certificate:
    """Return the certificate that has all parts of several."""
    parts = tuple(part for each in certificates for part in each.parts)
    return Certificate(name, parts, certificates[0].gap, " ".join(each.note for each in certificates if each.note))
