"""Runs of Dask graphs: one function of every partition, its results joined on the workers in a fixed tree."""

from __future__ import annotations

import uuid
import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import reduce
from time import monotonic
from typing import Any

from dask.base import get_scheduler
from dask.delayed import Delayed
from dask.sizeof import sizeof

import dask
from ipub.errors import IpubError
from ipub.numeric.parallel import single_threaded_blas
from ipub.rows.long_table import PerPiece

Graph = Mapping[Any, Any]

FAN_IN = 8
"""Results that one task joins: fewer make the tree deeper, more make a worker hold more of them at once."""
WAIT_FOR_WORKERS = 60.0
"""Seconds without any worker after which a run gives up; ``dask.config.set({"ipub.wait-for-workers": ...})``."""
LOOK_AGAIN = 1.0
"""Seconds between two looks at whether there are workers."""


class DaskRuns:
    """Runs graphs on the scheduler that Dask uses; counts them, and the bytes of results that reached this process."""

    def __init__(self, verbose: int = 0) -> None:
        self.verbose, self.count, self.bytes_received = verbose, 0, 0

    def compute(self, graph: Graph, key: Any) -> Any:
        """Run a graph and return the value of one of its keys.

        Raises IpubError if the cluster has no workers for some time, or is lost; an error of a task is raised as it is.
        """
        self.count += 1
        value, client = Delayed(key, graph), current_client()
        result = value.compute() if client is None else _result(client, value)
        self.bytes_received += sizeof(result)
        return result


def current_client() -> Any:
    """Return the client of the cluster that Dask uses; None for schedulers in this process."""
    scheduler = getattr(get_scheduler(), "__self__", None)
    return scheduler if hasattr(scheduler, "scheduler_info") else None


def _result(client: Any, value: Delayed) -> Any:
    """Wait for a result; a cluster that stays without workers, or is gone, raises an error."""
    from concurrent.futures import CancelledError

    from distributed import KilledWorker, wait

    with warnings.catch_warnings():
        # Graphs hold what the kernels of a pass need, once; that may be large where fillings are evaluated.
        warnings.filterwarnings("ignore", "Sending large graph")
        future = client.compute(value)
    limit, last_seen = float(dask.config.get("ipub.wait-for-workers", WAIT_FOR_WORKERS)), monotonic()
    try:
        while not future.done():
            with suppress(TimeoutError):
                wait(future, timeout=LOOK_AGAIN)
                break
            if client.nthreads():
                last_seen = monotonic()
            elif monotonic() - last_seen > limit:
                future.cancel()
                raise IpubError(
                    f"The cluster has had no workers for {limit:g} seconds: start some and call the method again. How "
                    "long to wait is the Dask setting 'ipub.wait-for-workers'."
                )
        return future.result()
    except KilledWorker as error:
        raise IpubError(
            "Workers died again and again while they computed with one partition, perhaps for lack of memory: make the "
            f"partitions smaller, or give the workers more memory. Dask says: {error}"
        ) from error
    except (OSError, CancelledError) as error:
        raise IpubError(
            "The cluster was lost, or the data on it was: connect to a cluster, and call fit again with a collection "
            f"whose partitions can be computed again. Dask says: {error!r}"
        ) from error


# --- graphs ----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class Call:
    """A function with the arguments that all partitions share.

    They are pickled together, once for a run, so that what is one object here is one object on a worker.
    """

    function: Callable[..., Any]
    args: tuple[Any, ...]


OWN = PerPiece(())
"""Stands for an argument that belongs to the partition."""


@dataclass(frozen=True, slots=True, eq=False)
class Own:
    """The arguments that belong to one partition."""

    values: tuple[Any, ...]


def mapped(parts: Sequence[Any], function: Callable[..., Any], args: tuple[Any, ...]) -> tuple[Graph, list[Any]]:
    """Return tasks that apply a function to the values of keys, and the keys of their results, ``(name, number)``.

    Of an argument that is `PerPiece`, each receives its own part.
    """
    name = f"ipub-{getattr(function, '__name__', 'function')}-{uuid.uuid4().hex}"
    shared = f"{name}-call"
    own = [arg.parts if isinstance(arg, PerPiece) else None for arg in args]
    call = Call(function, tuple(arg if part is None else OWN for arg, part in zip(args, own, strict=True)))
    graph: dict[Any, Any] = {shared: call}
    keys = [(name, number) for number in range(len(parts))]
    for number, (key, part) in enumerate(zip(keys, parts, strict=True)):
        values = Own(tuple(each[number] for each in own if each is not None))
        graph[key] = (apply, part, shared, number, values)
    return graph, keys


def folded(keys: Sequence[Any], join: Callable[[Any, Any], Any]) -> tuple[Graph, Any]:
    """Return tasks that join the values of keys in a tree, and the key of its root."""
    name = f"ipub-join-{uuid.uuid4().hex}"
    graph: dict[Any, Any] = {}
    level, keys = 0, list(keys)
    joiner = Call(join, ())
    while len(keys) > 1:
        level += 1
        groups = [keys[k : k + FAN_IN] for k in range(0, len(keys), FAN_IN)]
        keys = [(name, level, k) for k in range(len(groups))]
        graph.update({key: (join_all, joiner, group) for key, group in zip(keys, groups, strict=True)})
    return graph, keys[0]


def height(n_parts: int) -> int:
    """Return the greatest number of joins that a value goes through in `folded`."""
    levels = 0
    while n_parts > 1:
        n_parts, levels = -(-n_parts // FAN_IN), levels + 1
    return levels * (FAN_IN - 1)


def apply(part: Any, call: Call, number: int, own: Own) -> Any:
    """Apply a function to a partition; an error names the partition."""
    values = iter(own.values)
    args = tuple(next(values) if isinstance(arg, PerPiece) else arg for arg in call.args)
    try:
        # With one thread a product of NumPy has the same bits on every worker.
        with single_threaded_blas(1):
            return call.function(part, *args)
    except IpubError as error:
        raise in_partition(error, number) from None


def join_all(joiner: Call, parts: list[Any]) -> Any:
    """Join values, in order."""
    return reduce(joiner.function, parts)


def in_partition(error: IpubError, number: int) -> IpubError:
    """Return an error with the partition named; its rows are counted from the first of the partition."""
    fields = error.message.fields
    if "partition" in fields:
        return error
    template = error.message.template if fields else error.message.template.replace("{", "{{").replace("}", "}}")
    return type(error)("Partition {partition}: " + template, **fields, partition=number)
