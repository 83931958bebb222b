"""`ipub predict`: the rows of a table, with bounds."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from ipub.app.screen import OUTWARD, err, json_instead, new_table, note, out, say

SHOWN_ROWS = 20
"""Rows that are printed, at most."""
SORTED_BY = ("row", "width")


def predict(
    model: Annotated[Path, typer.Argument(help="Model file made by `ipub fit`.")],
    test: Annotated[
        Path,
        typer.Argument(help='Table to predict: .csv, .tsv (or with .gz), .parquet, folder of .parquet, or "-".'),
    ],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help='Write .csv, .tsv or .parquet; "-" prints CSV.')
    ] = None,
    id_column: Annotated[
        str | None, typer.Option("--id", metavar="COLUMN", help="Column that names the rows, to stand before each.")
    ] = None,
    only_open: Annotated[bool, typer.Option("--only-open", help="Only rows whose class is not certain.")] = False,
    sort: Annotated[str, typer.Option(metavar="row|width", help="Order; width has the widest bounds first.")] = "row",
    status: Annotated[
        bool,
        typer.Option(
            "--status",
            help="Tell two kinds of uncertain predictions apart: open, where two fillings with different classes are "
            "found, and unproved. Needs the training table, and takes longer.",
        ),
    ] = False,
    train: Annotated[
        Path | None, typer.Option(help="The training table, for --status; else where `ipub fit` found it.")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Predict the rows of a table, with bounds that hold for every filling of the training table.

    If `ipub fit` was asked for a weaker promise, they hold for what that says: it is printed. Missing cells of the
    rows to predict may have any value.

    Columns written: prediction; for log_loss also probability (of the second class; of more than two, of the
    predicted one), for the hinges score; lower and upper, the bounds of that number; certain, whether no table
    within the promise changes the class, as its bounds prove, or with --status one of certain, open and unproved, for
    which each row that bounds leave is searched, so that more may be certain; with more than two
    classes also possible, those that some table may give. Regression has no classes, hence no column certain.

    Examples
    --------
    ipub predict model.ipub test.csv
    ipub predict model.ipub test.csv -o bounds.csv --id patient
    ipub predict model.ipub test.csv --only-open --sort width
    ipub predict model.ipub test.csv --status
    zcat test.csv.gz | ipub predict model.ipub - -o - | head
    """
    from ipub.app.choices import check_choice
    from ipub.app.chosen_rows import check_choice_of_rows, chosen
    from ipub.app.files import tables
    from ipub.app.files.atomic import check_folder
    from ipub.app.files.long_tables import open_table
    from ipub.app.files.modelfile import load_with_metadata
    from ipub.app.files.reading import current_reading, reading_as
    from ipub.app.files.standard_input import STANDARD
    from ipub.app.model_and_table import refitted
    from ipub.app.predictions import PredictedTable

    check_choice("--sort", sort, list(SORTED_BY))
    is_piped = str(output) == STANDARD
    if output is not None and not is_piped:
        tables.table_suffix(output)  # raises an error if it is none
        check_folder(output)
        tables.check_not_overwritten(output, model, test)
    estimator, metadata, has_rows = load_with_metadata(model)
    if getattr(estimator, "feature_names_in_", None) is None:
        raise tables.TableError(f"{model} was fitted without column names: fit it with `ipub fit`, or on a DataFrame.")
    check_choice_of_rows(estimator, only_open=only_open, status=status, by_width=sort == "width")
    if status:
        estimator = refitted(model, train)
    with (
        reading_as(current_reading().with_meaning(metadata.get("reading"))),
        json_instead(json or is_piped, prints=json and not is_piped) as answer,
        open_table(test, _categories(estimator), verbose=int(err.is_terminal)) as table,
    ):
        found = PredictedTable(estimator, table, test, id_column=id_column, with_status=status)
        is_other_order = only_open or sort == "width"
        pieces = chosen(
            found.pieces(),
            only_open=only_open,
            by_width=sort == "width",
            with_numbers=id_column is None and (is_other_order or output is None),
        )
        if output is None:
            _show_predictions(list(pieces), found, is_other_order, answer if json else None)
        else:
            tables.write_pieces(output, pieces)
            quantity = found.quantity
            say(f"Written to {output}" + (f"; lower and upper bound {quantity}" if quantity else ""))
        _say_what_was_found(found, metadata, has_rows, model, answer)


def _categories(estimator: Any) -> list[str]:
    """Return the columns that are text, whatever their cells look like."""
    encoder = estimator.encoder_
    names = [] if encoder is None else estimator.feature_names_in_
    return [str(name) for name in names if name not in encoder.names_of_numbers]


def _say_what_was_found(
    found: Any, metadata: dict[str, Any], has_rows: bool, model: Path, answer: dict[str, Any]
) -> None:
    """Say what was left out or assumed, how many predictions are certain, and what is promised."""
    from ipub.app.predictions import FEW_CERTAIN, promise_of, say_promise

    ignored = [name for name in found.ignored if name != found.id_column]
    if ignored:
        target = metadata.get("target")
        listed = ", ".join(f"{name} (the target)" if name == target else name for name in ignored[:10])
        note(f"Columns not used by the model: {listed}{', ...' if len(ignored) > 10 else ''}.")
    found.unknown.warn()
    if found.n_holed:
        note(
            f"{found.n_holed} of {found.n_rows} rows have missing cells themselves: predicted with each hole at the "
            "middle of its interval, and bounded over all of it."
        )
    if has_rows:
        note(f"{model} holds training rows.")
    say(f"{found.n_rows} rows: {found.summary()}")
    if found.share_certain is not None and found.share_certain < 1.0 and not found.with_status:
        note(
            "Certain by their bounds. --status searches for each of the others: it may prove more, and finds open ones."
        )
    say_promise(found.estimator)
    rows = answer.pop("predictions", None)
    answer.update(found.counts, promise=promise_of(found.estimator), bounded=found.quantity or None, predictions=rows)
    share = found.share_certain
    if share is not None and share < FEW_CERTAIN and found.estimator.uncertainty == "worst":
        say("Next: ipub fit looks for a weaker promise under which more predictions are certain", "bold")


def _show_predictions(
    pieces: list[dict[str, Any]], found: Any, is_other_order: bool, answer: dict[str, Any] | None
) -> None:
    """Print the first rows as a table, or put all of them into the answer."""
    from ipub.app.predictions import cell_of

    rows = [dict(zip(piece, values, strict=True)) for piece in pieces for values in zip(*_lists(piece), strict=True)]
    if answer is not None:
        answer["predictions"] = rows
        return
    if rows:
        left = [name for name in ("status", "possible") if name in rows[0]]
        table = new_table(*rows[0], left=left)
        for row in rows[:SHOWN_ROWS]:
            table.add_row(*(cell_of(value, OUTWARD.get(name)) for name, value in row.items()))
        out.print(table)
    elif is_other_order:
        say("No row is open: every prediction is certain")
    if len(rows) > SHOWN_ROWS:
        say(f"... and {len(rows) - SHOWN_ROWS} more rows; -o bounds.csv writes them all")
    if found.quantity:
        say(f"lower and upper bound {found.quantity}")


def _lists(piece: dict[str, Any]) -> list[list[Any]]:
    return [column.to_pylist() for column in piece.values()]
