"""`ipub score`: over what range metrics of a model are."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ipub.app.screen import OUTWARD, json_instead, new_table, note, out, say, working

if TYPE_CHECKING:
    import pyarrow as pa


def score(
    model: Annotated[Path, typer.Argument(help="Model file made by `ipub fit`.")],
    test: Annotated[Path, typer.Argument(help="Table with the target: .csv, .tsv (or with .gz) or .parquet.")],
    target: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="Column with what is true; else as the model file has it.")
    ] = None,
    scoring: Annotated[
        list[str] | None,
        typer.Option(metavar="METRIC", help="Metric, by scikit-learn's name; may be repeated. Else accuracy, or r2."),
    ] = None,
    groups: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="Column of groups: each by itself, and how far they are apart.")
    ] = None,
    search: Annotated[
        bool,
        typer.Option(
            "--search", help="Search for fillings that push the metrics. Needs the training table, and takes longer."
        ),
    ] = False,
    train: Annotated[
        Path | None, typer.Option(help="The training table, for --search; else where `ipub fit` found it.")
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help='Write .csv, .tsv or .parquet; "-" prints CSV.')
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Show over what range metrics are, whatever the missing values of the training table are.

    Metrics: accuracy, balanced_accuracy, precision, recall, f1, selection_rate, roc_auc, neg_log_loss,
    neg_brier_score; of numbers r2, neg_mean_squared_error, neg_mean_absolute_error. lower and upper are proved, under
    the promise that `ipub fit` was asked for; --search adds what fillings reach.

    Examples
    --------
    ipub score model.ipub test.csv
    ipub score model.ipub test.csv --scoring accuracy --scoring roc_auc --search
    ipub score model.ipub test.csv --scoring recall --groups sex -o recall.csv
    """
    from ipub.app.files import tables
    from ipub.app.files.atomic import check_folder
    from ipub.app.files.modelfile import load_with_metadata
    from ipub.app.files.reading import current_reading, reading_as
    from ipub.app.files.standard_input import STANDARD
    from ipub.app.model_and_table import refitted
    from ipub.app.predictions import promise_of, say_promise
    from ipub.app.training_tables import REMEDY

    is_piped = str(output) == STANDARD
    if output is not None and not is_piped:
        tables.table_suffix(output)
        check_folder(output)
        tables.check_not_overwritten(output, model, test, train)
    estimator, metadata, _ = load_with_metadata(model)
    target = target or metadata.get("target")
    if target is None or getattr(estimator, "feature_names_in_", None) is None:
        raise tables.TableError(f"{model} was not made by `ipub fit`: use score_range in Python.")
    if search:
        estimator = refitted(model, train)
    names = [str(name) for name in estimator.feature_names_in_]
    with json_instead(json or is_piped, prints=json and not is_piped) as answer:
        with reading_as(current_reading().with_meaning(metadata.get("reading"))):
            table = tables.read_table(test)
        tables.check_names([*names, target, *([] if groups is None else [groups])], table.column_names, str(test))
        X, y = tables.features_of(table, names, test, REMEDY), tables.values_of(table, target, test)
        metrics = scoring or ["r2" if estimator.training_.classes is None else "accuracy"]
        of_rows = None if groups is None else table.column(groups).to_pylist()
        with working("Bounding metrics"):
            found = estimator.score_range(X, y, metrics, groups=of_rows, search=search)
        columns = _columns(found, search)
        _show(estimator, columns, metrics)
        say_promise(estimator)
        if not search:
            note("--search shows what fillings reach: the exact ends are between that and the proved ones.")
        answer.update(model=str(model), target=target, promise=promise_of(estimator), **columns)
        if output is not None:
            tables.write_pieces(output, [columns])
            say(f"Written to {output}")


def _columns(found: pa.Table, search: bool) -> dict[str, list[Any]]:
    """Return what was found as columns; what was not searched for is left out."""
    return {name: found[name].to_pylist() for name in found.column_names if search or not name.startswith("attained")}


def _show(estimator: Any, columns: dict[str, list[Any]], metrics: list[str]) -> None:
    from ipub.answers.metrics.known_metrics import metrics_of
    from ipub.answers.metrics.score_range import shown_end
    from ipub.answers.shown_numbers import shown_number

    is_fraction = {metric.name: metric.is_rate for metric in metrics_of(estimator.training_, metrics)}

    def cell(name: str, value: Any, metric: str) -> str:
        if isinstance(value, str):
            return value
        rounding = OUTWARD.get(name)
        return shown_end(value, rounding, is_fraction=is_fraction[metric]) if rounding else shown_number(value)

    titles = {"attained_lower": "fillings reach", "attained_upper": "to"}
    screen = new_table(*(titles.get(name, name) for name in columns), left=["metric", "group"])
    for values in zip(*columns.values(), strict=True):
        row = dict(zip(columns, values, strict=True))
        screen.add_row(*(cell(name, value, row["metric"]) for name, value in row.items()))
    out.print(screen)
