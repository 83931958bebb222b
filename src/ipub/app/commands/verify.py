"""`ipub verify`: checks the bounds of a model file by retraining, with code that did not prove them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ipub.app.options import MOST_SEED
from ipub.app.plain_json import as_json
from ipub.app.screen import json_instead, say, working

VIOLATED = 1
"""Exit code if a bound is violated."""


def verify(
    model: Annotated[Path, typer.Argument(help="Model file made by `ipub fit`.")],
    train: Annotated[Path, typer.Argument(help="The table it was fitted on.")],
    test: Annotated[Path, typer.Argument(help="Rows whose bounds are checked.")],
    target: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="Column that was predicted; else as the model file has it.")
    ] = None,
    seconds: Annotated[float, typer.Option(min=0.0, help="How long to try.")] = 60.0,
    seed: Annotated[int, typer.Option(min=0, max=MOST_SEED, help="Seed of all that is random.")] = 0,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Write the record, as JSON if the name ends in .json.")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Try to break the bounds of a model file: retrain on fillings of its training table, and compare.

    Half of the fillings are chosen to push a prediction out of its bounds, the others are random; a budget is kept to,
    draws are simulated. What retrains has nothing in common with what proves bounds. A record is printed: what was
    checked, how near it came, and what is violated, in which case the exit code is 1.

    Examples
    --------
    ipub verify model.ipub train.csv test.csv
    ipub verify model.ipub train.csv test.csv --seconds 600 -o record.txt
    """
    from ipub.app.files import tables
    from ipub.app.files.atomic import check_folder, whole_file
    from ipub.app.files.modelfile import load_with_metadata
    from ipub.app.files.reading import current_reading, reading_as
    from ipub.app.training_tables import REMEDY, in_memory
    from ipub.verification.own_table import OtherTableError
    from ipub.verification.retraining import verify as verified

    if output is not None:
        check_folder(output)
        tables.check_not_overwritten(output, model, train, test)
    estimator, metadata, _ = load_with_metadata(model)
    target = target or metadata.get("target")
    if target is None or getattr(estimator, "feature_names_in_", None) is None:
        raise tables.TableError(f"{model} was not made by `ipub fit`: use ipub.verify in Python.")
    names = [str(name) for name in estimator.feature_names_in_]
    with json_instead(json) as answer:
        with reading_as(current_reading().with_meaning(metadata.get("reading"))):
            whole, rows = tables.read_table(train), tables.read_table(test)
            tables.check_names([*names, target], whole.column_names, str(train))
            tables.check_names(names, rows.column_names, str(test))
            read = in_memory(whole, names, train, target)
            X_test = tables.features_of(rows, names, test, REMEDY)
        with working("Retraining on fillings"):
            try:
                record = verified(estimator, read.X, read.y, X_test, seconds=seconds, random_state=seed)
            except OtherTableError as error:
                raise tables.TableError(
                    f"{train} does not give the model of {model}: its weights differ. Give the table that was given "
                    "to `ipub fit`, unchanged; if this is it, the file of the model was altered."
                ) from error
        for line in str(record).splitlines():
            say(line, "bold" if line.startswith("Violations") else "")
        answer.update(record.as_dict())
        if output is not None:
            text = as_json(record.as_dict()) if output.suffix == ".json" else str(record)
            with whole_file(output) as file:
                file.write(f"{text}\n".encode())
            say(f"Written to {output}")
    if not record.ok:
        raise typer.Exit(VIOLATED)
