"""Finished measurements on disk: each is written whole or not at all, so that a run can be continued."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ipub.app.files.atomic import whole_file
from ipub.numeric.rounding import Array


@dataclass(frozen=True, eq=False)
class Measured:
    """Results of one measurement: figures, and arrays with one value or more for each test row."""

    figures: Mapping[str, Any]
    arrays: Mapping[str, Array]


class Store:
    """A folder of finished measurements, two files each: ``NAME.npz`` with the arrays, then ``NAME.json``.

    Parameters
    ----------
    folder : Path
        Made if it does not exist.
    """

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder

    def get(self, name: str, key: Mapping[str, Any]) -> Measured | None:
        """Return a measurement; None if there is none, or one of another key (data, settings, version)."""
        try:
            written = json.loads((self.folder / f"{name}.json").read_text(encoding="utf-8"))
            if written["key"] != _plain(key):
                return None
            with np.load(self.folder / f"{name}.npz", allow_pickle=False) as arrays:
                return Measured(written["figures"], dict(arrays))
        except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile):
            return None

    def put(self, name: str, key: Mapping[str, Any], measured: Measured) -> None:
        """Keep a measurement. The JSON file comes last: if it is there, so are the arrays that belong to it."""
        goal = self.folder / f"{name}.json"
        goal.unlink(missing_ok=True)
        with whole_file(self.folder / f"{name}.npz") as file:
            np.savez_compressed(
                file, allow_pickle=False, **{part: np.asarray(v) for part, v in measured.arrays.items()}
            )
        with whole_file(goal) as file:
            text = json.dumps({"key": _plain(key), "figures": _plain(measured.figures)}, indent=1)
            file.write(text.encode())


def _plain(values: Mapping[str, Any]) -> Any:
    """Return values as JSON gives them back."""
    return json.loads(json.dumps(dict(values)))
