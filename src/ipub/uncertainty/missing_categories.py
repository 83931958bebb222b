"""Missing categories: each is one of the levels of its column, a choice and not a box (Lemma 11)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ipub.engine.block import Block
from ipub.engine.ops import sum_by_index
from ipub.rounding import Array
from ipub.uncertainty.base import Uncertainty


@dataclass(frozen=True)
class AnyLevel(Uncertainty):
    """Every missing category of a block is any level of its column, whatever the others are."""

    def score_change(self, block: Block, w: Array) -> Array:
        return sum_by_index(block.choices.rows, block.choices.spread(w), block.n_rows)

    def score_change_within(self, block: Block, limits: Array) -> Array:
        return sum_by_index(block.choices.rows, block.choices.reach(limits), block.n_rows)

    def column_change(self, block: Block, coefficients: Array) -> Array:
        return block.choices.column_sums(np.abs(coefficients)[block.choices.rows], block.center.shape[1])
