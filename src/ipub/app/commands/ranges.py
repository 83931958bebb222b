"""`ipub ranges`: a draft of the file that says where missing values may lie."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ipub.app.screen import json_instead, note, say, say_command

if TYPE_CHECKING:
    import pyarrow as pa

    from ipub.tables.missing_marks import Mark

CENTRAL = (0.05, 0.95)
"""Quantiles between which the interval is that `ipub fit` takes without such a file."""


def ranges(
    train: Annotated[Path, typer.Argument(help="Training table: .csv, .tsv (or with .gz) or .parquet.")],
    target: Annotated[str | None, typer.Option(metavar="COLUMN", help="Column to predict, which has no range.")] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Write the draft to this file; else it is printed.")
    ] = None,
    drop: Annotated[list[str] | None, typer.Option(help="Column to leave out; may be repeated.")] = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Draft a file for `ipub fit --ranges`: a line for each column of numbers, with what was observed.

    Each range is from the least to the greatest observed value; correct it where you know better, such as a percentage
    that may be anything from 0 to 100. Lines of columns without missing values are comments. Numbers that look like
    marks of missing values, such as -999, are named and left out of the range.

    Examples
    --------
    ipub ranges train.csv --target income -o ranges.toml
    ipub fit train.csv --target income --ranges ranges.toml
    """
    from ipub.app.check import fit_command
    from ipub.app.files import tables
    from ipub.app.files.atomic import check_folder, whole_file
    from ipub.app.training_tables import REMEDY

    if output is not None:
        check_folder(output)
        tables.check_not_overwritten(output, train)
    with json_instead(json) as answer:
        table = tables.read_table(train)
        left_out = [*([] if target is None else [target]), *(drop or [])]
        tables.check_names(left_out, table.column_names, str(train))
        names = [name for name in table.column_names if name not in left_out]
        columns = [described(tables.features_of(table, [name], train, REMEDY)) for name in names]
        answer["columns"] = columns
        text = draft(columns, train.name, fit_command(train.name, target or "COLUMN", {"--drop": drop}))
        if output is None:
            say(text)
        else:
            with whole_file(output) as file:
                file.write(f"{text}\n".encode())
            say(f"Written to {output}: correct what you know better. Next:", "bold")
            say_command(fit_command(train, target or "COLUMN", {"--ranges": output, "--drop": drop}))
        for column in columns:
            for mark in column.get("marks", []):
                note(_question(column["column"], mark))


def described(column: pa.Table) -> dict[str, Any]:
    """Return what a column of `features_of` holds: name, kind, number of missing values, and of numbers their range."""
    import numpy as np

    from ipub.app.files import tables
    from ipub.tables.missing_marks import marks_of_missing

    (name,) = column.column_names
    found: dict[str, Any] = {"column": name, "missing": int(tables.holes_of(column).sum())}
    if not tables.numbers_of(column).num_columns:
        return {**found, "kind": "categories", "levels": len(column.column(0).drop_null().unique())}
    values = tables.floats_of(column)[:, 0]
    values = values[~np.isnan(values)]
    marks = marks_of_missing(values)
    values = values[~np.isin(values, [mark.value for mark in marks])]
    if not len(values):
        return {**found, "kind": "empty"}
    return {
        **found,
        "kind": "whole numbers" if (values % 1 == 0).all() else "numbers",
        "observed": [float(values.min()), float(values.max())],
        "central": [float(end) for end in np.quantile(values, CENTRAL)],
        "marks": [mark._asdict() for mark in marks],
    }


def draft(columns: list[dict[str, Any]], train: str, fit: str) -> str:
    """Return a TOML file that `ipub fit --ranges` reads: comments, and a line for each column of numbers.

    `train` is the name of the table, and `fit` the command that it is for.
    """
    from ipub.app.files.tables import toml_key

    lines = [
        f"# Where missing values of {train} may lie, for",
        f"# {fit} --ranges THIS_FILE",
        "# Each range is what was observed: correct it where you know better. A column",
        "# that is left out keeps the rule of --intervals (the central 90 % by default).",
    ]
    for column in columns:
        name, missing = column["column"], column["missing"]
        count = f"{missing} missing" if missing else "none missing"
        lines.append("")
        if column["kind"] == "categories":
            lines.append(f"# {toml_key(name)}: {count}; text, a missing one is any of {column['levels']} categories")
        elif column["kind"] == "empty":
            lines.append(f"# {toml_key(name)}: {count}; no value at all: ipub fit --drop leaves it out")
        else:
            ends, central = map(_shortest, column["observed"]), [f"{end:.4g}" for end in column["central"]]
            lines.append(f"# {count}; {column['kind']}, the central 90 % from {central[0]} to {central[1]}")
            lines += [f"# {_question(name, mark)}" for mark in column["marks"]]
            lines.append(f"{'' if missing else '# '}{toml_key(name)} = [{', '.join(ends)}]")
    return "\n".join(lines)


def _question(name: str, mark: Any) -> str:
    """Ask whether a number stands for a missing value."""
    from ipub.tables.missing_marks import Mark

    found: Mark = Mark(**mark)
    return (
        f"{name!r} is {found.value:g} in {found.n_rows} rows, far from all other values (the nearest is "
        f"{found.next_value:g}): if that stands for a missing value, leave these cells empty."
    )


def _shortest(value: float) -> str:
    """Return the shortest text that is read as this number."""
    text = f"{value:.15g}"
    return text if float(text) == value else repr(value)
