"""Mutants of tables on a Dask cluster."""

from __future__ import annotations

from mutants.entry import Mutant

DASK = ("rows/test_dask.py",)
SOUND = ("soundness/test_dask.py", "rows/test_dask.py")

MUTANTS = (
    Mutant(
        "a partition left out of a sum",
        "joined_totals",
        "return total_of_blocks([first, second])",
        "return first",
        SOUND,
    ),
    Mutant(
        "labels of another partition",
        "dask_table",
        "for piece, key in zip(pieces, other, strict=True)",
        "for piece, key in zip(pieces, other[::-1], strict=True)",
        SOUND,
    ),
    Mutant(
        "the tree of additions taken for lower than it is",
        "height",
        "return levels * (FAN_IN - 1)",
        "return levels",
        DASK,
    ),
    Mutant(
        "an addition within a partition not counted",
        "FoldedRows.depth",
        "longest + max(map(len, self._slices)) + self.table.fold_depth",
        "longest + self.table.fold_depth",
        DASK,
    ),
    Mutant(
        "arguments given to another partition",
        "mapped",
        "Own(tuple(each[number] for each in own if each is not None))",
        "Own(tuple(each[-1 - number] for each in own if each is not None))",
        DASK,
    ),
)
