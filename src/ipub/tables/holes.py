"""How a hole becomes an interval: the range in which a column's missing values are taken to lie."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from numbers import Real
from typing import Any, Literal, cast, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ipub.errors import DropColumn, GiveRange, IpubError, IpubWarning, MakeMissing, Message, warn_user
from ipub.numeric.rounding import LARGEST, Array
from ipub.tables.columns import Column, SentinelWarning, summarize_columns
from ipub.tables.validation import column_label

Rule = Literal["quantile", "observed", "conditional"]
Intervals = Rule | Mapping[Any, Any] | ArrayLike


class IntervalWarning(IpubWarning):
    """An interval that a user should check: it is a point, or not the one that was requested."""


def column_ranges(
    table: NDArray[np.generic],
    intervals: Intervals = "quantile",
    level: float = 0.9,
    names: Sequence[Any] | None = None,
    counted: NDArray[np.bool_] | None = None,
) -> Array:
    """Return the (lower, upper) range of each column's missing values, (n_columns, 2), in the units of the table.

    Parameters
    ----------
    table : array of shape (n_rows, n_columns)
        The values, NaN where missing. It is read a few columns, or a block of rows, at a time.
    intervals : "quantile", "observed", "conditional", mapping or array of shape (n_columns, 2)
        ``"quantile"``: from the (1 - level)/2 to the (1 + level)/2 quantile of the observed values, rounded outward
        to whole numbers in a column of whole numbers. A column of two values keeps both. Where the two ends are the
        same value though others were observed, the observed range is used instead, since an interval of one point
        would claim to know the missing values; a warning names the column if it has any.
        ``"observed"``: least to greatest observed value. ``"conditional"`` is like ``"quantile"`` here: these ranges
        serve where rows have no intervals of their own (`ipub.tables.quantile_regression`). A mapping gives (lower,
        upper), or one of these words, for some columns, by name or number; the others take "quantile".
    level : float
        The fraction of observed values inside a quantile interval (the paper's a).
    names : sequence, optional
        Column labels, for the mapping and for messages. Where they are not strings, keys of the mapping are
        labels and never numbers of columns.
    counted : array of bool, optional
        Rows that count; all if left out.

    Examples
    --------
    >>> import numpy as np
    >>> table = np.array([[0.5, 1.0], [1.5, 0.0], [2.5, np.nan]])
    >>> column_ranges(table, {0: (0.0, 10.0)})
    array([[ 0., 10.],
           [ 0.,  1.]])
    """
    probabilities = quantile_probabilities(level)

    def summarize(numbers: Sequence[int], _: Sequence[int]) -> Iterator[Column]:
        return summarize_columns(table, numbers, probabilities, counted)

    return ranges_of_columns(summarize, table.shape[1], intervals, level, names)


def quantile_probabilities(level: float) -> list[float]:
    """Return the probabilities of the ends of a quantile interval."""
    return [(1.0 - level) / 2.0, (1.0 + level) / 2.0]


def ranges_of_columns(
    summarize: Callable[[Sequence[int], Sequence[int]], Iterable[Column]],
    n_columns: int,
    intervals: Intervals,
    level: float,
    names: Sequence[Any] | None,
) -> Array:
    """Return the ranges of `column_ranges`, wherever the columns are.

    `summarize` takes the numbers of the columns that must be summarized, and the numbers of those whose quantiles are
    used; it returns the summaries of the former in order.
    """
    rules, given = _rules(intervals, n_columns, names)
    ranges = np.array(given)
    has_holes = np.zeros(n_columns, dtype=bool)
    collapsed: list[int] = []
    suspects: dict[int, float] = {}
    # A given range is checked only if it is a point, which may need a warning.
    numbers = [j for j, rule in enumerate(rules) if rule is not None or given[j, 0] == given[j, 1]]
    by_quantile = [j for j in numbers if rules[j] in ("quantile", "conditional")]
    for j, column in zip(numbers, summarize(numbers, by_quantile), strict=True):
        has_holes[j] = column.has_holes
        if rules[j] is None:
            continue
        if column.n_observed == 0:
            raise _nothing_observed(column_label(j, names))
        ranges[j] = column.least, column.greatest
        if column.sentinel is not None:
            suspects[j] = column.sentinel
        if rules[j] != "observed":
            if column.quantiles[0] < column.quantiles[1]:
                ranges[j] = column.quantiles
            elif column.has_holes and column.least < column.greatest:
                collapsed.append(j)
    _warn(ranges, has_holes, collapsed, level, names)
    _warn_of_sentinels(suspects, names)
    return ranges


def conditional_columns(intervals: Intervals, n_columns: int, names: Sequence[Any] | None = None) -> list[int]:
    """Return the numbers of the columns whose rule is "conditional"; arguments as in `column_ranges`."""
    return [j for j, rule in enumerate(_rules(intervals, n_columns, names)[0]) if rule == "conditional"]


def _nothing_observed(label: Any) -> IpubError:
    return IpubError(
        "Column {column} has no observed value, so nothing says where its missing values lie. Give its range, "
        "{remedy}, or {drop}.",
        column=label,
        remedy=GiveRange(label),
        drop=DropColumn(label),
    )


def _warn_of_sentinels(suspects: Mapping[int, float], names: Sequence[Any] | None) -> None:
    if not suspects:
        return
    warn_user(
        SentinelWarning(
            "A number far from all others occurs again and again in column(s) {found}. If it stands for a missing "
            "value, {remedy}.",
            found=[
                Message("{column} ({value:g})", column=column_label(j, names), value=value)
                for j, value in suspects.items()
            ],
            remedy=MakeMissing(),
        )
    )


def column_precision(precision: Any, n_columns: int, names: Sequence[Any] | None = None) -> Array:
    """Return by how much the observed values of each column may be off.

    The precision is one number for all columns; or ``{column: number}`` by name or number, and 0 for the others.

    Examples
    --------
    >>> column_precision({"age": 0.5}, 2, ["age", "size"])
    array([0.5, 0. ])
    """
    given = precision if isinstance(precision, Mapping) else dict.fromkeys(range(n_columns), precision or 0.0)
    widths = np.zeros(n_columns)
    for key, value in given.items():
        j = _column_number(key, n_columns, names if isinstance(precision, Mapping) else None, "precision")
        if not (isinstance(value, Real) and 0.0 <= float(value) <= LARGEST):
            raise IpubError(
                "The precision of column {column} is {value!r}: give a number that is not negative, by how much a "
                "value may be off.",
                column=column_label(j, names),
                value=value,
            )
        widths[j] = float(value)
    return widths


def _rules(intervals: Intervals, n_columns: int, names: Sequence[Any] | None) -> tuple[list[Rule | None], Array]:
    """Return for each column its rule, or None and the range that was given."""
    given = np.full((n_columns, 2), np.nan)
    if isinstance(intervals, str):
        if intervals not in get_args(Rule):
            raise IpubError(
                f"intervals={intervals!r} is not known: use 'quantile', 'observed', 'conditional', a mapping "
                "{column: (low, high)}, or an array of shape (n_features, 2)."
            )
        return [cast(Rule, intervals)] * n_columns, given
    rules: list[Rule | None] = ["quantile"] * n_columns
    if isinstance(intervals, Mapping):
        seen: set[int] = set()
        for key, value in intervals.items():
            j = _column_number(key, n_columns, names)
            if j in seen:
                raise IpubError("intervals gives column {column} twice.", column=column_label(j, names))
            seen.add(j)
            if isinstance(value, str):
                rules[j] = _rules(value, 1, None)[0][0]
            else:
                given[j] = _pair(value, column_label(j, names))
                rules[j] = None
        return rules, given
    array = np.asarray(intervals, dtype=float)
    if array.shape != (n_columns, 2):
        raise IpubError(
            f"intervals has shape {array.shape}; an array of ranges must have shape ({n_columns}, 2): "
            "lower and upper for each column."
        )
    for j in range(n_columns):
        given[j] = _pair(array[j], column_label(j, names))
    return [None] * n_columns, given


def _column_number(key: Any, n_columns: int, names: Sequence[Any] | None, what: str = "intervals") -> int:
    if names is not None and key in names:
        return list(names).index(key)
    by_number = names is None or all(isinstance(name, str) for name in names)
    if by_number and isinstance(key, (int, np.integer)) and not isinstance(key, bool) and 0 <= key < n_columns:
        return int(key)
    available = f"columns are {', '.join(map(repr, names))}" if names is not None else f"there are {n_columns} columns"
    raise IpubError(
        "{what} names the column {column}, which X does not have ({available}).",
        what=what,
        column=key,
        available=available,
    )


def _pair(value: Any, label: Any) -> tuple[float, float]:
    try:
        low, high = (float(v) for v in value)
    except (TypeError, ValueError):
        raise IpubError(
            "The range of column {column} must be a pair (low, high), got {value!r}.", column=label, value=value
        ) from None
    if not (np.isfinite(low) and np.isfinite(high)):
        wrong = "must be finite, got ({low:g}, {high:g})."
    elif max(abs(low), abs(high)) > LARGEST:
        wrong = "goes beyond {largest:g}: rescale the column."
    elif low > high:
        wrong = "has its lower end {low:g} above its upper end {high:g}. Swap them, or correct them."
    else:
        return low, high
    raise IpubError("The range of column {column} " + wrong, column=label, low=low, high=high, largest=LARGEST)


def _warn(
    ranges: Array, has_holes: NDArray[np.bool_], collapsed: list[int], level: float, names: Sequence[Any] | None
) -> None:
    points = np.flatnonzero(has_holes & (ranges[:, 0] == ranges[:, 1])).tolist()
    if points:
        warn_user(
            IntervalWarning(
                "Missing values of column(s) {columns} have an interval of zero length and so count as known. If they "
                "are not, give a range: {remedy}.",
                columns=[column_label(j, names) for j in points],
                remedy=GiveRange(column_label(points[0], names) if len(points) == 1 else None),
            )
        )
    if collapsed:
        warn_user(
            IntervalWarning(
                "The quantile interval at level {level:g} of column(s) {columns} is a single value, though others were "
                "observed; the range of all observed values is used instead.",
                level=level,
                columns=[column_label(j, names) for j in collapsed],
            )
        )
