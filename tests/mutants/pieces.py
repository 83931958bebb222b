"""Mutants of tables that are read piece by piece."""

from __future__ import annotations

from mutants.entry import Mutant

PIECES = ("rows/test_pieces.py",)
SOUND = ("soundness/test_pieces.py",)

MUTANTS = (
    Mutant(
        "holes of pieces without a radius",
        "RowReader._intervals",
        "return center, (i, j), self.radii[j], missing",
        "return center, (i, j), 0.0 * self.radii[j], missing",
        SOUND,
    ),
    Mutant(
        "holes of pieces at a wrong middle",
        "RowReader._intervals",
        "center[i, j] = self.centers[j]",
        "center[i, j] = 0.0",
        SOUND,
    ),
    Mutant(
        "weights of pieces forgotten",
        "LabelReader.read",
        "weight = np.ones(len(labels)) if weight is None else weight",
        "weight = np.ones(len(labels))",
        SOUND,
    ),
    Mutant(
        "a piece that is left out",
        "_blocks",
        "    if not slices:\n",
        "    if not slices or slices[-1].stop == 1:\n",
        SOUND,
    ),
    Mutant(
        "imprecise cells of pieces taken for certain",
        "RowReader._blurred",
        "np.tile(self.precision > 0.0",
        "np.tile(self.precision > np.inf",
        PIECES,
    ),
    Mutant(
        "a missing category of a piece taken for known",
        "RowReader._put_levels",
        "            holes = codes < 0\n",
        "            holes = codes < -1\n",
        PIECES,
    ),
    Mutant(
        "parts of blocks given to the wrong pieces",
        "PieceRows._cut",
        "starts = (0, *ends[:-1].tolist())",
        "starts = (0, *ends[1:].tolist())",
        PIECES,
    ),
    Mutant(
        "a rank too low",
        "QuantileSearch._narrowed",
        "float(np.partition(kept, rank - below)[rank - below])",
        "float(np.partition(kept, rank - below)[max(0, rank - below - 1)])",
        ("tables/test_order_statistics.py",),
    ),
    Mutant(
        "values on the end of a bracket left out",
        "_count",
        "(values <= bracket.high)",
        "(values < bracket.high)",
        ("tables/test_order_statistics.py",),
    ),
)
