"""Random input of every kind ends in a result or in an error that is meant for the user, never deep inside.

``FUZZ_EXAMPLES=20000 pytest tests/fuzz`` tries more, other examples in every run.
"""

from __future__ import annotations

import io
import json
import os
import tempfile
import warnings
import zipfile
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

import ipub
from ipub import BoundedClassifier, BoundedRegressor, Budget, Draws, IntervalMatrix, Intervals, IpubError, IpubWarning
from ipub.app import cli
from ipub.app.files.modelfile import ModelFileError
from ipub.app.files.tables import read_ranges

EXAMPLES = int(os.environ.get("FUZZ_EXAMPLES", "0"))
FUZZ = settings(
    max_examples=EXAMPLES or 60,
    deadline=None,
    derandomize=not EXAMPLES,
    database=None,
    suppress_health_check=list(HealthCheck),
)
FEW = settings(FUZZ, max_examples=EXAMPLES or 25)

# --- files ------------------------------------------------------------------------------------------------------------

cells = st.one_of(
    st.sampled_from(
        ["", "NA", "nan", "1", "0", "-3.5", "1e400", "-1e300", "1,5", "inf", "a", "b", "é", '"x, y"', '"', "2020-01-01",
         "true", "False", " 7 ", "0x10", "1_000", "?", "-999", "\x00", "𝟙", "'", "#", "1;2"]
    ),
    st.integers(-20, 20).map(str),
    st.floats(allow_nan=True, allow_infinity=True).map(repr),
    st.text(max_size=5),
)  # fmt: skip


@st.composite
def csv_texts(draw: Any) -> bytes:
    """Draw a file that is nearly a table: rows of about the same length, of any cells, in some encoding."""
    d = draw(st.integers(1, 4))
    names = draw(st.lists(st.sampled_from(["a", "b", "c", "y", "", "a b", "é", "1"]), min_size=d, max_size=d))
    separator = draw(st.sampled_from([",", ";", "\t", "|", " "]))
    usual = draw(st.lists(cells, min_size=1, max_size=4))
    rows = draw(st.lists(st.lists(st.sampled_from(usual), min_size=d, max_size=d), max_size=12))
    if draw(st.integers(0, 3)) == 0 and rows:
        rows[draw(st.integers(0, len(rows) - 1))] = draw(st.lists(cells, max_size=6))
    text = draw(st.sampled_from(["\n", "\r\n", "\r"])).join(separator.join(row) for row in [[*names, "y"], *rows])
    content = text.encode(draw(st.sampled_from(["utf-8", "utf-8-sig", "utf-16", "latin-1"])), errors="replace")
    return bytes(draw(st.sampled_from([content, content[: len(content) // 2], content + b"\xff\x00"])))


def ended_well(arguments: list[str]) -> int:
    """Run a command; return its exit code, which is that of success or of a sentence on what is wrong."""
    done = CliRunner().invoke(cli.app, arguments)
    assert done.exception is None or isinstance(done.exception, SystemExit), repr(done.exception)
    assert done.exit_code in (0, 2), done.output
    if done.exit_code == 2:
        assert done.stderr.splitlines()[-1:] != [], "nothing is said"
        assert "Traceback" not in done.output
    return done.exit_code


@FEW
@given(csv_texts())
def test_any_csv_file_is_fitted_and_predicted_or_refused_with_a_sentence(content: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        train, model = str(Path(folder) / "t.csv"), str(Path(folder) / "m.ipub")
        Path(train).write_bytes(content)
        fitted = ended_well(
            ["fit", train, "--target", "y", "--alpha", "0.1", "--certificate", "ball", "--json", "-o", model]
        )
        if fitted == 0:
            ended_well(["predict", model, train, "-o", str(Path(folder) / "b.csv")])


toml_values = st.one_of(
    st.sampled_from(
        ["[0, 1]", "[1, 0]", "[0]", "[0, 1, 2]", "[nan, 1]", "[-inf, inf]", '["a", 1]', "1", "{}", "[[0, 1]]", "true",
         "2020-01-01", "[1e400, 2]", "[", "'x'", "[true, false]", "[0, 99999999999999999999]"]
    ),
    st.text(max_size=8),
)  # fmt: skip


@FUZZ
@given(
    st.lists(st.tuples(st.sampled_from(["a", "b", '"a b"', "z", "[ranges]", "a.b", "", "é"]), toml_values), max_size=4)
)
def test_any_file_of_ranges_is_read_or_refused(lines: list[tuple[str, str]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "r.toml"
        path.write_text("\n".join(f"{name} = {value}" for name, value in lines), encoding="utf-8")
        with suppress(IpubError):
            assert set(read_ranges(path, ["a", "b", "c", "a b"], ["a", "b", "a b"])) <= {"a", "b", "a b"}


def members(model: Any) -> dict[str, bytes]:
    with tempfile.TemporaryDirectory() as folder:
        ipub.save(model, Path(folder) / "m.ipub")
        with zipfile.ZipFile(Path(folder) / "m.ipub") as archive:
            return {name: archive.read(name) for name in archive.namelist()}


def small_models() -> list[dict[str, bytes]]:
    X = pd.DataFrame({"a": [0.0, 1.0, np.nan, 3.0, 2.0, 5.0], "k": ["u", "v", None, "u", "v", "u"]})
    numbers = X[["a"]].to_numpy()
    y = [0, 1, 0, 1, 1, 0]
    return [
        members(BoundedClassifier(scale="standard").fit(X, y)),
        members(BoundedRegressor("huber", certificate="sphere").fit(numbers, y)),
        members(BoundedClassifier(uncertainty=Budget(cells=1)).fit(numbers, y)),
    ]


MODELS = small_models()
json_values = st.recursive(
    st.one_of(
        st.none(), st.booleans(), st.integers(-3, 2**70), st.floats(allow_nan=False), st.text(max_size=4),
        st.sampled_from([{"array": "array0.npy"}, {"float": "nan"}, {"scalar": "array1.npy"}, {"tuple": []},
                         {"record": "Region", "fields": {}}, {"array": "no.npy"}, {"objects": [1], "shape": [9]}]),
    ),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=4), inner, max_size=2)),
    max_leaves=4,
)  # fmt: skip


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Return where in a JSON value something can be replaced."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(place for key, each in items for place in places(each, (*path, key)))]


def replaced(value: Any, path: tuple[Any, ...], new: Any) -> Any:
    if not path:
        return new
    copied = dict(value) if isinstance(value, dict) else list(value)
    copied[path[0]] = replaced(copied[path[0]], path[1:], new)
    return copied


class Altered(NamedTuple):
    """A model file of which a part is another one."""

    content: bytes
    changes: list[str]

    def __repr__(self) -> str:
        return f"Altered({self.changes})"


@st.composite
def model_files(draw: Any) -> Altered:
    """Draw a model file of which a part of the header, or an array, is another one."""
    number = draw(st.integers(0, len(MODELS) - 1))
    parts, changes = dict(MODELS[number]), [f"model {number}"]
    header = json.loads(parts["model.json"])
    for _ in range(draw(st.integers(1, 2))):
        kind = draw(st.integers(0, 2))
        if kind < 2:
            place, new = draw(st.sampled_from(places(header))), draw(json_values)
            header = replaced(header, place, new)
            changes.append(f"{place}: {new!r}")
            parts["model.json"] = json.dumps(header).encode()
            if not isinstance(header, dict):
                break
        else:
            name = draw(st.sampled_from(sorted(parts)))
            array = draw(
                st.sampled_from(
                    [np.zeros(3), np.zeros((2, 2)), np.array(["a"]), np.array([np.nan]), np.full(6, np.inf),
                     np.zeros(0), np.array(7), np.array([1 + 2j]), np.array([-1]), np.array([2**62])]
                )
            )  # fmt: skip
            changes.append(f"{name}: {array!r}")
            content = io.BytesIO()
            np.save(content, array)
            parts[name] = content.getvalue()
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name, content_of in parts.items():
            archive.writestr(name, content_of)
    return Altered(file.getvalue(), changes)


@FUZZ
@given(model_files())
def test_any_model_file_loads_or_is_refused(altered: Altered) -> None:
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        path = Path(folder) / "m.ipub"
        path.write_bytes(altered.content)
        try:
            model = ipub.load(path)
        except ModelFileError:
            return
        # What a file says may be wrong, and bounds with it: but nothing of it fails deep inside.
        names = getattr(model, "feature_names_in_", None)
        rows = pd.DataFrame({"a": [1.0], "k": ["u"]}) if names is not None else [[1.0]]
        with suppress(ValueError, TypeError):
            bounds = model.decision_bounds(rows) if hasattr(model, "classes_") else model.predict_bounds(rows)
            assert np.asarray(bounds).shape[-1] == 2


# --- estimators -------------------------------------------------------------------------------------------------------

numbers = st.sampled_from([0.0, 1.0, -2.5, 1e-300, 1e150, 1e308, float("nan"), float("inf"), 3, True, -0.0, 1e-320])
anything = st.one_of(
    numbers,
    st.sampled_from([None, "a", "", "1", 1 + 2j, b"x", (), [], {}, np.datetime64("2020-01-01"), 10**400, pd.NA]),
)


@st.composite
def tables(draw: Any) -> Any:
    """Draw what may be given as a table: mostly an array of numbers, or a frame, or nearly that."""
    n, d = draw(st.integers(0, 7)), draw(st.integers(0, 3))
    value = draw(st.sampled_from([numbers, numbers, numbers, anything]))
    rows = draw(st.lists(st.lists(value, min_size=d, max_size=d), min_size=n, max_size=n))
    kind = draw(st.integers(0, 7))
    try:
        if kind < 3 and not any(isinstance(each, float) and abs(each) > 1e38 for row in rows for each in row):
            return np.array(rows, dtype=draw(st.sampled_from([float, np.float32, object]))).reshape(n, d)
        if kind < 5:
            names = draw(st.lists(st.sampled_from(["a", "b", "c", 0, 1]), min_size=d, max_size=d))
            return pd.DataFrame(rows, columns=names)
        if kind == 5:
            low = np.array(rows, dtype=float).reshape(n, d)
            return IntervalMatrix.from_bounds(low, low + 1.0)
    except (ValueError, TypeError, OverflowError):
        pass
    return rows if kind < 7 else draw(anything)


@st.composite
def labels(draw: Any, n: int) -> Any:
    """Draw what may be given as labels: mostly two classes, or numbers."""
    kind = draw(st.integers(0, 5))
    value = [st.sampled_from([0, 1]), st.sampled_from(["x", "y", "z"]), st.floats(-2, 2), numbers, anything, anything][
        kind
    ]
    found = draw(st.lists(value, min_size=n, max_size=n))
    return draw(anything) if kind == 5 and not n else found


options = st.fixed_dictionaries(
    {},
    optional={
        "alpha": st.sampled_from([0.1, 1.0, 1e-3, "1se", 0.0, -1.0, "max", None, 1e-320, 1e200]),
        "l1_ratio": st.sampled_from([0.0, 0.5, 1.0, -1]),
        "fit_intercept": st.booleans(),
        "certificate": st.sampled_from(["tight", "sphere", "ball", "slope", None, "best"]),
        "intervals": st.sampled_from(
            [
                "quantile",
                "observed",
                "conditional",
                {0: (0, 1)},
                {"a": (1, 0)},
                [(0, 1)],
                "x",
                Intervals("observed", 0.5),
            ]
        ),
        "scale": st.sampled_from([None, "standard", "minmax", "log"]),
        "uncertainty": st.sampled_from(
            [
                "worst",
                Budget(cells=1),
                Budget(share=0.5, rows=1),
                Budget(wrong_cells=1),
                Budget(labels=1),
                Budget(),
                Draws(n_draws=3, random_state=0),
                Draws("none"),
                None,
            ]
        ),
    },
)

MEANT = (ValueError, TypeError, OSError)
"""Errors that say what is wrong with an argument; all of the package's own are among them."""


@FUZZ
@given(st.data())
def test_any_table_is_fitted_and_bounded_or_refused(data: st.DataObject) -> None:
    X = data.draw(tables())
    n = len(X) if hasattr(X, "__len__") else X.shape[0] if isinstance(X, IntervalMatrix) else 2
    y, given_options = data.draw(labels(n)), data.draw(options)
    kind = data.draw(st.sampled_from([BoundedClassifier, BoundedRegressor]))
    losses = ["log_loss", "hinge", "squared_hinge"] if kind is BoundedClassifier else ["squared_error", "huber"]
    weight = data.draw(st.one_of(st.none(), st.lists(numbers, min_size=n, max_size=n)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        warnings.filterwarnings("error", category=RuntimeWarning, module="ipub")
        for each in (UserWarning, FutureWarning, IpubWarning):
            warnings.simplefilter("ignore", each)
        model = kind(data.draw(st.sampled_from(losses)), **given_options)
        before = dict(vars(model))
        try:
            model.fit(X, y, sample_weight=weight)
        except MEANT:
            assert vars(model) == before
            return
        rows = X if data.draw(st.booleans()) else data.draw(tables())
        try:
            bounds = model.decision_bounds(rows) if kind is BoundedClassifier else model.predict_bounds(rows)
            predicted = model.predict(rows)
        except MEANT:
            return
        bounds = np.asarray(bounds)
        assert not np.isnan(bounds).any()
        assert (bounds[..., 0] <= bounds[..., 1]).all()
        assert len(bounds) == len(predicted)
