"""Missing categories: each is one of the levels of its column (Lemma 11)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ipub.numeric.rounding import Array
from ipub.promises.base import Uncertainty
from ipub.rows.block import Block
from ipub.rows.ops import sum_by_index


@dataclass(frozen=True)
class AnyLevel(Uncertainty):
    """Every missing category of a block is any level of its column, independently of the others."""

    def score_change(self, block: Block, w: Array) -> Array:
        missing = block.missing_categories
        return sum_by_index(missing.rows, missing.score_change(w), block.n_rows)

    def score_change_within(self, block: Block, limits: Array) -> Array:
        missing = block.missing_categories
        return sum_by_index(missing.rows, missing.score_change_within(limits), block.n_rows)

    def column_change(self, block: Block, coefficients: Array) -> Array:
        missing = block.missing_categories
        return missing.column_change(np.abs(coefficients)[missing.rows], block.center.shape[1])
