"""The model of a file, with its training table: what a file does not hold is fitted again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from ipub.app.files import tables
from ipub.app.files.modelfile import load_with_metadata
from ipub.app.files.reading import current_reading, reading_as
from ipub.app.files.tables import TableError
from ipub.app.training_tables import in_memory
from ipub.promises import Draws

SAME = 1e-6
"""Relative difference of weights that is training to another last digit."""


def refitted(model: Path, train: Path | None = None) -> Any:
    """Return the estimator of a model file, fitted again on the table it was fitted on.

    Without `train` that is the table that `ipub fit` was given, which the file names: as it was written there, or in
    the folder of the model.

    Raises TableError if that gives another model: the table is another one, or draws are other draws.
    """
    estimator, metadata, _ = load_with_metadata(model)
    target, names = metadata.get("target"), getattr(estimator, "feature_names_in_", None)
    if target is None or names is None:
        raise TableError(f"{model} was not made by `ipub fit`: make it with that, or ask in Python.")
    if isinstance(estimator.uncertainty, Draws):
        raise TableError(f"{model} is about draws, and does not hold them: ask in Python, or fit without --draws.")
    train = train or _table_of(model, metadata.get("train"))
    with reading_as(current_reading().with_meaning(metadata.get("reading"))):
        table = tables.read_table(train)
    tables.check_names([*map(str, names), target], table.column_names, str(train))
    read = in_memory(table, [str(name) for name in names], train, target)
    again = type(estimator)(**estimator.get_params(deep=False)).set_params(alpha=estimator.alpha_)
    again.fit(read.X, read.y)
    before, now = (np.append(np.ravel(each.coef_), each.intercept_) for each in (estimator, again))
    if before.shape != now.shape or not np.allclose(before, now, rtol=SAME, atol=SAME * np.abs(before).max()):
        raise TableError(
            f"{train} does not give the model of {model}: its weights differ. Give the table that was given to "
            "`ipub fit`, unchanged, with --train."
        )
    return again


def target_of(model: Path, train: Path | None = None) -> dict[str, Any]:
    """Return the target of the table that a model file was fitted on, as it is there, by its name."""
    _, metadata, _ = load_with_metadata(model)
    with reading_as(current_reading().with_meaning(metadata.get("reading"))):
        table = tables.read_table(train or _table_of(model, metadata.get("train")))
    return {metadata["target"]: table.column(metadata["target"])}


def _table_of(model: Path, train: str | None) -> Path:
    """Return where the training table of a model file is."""
    if train is None:
        raise TableError(f"{model} does not say where its training table is: name it with --train.")
    for path in (Path(train), model.parent / Path(train).name):
        if path.exists():
            return path
    raise TableError(f"{train}, the training table of {model}, is not there: say with --train where it is.")
