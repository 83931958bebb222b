"""A certificate: sets that each hold the model of every completion, and the bounds of scores that follow."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from html import escape
from itertools import compress, groupby
from operator import attrgetter
from typing import NamedTuple, TypeVar

import numpy as np

from ipub.model_sets.base import ModelSet
from ipub.numeric.parallel import row_slices
from ipub.numeric.rounding import Array, floats, overflow_means_unbounded
from ipub.problem.objective import Problem
from ipub.problem.solvers import Solution
from ipub.rows.sparse_array import row_width

Progress = Callable[[int, int], None]
"""Called with the number of rows done and their total."""

ANY_FILLING = "Always: the bounds hold for every filling of the missing values inside their intervals."
"""What a certificate promises if nothing else is said."""

P = TypeVar("P", bound=ModelSet)


class TrainedModel(NamedTuple):
    """A training problem and its solution."""

    problem: Problem
    solution: Solution


class PreparedRefinement(ABC):
    """A refinement with what it needs of one training problem; no call changes what another one gives."""

    @abstractmethod
    def narrowed(self, X: Array, bounds: Array, progress: Progress | None = None) -> Array:
        """Return (m, 2): `bounds` of the scores of X, which the certificate gives without retraining, made narrower."""


class Refinement(ABC):
    """What narrows the bounds of single rows, for which it needs the training problem."""

    @abstractmethod
    def prepared(self, certificate: Certificate, training: TrainedModel) -> PreparedRefinement:
        """Do what does not depend on the rows that are bounded; no certificate keeps it, so that files stay small."""


@dataclass(frozen=True)
class Certificate:
    """Sets that each hold the model of every completion; a bound is the best that any of them gives."""

    name: str
    """The certificate that was requested."""
    parts: tuple[ModelSet, ...]
    gap: float
    """Duality gap of the trained model at the center."""
    note: str = ""
    """What could not be certified as requested, and which certificate is used instead."""
    promise: str = ANY_FILLING
    """One sentence: for which tables the bounds hold, and whether always or with which probability."""
    refinement: Refinement | None = None
    """What narrows bounds row by row, where the training problem is at hand."""
    only_searched: tuple[ModelSet, ...] = ()
    """Sets that hold all models as well and narrow no bound by themselves: scores are ruled out in them."""

    def score_bounds(self, X: Array, training: TrainedModel | None = None, progress: Progress | None = None) -> Array:
        """Return (m, 2): the lowest and highest score that any completion's model may give each row.

        Guarantee: for every completion of the training table inside its intervals, the exact minimiser w of the
        training problem has ``lower <= x.w <= upper``. With an intercept the last column of X, its factor, is 1 (0
        bounds a sum of weights without it), and every minimiser is meant, if there are several. Bounds are refined only
        with the `training`.
        """
        X = floats(X)  # integers would wrap around in a norm
        groups = self._groups_for(len(X))
        slices = row_slices(len(X), row_width(X) + len(self.parts)) or [slice(0, 0)]
        bounds = np.concatenate([_best_ends(groups, X[rows]) for rows in slices])
        if training is not None and self.refinement is not None:
            bounds = self.refinement.prepared(self, training).narrowed(X, bounds, progress)
        return bounds

    def prepare(self) -> None:
        """Find out now what every later call asks of all parts."""
        _ = self.keeps_training_rows, self.terms_per_row, self._groups

    @cached_property
    def keeps_training_rows(self) -> bool:
        """Whether training rows are part of it."""
        return any(part.keeps_training_rows for part in (*self.only_searched, *reversed(self.parts)))

    @cached_property
    def terms_per_row(self) -> int:
        """How many uncertain cells, and levels of missing categories, a bound looks at for each row."""
        return sum(map(attrgetter("terms_per_row"), self.parts))

    def part(self, kind: type[P]) -> P | None:
        """Return the first set of a kind, if there is one."""
        return next((part for part in (*self.parts, *self.only_searched) if isinstance(part, kind)), None)

    def parts_of(self, kind: type[P]) -> tuple[P, ...]:
        """Return all parts of a kind."""
        return tuple(part for part in self.parts if isinstance(part, kind))

    def in_fit(self) -> Certificate:
        """Return the certificate for what a fit itself asks."""
        return self if self._used is self.parts else replace(self, parts=self._used)

    def in_calls_of(self, n_rows: int) -> Certificate:
        """Return the certificate as calls with so many rows use it."""
        return replace(self, parts=tuple(part for parts in self._groups_for(n_rows) for part in parts))

    def faster(self) -> Certificate:
        """Return the certificate for many rows: up to about a tenth wider, and up to twice as fast."""
        return self._faster

    def in_columns(self) -> Certificate:
        """Return the certificate that takes the uncertain cells of a column together: fast, wider by some per cent.

        Its slopes keep sums over the training rows alone, but these may be sums over a single one; row sums stay as
        they are.
        """
        return self._in_columns

    def without_training_rows(self) -> Certificate:
        """Return the certificate that keeps no training rows, nor sums over fewer than `FEWEST_ROWS` of them.

        Uncertain cells are bounded as in `in_columns`, and what columns with few of them do is hidden in other sums.
        """
        parts = (part.without_training_rows() for part in self.parts)
        return replace(self, parts=tuple(part for part in parts if part is not None), only_searched=())

    @cached_property
    def _faster(self) -> Certificate:
        return replace(self, parts=tuple(part.faster() for part in self.parts))

    @cached_property
    def _in_columns(self) -> Certificate:
        return replace(self, parts=tuple(part.in_columns() for part in self.parts))

    @cached_property
    def _used(self) -> tuple[ModelSet, ...]:
        """The parts that are worth their time for any number of rows."""
        is_limited = [part.most_rows is not None for part in self.parts]
        return tuple(compress(self.parts, np.logical_not(is_limited))) if any(is_limited) else self.parts

    @cached_property
    def _groups(self) -> list[list[ModelSet]]:
        """These parts, those of one kind together."""
        return [list(parts) for _, parts in groupby(self._used, type)]

    def _groups_for(self, n_rows: int) -> list[list[ModelSet]]:
        """Return the parts that are worth their time for so many rows, those of one kind together."""
        if self._used is self.parts:
            return self._groups
        others = (part for part in self.parts if part.most_rows is not None and n_rows <= part.most_rows)
        return [*self._groups, *([part] for part in others)]

    def __repr__(self) -> str:
        names = ", ".join(dict.fromkeys(part.name for part in self.parts))
        return f"Certificate({self.name!r}: {names}; gap={self.gap:.1e})"

    def _repr_html_(self) -> str:
        """Return what a notebook shows: the promise first, then how it was proved."""
        names = ", ".join(dict.fromkeys(part.name for part in self.parts))
        lines = [f"<b>{escape(self.promise)}</b>", f"Certificate {escape(self.name)}: proved by {escape(names)}."]
        return "".join(f"<p>{line}</p>" for line in [*lines, *([escape(self.note)] if self.note else [])])


def _best_ends(groups: list[list[ModelSet]], X: Array) -> Array:
    """Return (m, 2): the best lower and upper end that any set gives; sets of one kind are grouped."""
    with overflow_means_unbounded():
        lows, highs = zip(*(sets[0].ends_of_all(sets, X) for sets in groups), strict=True)
    # A bound that overflowed to NaN becomes infinite, never a number.
    low = np.nan_to_num(np.concatenate(lows, axis=1), nan=-np.inf, posinf=-np.inf, neginf=-np.inf)
    high = np.nan_to_num(np.concatenate(highs, axis=1), nan=np.inf, posinf=np.inf, neginf=np.inf)
    return np.column_stack([low.max(axis=1), high.min(axis=1)])


def intersection(name: str, certificates: Sequence[Certificate]) -> Certificate:
    """Return the certificate that has all parts of several."""
    parts = tuple(part for each in certificates for part in each.parts)
    return Certificate(name, parts, certificates[0].gap, " ".join(each.note for each in certificates if each.note))
