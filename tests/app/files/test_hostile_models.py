"""A model file from a stranger is refused or gives bounds: nothing of it is read beyond its end, whatever it says."""

from __future__ import annotations

import io
import json
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import ipub
from ipub import BoundedClassifier, BoundedRegressor, Budget
from ipub.app.files.modelfile import ModelFileError

X = pd.DataFrame({"a": [0.0, 1.0, np.nan, 3.0, 2.0, 5.0], "k": ["u", "v", None, "u", "v", "u"]})
NUMBERS = X[["a"]].to_numpy()
Y = [0, 1, 0, 1, 1, 0]


def members(model, folder: Path) -> dict[str, bytes]:
    ipub.save(model, folder / "m.ipub")
    with zipfile.ZipFile(folder / "m.ipub") as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def written(parts: dict[str, bytes], path: Path) -> None:
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in parts.items():
            archive.writestr(name, content)


# In a process of its own: what is read beyond the end of an array may end it.
LOADED = """
import sys, warnings
from pathlib import Path
import pandas as pd
import ipub
from ipub.app.files.modelfile import ModelFileError
warnings.simplefilter("ignore")
for path in sorted(Path(sys.argv[1]).glob("*.ipub")):
    print(path.name, flush=True)
    try:
        model = ipub.load(path)
        names = getattr(model, "feature_names_in_", None)
        model.decision_bounds([[1.0]] if names is None else pd.DataFrame({"a": [1.0], "k": ["u"]}))
    except ModelFileError:
        print("refused", flush=True)
    except ValueError:
        pass
print("all")
"""


def altered(array: np.ndarray) -> list[np.ndarray]:
    """Return arrays of another length and with other numbers."""
    found = [array[: len(array) // 2]] if array.ndim else []
    if array.dtype.kind == "i":
        found += [array + 1_000_000, array - 7]
    return found


@pytest.mark.parametrize("kind", ["categories", "budget"])
def test_no_array_of_another_length_or_with_other_indices_ends_the_process(kind, tmp_path):
    if kind == "categories":
        model = BoundedClassifier(scale="standard").fit(X, Y)
    else:
        model = BoundedClassifier(uncertainty=Budget(cells=1, rows=1)).fit(NUMBERS, Y)
    parts, count = members(model, tmp_path), 0
    (tmp_path / "m.ipub").unlink()
    for name, content in parts.items():
        if name.endswith(".npy"):
            array = np.load(io.BytesIO(content))
            # Of arrays of numbers every fourth: what is read beyond its end is mostly found by indices.
            for each in altered(array) if array.dtype.kind == "i" or hash(len(content)) % 4 == 0 else ():
                file = io.BytesIO()
                np.save(file, each)
                written({**parts, name: file.getvalue()}, tmp_path / f"{count:04}.ipub")
                count += 1
    done = subprocess.run([sys.executable, "-c", LOADED, str(tmp_path)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, (done.stdout[-200:], done.stderr[-500:])
    assert done.stdout.endswith("all\n")
    assert count > 8
    assert done.stdout.count("refused") > count / 4


@pytest.mark.parametrize(
    ("place", "value"),
    [
        (("parameters", "loss"), None),
        (("parameters", "alpha"), "often"),
        (("parameters", "uncertainty"), 7),
        (("fitted", "certificate_", "fields", "parts", "tuple", 0, "fields", "radius"), [[]]),
        (("fitted", "certificate_", "fields", "parts", "tuple", 0, "fields", "name"), 1),
        (("fitted", "certificate_", "fields", "parts", "tuple", 0, "fields", "center"), {"objects": [1], "shape": [1]}),
    ],
)
def test_a_header_with_a_value_of_another_type_is_refused(place, value, tmp_path):
    parts = members(BoundedRegressor(certificate="sphere").fit(NUMBERS, Y), tmp_path)
    header = json.loads(parts["model.json"])
    inside = header
    for key in place[:-1]:
        inside = inside[key]
    assert place[-1] in inside
    inside[place[-1]] = value
    written({**parts, "model.json": json.dumps(header).encode()}, tmp_path / "m.ipub")
    with pytest.raises(ModelFileError, match=r"m\.ipub"):
        ipub.load(tmp_path / "m.ipub")


@pytest.mark.parametrize("pieces", [1, 2, 4, 5, 6, 700])
def test_compiled_sums_of_other_pieces_than_there_are_are_refused(pieces, tmp_path):
    """Other numbers of ends than those that the loops are made for, 4 and 8, and more than they have room for."""
    parts = members(BoundedClassifier().fit(NUMBERS, Y), tmp_path)
    text = parts["model.json"].decode()
    assert '"pieces_of_variants": 7' in text
    other = text.replace('"pieces_of_variants": 7', f'"pieces_of_variants": {pieces}')
    written({**parts, "model.json": other.encode()}, tmp_path / "m.ipub")
    with pytest.raises(ModelFileError, match="n_ends"):
        ipub.load(tmp_path / "m.ipub").decision_bounds([[1.0]])


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("classes_", lambda array: array[:1], "fewer than two classes"),
        ("classes_", lambda array: array[:0], "fewer than two classes"),
        ("coef_", lambda array: array + 1j, "no numbers"),
        ("intercept_", lambda array: array + 1j, "no numbers"),
        ("fill_values_", lambda array: array + 1j, "no numbers"),
    ],
)
def test_fitted_arrays_that_no_fit_gives_are_refused(name, change, message, tmp_path):
    parts = members(BoundedClassifier().fit(NUMBERS, Y), tmp_path)
    file = json.loads(parts["model.json"])["fitted"][name]["array"]
    changed = io.BytesIO()
    np.save(changed, change(np.load(io.BytesIO(parts[file]))))
    written({**parts, file: changed.getvalue()}, tmp_path / "m.ipub")
    with pytest.raises(ModelFileError, match=message):
        ipub.load(tmp_path / "m.ipub")


@pytest.mark.parametrize("name", ["dual_gap_", "n_iter_", "classes_"])
def test_a_file_that_lacks_a_fitted_attribute_is_refused(name, tmp_path):
    parts = members(BoundedClassifier().fit(NUMBERS, Y), tmp_path)
    header = json.loads(parts["model.json"])
    del header["fitted"][name]
    written({**parts, "model.json": json.dumps(header).encode()}, tmp_path / "m.ipub")
    with pytest.raises(ModelFileError):
        ipub.load(tmp_path / "m.ipub")
