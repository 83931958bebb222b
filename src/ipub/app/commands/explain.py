"""`ipub explain`: why one prediction is certain or not, and what would change it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from ipub.app.screen import json_instead, say, working

SHOWN = 20
"""Changes that are printed, at most."""


def explain(
    model: Annotated[Path, typer.Argument(help="Model file made by `ipub fit`.")],
    test: Annotated[Path, typer.Argument(help="Table with the row: .csv, .tsv (or with .gz) or .parquet.")],
    row: Annotated[int, typer.Option(min=1, help="Which row of the table, counted from 1.")],
    threshold: Annotated[
        float | None, typer.Option(help="Of a regression: the number that the prediction may cross.")
    ] = None,
    growth: Annotated[
        bool, typer.Option("--growth", help="Also by which factor intervals may grow; takes some certificates.")
    ] = False,
    train: Annotated[Path | None, typer.Option(help="The training table; else where `ipub fit` found it.")] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help='Write the changes: .csv, .tsv or .parquet; "-" prints CSV.')
    ] = None,
    filling: Annotated[
        Path | None, typer.Option(help="Write the whole training table with these changes, filled in, and its target.")
    ] = None,
    figure: Annotated[Path | None, typer.Option(help="Draw it: .png, .pdf or .svg.")] = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Explain one prediction: its bounds, what would change it, and which missing values matter.

    Missing values of the training table differ or are filled in (the middle of their intervals and the commonest level,
    or as --budget of `ipub fit` says). Fewer than the first number cannot change the prediction: proved. The changes
    that are listed do: the model was trained again with them. The model is fitted again on its training table, whose
    rows are counted from 1.

    The table of --filling changes the prediction of a model with the scaling and the penalty of this one, which were
    learnt before anything was filled in. `ipub fit` on that table learns its own, and may not show the change; `ipub
    verify` retrains with those of the model.

    Examples
    --------
    ipub explain model.ipub test.csv --row 17
    ipub explain model.ipub test.csv --row 17 -o changes.csv --filling filled.csv
    """
    from ipub.app.files import tables
    from ipub.app.files.atomic import check_folder
    from ipub.app.model_and_table import target_of
    from ipub.app.pictures import check_picture, save_picture
    from ipub.app.which_values import asked_of, check_output, columns_of, row_of_a_slice, show, written

    is_piped = check_output(output, model, test, train)
    if filling is not None:
        tables.table_suffix(filling)
        check_folder(filling)
        tables.check_not_overwritten(filling, model, test, train)
    if figure is not None:
        check_picture(figure)
    with json_instead(json or is_piped, prints=json and not is_piped) as answer:
        estimator, X = asked_of(model, test, train)
        if row > X.num_rows:
            raise tables.TableError(f"{test} has {X.num_rows:,} rows: --row {row} is none of them.")
        with working("Explaining"), row_of_a_slice(row - 1):
            why = estimator.explain(X.slice(row - 1, 1), threshold=threshold)
            if growth:
                _ = why.growth
        for sentence in why.sentences():
            say(sentence)
        changes, top, own = (columns_of(each) for each in (why.changes, why.top_cells, why.own_values))
        if why.changed:
            shown = {**changes, **{name: list(map(_shown, changes[name])) for name in ("filled_in", "value")}}
            show(shown, SHOWN)
        if own["column"]:
            say("The row's own missing values that go with it:")
            show({name: list(map(_shown, values)) for name, values in own.items()}, SHOWN)
        if why.top:
            say("Which single missing values of the training table matter most (first order):")
            show(top, 5)
        say(why.promise)
        answer.update(_answer(why, row), changes=_lines(changes), own_values=_lines(own), top_cells=_lines(top))
        if output is not None:
            written(output, changes)
        if filling is not None:
            if why.filling is None:
                say(f"No filling is known that changes it: {filling} is not written.")
            else:
                columns = {name: why.filling[name].to_pylist() for name in why.filling.column_names}
                written(filling, columns | target_of(model, train))
                say(_how_to_repeat(estimator, model))
        if figure is not None:
            save_picture(figure, lambda: why.plot().ax_)
            say(f"Figure saved to {figure}")


def _how_to_repeat(estimator: Any, model: Path) -> str:
    """Say with which scaling and penalty the table that was written changes the prediction."""
    if estimator.scale is None:
        return (
            f"A model trained on it with the loss and the penalty of this one (--scale none --alpha "
            f"{estimator.alpha_:g}) gives the other prediction."
        )
    return (
        f"The change holds with the scaling and the penalty of {model}, which were learnt before anything was filled "
        "in: `ipub fit` on this table learns a scaling of its own, and may not show it. `ipub verify` retrains on "
        "fillings with the scaling and the penalty of the model."
    )


def _shown(value: Any) -> str:
    """Return a value of a table with few digits, a number that is text beside those of categories too."""
    from ipub.answers.tipping.explanation import shown_value

    try:
        is_number = isinstance(value, str) and repr(float(value)) == value
    except ValueError:
        is_number = False
    return shown_value(float(value) if is_number else value)


def _answer(why: Any, row: int) -> dict[str, Any]:
    tipping = None if why.tipping is None else why.tipping._asdict()
    return {
        "row": row,
        "prediction": why.prediction,
        "bounded": why.quantity,
        "value": why.value,
        "bounds": why.bounds,
        "status": why.status,
        "tipping": tipping,
        "missing": why.n_missing,
        "parts": [each._asdict() for each in why.parts],
        "growth": vars(why)["growth"]._asdict() if vars(why).get("growth") else None,
        "promise": why.promise,
        "notes": list(why.notes),
    }


def _lines(columns: dict[str, list[Any]]) -> list[dict[str, Any]]:
    return [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]
