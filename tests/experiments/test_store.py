import json
import os
from pathlib import Path

import numpy as np
import pytest

from experiments.store import Measured, Store

KEY = {"version": "1", "b": 0.01, "imputations": (5, 20)}
MEASURED = Measured({"seconds": [0.25]}, {"bounds": np.array([[0.1, 0.2]])})


@pytest.fixture
def store():
    store = Store(Path("cells"))
    store.put("one", KEY, MEASURED)
    return store


def test_what_was_put_is_there_again(store):
    found = Store(store.folder).get("one", KEY)
    assert found.figures == MEASURED.figures
    np.testing.assert_array_equal(found.arrays["bounds"], MEASURED.arrays["bounds"])
    assert store.get("two", KEY) is None


@pytest.mark.parametrize("change", [{"version": "2"}, {"b": 0.001}, {"imputations": (5,)}, {"more": 1}])
def test_another_key_finds_nothing(store, change):
    assert store.get("one", {**KEY, **change}) is None


@pytest.mark.parametrize("name", ["one.json", "one.npz"])
@pytest.mark.parametrize("content", [b"", b"{", None])
def test_half_a_measurement_is_none(store, name, content):
    path = store.folder / name
    path.unlink() if content is None else path.write_bytes(content)
    assert store.get("one", KEY) is None


def test_a_failure_while_writing_leaves_no_finished_measurement(store, monkeypatch):
    with pytest.raises(TypeError):
        store.put("one", KEY, Measured({"seconds": object()}, {"bounds": np.zeros((1, 2))}))
    assert store.get("one", KEY) is None
    assert not [name for name in os.listdir(store.folder) if name.startswith(".")]


def test_the_figures_can_be_read_by_anyone(store):
    assert json.loads((store.folder / "one.json").read_text())["figures"] == {"seconds": [0.25]}
