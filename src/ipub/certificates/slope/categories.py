"""Missing categories: what each possible level adds to the gradient, and to its remainders (Lemma 11)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from ipub.data.missing_category import Levels
from ipub.linalg import greatest_ratio_upper, positive_weights, rounded_up
from ipub.parallel import row_slices
from ipub.rounding import EPS, Array, sum_upper, up

CHUNK_NUMBERS = 1 << 16
"""Numbers of one chunk of products of test rows with training rows: they stay in the cache."""


@dataclass(frozen=True)
class ChoiceTerms:
    """The rows in which one category is missing, and what its levels do to ``u.(g + r)``.

    Level k of row i adds ``rise_ik (x_i.u) + level_ik z_k + N_ik.v``, ``z_k = d_k.u``, with an error of at most
    ``loose_row_i |x_i.u| + loose_level_i max_k |z_k|``, where ``N_ik.v = curved_i ((x_i.u + z_k) (d_k.v) + z_k
    (x_i.v))``. ``|(N_ik - N_il).v|`` is at most ``pull_row_i (|x_i.u| + |z_l|) + pull_level_i |z_k - z_l|``. What all
    levels add on the average is part of the gradient's middle.

    Attributes
    ----------
    levels : Levels
    rows : array of shape (n, n_features)
    rise, level : arrays of shape (n, n_levels)
    curved, pull_row, pull_level, loose_row, loose_level, crossed : arrays of shape (n,)
    middle : array of shape (n_features,)
        Sum over the rows of the mean over the levels.
    slack, force_slack : arrays of shape (n_features,)
        What is bounded coordinate by coordinate, in ``u.(g + r)`` and in g as a vector.
    """

    levels: Levels
    rows: Array
    rise: Array
    level: Array
    curved: Array
    pull_row: Array
    pull_level: Array
    loose_row: Array
    loose_level: Array
    crossed: Array
    middle: Array
    slack: Array
    force_slack: Array

    def ends(self, U: Array, reach: Callable[[Array], Array]) -> tuple[Array, Array]:
        """Bound from above by how much ``u.(g + r)`` can be below, and above, its middle, for each row u.

        The level that is best to first order keeps its product with v, which is added up over all rows and bounded by
        `reach`; others must make up for it (Lemma 11).
        """
        along, columns = self.levels.changes(U), self.levels.columns
        sums = [np.zeros(len(U)), np.zeros(len(U))]
        pulls = [np.zeros_like(U), np.zeros_like(U)]
        for some in row_slices(len(self.rows), len(U) * len(columns), CHUNK_NUMBERS):
            across = U @ self.rows[some].T
            each = range(len(columns))
            values = np.array([across * self.rise[some, k] + along[:, k, None] * self.level[some, k] for k in each])
            values -= values.mean(axis=0)
            loose = np.abs(across) @ self.loose_row[some]
            for total, vector, signed in zip(sums, pulls, (-values, values), strict=True):
                best = signed.argmax(axis=0)
                top, step = np.take_along_axis(signed, best[None], axis=0)[0], np.take_along_axis(along, best, axis=1)
                more, pull = np.zeros_like(top), (np.abs(across) + np.abs(step)) * self.pull_row[some]
                for k in each:
                    excess = signed[k] - top + pull + np.abs(along[:, k, None] - step) * self.pull_level[some]
                    np.maximum(more, np.where(best == k, 0.0, excess), out=more)
                total += (top + more).sum(axis=1) + loose
                vector += (step * self.curved[some]) @ self.rows[some]
                chosen = (across + step) * self.curved[some]
                vector[:, columns] -= self.levels.share * chosen.sum(axis=1, keepdims=True)
                for k in each:
                    vector[:, columns[k]] += (chosen * (best == k)).sum(axis=1)
        loose = np.abs(along).max(axis=1) * self.loose_level.sum()
        roundings = len(self.rows) + len(columns) + 8
        below, above = (
            up(sum_upper(total + loose, roundings) + reach(vector)) for total, vector in zip(sums, pulls, strict=True)
        )
        return below, above

    def at_rest(self) -> ChoiceTerms:
        """Return the terms of ``u.g`` alone, without what depends on v."""
        nothing = np.zeros_like(self.curved)
        loose = up(self.loose_row + self.crossed) * (1.0 + 8.0 * EPS)
        return replace(self, curved=nothing, pull_row=nothing, pull_level=nothing, loose_level=loose)

    def sizes(self) -> Array:
        """Bound in each coordinate what the levels can add to the gradient's middle."""
        most = np.zeros_like(self.rows)
        for deviation in self._deviations():
            np.maximum(most, np.abs(deviation), out=most)
        sizes = sum_upper(most.sum(axis=0), len(self.rows) + 2 * len(self.levels.columns) + 16)
        sizes[self.levels.columns] += sum_upper(self.crossed.sum(), len(self.rows))
        return up(sizes)

    def norm_upper(self, matrix: Array, inverse: Array) -> float:
        """Bound ``sqrt(z.M^-1 z)`` over all z that levels can add to the gradient's middle."""
        form = np.zeros_like(matrix)
        size = self._sizes(inverse)
        for deviation in self._deviations():
            scaled = deviation * np.sqrt(size.sum() / size)[:, None]
            form += scaled.T @ scaled
        form = rounded_up(form, len(self.rows) + 2 * len(self.levels.columns) + 16)
        norm = up(np.sqrt(greatest_ratio_upper(form, matrix)))
        # What the levels do together with the row's other cells: any multiple of one d_k up to `crossed`.
        along = self.levels.changes(np.eye(len(matrix))).T
        form = rounded_up(along.T @ along, 2 * len(self.levels.columns) + 16)
        crossed = up(sum_upper(self.crossed.sum(), len(self.rows)) * up(np.sqrt(greatest_ratio_upper(form, matrix))))
        return float(up(norm + crossed))

    def form(self, inverse: Array) -> Array:
        """Return S with ``sqrt(u.S u)`` at least what the levels can add on either side, remainders included."""
        size = self._sizes(inverse)
        factor = np.sqrt(size.sum() / size)
        form = np.zeros_like(inverse)
        for deviation in self._deviations():
            scaled = deviation * (np.sqrt(2.0) * factor)[:, None]
            form += scaled.T @ scaled
        pulled = self.rows * (2.0 * factor * (self.pull_row + self.loose_row))[:, None]
        form += pulled.T @ pulled
        along = self.levels.changes(np.eye(len(inverse))).T
        pulled = self.pull_row + self.pull_level + self.loose_level
        form += ((2.0 * factor * pulled) ** 2).sum() * (along.T @ along)
        return rounded_up(form, len(self.rows) + 2 * len(self.levels.columns) + 30)

    def _deviations(self) -> Iterator[Array]:
        """Yield for each level what it adds beyond the mean of all, for each row."""
        rise, share = self.rise.mean(axis=1), self.levels.share
        mean = share * (self.level - self.level.mean(axis=1, keepdims=True))
        for k, column in enumerate(self.levels.columns):
            deviation = self.rows * (self.rise[:, k] - rise)[:, None]
            deviation[:, self.levels.columns] -= mean + share * self.level[:, [k]]
            deviation[:, column] += self.level[:, k]
            yield deviation

    def _sizes(self, inverse: Array) -> Array:
        """Choose a positive weight for each row: the size of its term in a typical direction."""
        squares = np.zeros(len(self.rows))
        for deviation in self._deviations():
            squares = np.maximum(squares, np.einsum("ij,ij->i", deviation @ inverse, deviation))
        across = np.sqrt(np.maximum(np.einsum("ij,ij->i", self.rows @ inverse, self.rows), 0.0))
        own = np.sqrt(np.maximum(np.diag(inverse)[self.levels.columns].max(), 0.0))
        size = np.sqrt(squares) + (self.pull_row + self.loose_row) * across + (self.pull_level + self.loose_level) * own
        return positive_weights(size)
