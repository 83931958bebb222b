"""Save a fitted estimator to one file and load it again, without pickle.

A model file is a zip archive: ``model.json`` names the class, its parameters, its fitted attributes and any
metadata, and every array is a ``.npy`` member. Nothing in it is ever executed, so a file from a stranger can
be loaded. Numbers are stored bit by bit. A file holds the certificates as they are, training rows included, or with
``rows=False`` the form of `Certificate.without_training_rows`, whose bounds are mostly wider. Its header says which.
"""

from __future__ import annotations

import dataclasses
import json
import math
import os
import zipfile
from collections.abc import Callable, Mapping
from numbers import Integral, Real
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import ipub
from ipub.app.files.atomic import FileError, whole_file
from ipub.app.files.model_archive import ARRAY_KINDS, ModelArchive, write_archive
from ipub.certificates import Certificate
from ipub.certificates.stored import PARTS
from ipub.errors import warn_user
from ipub.estimators import BoundedClassifier, BoundedRegressor, fitted_state
from ipub.estimators.fitted_state import certificates_of, keeps_training_rows, stored_parameter
from ipub.estimators.linear_model import check_parameters
from ipub.losses import LOSSES
from ipub.promises import Budget, Draws
from ipub.tables.categories import TableEncoder
from ipub.tables.conditional_intervals import ConditionalColumn, ConditionalIntervals, IntervalReport
from ipub.tables.scaling import Scaling
from ipub.training.alpha_choice import AlphaChoice
from ipub.training.reading.intervals import FORMER_PARAMETERS, LEVEL, Intervals

FORMAT = "ipub model"
VERSION = 7
"""Version of the format, increased whenever older code would misread a new file."""

OLDEST = VERSION - 1
"""Oldest version that is read: what earlier files have is no longer there."""

SHOWN = 200
"""Characters of an error in reading a file that its message has, at most."""

ESTIMATORS: dict[str, type[Any]] = {kind.__name__: kind for kind in (BoundedClassifier, BoundedRegressor)}
RECORDS: dict[str, type[Any]] = {
    kind.__name__: kind
    for kind in (
        *(*PARTS, Scaling, TableEncoder, ConditionalIntervals, ConditionalColumn, IntervalReport),
        AlphaChoice,
        *(Budget, Draws, Intervals, *map(type, LOSSES.values())),
    )
}
"""Dataclasses that a model file may hold."""


FIELDS: dict[str, Callable[[Any], bool]] = {
    "str": lambda value: isinstance(value, str),
    "bool": lambda value: isinstance(value, bool | np.bool_),
    "int": lambda value: isinstance(value, Integral) and not isinstance(value, bool),
    "float": lambda value: isinstance(value, Real) and not isinstance(value, bool),
    "Array": lambda value: isinstance(value, np.ndarray) and value.dtype.kind in "biuf",
    "Indices": lambda value: isinstance(value, np.ndarray) and value.dtype.kind in "iu",
}
"""Which values fields of dataclasses may have, by what their types are called."""


class ModelFileError(FileError):
    """A file that is no model, is damaged, or comes from a newer version; or a model that cannot be stored."""


class StoredModel(NamedTuple):
    """What a model file holds."""

    estimator: Any
    metadata: dict[str, Any]
    training_rows: bool
    """Whether training rows are part of it."""


def save(
    estimator: Any,
    path: str | os.PathLike[str],
    metadata: Mapping[str, Any] | None = None,
    *,
    rows: bool = True,
    training_rows: bool | None = None,
) -> None:
    """Write a fitted `BoundedClassifier` or `BoundedRegressor` to a file.

    The file appears under its name only when it is complete; an older file of that name stays until then. Like a pickle
    it holds what bounds need, training rows among them, but not the training table, which `attained_bounds` and
    pointwise bounds need.

    Parameters
    ----------
    estimator : BoundedClassifier or BoundedRegressor
    path : path
        By habit it ends in ``.ipub``.
    metadata : mapping, optional
        Anything of numbers, strings, arrays, lists and mappings that shall travel with the model, for
        `load_with_metadata`.
    rows : bool, default=True
        Whether the file may hold training rows, so that a loaded model has the bounds of this one: the rows with
        missing cells, those where the derivative of a hinge jumps, and with row sums or `max_label_errors` all. Without
        them bounds are mostly wider, and the file holds sums over many rows (never over fewer than five) in their
        place.
    training_rows : bool, optional
        Former name of `rows`.

    Raises
    ------
    ModelFileError
        If the estimator is of another kind, or a parameter cannot be stored without pickle.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import ipub
    >>> model = ipub.BoundedRegressor(alpha=1.0).fit([[0.0], [1.0], [float("nan")], [3.0]], [1.0, 2.0, 3.0, 4.0])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     ipub.save(model, Path(folder) / "model.ipub")
    ...     loaded = ipub.load(Path(folder) / "model.ipub")
    >>> bool((loaded.predict_bounds([[2.0]]) == model.predict_bounds([[2.0]])).all())
    True
    """
    if training_rows is not None:
        warn_user(f"save(training_rows={training_rows}) is save(rows={training_rows}) now.", FutureWarning)
        rows = training_rows
    kind = type(estimator).__name__
    if ESTIMATORS.get(kind) is not type(estimator):
        raise ModelFileError(
            f"Only {' and '.join(ESTIMATORS)} can be saved, not {kind}. Of a Pipeline, save the last step and keep "
            "the others with their own means."
        )
    fitted = fitted_state.fitted_attributes(estimator, rows)
    arrays: dict[str, np.ndarray[Any, Any]] = {}
    parameters = estimator.get_params(deep=False).items()
    header = {
        "format": FORMAT,
        "version": VERSION,
        "written_by": f"ipub {ipub.__version__}",
        "class": kind,
        "training_rows": keeps_training_rows(fitted["certificate_"]),
        "parameters": _encode_items({name: stored_parameter(value) for name, value in parameters}, arrays, "parameter"),
        "fitted": _encode_items(fitted, arrays, "attribute"),
        "metadata": _encode_items(dict(metadata or {}), arrays, "metadata"),
    }
    text = json.dumps(header, indent=1, allow_nan=False).encode()
    try:
        with whole_file(path) as file:
            write_archive(file, text, arrays)
    except FileError:
        raise
    except ValueError as error:
        raise ModelFileError(f"The model cannot be stored: {error}.") from None


def load(path: str | os.PathLike[str]) -> Any:
    """Read an estimator that `save` wrote: it predicts exactly as the saved one.

    Its bounds are those of the saved one if it was saved with rows (but for pointwise bounds, which need the training
    table), and else mostly wider.

    Raises
    ------
    ModelFileError
        If the file is not a model file, is damaged, or was written by another version of ipub in a format that this
        one does not read.
    OSError
        If the file cannot be opened.
    """
    return load_with_metadata(path).estimator


def load_with_metadata(path: str | os.PathLike[str]) -> StoredModel:
    """Read an estimator and the metadata saved with it; errors as in `load`."""
    path = Path(path)
    if path.is_dir():
        raise ModelFileError(f"{path} is a folder, not a model file.")
    with path.open("rb") as file:
        if not zipfile.is_zipfile(file):
            raise ModelFileError(_not_a_model(path))
        try:
            return _read(ModelArchive(file), path)
        except ModelFileError:
            raise
        # The content is not trusted: every error in reading it becomes one kind of error.
        except Exception as error:
            raise ModelFileError(
                f"{path} is damaged and cannot be loaded ({_in_short(error)}): save the model again."
            ) from error


def _in_short(error: Exception) -> str:
    """Return what an error says, in one line."""
    text = " ".join(f"{error}".split()) or type(error).__name__
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}..."


def _not_a_model(path: Path) -> str:
    return f"{path} is not an ipub model, or not a whole one. Make it with `ipub fit` or ipub.save."


def _read(archive: ModelArchive, path: Path) -> StoredModel:
    text = archive.header()
    header = None if text is None else json.loads(text)
    if not isinstance(header, dict) or header.get("format") != FORMAT:
        raise ModelFileError(_not_a_model(path))
    version = header["version"]
    if not isinstance(version, int) or version > VERSION:
        raise ModelFileError(
            f"{path} was written by a newer version of ipub ({header.get('written_by', 'unknown')}; this is "
            f"{ipub.__version__}): upgrade with `pip install --upgrade ipub`."
        )
    if version < OLDEST:
        raise ModelFileError(
            f"{path} was written by an older version of ipub ({header.get('written_by', 'unknown')}), in a format that "
            "is no longer read: fit the model again, with `ipub fit` or in Python, and save it."
        )
    if header["class"] not in ESTIMATORS:
        raise ModelFileError(f"{path} holds a {header['class']!r}, which ipub {ipub.__version__} does not know.")
    kind = ESTIMATORS[header["class"]]
    parameters = _decode_items(header["parameters"], archive)
    former = {new: parameters.pop(name) for name, new in FORMER_PARAMETERS.items() if name in parameters}
    if former not in ({}, {"level": LEVEL}):
        cells = parameters["intervals"]
        cells = cells if isinstance(cells, Intervals) else Intervals(cells)
        parameters["intervals"] = cells.with_params(**former)
    unknown = set(parameters) - set(kind().get_params(deep=False))
    if unknown:
        raise ValueError(f"unknown parameter {min(unknown)!r}")
    estimator = kind(**parameters)
    check_parameters(estimator)
    attributes = _decode_items(header["fitted"], archive)
    unexpected = [name for name in attributes if not fitted_state.is_result(name)]
    if unexpected:
        raise ValueError(f"unexpected attribute {unexpected[0]!r}")
    fitted_state.restore_fitted(estimator, attributes)
    _check_consistent(estimator)
    metadata = _decode_items(header["metadata"], archive)
    return StoredModel(estimator, metadata, keeps_training_rows(estimator.certificate_))


def _check_consistent(estimator: Any) -> None:
    """Raise an error if the parts of a model do not fit each other."""
    encoder = estimator.encoder_
    d = estimator.n_features_in_ if encoder is None else len(encoder.names)
    certificates = certificates_of(estimator.certificate_)
    is_certified = estimator.certificate is not None
    n_classes = len(getattr(estimator, "classes_", ()))
    n_models = n_classes if n_classes > 2 else 1
    if hasattr(type(estimator), "predict_set") and n_classes < 2:
        raise ValueError("there are fewer than two classes")
    numbers = "coef_", "intercept_", "fill_values_", "hole_ranges_", "precision_", "dual_gap_", "n_iter_"
    if any(np.asarray(getattr(estimator, name)).dtype.kind not in "fiu" for name in numbers):
        raise TypeError("some of the fitted values are no numbers")
    several = (n_models,) if n_models > 1 else ()
    if np.size(estimator.coef_) != n_models * d or estimator.fill_values_.shape != (d,):
        raise ValueError("the arrays do not fit the number of features")
    shapes = {"hole_ranges_": (d, 2), "precision_": (d,)} | ({"coef_bounds_": (*several, d, 2)} if is_certified else {})
    if any(getattr(estimator, name).shape != shape for name, shape in shapes.items()):
        raise ValueError("the bounds do not fit the number of features")
    if len(certificates) != n_models * is_certified or not all(isinstance(each, Certificate) for each in certificates):
        raise TypeError("the certificate is missing")
    if not isinstance(estimator.alpha_choice_, AlphaChoice | None) or not isinstance(estimator.alpha_, int | float):
        raise TypeError("the penalty is no number")
    if np.size(estimator.intercept_) != n_models or (
        is_certified and estimator.intercept_bounds_.shape != (*several, 2)
    ):
        raise ValueError("the intercept is not one number for each model")
    if estimator.scaling_ is not None and estimator.scaling_.rows(np.zeros((1, d))).shape != (1, d):
        raise ValueError("the scaling does not fit the number of features")
    if estimator.conditional_intervals_ is not None:
        estimator.conditional_intervals_.filled(np.full((1, d), np.nan))
    for certificate in certificates:
        if certificate.score_bounds(np.zeros((1, d + estimator.fit_intercept))).shape != (1, 2):
            raise ValueError("the certificate gives no bounds")


def _encode_items(items: Mapping[str, Any], arrays: dict[str, np.ndarray[Any, Any]], what: str) -> dict[str, Any]:
    encoded = {}
    for name, value in items.items():
        try:
            encoded[name] = _encode(value, arrays)
        except TypeError as error:
            raise ModelFileError(f"The {what} {name!r} cannot be stored in a model file: {error}.") from None
    return encoded


def _encode(value: Any, arrays: dict[str, np.ndarray[Any, Any]]) -> Any:
    """Return a value as JSON; arrays are added to `arrays`, and a dictionary names the type."""
    if value is None or isinstance(value, bool | str) or type(value) is int:
        return value
    if type(value) is float:
        return value if math.isfinite(value) else {"float": repr(value)}
    if isinstance(value, list):
        return [_encode(item, arrays) for item in value]
    if isinstance(value, tuple):
        return {"tuple": [_encode(item, arrays) for item in value]}
    if isinstance(value, Mapping):
        return {"mapping": [[_encode(key, arrays), _encode(item, arrays)] for key, item in value.items()]}
    if RECORDS.get(type(value).__name__) is type(value):
        fields = {field.name: _encode(getattr(value, field.name), arrays) for field in dataclasses.fields(value)}
        return {"record": type(value).__name__, "fields": fields}
    if isinstance(value, np.generic) or hasattr(value, "__array__"):
        array = np.asarray(value)
        if array.dtype.kind not in ARRAY_KINDS:
            return {"objects": [_encode(item, arrays) for item in array.ravel().tolist()], "shape": array.shape}
        name = f"array{len(arrays)}.npy"
        arrays[name] = array
        return {"scalar" if isinstance(value, np.generic) else "array": name}
    raise TypeError(f"a value of type {type(value).__name__} would need pickle")


def _record(kind: type[Any], values: dict[str, Any]) -> Any:
    """Return a part of a model; the fields whose type is a plain one must have it."""
    for field in dataclasses.fields(kind):
        fits = FIELDS.get(str(field.type))
        if fits is not None and field.name in values and not fits(values[field.name]):
            raise TypeError(f"{field.name!r} of a {kind.__name__} is no {field.type}")
    return kind(**values)


def _decode_items(items: Mapping[str, Any], archive: ModelArchive) -> dict[str, Any]:
    return {name: _decode(value, archive) for name, value in items.items()}


def _decode(value: Any, archive: ModelArchive) -> Any:
    if isinstance(value, list):
        return [_decode(item, archive) for item in value]
    if not isinstance(value, dict):
        return value
    match value:
        case {"float": number}:
            return float(number)
        case {"tuple": items}:
            return tuple(_decode(item, archive) for item in items)
        case {"mapping": pairs}:
            return {_decode(key, archive): _decode(item, archive) for key, item in pairs}
        case {"record": name, "fields": fields}:
            if name not in RECORDS:
                raise ValueError(f"it has a part {name!r}, which ipub {ipub.__version__} does not know")
            return _record(RECORDS[name], _decode_items(fields, archive))
        case {"objects": items, "shape": shape}:
            objects = np.empty(len(items), dtype=object)
            objects[:] = [_decode(item, archive) for item in items]
            return objects.reshape(shape)
        case {"array": name}:
            return archive.array(name)
        case {"scalar": name}:
            return archive.array(name)[()]
    raise ValueError(f"unknown entry {next(iter(value), '')!r}")
