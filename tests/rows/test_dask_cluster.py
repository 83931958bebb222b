"""Dask on a cluster of processes: workers that are killed change nothing, and nobody holds more than a few blocks."""

import gc
import os
import pickle
import resource
import signal
import time
import tracemalloc

import dask.array as da
import numpy as np
import pytest

import dask
from ipub import BoundedClassifier, IpubError
from ipub.rows import engine_of
from ipub.rows.dask_runs import DaskRuns
from ipub.rows.slices import BLOCK_CELLS

distributed = pytest.importorskip("distributed")

# Killed workers leave open sockets behind.
pytestmark = [
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

WAIT = 240
"""Seconds in which a killed worker is back, also on a machine that does other things."""


def wait_for_two_workers(client):
    """Wait until two workers are there; a cluster that was scaled down and up may have to be told again."""
    for _ in range(WAIT // 30):
        try:
            client.wait_for_workers(2, timeout=30)
        except TimeoutError:
            client.cluster.scale(1)
            client.cluster.scale(2)
        else:
            return
    client.wait_for_workers(2, timeout=30)


@pytest.fixture(scope="module")
def client():
    settings = {"distributed.worker.memory.spill": False, "distributed.worker.memory.target": False}
    with (
        dask.config.set(settings),
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=":0", memory_limit=0, silence_logs=50
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


def chunk(seed, n, d, label):
    """Make rows, or their labels, where they are needed."""
    rng = np.random.default_rng(int(seed.flat[0]))
    X = rng.normal(size=(n, d))
    y = (X[:, 0] - X[:, 1] + rng.normal(size=n) > 0.0).astype(float)
    X[rng.random(X.shape) < 0.01] = np.nan
    return y if label else X


def collections(n_chunks, n, d, chunk=chunk):
    seeds = da.arange(n_chunks, chunks=1)
    X = da.map_blocks(chunk, seeds[:, None], n, d, False, dtype=float, chunks=((n,) * n_chunks, (d,)))
    y = da.map_blocks(chunk, seeds, n, d, True, dtype=float, chunks=((n,) * n_chunks,))
    return X, y


@pytest.fixture(scope="module")
def small():
    return collections(5, 60, 3)


ROWS = np.array([[0.5, 0.2, 0.0], [-1.0, 1.0, 0.3]])


@pytest.fixture(scope="module")
def expected(small):
    """What a fit in this process gives."""
    with dask.config.set(scheduler="synchronous"):
        model = BoundedClassifier(alpha=1.0).fit(*small)
        n_runs = runs_of(model).count
        return model.coef_, model.decision_bounds(ROWS), model.attained_bounds(ROWS[:1]), n_runs


def runs_of(model):
    return engine_of(model.training_.models[0].problem.rows).table.runs


class KillAt:
    """Kills a worker at the beginning of one run."""

    def __init__(self, client, monkeypatch, number):
        self.client, self.number, self.names = client, number, []
        self.plain = DaskRuns.compute
        monkeypatch.setattr(DaskRuns, "compute", lambda runs, *args: self.compute(runs, *args))

    def compute(self, runs, *args):
        if runs.count == self.number:
            pids = self.client.run(os.getpid)
            self.names = list(pids)[:1]
            os.kill(pids[self.names[0]], signal.SIGKILL)
        return self.plain(runs, *args)


def assert_same_bits(model, expected):
    np.testing.assert_array_equal(model.coef_, expected[0])
    np.testing.assert_array_equal(model.decision_bounds(ROWS), expected[1])


@pytest.mark.no_cover
@pytest.mark.parametrize(("during", "keep"), [("reading", True), ("training", True), ("tight", False)])
def test_a_worker_killed_during_fit_changes_nothing(during, keep, client, small, expected, monkeypatch):
    wait_for_two_workers(client)
    kill = KillAt(client, monkeypatch, {"reading": 0, "training": 4, "tight": expected[3] - 2}[during])
    with dask.config.set({"ipub.keep-blocks": keep}):
        model = BoundedClassifier(alpha=1.0).fit(*small)
    assert kill.names
    assert_same_bits(model, expected)


@pytest.mark.long
def test_a_worker_killed_during_the_search_of_attained_bounds_changes_nothing(client, small, expected, monkeypatch):
    wait_for_two_workers(client)
    model = BoundedClassifier(alpha=1.0).fit(*small)
    assert_same_bits(model, expected)
    kill = KillAt(client, monkeypatch, runs_of(model).count + 10)
    np.testing.assert_array_equal(model.attained_bounds(ROWS[:1]), expected[2])
    assert kill.names


def test_bounds_are_computed_on_workers(client, small, expected):
    model = BoundedClassifier(alpha=1.0, certificate="ball").fit(*small)
    found = model.decision_bounds(small[0])
    assert (found.shape, found.chunks[0]) == ((300, 2), (60,) * 5)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(found.compute(), again.decision_bounds(small[0].compute()))


def kept_blocks(dask_scheduler):
    """Return the keys of blocks that the scheduler knows."""
    return [key for key in map(str, dask_scheduler.tasks) if "blocks_of_piece" in key]


def test_blocks_are_given_back_after_fit(client, small):
    model = BoundedClassifier(certificate="sphere").fit(*small)
    end = time.monotonic() + 20.0
    # A client tells the scheduler a little later; models of other tests may wait for the garbage collector.
    while client.run_on_scheduler(kept_blocks) and time.monotonic() < end:
        gc.collect()
        time.sleep(0.1)
    assert not client.run_on_scheduler(kept_blocks)
    assert runs_of(model).count


def wide_chunk(seed, n, d, label):
    """Make many rows fast."""
    i, j = np.arange(n)[:, None], np.arange(d)
    X = ((7919 * i + 104_729 * j + 31 * int(seed.flat[0])) % 1009) / 1009.0
    X[::50, 1] = np.nan
    return (X[:, 0] > X[:, 2]).astype(float) if label else X


def greatest_memory():
    """Return the most memory that this process has had, in bytes."""
    return 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


@pytest.mark.no_cover
def test_nobody_holds_more_than_a_few_blocks(client):
    block = 8 * BLOCK_CELLS
    options = {"certificate": "sphere", "fit_intercept": False}
    wait_for_two_workers(client)
    with dask.config.set({"ipub.keep-blocks": False}):
        BoundedClassifier(**options).fit(*collections(4, 10_000, 20, wide_chunk))
        X, y = collections(30, 14_000, 20, wide_chunk)
        assert X.nbytes > 8 * block
        before = client.run(greatest_memory)
        tracemalloc.start()
        try:
            model = BoundedClassifier(**options).fit(X, y)
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
        after = client.run(greatest_memory)
    assert peak < 4 * block
    assert runs_of(model).bytes_received < 4 * block
    assert max(after[name] - before[name] for name in before) < 4 * block


def test_a_cluster_without_workers_is_an_error_and_not_a_hang(small):
    with (
        distributed.LocalCluster(n_workers=0, dashboard_address=":0", silence_logs=50) as cluster,
        distributed.Client(cluster),
        dask.config.set({"ipub.wait-for-workers": 1.0}),
        pytest.raises(IpubError, match="no workers for 1 seconds"),
    ):
        BoundedClassifier().fit(*small)
