"""The command line: reads files, calls the library, prints. No mathematics here.

Each command imports what it needs when it runs, so that help comes at once.
"""

from __future__ import annotations

import errno
import time
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn, get_args

import typer
import typer.core

import ipub
from ipub.app.screen import OUTWARD, complain, err, new_table, note, out, say, sentence_of

if TYPE_CHECKING:
    import pyarrow as pa


# What help lists is written down here, since the library that knows it takes a second to load; a test compares them.
LOSS_NAMES = ("squared_error", "hinge", "log_loss", "squared_hinge", "smoothed_hinge", "huber")
CERTIFICATE_NAMES = ("sphere", "ball", "slope", "tight", "pointwise")
FILLING_NAMES = ("middle", "mean", "median")
MOST_SEED = 2**32 - 2

SHOWN_ROWS = 20
"""Rows that `predict` prints, at most."""

Alpha = Annotated[
    str,
    typer.Option(
        help="Strength of the penalty: a number, or what cross-validation picks. min has the least held-out loss, 1se "
        "is stronger, with a loss within one standard error of it and narrower bounds."
    ),
]
USAGE_ERROR: Any = typer.BadParameter.__bases__[0]
"""What is raised for an option that is missing or unknown, or whose value is of another type."""


class SentencesForErrors(typer.core.TyperGroup):
    """Commands whose bad inputs end in one sentence on stderr, and whose warnings are notes."""

    def invoke(self, ctx: Any) -> Any:
        """Run a command; the one place where errors of the library are caught."""
        with warnings.catch_warnings():
            warnings.simplefilter("always", UserWarning)
            warnings.showwarning = lambda message, *_args, **_kwargs: note(sentence_of(message))
            try:
                return super().invoke(ctx)
            except OSError as error:
                if error.errno == errno.EPIPE:
                    raise
                _fail(f"{error.filename}: {error.strerror}." if error.filename else str(error))
            except USAGE_ERROR as error:
                sentence = error.format_message().rstrip(".")
                known = ctx.invoked_subcommand in self.commands
                _fail(f"{sentence}. See `ipub {f'{ctx.invoked_subcommand} ' if known else ''}--help`.")
            except (ValueError, TypeError, ArithmeticError, MemoryError, ImportError) as error:
                _fail(sentence_of(error) or "Out of memory.")


app = typer.Typer(cls=SentencesForErrors, no_args_is_help=True, add_completion=False)


def _fail(sentence: str) -> NoReturn:
    complain(sentence)
    raise typer.Exit(2)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"ipub {ipub.__version__}")
        raise typer.Exit


@app.callback()
def main(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """Certified prediction bounds for linear models trained on tables with missing cells."""


@app.command()
def fit(
    context: typer.Context,
    train: Annotated[
        Path, typer.Argument(help="Training table: .csv, .tsv (or with .gz), .parquet, or a folder of .parquet.")
    ],
    target: Annotated[str, typer.Option(help="Column to predict.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="Where to save the model.")] = Path("model.ipub"),
    loss: Annotated[str, typer.Option(help=f"auto (by the values of the target), {', '.join(LOSS_NAMES)}.")] = "auto",
    alpha: Alpha = "1se",
    l1_ratio: Annotated[float, typer.Option(help="Fraction of the penalty that is l1, from 0 to below 1.")] = 0.0,
    hinge_width: Annotated[float, typer.Option(help="Width of the rounded kink of smoothed_hinge.")] = 0.5,
    huber_delta: Annotated[
        float, typer.Option(help="Where huber turns from parabola to lines, in the target's units.")
    ] = 1.0,
    no_intercept: Annotated[bool, typer.Option("--no-intercept", help="Fit no intercept.")] = False,
    without_rows: Annotated[
        bool, typer.Option("--without-rows", help="Leave training rows out of the model file; bounds are wider.")
    ] = False,
    keep_training_rows: Annotated[bool, typer.Option("--keep-training-rows", hidden=True)] = False,
    certificate: Annotated[
        str, typer.Option(help=f"How bounds are proved: {', '.join(CERTIFICATE_NAMES)}; none trains only.")
    ] = "tight",
    intervals: Annotated[
        str,
        typer.Option(help="Where missing values lie: quantile, observed, or conditional (by the row's other values)."),
    ] = "quantile",
    interval_level: Annotated[
        float, typer.Option(help="Fraction of observed values in a quantile or conditional interval.")
    ] = 0.9,
    scale: Annotated[str, typer.Option(help="Scale columns inside: none, standard or minmax.")] = "standard",
    ranges: Annotated[Path | None, typer.Option(help="TOML file with lines like age = [0, 120].")] = None,
    drop: Annotated[list[str] | None, typer.Option(help="Column to leave out; may be repeated.")] = None,
    budget: Annotated[
        str, typer.Option(help="Bound tables in which so many holes differ from the filled-in ones: 5% or 12.")
    ] = "",
    wrong_cells: Annotated[int, typer.Option(min=0, help="Observed cells that may be wrong, beside the holes.")] = 0,
    wrong_by: Annotated[
        float | None, typer.Option(help="By how much, in the units of their column; else anywhere in its interval.")
    ] = None,
    draws: Annotated[int, typer.Option(min=0, help="Bound what an imputer draws, so often: 199 for 99 %.")] = 0,
    imputer: Annotated[
        str | None, typer.Option(help="Imputer of --draws: hot_deck, which is the default, or chained.")
    ] = None,
    draw_radius: Annotated[
        float | None, typer.Option(min=0.0, max=1.0, help="How far holes may be off a draw, in half-widths; else 0.1.")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, max=MOST_SEED, help="Seed of --draws.")] = 0,
) -> None:
    """Train on a table with missing cells and save a model that bounds its predictions.

    Bounds hold for every filling of the missing cells; with --budget or --wrong-cells for tables that differ from a
    filled-in one in few cells; with --draws with a probability. What is said of them is printed.
    """
    from ipub.app.advice import Fit, SameCommand
    from ipub.app.choices import check_choice, choose_loss, choose_uncertainty
    from ipub.app.files.atomic import check_folder
    from ipub.app.files.modelfile import save
    from ipub.app.files.tables import check_not_overwritten
    from ipub.app.fit_report import say_what_is_kept, show_holes, show_training
    from ipub.app.penalty_screen import read_alpha
    from ipub.app.training_tables import open_training_table
    from ipub.estimators import BoundedClassifier, BoundedRegressor
    from ipub.estimators.fitted_state import as_saved
    from ipub.losses import LOSSES, loss_parameters
    from ipub.tables.holes import Rule

    uncertainty = choose_uncertainty(budget, wrong_cells, wrong_by, draws, imputer, draw_radius, seed)
    check_choice("--loss", loss, ["auto", *LOSS_NAMES])
    check_choice("--certificate", certificate, [*CERTIFICATE_NAMES, "none"])
    check_choice("--intervals", intervals, list(get_args(Rule)))
    check_choice("--scale", scale, ["none", "standard", "minmax"])
    if keep_training_rows:
        note("--keep-training-rows is what is done without it now: --without-rows leaves them out.")
    check_folder(output)
    check_not_overwritten(output, train, ranges)
    with open_training_table(train, target, drop or []) as table:
        loss, reason = choose_loss(loss, table.values, target)
        task = LOSSES[loss].task
        kind = BoundedClassifier if task == "classification" else BoundedRegressor
        estimator = kind(
            loss,
            alpha=read_alpha(alpha),
            l1_ratio=l1_ratio,
            fit_intercept=not no_intercept,
            certificate=None if certificate == "none" else certificate,
            intervals=_intervals(table.X, intervals, ranges),
            interval_level=interval_level,
            scale=None if scale == "none" else scale,
            uncertainty=uncertainty,
            verbose=int(draws > 0 and err.is_terminal),
        )
        of_losses = {"hinge_width": hinge_width, "huber_delta": huber_delta}
        estimator.set_params(**{name: of_losses[name] for name in loss_parameters(task)})
        start = time.perf_counter()
        _ = estimator.fit(table.source, table.target).certificate_  # that takes time as well
        seconds = time.perf_counter() - start
        saved = as_saved(estimator, rows=not without_rows)
        save(saved, output, {"target": target})
        say(f"{train}: {table.n_rows} rows, {table.X.num_columns} features, target {target!r}")
        say(f"Loss: {loss} ({reason}){', without intercept' if no_intercept else ''}")
        show_holes(estimator, table)
        show_training(Fit(estimator, table, seconds, saved, not without_rows), SameCommand(context), target)
        say_what_is_kept(saved)
        say(f"Saved to {output}. Next: ipub predict {output} TABLE", "bold")


def _intervals(X: pa.Table, intervals: str, ranges: Path | None) -> Any:
    """Return the parameter `intervals` of the estimators: a rule, or a rule or range for each column of numbers."""
    if ranges is None:
        return intervals
    from ipub.app.files import tables

    numbers = tables.numbers_of(X).column_names
    return {**dict.fromkeys(numbers, intervals), **tables.read_ranges(ranges, X.column_names, numbers)}


@app.command()
def predict(
    model: Annotated[Path, typer.Argument(help="Model file made by `ipub fit`.")],
    test: Annotated[
        Path,
        typer.Argument(help="Table to predict: .csv, .tsv (or with .gz), .parquet, or a folder of .parquet files."),
    ],
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Write .csv, .tsv or .parquet.")] = None,
) -> None:
    """Predict the rows of a table, with bounds that hold for the training tables that the model was fitted for.

    These are all fillings of its missing cells, unless `ipub fit` was asked for a weaker promise: what is promised is
    printed. Missing cells of the rows to predict may have any value.

    Columns written: prediction; for log_loss also probability (of the second class; of more than two, of the
    predicted one), for the hinges score; lower and upper, the bounds of that number; certain, whether no table
    within the promise changes the class; with more than two classes also possible, those that some may give.
    Regression has no classes, hence no column certain.
    """
    import pyarrow as pa

    from ipub.app.files import tables
    from ipub.app.files.atomic import check_folder
    from ipub.app.files.long_tables import open_table
    from ipub.app.files.modelfile import load_with_metadata
    from ipub.app.predictions import FEW_CERTAIN, PredictedTable, say_promise

    if output is not None:
        tables.table_suffix(output)  # raises an error if it is none
        check_folder(output)
        tables.check_not_overwritten(output, model, test)
    estimator, metadata, has_rows = load_with_metadata(model)
    names = getattr(estimator, "feature_names_in_", None)
    if names is None:
        raise tables.TableError(f"{model} was fitted without column names: fit it with `ipub fit`, or on a DataFrame.")
    encoder = estimator.encoder_
    categories = [] if encoder is None else [name for name in names if name not in encoder.names_of_numbers]
    with open_table(test, categories, verbose=int(err.is_terminal)) as table:
        known = list(table.column_names if isinstance(table, pa.Table) else table.names)
        tables.check_names(list(names), known, str(test))
        found = PredictedTable(estimator, table, [str(name) for name in names], test)
        if output is None:
            for _ in found.pieces():
                pass
            _show_predictions(found.first, found.quantity, found.n_rows)
        else:
            tables.write_pieces(output, found.pieces())
            quantity = found.quantity
            say(f"Written to {output}" + (f"; lower and upper bound {quantity}" if quantity else ""))
    ignored = [name for name in known if name not in names]
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
    say_promise(estimator)
    share = found.share_certain
    if share is not None and share < FEW_CERTAIN and estimator.uncertainty == "worst":
        say(
            "Next: ipub fit looks for a weaker promise under which more predictions are certain",
            "bold",
        )


def _show_predictions(columns: dict[str, Any], quantity: str, n_rows: int) -> None:
    from ipub.app.predictions import cell_of

    table = new_table("row", *columns)
    for i in range(min(len(columns["prediction"]), SHOWN_ROWS)):
        table.add_row(str(i + 1), *(cell_of(columns[name][i].as_py(), OUTWARD.get(name)) for name in columns))
    out.print(table)
    if n_rows > SHOWN_ROWS:
        say(f"... and {n_rows - min(len(columns['prediction']), SHOWN_ROWS)} more rows; -o bounds.csv writes them all")
    if quantity:
        say(f"lower and upper bound {quantity}")


@app.command()
def check(
    train: Annotated[Path, typer.Argument(help="Training table: .csv, .tsv (or with .gz) or .parquet.")],
    target: Annotated[str, typer.Option(help="Column to predict.")],
    test: Annotated[
        Path | None, typer.Option(help="Table whose rows are looked at; else training rows without missing cells.")
    ] = None,
    imputer: Annotated[str, typer.Option(help=f"How holes are filled in: {', '.join(FILLING_NAMES)}.")] = "middle",
    alpha: Alpha = "1se",
    scale: Annotated[str, typer.Option(help="Scale columns inside: none, standard or minmax.")] = "standard",
    draws: Annotated[int, typer.Option(min=2, help="How many fillings are drawn: 37 for classes with 99 %.")] = 37,
    rows: Annotated[int, typer.Option(min=1, help="How many rows are looked at, at most.")] = 100,
    quick: Annotated[bool, typer.Option("--quick", help="Only plain draws, which prove nothing, and any filling.")] = (
        False
    ),
    seconds: Annotated[float, typer.Option(min=0.0, help="What would take longer is skipped.")] = 25.0,
    seed: Annotated[int, typer.Option(min=0, max=MOST_SEED, help="Seed of the draws.")] = 0,
    drop: Annotated[list[str] | None, typer.Option(help="Column to leave out; may be repeated.")] = None,
) -> None:
    """Check whether predictions are safe with an imputation: under draws, under budgets, under any filling.

    Each line is printed as soon as it is known; what would take too long is skipped.
    """
    from ipub.app.check import fit_command, show_promises
    from ipub.app.choices import check_choice, choose_loss
    from ipub.app.files import tables
    from ipub.app.penalty_screen import penalty_sentence, read_alpha
    from ipub.app.training_tables import feature_names, in_memory
    from ipub.estimators import BoundedClassifier, BoundedRegressor
    from ipub.estimators.promise_by_promise import Checked
    from ipub.losses import LOSSES
    from ipub.promises import Draws

    check_choice("--imputer", imputer, list(FILLING_NAMES))
    check_choice("--scale", scale, ["none", "standard", "minmax"])
    whole = tables.read_table(train)
    read = in_memory(whole, feature_names(whole.column_names, train, target, drop or []), train, target)
    X, y = read.X, read.y
    loss, reason = choose_loss("auto", y, target)
    kind = BoundedClassifier if LOSSES[loss].task == "classification" else BoundedRegressor
    # Cross-validation comes first, without certificates: the penalty is the same under all promises.
    picked = kind(loss, alpha=read_alpha(alpha), scale=None if scale == "none" else scale, certificate=None).fit(X, y)
    estimator = kind(loss, alpha=picked.alpha_, scale=picked.scale)
    tested = None
    if test is not None:
        table = tables.read_table(test)
        tables.check_names(X.column_names, table.column_names, str(test))
        tested = tables.features_of(table, X.column_names, test, "The training table has numbers or text there.")
    say(f"{train}: {len(y)} rows, {X.num_columns} features, {tables.holes_of(X).sum()} missing cells")
    say(f"Loss: {loss} ({reason})")
    say(penalty_sentence(picked))
    checked = Checked.of(estimator, X, y, tested, imputer=imputer, most_rows=rows)
    looked_at = f"rows of {test}"
    if tested is None:
        looked_at = "training rows without missing values of their own (others may be less safe)"
    filling = "middle of its interval" if imputer == "middle" else f"{imputer} of its column"
    say(f"Each missing value is filled in with the {filling}; {len(checked.rows)} {looked_at} are looked at")
    options = {
        "--alpha": None if alpha == "1se" else alpha,
        "--scale": None if scale == "standard" else scale,
        "--drop": drop,
    }
    command = fit_command(train, target, options)
    drawn = Draws(n_draws=draws, random_state=seed)
    show_promises(checked, drawn, is_quick=quick, seconds=seconds, fit_command=command)


@app.command()
def demo(
    output: Annotated[Path, typer.Option("--output", "-o", help="Where to save the figure.")] = Path("ipub-demo.png"),
    alpha: Annotated[float, typer.Option(help="Strength of the penalty.")] = 0.1,
    seed: Annotated[int, typer.Option(min=0, help="Which rows are kept for the test.")] = 0,
) -> None:
    """Show on real data which predictions the missing cells of a training table can change."""
    from ipub.app.demo import show_demo

    show_demo(output, alpha, seed)


if __name__ == "__main__":
    app()
