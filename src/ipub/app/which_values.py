"""What the commands about missing values of a training table share."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import narwhals.stable.v1 as nw

from ipub.app.files import tables
from ipub.app.files.atomic import check_folder
from ipub.app.files.modelfile import load_with_metadata
from ipub.app.files.reading import current_reading, reading_as
from ipub.app.files.standard_input import STANDARD
from ipub.app.model_and_table import refitted
from ipub.app.screen import OUTWARD, new_table, out, say
from ipub.app.training_tables import REMEDY
from ipub.errors import IpubError

Columns = dict[str, list[Any]]


def check_output(output: Path | None, *inputs: Path | None) -> bool:
    """Return whether the output is a pipe; raise an error if it is a file that cannot be written."""
    is_piped = str(output) == STANDARD
    if output is not None and not is_piped:
        tables.table_suffix(output)
        check_folder(output)
        tables.check_not_overwritten(output, *inputs)
    return is_piped


def asked_of(model: Path, test: Path | None, train: Path | None) -> tuple[Any, Any]:
    """Return the estimator of a model file, fitted again on its training table, and the rows of a table, if any."""
    estimator = refitted(model, train)
    if test is None:
        return estimator, None
    names = [str(name) for name in estimator.feature_names_in_]
    _, metadata, _ = load_with_metadata(model)
    with reading_as(current_reading().with_meaning(metadata.get("reading"))):
        table = tables.read_table(test)
    tables.check_names(names, table.column_names, str(test))
    return estimator, tables.features_of(table, names, test, REMEDY)


@contextmanager
def row_of_a_slice(first: int) -> Iterator[None]:
    """Let an error about a row of some rows of a table name its number in the table; `first` is that of the first."""
    try:
        yield
    except IpubError as error:
        if error.row is None:
            raise
        fields = {**error.message.fields, "row": first + error.row}
        raise type(error)(error.message.template, **fields) from None


def costs(given: list[str] | None) -> dict[str, float] | None:
    """Return costs of columns as ``COLUMN=X`` names them."""
    if not given:
        return None
    found = {}
    for each in given:
        column, sign, value = each.rpartition("=")
        try:
            found[column] = float(value)
        except ValueError:
            sign = ""
        if not sign or not column:
            raise IpubError(f"--cost {each} is not understood: write --cost COLUMN=NUMBER.")
    return found


def columns_of(frame: Any) -> Columns:
    """Return a frame as columns; rows of the training table are counted from 1."""
    found = nw.from_native(frame, eager_only=True)
    columns = {name: found[name].to_list() for name in found.columns}
    if "row" in columns:
        columns["row"] = [row + 1 for row in columns["row"]]
    return columns


def show(columns: Columns, most: int) -> None:
    """Print the first lines of a table."""
    from ipub.app.predictions import cell_of

    screen = new_table(*columns, left=["column", "level"])
    rows = list(zip(*columns.values(), strict=True))
    for values in rows[:most]:
        screen.add_row(*(cell_of(value, OUTWARD.get(name)) for name, value in zip(columns, values, strict=True)))
    if rows:
        out.print(screen)
    if len(rows) > most:
        say(f"... and {len(rows) - most} more; -o writes them all")


def written(output: Path | None, columns: Columns) -> None:
    """Write columns into a file, if there is one."""
    if output is not None:
        tables.write_pieces(output, [columns])
        say(f"Written to {output}")
