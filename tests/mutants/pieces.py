"""Mutants of tables that are read piece by piece."""

from __future__ import annotations

from mutants.entry import Mutant

PIECES = ("engine/test_pieces.py",)
SOUND = ("soundness/test_pieces.py",)

MUTANTS = (
    Mutant(
        "holes of pieces without a radius",
        "engine/piece_reader.py",
        "return center, (i, j), self.radii[j], missing",
        "return center, (i, j), 0.0 * self.radii[j], missing",
        SOUND,
    ),
    Mutant(
        "holes of pieces at a wrong middle",
        "engine/piece_reader.py",
        "center[i, j] = self.centers[j]",
        "center[i, j] = 0.0",
        SOUND,
    ),
    Mutant(
        "weights of pieces forgotten",
        "engine/piece_reader.py",
        "weight = np.ones(n) if weight is None else weight",
        "weight = np.ones(n)",
        SOUND,
    ),
    Mutant(
        "a piece that is left out",
        "engine/pieces.py",
        "    if not slices:\n",
        "    if not slices or slices[-1].stop == 1:\n",
        SOUND,
    ),
    Mutant(
        "imprecise cells of pieces taken for certain",
        "engine/piece_reader.py",
        "np.tile(self.precision > 0.0",
        "np.tile(self.precision > np.inf",
        PIECES,
    ),
    Mutant(
        "a missing category of a piece taken for known",
        "engine/piece_reader.py",
        "            holes = codes < 0\n",
        "            holes = codes < -1\n",
        PIECES,
    ),
    Mutant(
        "parts of blocks given to the wrong pieces",
        "engine/pieces.py",
        "starts = (0, *ends[:-1].tolist())",
        "starts = (0, *ends[1:].tolist())",
        PIECES,
    ),
    Mutant(
        "a rank too low",
        "data/order_statistics.py",
        "float(np.partition(kept, rank - below)[rank - below])",
        "float(np.partition(kept, rank - below)[max(0, rank - below - 1)])",
        ("data/test_order_statistics.py",),
    ),
    Mutant(
        "values on the end of a bracket left out",
        "data/order_statistics.py",
        "(values <= bracket.high)",
        "(values < bracket.high)",
        ("data/test_order_statistics.py",),
    ),
)
