"""Dask collections: partitions of a DataFrame or row chunks of an array, on any scheduler of Dask."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pandas as pd
from dask.bag import Bag
from dask.highlevelgraph import HighLevelGraph

import dask
from ipub.errors import IpubError
from ipub.progress_bars import progress
from ipub.rows.dask_runs import DaskRuns, Graph, current_client, folded, height, mapped
from ipub.rows.long_table import LongTable

KEPT_SHARE = 0.4
"""Blocks are kept between passes if they need at most this share of the memory of all workers."""


class DaskTable(LongTable):
    """A table whose pieces are values of a Dask graph; its rows never come to this process.

    Every pass is one run of a graph: a task for each partition, and tasks that join their results, eight at a time. The
    tree depends on the number of partitions alone, so results have the same bits on whichever workers the tasks run,
    and also if a worker is lost and its partitions are computed again. `dask_table` makes one. `parts` are the keys of
    the pieces; their lengths are counted if left out, which takes a run. `runs` says how many graphs have been run, and
    how many bytes this process has received.
    """

    joins_elsewhere = True

    def __init__(
        self,
        graph: Graph,
        parts: Sequence[Any],
        names: Sequence[str],
        lengths: Sequence[int] | None = None,
        has_names: bool = True,
        runs: DaskRuns | None = None,
    ) -> None:
        self.graph, self.parts, self.names = graph, list(parts), tuple(names)
        self.has_names, self.runs = has_names, DaskRuns() if runs is None else runs
        self.lengths = tuple(self.map(len)) if lengths is None else tuple(lengths)

    @property
    def fold_depth(self) -> int:
        return height(len(self.parts))

    def map(self, function: Callable[..., Any], *args: Any, columns: Sequence[str] | None = None) -> Iterator[Any]:
        results: list[Any] = self.fold(_listed, operator.add, function, *args, columns=columns)
        return iter(results)

    def fold(
        self,
        function: Callable[..., Any],
        join: Callable[[Any, Any], Any],
        *args: Any,
        columns: Sequence[str] | None = None,  # noqa: ARG002 (a partition has all of them)
    ) -> Any:
        tasks, keys = mapped(self.parts, function, args)
        joins, root = folded(keys, join)
        n_rows = sum(self.lengths) if hasattr(self, "lengths") else 0
        with progress(f"Pass {self.runs.count + 1} over the table", n_rows, bool(self.runs.verbose)) as report:
            result = self.runs.compute({**self.graph, **tasks, **joins}, root)
            report(n_rows)
        return result

    def kept(self, function: Callable[..., Any], *args: Any, n_bytes: int) -> LongTable | None:
        """Return the results of a function, kept on the workers of a cluster if they fit.

        ``dask.config.set({"ipub.keep-blocks": False})`` keeps nothing, and True does not ask how much memory there is.
        """
        client, wanted = current_client(), dask.config.get("ipub.keep-blocks", None)
        if client is None or wanted is False or (wanted is None and not _fits(client, n_bytes)):
            return None
        tasks, keys = mapped(self.parts, function, args)
        name = keys[0][0]
        graph = HighLevelGraph({name: {**self.graph, **tasks}}, {name: set()})
        self.runs.count += 1
        kept = client.persist(Bag(graph, name, len(keys)), optimize_graph=False)
        return DaskTable(dict(kept.dask), kept.__dask_keys__(), self.names, self.lengths, self.has_names, self.runs)

    def release(self) -> None:
        # Workers forget a value when the last reference to it is gone.
        self.graph = {}


def _listed(part: Any, function: Callable[..., Any], *args: Any) -> list[Any]:
    return [function(part, *args)]


def _fits(client: Any, n_bytes: int) -> bool:
    limits = [worker["memory_limit"] for worker in client.scheduler_info(n_workers=-1)["workers"].values()]
    # A worker without a limit says 0.
    return 0 in limits or n_bytes <= KEPT_SHARE * sum(limits)


# --- from collections to partitions ----------------------------------------------------------------


def dask_table(X: Any, y: Any, sample_weight: Any = None, verbose: int = 0) -> tuple[DaskTable, str, str | None]:
    """Return a table with features, labels and weights, and the names of the columns of the last two.

    X is a Dask DataFrame, or an array of two dimensions chunked by rows; chunks across the columns are joined. Labels
    and weights are Dask Series or arrays with the partitions of X, or names of columns of X.
    """
    names, has_names = _names(X)
    chunks = X.chunks[0] if hasattr(X, "chunks") else None
    X = X.rechunk({1: -1}) if hasattr(X, "chunks") else X
    graph, keys = dict(X.__dask_graph__()), _flat(X.__dask_keys__())
    others: list[tuple[str, Sequence[Any]]] = []
    found: list[str | None] = []
    for values, what in ((y, "y"), (sample_weight, "sample_weight")):
        if values is None or isinstance(values, str):
            found.append(values)
            continue
        values = _aligned(values, what, chunks, len(keys))
        graph.update(values.__dask_graph__())
        name = getattr(values, "name", None) if not hasattr(values, "chunks") else None
        found.append(_free(name if isinstance(name, str) else what, [*names, *(other for other, _ in others)]))
        others.append((str(found[-1]), _flat(values.__dask_keys__())))
    columns = (*names, *(name for name, _ in others))
    tasks, pieces = mapped(keys, _as_frame, (names,))
    graph.update(tasks)
    for name, other in others:
        pairs = [[piece, key] for piece, key in zip(pieces, other, strict=True)]
        tasks, pieces = mapped(pairs, _with_column, (name,))
        graph.update(tasks)
    is_known = chunks is not None and all(length == length for length in chunks)
    table = DaskTable(graph, pieces, columns, chunks if is_known else None, has_names, DaskRuns(verbose))
    label, weight = found
    return table, label, weight  # type: ignore[return-value]


def _names(X: Any) -> tuple[tuple[str, ...], bool]:
    """Return the names of the columns, made up if there are none, and whether they are the user's."""
    if not hasattr(X, "chunks"):
        columns = list(X.columns)
        if all(isinstance(name, str) for name in columns):
            if len(set(columns)) < len(columns):
                twice = next(name for name in columns if columns.count(name) > 1)
                raise IpubError("X has two columns {column}: rename one of them.", column=twice)
            return tuple(columns), True
        return tuple(f"x{j}" for j in range(len(columns))), False
    if X.ndim != 2:
        raise IpubError(f"X is a Dask array of {X.ndim} dimensions: give rows and columns, two dimensions.")
    if X.dtype.kind not in "biuf":
        raise IpubError(
            f"X is a Dask array of type {X.dtype}: give numbers, or a Dask DataFrame for columns of text or categories."
        )
    return tuple(f"x{j}" for j in range(X.shape[1])), False


def _aligned(values: Any, what: str, chunks: Sequence[Any] | None, n_parts: int) -> Any:
    """Return labels or weights in the partitions of X, if that can be known; raise an error if they are others."""
    if not hasattr(values, "__dask_graph__"):
        raise IpubError(
            f"X is a Dask collection, so {what} must be one too, with the same partitions, or the name of a column of "
            f"X; it is a {type(values).__name__}. dask.array.from_array({what}, chunks=...) makes one."
        )
    if hasattr(values, "chunks"):
        if values.ndim == 2 and values.shape[1] == 1:
            values = values[:, 0]
        if values.ndim != 1:
            raise IpubError(f"{what} is a Dask array of {values.ndim} dimensions: give one number for each row.")
        is_known = chunks is not None and all(length == length for length in (*chunks, *values.chunks[0]))
        if is_known and chunks is not None and sum(values.chunks[0]) == sum(chunks):
            values = values.rechunk({0: tuple(chunks)})
    elif values.ndim != 1:
        raise IpubError(f"{what} is a Dask DataFrame: give one of its columns.")
    if values.npartitions != n_parts:
        raise IpubError(
            f"X has {n_parts} partitions and {what} has {values.npartitions}: give {what} as a column of the same "
            "DataFrame, or repartition both alike."
        )
    return values


def _free(name: str, taken: Sequence[str]) -> str:
    """Return a name that is not taken."""
    while name in taken:
        name += "_"
    return name


def _flat(keys: Any) -> list[Any]:
    """Return the keys of the partitions of a collection of one or two dimensions, one for each row of them."""
    return [key[0] if isinstance(key, list) else key for key in keys]


def _as_frame(part: Any, names: Sequence[str]) -> pd.DataFrame:
    """Return a partition as a DataFrame with these columns."""
    if isinstance(part, pd.DataFrame):
        return part.set_axis(list(names), axis=1).reset_index(drop=True)
    return pd.DataFrame(part, columns=list(names), copy=False)


def _with_column(parts: list[Any], name: str) -> pd.DataFrame:
    """Return a partition with one more column."""
    frame, values = parts
    if len(frame) != len(values):
        raise IpubError(
            "X has {n} rows and {column} has {m}: make both from the same collection, or repartition both alike.",
            n=len(frame),
            column=name,
            m=len(values),
        )
    return frame.assign(**{name: values.array if isinstance(values, pd.Series) else values})
