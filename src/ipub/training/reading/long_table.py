"""Reading of a training table piece by piece: what is learnt from it, and its rows on the engine that streams it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from ipub.errors import IpubError
from ipub.numeric.rounding import Array
from ipub.problem.objective import MOST_SAMPLED, sample_size
from ipub.rows.long_table import LongTable, PerPiece
from ipub.rows.piece_reader import LabelReader, PieceValues, RowReader, decode_weight, piece_values
from ipub.rows.pieces import DrawnValues, FoldedRows, PieceRows
from ipub.rows.slices import drawn_places
from ipub.tables.categories import TableEncoder
from ipub.tables.columns import SENTINELS, Column, is_no_sentinel, is_sentinel, rounded_outward
from ipub.tables.decoded_rows import TextColumn, decode
from ipub.tables.holes import column_precision, quantile_probabilities, ranges_of_columns
from ipub.tables.interval_matrix import Indices
from ipub.tables.order_statistics import Bracket, BracketCounts, ObservedColumn, QuantileSearch, count_in_brackets
from ipub.tables.scaling import Scaling
from ipub.tables.table_summary import CATEGORY, ColumnSummary, Moments
from ipub.tables.validation import check_values
from ipub.training.reading.labels import Labels, rows_of_models
from ipub.training.reading.long_labels import LabelSummary, WeightSummary, label_reader
from ipub.training.reading.parameters import Parameters
from ipub.training.reading.table import Columns, LearntTable
from ipub.training.reading.training_data import TrainingData


def read_long_table(parameters: Parameters, table: LongTable, y: Any, sample_weight: Any = None) -> TrainingData:
    """Read a training table piece by piece; its rows stay where they are.

    One pass learns the kinds of the columns, levels, ranges, moments, classes and weights, and draws the sample that
    training starts from. Quantile intervals take one pass more, in rare cases several: they are exact. The labels are
    read once more if there are both `sample_weight` and `class_weight`. Labels and weights are named columns; the
    `weight` of what is returned is empty, since weights are read with the rows.
    """
    _ = parameters.penalty  # names an alpha that is too small or too large
    parameters.refuse_conditional("read piece by piece", "read it into a DataFrame, or use intervals='quantile'")
    features = check_names(table, y, sample_weight)
    if not isinstance(parameters.uncertainty, str):
        raise IpubError(
            f"uncertainty={type(parameters.uncertainty).__name__} needs the whole training table in memory, and this "
            "one is read piece by piece: read it into a DataFrame first, or leave uncertainty at 'worst'."
        )
    summary = _Summary.of(parameters, table, features, y, sample_weight)
    reader, total_weight = label_reader(
        parameters,
        summary.labels,
        sample_weight,
        table.n_rows,
        lambda reader: table.fold(summarize_weights, WeightSummary.joined, reader, columns=reader.columns),
    )
    columns, learnt = _learn(parameters, table, features, summary, sample_weight)
    if parameters.scale is not None:
        learnt = _scaled(parameters, learnt, columns)
    holes = {column.name: column.n_holes for column in summary.columns}
    row_reader = RowReader.of(
        features,
        [None] * len(features) if learnt.columns.encoder is None else learnt.columns.encoder.levels,
        learnt.hole_ranges,
        learnt.precision,
        learnt.scaling,
        [name for name, count in holes.items() if count],
        reader,
    )
    kind = FoldedRows if table.joins_elsewhere else PieceRows
    rows = kind(table, row_reader, total_weight, holes, summary.drawn)
    nothing = np.zeros(0)
    models = rows_of_models(rows, Labels(nothing, nothing, reader.classes), parameters.max_label_errors)
    return TrainingData(learnt, models, nothing, reader.classes)


def check_names(table: LongTable, y: Any, sample_weight: Any) -> tuple[str, ...]:
    """Return the names of the features; raise an error for target and weights that are no columns."""
    for name, what in ((y, "y"), (sample_weight, "sample_weight")):
        if name is None and what == "sample_weight":
            continue
        if not isinstance(name, str):
            raise IpubError(
                f"The table is read piece by piece, so {what} must be the name of one of its columns, not a "
                f"{type(name).__name__}: write its values into the table, and give the name."
            )
        if name not in table.names:
            listed = ", ".join(map(repr, table.names[:12])) + (", ..." if len(table.names) > 12 else "")
            raise IpubError(
                "{what} names the column {column}, which the table does not have. It has {listed}.",
                what=what,
                column=name,
                listed=listed,
            )
    features = tuple(name for name in table.names if name not in (y, sample_weight))
    if not features:
        raise IpubError("The table has no column left to learn from beside the target {column}.", column=y)
    if table.n_rows == 0:
        raise IpubError("The table has no rows.")
    return features


# --- the first pass --------------------------------------------------------------------------------


class PieceSummary(NamedTuple):
    """What the first pass finds in a piece."""

    columns: tuple[ColumnSummary, ...]
    labels: LabelSummary
    drawn: list[PieceValues]
    """The rows of the sample, piece by piece."""


def summarize_piece(
    frame: Any,
    piece: int,
    features: Sequence[str],
    label: str,
    weight: str | None,
    is_classified: bool,
    drawn: Indices,
) -> PieceSummary:
    """Summarize a piece, and take some of its rows."""
    values = piece_values(frame, features, label, weight)
    labels = LabelSummary.of(label, values.labels, values.weight, is_classified)
    is_counted = None if values.weight is None else values.weight > 0.0
    rows = values.rows
    columns = tuple(ColumnSummary.of(name, piece, rows.n_rows, rows.columns[name], is_counted) for name in features)
    return PieceSummary(columns, labels, [values.take(drawn)])


def joined_summaries(first: PieceSummary, second: PieceSummary) -> PieceSummary:
    """Join the summaries of pieces, the second of which follow those of the first."""
    columns = tuple(a.joined(b) for a, b in zip(first.columns, second.columns, strict=True))
    return PieceSummary(columns, first.labels.joined(second.labels), first.drawn + second.drawn)


class _Summary(NamedTuple):
    """What the first pass finds in the whole table."""

    columns: tuple[ColumnSummary, ...]
    labels: LabelSummary
    drawn: DrawnValues

    @classmethod
    def of(
        cls, parameters: Parameters, table: LongTable, features: Sequence[str], label: str, weight: str | None
    ) -> _Summary:
        n = table.n_rows
        size = sample_size(n, len(features) + parameters.fit_intercept) or min(n, MOST_SAMPLED)
        places = drawn_places(n, size)
        is_classified = parameters.loss.task == "classification"
        args = features, label, weight, is_classified, table.own_rows(places)
        numbers = PerPiece(tuple(range(len(table.lengths))))
        joined = table.fold(summarize_piece, joined_summaries, numbers, *args)
        return cls(joined.columns, joined.labels, DrawnValues(places, joined.drawn))

    def sample(self, name: str) -> Array:
        """Return the numbers of a column in the sample, in the rows that count, sorted."""
        parts = [np.zeros(0)]
        for piece in self.drawn.pieces:
            column = piece.rows.columns[name]
            if column is not None and not isinstance(column, TextColumn):
                parts.append(column if piece.weight is None else column[piece.weight > 0.0])
        values = np.concatenate(parts)
        return np.sort(values[~np.isnan(values)])


# --- what is learnt --------------------------------------------------------------------------------


def _learn(
    parameters: Parameters, table: LongTable, features: tuple[str, ...], summary: _Summary, weight: str | None
) -> tuple[list[ColumnSummary], LearntTable]:
    """Learn columns, ranges of holes, fill values and precisions; return the columns of numbers too."""
    is_category = [column.kind == CATEGORY for column in summary.columns]
    numbers = [column for column in summary.columns if column.kind != CATEGORY]
    level = parameters.interval_level

    def summaries(which: Sequence[int], by_quantile: Sequence[int]) -> Iterator[Column]:
        chosen = [numbers[j] for j in which]
        return _columns(table, summary, chosen, {numbers[j].name for j in by_quantile}, level, weight)

    encoder, means, names = None, None, [column.name for column in numbers] if table.has_names else None
    if any(is_category):
        levels = [None if column.levels is None else column.levels.levels() for column in summary.columns]
        encoder = TableEncoder(features, tuple(levels))
        parameters, means = parameters.by_name(encoder), _level_means(encoder, summary)
    names_in = np.array(features, dtype=object) if table.has_names else None
    columns = Columns(parameters.kind, len(features), names_in, encoder)
    ranges = ranges_of_columns(summaries, len(numbers), parameters.intervals, level, names)
    precisions = column_precision(parameters.precision, len(numbers), names)
    return numbers, LearntTable.of(columns, ranges, precisions, means)


def _level_means(encoder: TableEncoder, summary: _Summary) -> Array:
    """Return the mean of each column of 0 and 1; of a category that was never observed, that of equal levels."""
    means = np.zeros(int(encoder.starts[-1]))
    for column, levels, start in zip(summary.columns, encoder.levels, encoder.starts, strict=False):
        if levels and column.levels is not None:
            counts = np.array([column.levels.counted.get(level, 0) for level in levels], dtype=float)
            total = counts.sum()
            means[start : start + len(levels)] = counts / total if total else 1.0 / len(levels)
    return means


def _columns(
    table: LongTable,
    summary: _Summary,
    columns: Sequence[ColumnSummary],
    by_quantile: set[str],
    level: float,
    weight: str | None,
) -> Iterator[Column]:
    """Yield summaries of columns of numbers as `summarize_columns` does; quantiles, where they are used, are exact."""
    samples = {column.name: summary.sample(column.name) for column in columns}
    searched = {
        column.name: ObservedColumn(column.moments.n, column.moments.least, column.moments.greatest, sample)
        for column, sample in zip(columns, samples.values(), strict=True)
        if column.name in by_quantile and not column.moments.is_two
    }
    search = QuantileSearch(searched, quantile_probabilities(level))
    suspects = _suspects(columns, samples)
    found: dict[tuple[str, float], _EndCounts] = {}
    while (brackets := search.brackets()) or (suspects and not found):
        ends = () if found else suspects
        names = list(dict.fromkeys([*(each.column for each in brackets), *(name for name, _ in ends)]))
        read = [*names, *([] if weight is None else [weight])]
        counted: list[list[BracketCounts]] = []
        for in_brackets, at_ends in table.map(scan_piece, names, weight, brackets, ends, columns=read):
            counted.append(in_brackets)
            for end, counts in zip(ends, at_ends, strict=True):
                found[end] = found[end].joined(counts) if end in found else counts
        search.update(counted)
    for column in columns:
        yield _column(column, search if column.name in searched else None, samples[column.name], found)


class _EndCounts(NamedTuple):
    """How often the number at the end of a column occurs, and how far the nearest other one is."""

    occurrences: int
    gap: float

    def joined(self, other: _EndCounts) -> _EndCounts:
        return _EndCounts(self.occurrences + other.occurrences, min(self.gap, other.gap))


def _suspects(columns: Sequence[ColumnSummary], samples: dict[str, Array]) -> tuple[tuple[str, float], ...]:
    """Return the columns whose least or greatest number may stand for a missing value, with this number."""
    return tuple(
        (column.name, end)
        for column in columns
        for end in dict.fromkeys((column.moments.least, column.moments.greatest))
        if end in SENTINELS and not column.moments.is_two and not is_no_sentinel(samples[column.name], end)
    )


def scan_piece(
    frame: Any,
    names: Sequence[str],
    weight: str | None,
    brackets: Sequence[Bracket],
    ends: Sequence[tuple[str, float]],
) -> tuple[list[BracketCounts], list[_EndCounts]]:
    """Count the numbers of a piece in brackets, and those at the ends of columns; rows of weight 0 do not count."""
    weights = decode_weight(frame, weight)
    columns: dict[str, Array] = {}
    for name, column in decode(frame, names).columns.items():
        if isinstance(column, TextColumn):
            raise IpubError("Column {column} has changed since it was first read: it holds text now.", column=name)
        values = np.zeros(0) if column is None else column
        columns[name] = values if weights is None or column is None else values[weights > 0.0]
    at_ends = []
    for name, end in ends:
        values = columns[name]
        others = values[values != end]
        gap = float(np.fmin.reduce(np.abs(others - end), initial=np.inf))
        at_ends.append(_EndCounts(len(values) - len(others), gap))
    return count_in_brackets(columns, brackets), at_ends


def _column(
    column: ColumnSummary, search: QuantileSearch | None, sample: Array, ends: dict[tuple[str, float], _EndCounts]
) -> Column:
    moments, has_holes = column.moments, column.n_holes > 0
    if moments.n == 0:
        return Column(has_holes, 0)
    quantiles = moments.least, moments.greatest
    if search is not None:
        low, high = search.quantiles(column.name)
        quantiles = rounded_outward(low, high, moments.is_whole)
    sentinel = next(
        (
            end
            for (name, end), counts in ends.items()
            if name == column.name
            and is_sentinel(end, counts.occurrences, moments.n - counts.occurrences, sample[sample != end], counts.gap)
        ),
        None,
    )
    return Column(has_holes, moments.n, moments.least, moments.greatest, quantiles, sentinel)


def _scaled(parameters: Parameters, learnt: LearntTable, numbers: Sequence[ColumnSummary]) -> LearntTable:
    """Learn the scaling; columns of 0 and 1 are not scaled."""
    assert parameters.scale is not None
    is_number = learnt.is_number
    moments = np.full(len(is_number), Moments(2, 0.0, 1.0), dtype=object)
    moments[is_number] = [column.moments for column in numbers]
    scaling = Scaling.from_moments(parameters.scale, moments.tolist(), learnt.hole_ranges, ~is_number)
    observed = np.array([[each.least, each.greatest] for each in moments.tolist()]).T
    ends = np.where(np.isfinite(observed), observed, learnt.hole_ranges.T)
    for part in (ends, learnt.hole_ranges.T):
        check_values(scaling.rows(part), learnt.names, what="X, scaled,", allow_nan=False)
    return replace(learnt, scaling=scaling)


# --- weights ---------------------------------------------------------------------------------------


def summarize_weights(frame: Any, reader: LabelReader) -> WeightSummary:
    """Summarize the weights of a piece, with the factors of its classes."""
    values = piece_values(frame, (), reader.name, reader.weight)
    return WeightSummary.of(reader.read(values.labels, values.weight)[1])
