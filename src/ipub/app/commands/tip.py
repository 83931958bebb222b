"""`ipub tip`: how many missing values, or which shifts of them, change predictions."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ipub.app.screen import json_instead, say, working

if TYPE_CHECKING:
    from collections.abc import Sequence

SHOWN = 20
"""Lines that are printed, at most."""
POINTS = 11
"""Of a shift, if not said otherwise."""


def tip(
    model: Annotated[Path, typer.Argument(help="Model file made by `ipub fit`.")],
    test: Annotated[Path, typer.Argument(help="Table to predict: .csv, .tsv (or with .gz) or .parquet.")],
    threshold: Annotated[
        float | None, typer.Option(help="Of a regression: the number that predictions may cross.")
    ] = None,
    shift: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMN=...",
            help="Shift the missing values of a column from the filled-in ones instead: COLUMN=FROM:TO or "
            "COLUMN=FROM:TO:POINTS; of a category COLUMN=LEVEL,LEVEL. May be given twice.",
        ),
    ] = None,
    multiply: Annotated[bool, typer.Option("--multiply", help="Multiply by the shifts in place of adding.")] = False,
    train: Annotated[Path | None, typer.Option(help="The training table; else where `ipub fit` found it.")] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help='Write .csv, .tsv or .parquet; "-" prints CSV.')
    ] = None,
    figure: Annotated[Path | None, typer.Option(help="Draw it: .png, .pdf or .svg.")] = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Show how many missing values must differ from the filled-in ones before predictions change.

    at_least: fewer cannot change the prediction of a row (proved). at_most: so many do (a model was trained). With
    --shift it shows where predictions change if missing values are shifted, at each point of a grid: safe (proved),
    tips (found) or unproved; whole_cell says whether the first is proved everywhere halfway to the next points.
    The model is fitted again on its training table.

    Examples
    --------
    ipub tip model.ipub test.csv -o tipping.csv
    ipub tip model.ipub test.csv --shift age=-20:20:9
    ipub tip model.ipub test.csv --shift age=-20:20 --shift shape=-2:2 --json
    """
    from ipub.app.pictures import check_picture, save_picture
    from ipub.app.which_values import asked_of, check_output, columns_of, show, written

    is_piped = check_output(output, model, test, train)
    if figure is not None:
        check_picture(figure)
    with json_instead(json or is_piped, prints=json and not is_piped) as answer:
        estimator, X = asked_of(model, test, train)
        with working("Searching and proving"):
            if shift:
                columns, deltas = _shifts(shift, estimator)
                how = "multiply" if multiply else "add"
                found = estimator.shift_grid(X, columns, deltas, how=how, threshold=threshold)
                lines = columns_of(found.table)
            else:
                found = estimator.tipping_points(X, threshold=threshold)
                lines = columns_of(found.rows)
        for sentence in found.sentences():
            say(sentence)
        show(_in_words(lines), SHOWN)
        answer.update(model=str(model), **_answer(found, lines))
        if output is not None:
            written(output, lines)
        if figure is not None:
            save_picture(figure, lambda: _drawn(found))
            say(f"Figure saved to {figure}")


def _in_words(lines: dict[str, list[Any]]) -> dict[str, list[Any]]:
    """Return lines with words in place of infinite numbers of missing values."""
    if "at_most" not in lines:
        return lines
    least, most = lines["at_least"], lines["at_most"]
    found = [
        "never" if a == math.inf else "none found" if b == math.inf else b for a, b in zip(least, most, strict=True)
    ]
    return {**lines, "at_least": ["never" if a == math.inf else a for a in least], "at_most": found}


def _answer(found: Any, lines: dict[str, list[Any]]) -> dict[str, Any]:
    rows = [dict(zip(lines, values, strict=True)) for values in zip(*lines.values(), strict=True)]
    if hasattr(found, "shifts"):
        return {"promise": found.promise, "points": rows}
    columns = [each._asdict() for each in found.columns]
    counts = {"missing": found.n_missing, "left_out": found.n_own}
    return {**counts, "share": found.share._asdict(), "columns": columns, "rows": rows}


def _drawn(found: Any) -> Any:
    from ipub.plots import ShiftGridDisplay, TippingDisplay

    if hasattr(found, "shifts"):
        return ShiftGridDisplay.from_grid(found).ax_
    columns = (found.rows[name].to_numpy() for name in ("at_least", "at_most"))
    return TippingDisplay.from_predictions(*columns, n_missing=found.n_missing).ax_


def _shifts(given: Sequence[str], estimator: Any) -> tuple[list[str], list[list[Any]]]:
    """Return the columns that are shifted, and by how much, as ``COLUMN=...`` says."""
    import numpy as np

    from ipub.app.files.tables import TableError

    encoder = estimator.encoder_
    categories = () if encoder is None else [n for n in encoder.columns if n not in encoder.names_of_numbers]
    columns, deltas = [], []
    for each in given:
        column, sign, text = each.rpartition("=")
        if not sign or not column:
            raise TableError(f"--shift {each} is not understood: write --shift COLUMN=FROM:TO:POINTS.")
        columns.append(column)
        if column in categories:
            deltas.append(text.split(","))
            continue
        try:
            low, high, *points = text.split(":")
            (n,) = [int(each) for each in points] or [POINTS]
            deltas.append(np.linspace(float(low), float(high), n).tolist())
        except ValueError:
            raise TableError(f"--shift {each} is not understood: write --shift {column}=FROM:TO:POINTS.") from None
    return columns, deltas
