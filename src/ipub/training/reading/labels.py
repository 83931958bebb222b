"""Labels, targets and weights of the training rows, and how far they are uncertain."""

from __future__ import annotations

from numbers import Real
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.exceptions import DataConversionWarning
from sklearn.utils import check_array, column_or_1d
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.multiclass import check_classification_targets

from ipub.errors import IpubError, warn_user
from ipub.numeric.rounding import LARGEST, Array, midpoint_and_radius
from ipub.rows import MemoryRows, Rows, one_class_against_rest, with_label_uncertainty, with_wrong_labels
from ipub.tables.frames import is_frame, is_missing
from ipub.tables.interval_matrix import Indices
from ipub.tables.label_uncertainty import LabelUncertainty
from ipub.training.reading.parameters import Parameters

FOR, AGAINST = -1.0, -2.0
"""Codes of the two entries of a row of unknown class, in place of the number of a class."""

NO_LABELS: Indices = np.zeros(0, dtype=np.intp)


class Labels(NamedTuple):
    """The labels or targets of the training rows, and the weights of these rows."""

    y: Array
    """-1 or 1 for two classes, the number of the class for more, the target (the middle of its interval) else."""
    weight: Array
    """Weight of each row, with the factor of its class in it."""
    classes: NDArray[Any] | None = None
    """The labels, sorted; None in a regression."""
    unknown: Indices = NO_LABELS
    """Numbers of the rows whose class is unknown."""
    radius: Array | None = None
    """By how much each target may be off."""


def read_labels(
    parameters: Parameters, y: Any, n_rows: int, sample_weight: ArrayLike | None, radius: Array | None
) -> Labels:
    """Read the labels of a classification, or the targets of a regression.

    `radius` is what `target_intervals` returned with targets.
    """
    if parameters.loss.task == "classification":
        return read_classes(parameters, y, n_rows, sample_weight)
    targets = as_numbers(_read_labels(parameters, y, n_rows), "y", "correct it, or train a classifier")
    check_targets(targets)
    is_uncertain = radius is not None and radius.any()
    return Labels(targets, _read_weights(sample_weight, n_rows), radius=radius if is_uncertain else None)


# --- classes ----------------------------------------------------------------------------------------------------------


def read_classes(parameters: Parameters, y: Any, n_rows: int, sample_weight: ArrayLike | None) -> Labels:
    """Read the labels of a classification."""
    unknown = _unknown(parameters, y, n_rows)
    has_unknown = bool(unknown.any())
    advice = "Drop these rows, or set unknown_labels=True: bounds then hold for either class."
    labelled = np.flatnonzero(~unknown) if has_unknown else None
    given = y if labelled is None else np.array(labels_of(y)[labelled].tolist())
    labels = _read_labels(parameters, given, n_rows if labelled is None else len(labelled), advice)
    weight = _read_weights(sample_weight, n_rows)
    if labels.dtype.kind == "f":
        refuse_infinite(labels, labelled)
    classes, numbers = _classes(labels)
    if labelled is not None:
        of_labelled, numbers = numbers, np.zeros(n_rows, dtype=np.intp)
        numbers[labelled] = of_labelled
    if parameters.class_weight is not None:
        weight = weight * class_factors(parameters.class_weight, classes, numbers, weight)[numbers]
    counted = (weight > 0.0) & ~unknown
    counts = np.bincount(numbers if counted.all() else numbers[counted], minlength=len(classes))
    check_classes(parameters, classes, counts, has_unknown)
    targets = numbers.astype(float)
    if len(classes) == 2:
        targets *= 2.0
        targets -= 1.0
    return Labels(targets, weight, classes, np.flatnonzero(unknown))


def _unknown(parameters: Parameters, y: Any, n_rows: int) -> NDArray[np.bool_]:
    """Return which labels are unknown, and may be."""
    values = labels_of(y)
    if not parameters.unknown_labels or values.shape != (n_rows,) or values.dtype.kind not in "fO":
        return np.zeros(n_rows, dtype=bool)
    unknown = np.array([is_missing(value) for value in values.tolist()], dtype=bool)
    if unknown.any() and parameters.class_weight is not None:
        raise IpubError("With unknown_labels a row has no class to take a weight from: leave out class_weight.")
    if unknown.all():
        raise IpubError("Every label is unknown: at least one row of each class is needed.")
    return unknown


def check_classes(parameters: Parameters, classes: NDArray[Any], counts: Indices, has_unknown: bool) -> None:
    """Raise an error if there is one class only, or a class without rows that count."""
    if np.count_nonzero(counts) < 2:
        which = ", ".join(map(str, classes[counts > 0])) or "none"
        raise IpubError(f"y must have two classes, but all rows that count are of one class, {which}.")
    if not counts.all():
        raise IpubError(f"All rows of class {classes[np.argmin(counts)]} have the weight zero: leave them out.")
    if parameters.max_label_errors:
        _check_label_errors(parameters, len(classes), has_unknown)


def _check_label_errors(parameters: Parameters, n_classes: int, has_unknown: bool) -> None:
    if n_classes > 2:
        raise IpubError(
            f"max_label_errors is for two classes, but y has {n_classes}: a wrong label has no one class to be of "
            "instead. Set it to 0, or bound one class against the others."
        )
    if parameters.class_weight is not None:
        raise IpubError("With max_label_errors a row has no class to take a weight from: leave out class_weight.")
    if has_unknown:
        raise IpubError(
            "max_label_errors cannot be combined with labels that are NaN or None: drop these rows, or set "
            "max_label_errors to 0."
        )


def _classes(labels: NDArray[Any]) -> tuple[NDArray[Any], Indices]:
    """Return the different labels, sorted, and which of them each is; two whole numbers need no sorting."""
    if labels.dtype.kind in "iuf" and len(labels):
        first, last = labels.min(), labels.max()
        is_last = labels == last
        if first != last and first == int(first) and last == int(last) and (is_last | (labels == first)).all():
            return np.array([first, last], dtype=labels.dtype), is_last.astype(np.intp)
    check_classification_targets(labels)
    return np.unique(labels, return_inverse=True)


def class_factors(class_weight: Any, classes: NDArray[Any], numbers: Indices, weight: Array) -> Array:
    """Return the factor of each class, as scikit-learn has it; "balanced" counts the weights of the rows."""
    if class_weight == "balanced":
        return balanced_factors(np.bincount(numbers, weight, minlength=len(classes)))
    return given_factors(class_weight, classes)


def balanced_factors(totals: NDArray[Any]) -> Array:
    """Return the factor of each class for which all have the same total weight, by the totals of their rows."""
    return np.asarray(totals.sum() / (len(totals) * np.where(totals > 0.0, totals, 1.0)))


def given_factors(class_weight: Any, classes: NDArray[Any]) -> Array:
    """Return the factors that a mapping gives, 1 for classes that it leaves out."""
    factors = compute_class_weight(dict(class_weight), classes=classes, y=classes)
    for label, factor in zip(classes, factors, strict=True):
        if not 0.0 <= factor <= LARGEST:
            raise IpubError(
                "The class_weight of {label} is {value}: it must be from 0 to {largest:g}.",
                label=label,
                value=float(factor),
                largest=LARGEST,
            )
    return np.asarray(factors, dtype=float)


# --- targets ----------------------------------------------------------------------------------------------------------


def check_targets(targets: Array) -> None:
    """Raise an error that names the row of a target that is infinite or too large."""
    refuse_infinite(targets)
    huge = np.flatnonzero(np.abs(targets) > LARGEST)
    if len(huge):
        raise IpubError(
            "y contains {value:g} in {row}, beyond {largest:g}: rescale y.",
            value=float(targets[huge[0]]),
            row=int(huge[0]),
            largest=LARGEST,
        )


def target_intervals(y: Any, y_lower: ArrayLike | None, y_upper: ArrayLike | None) -> tuple[Any, Array | None]:
    """Return the middle of each target's interval and its radius; y as it is, and None, without intervals."""
    if (y_lower is None) != (y_upper is None):
        raise IpubError("Give both y_lower and y_upper, or neither.")
    if y_lower is None or y_upper is None:
        return y, None
    low, high = (
        as_numbers(column_or_1d(end, warn=True), what) for end, what in ((y_lower, "y_lower"), (y_upper, "y_upper"))
    )
    if len(low) != len(high):
        raise IpubError(f"y_lower has {len(low)} rows, y_upper {len(high)}.")
    for end, what in ((low, "y_lower"), (high, "y_upper")):
        wrong = np.flatnonzero(~(np.abs(end) <= LARGEST))
        if len(wrong):
            raise IpubError(
                "{what} is {value} in {row}: give a finite bound, not beyond {largest:g}, for every target.",
                what=what,
                value=float(end[wrong[0]]),
                row=int(wrong[0]),
                largest=LARGEST,
            )
    crossed = np.flatnonzero(low > high)
    if len(crossed):
        i = int(crossed[0])
        raise IpubError(
            "y_lower is {low} and y_upper {high} in {row}: swap them, or correct them.", low=low[i], high=high[i], row=i
        )
    if y is not None:
        given = as_numbers(column_or_1d(y), "y")
        if len(given) != len(low):
            raise IpubError(f"y has {len(given)} rows, y_lower and y_upper {len(low)}.")
        outside = np.flatnonzero((given < low) | (given > high))
        if len(outside):
            i = int(outside[0])
            raise IpubError(
                "y is {value} in {row}, not between its bounds {low} and {high}: correct it or them.",
                value=float(given[i]),
                row=i,
                low=low[i],
                high=high[i],
            )
    return midpoint_and_radius(low, high)


# --- labels and weights of either -------------------------------------------------------------------------------------


def one_dimension(values: Any, what: str, may_be_unknown: bool | None = None) -> Any:
    """Return labels or weights that are a column as one dimension, with a warning as scikit-learn has it.

    Masked ones raise an error: nobody may use what a mask hides. Labels that `may_be_unknown` become None; if it is
    False, the error says how.
    """
    if isinstance(values, np.ma.MaskedArray):
        masked = np.flatnonzero(np.ma.getmaskarray(values).ravel())
        values = values.data
        if len(masked) and not may_be_unknown:
            unknown = ", or set unknown_labels=True: bounds then hold for either class"
            raise IpubError(
                "{what} is masked in {row} ({n} row(s) in all). Give a value, or drop these rows{unknown}.",
                what=what,
                row=int(masked[0]),
                n=len(masked),
                unknown="" if may_be_unknown is None else unknown,
            )
        if len(masked):
            values = values.astype(object)
            values.ravel()[masked] = None
    if isinstance(values, (list, tuple)) and len(values) and isinstance(values[0], (list, tuple, np.ndarray)):
        values = np.array(values, dtype=object)
    if not (isinstance(values, np.ndarray) or is_frame(values)) or len(values.shape) != 2 or values.shape[1] != 1:
        return values
    warn_user(
        f"A column-vector {what} was passed when a 1d array was expected. Please change the shape of {what} to "
        "(n_samples,), for example using ravel().",
        DataConversionWarning,
    )
    column: NDArray[Any] = np.asarray(values)[:, 0]
    return column.tolist() if column.dtype == object else column


def labels_of(y: Any) -> NDArray[Any]:
    """Return labels as an array; elements of a list stay as they are: NumPy would turn NaN among text into text.

    Raises ValueError if text and numbers are mixed: all would become text.
    """
    if not isinstance(y, (list, tuple)):
        return np.asarray(y)
    kinds = {isinstance(label, str) for label in y if not is_missing(label)}
    if len(kinds) > 1:
        raise IpubError("y mixes text and numbers: make all labels text, or all numbers.")
    return np.array(y, dtype=object) if True in kinds else np.asarray(y)


def _read_labels(parameters: Parameters, y: Any, n_rows: int, advice: str = "Drop these rows.") -> NDArray[Any]:
    if y is None:
        raise IpubError(f"This {parameters.kind.__name__} estimator requires y to be passed, but the target y is None.")
    # Checked before scikit-learn does, whose errors for None and NA are less clear.
    values = labels_of(y)
    if values.ndim == 1 and values.dtype.kind in "fO":
        has_label = values == values if values.dtype.kind == "f" else [not is_missing(value) for value in values]
        missing = np.flatnonzero(~np.asarray(has_label, dtype=bool))
        if len(missing):
            raise IpubError(
                "Input y contains NaN: {row} has no label ({n} row(s) in all). {advice}",
                row=int(missing[0]),
                n=len(missing),
                advice=advice,
            )
    labels: NDArray[Any] = column_or_1d(y, warn=True)
    if len(labels) != n_rows:
        raise IpubError(
            f"Found input variables with inconsistent numbers of samples: X has {n_rows} rows, y has {len(labels)}."
        )
    return labels


def as_numbers(values: NDArray[Any], what: str, advice: str = "correct it") -> Array:
    """Return values as floats; raise an error with `advice` that names the first row whose value is no number."""
    if values.dtype.kind in "mM":
        raise IpubError(f"{what} holds dates or durations: turn them into numbers, days since some day for example.")
    try:
        return check_array(  # type: ignore[no-any-return]
            values, dtype=float, ensure_2d=False, ensure_all_finite=False, ensure_min_samples=0, input_name=what
        )
    except (TypeError, ValueError, OverflowError):
        for i, value in enumerate(values.tolist()):
            try:
                float(value)
            except (TypeError, ValueError, OverflowError) as error:
                raise IpubError(
                    "{what} is {value!r} in {row}, which is no number ({error}): {advice}.",
                    what=what,
                    value=value,
                    row=i,
                    error=str(error),
                    advice=advice,
                ) from None
        raise


def refuse_infinite(values: Array, rows: Indices | None = None) -> None:
    """Raise an error that names the row of an infinite label or target; `rows` are the rows of these values, or all."""
    wrong = np.flatnonzero(np.isinf(values))
    if len(wrong):
        raise IpubError(
            "Input y contains infinity in {row}: correct it, or drop the row.",
            value=float(values[wrong[0]]),
            row=int(wrong[0] if rows is None else rows[wrong[0]]),
        )


def _read_weights(sample_weight: ArrayLike | None, n_rows: int) -> Array:
    if sample_weight is None:
        return np.ones(n_rows)
    if isinstance(sample_weight, Real):
        sample_weight = np.full(n_rows, float(sample_weight))
    weight = np.array(as_numbers(column_or_1d(sample_weight), "sample_weight"))
    if len(weight) != n_rows:
        raise IpubError(f"sample_weight.shape == {weight.shape}, expected {(n_rows,)}!")
    check_weights(weight)
    if not weight.any():
        raise all_weights_are_zero()
    return weight


def check_weights(weight: Array) -> None:
    """Raise an error that names the row of a weight that is negative, NaN or too large."""
    bad = np.flatnonzero(~((weight >= 0.0) & (weight <= LARGEST)))
    if len(bad):
        raise IpubError(
            "sample_weight is {value} in {row}. Negative values in data passed to `sample_weight`, NaN and values "
            "beyond {largest:g} are not allowed.",
            value=float(weight[bad[0]]),
            row=int(bad[0]),
            largest=LARGEST,
        )


def all_weights_are_zero() -> IpubError:
    """Return the error for weights of which none is positive."""
    return IpubError("Every sample_weight is zero: at least one row must have a positive weight.")


# --- rows with their labels -------------------------------------------------------------------------------------------


def rows_of_models(rows: Rows, labels: Labels, max_label_errors: int) -> tuple[Rows, ...]:
    """Return the rows of each model to train, with what is uncertain of their labels.

    One model, or, for more than two classes, one for each class against the others.
    """
    if labels.radius is not None:
        rows = with_label_uncertainty(rows, LabelUncertainty(labels.radius, np.zeros(len(labels.radius))))
    if max_label_errors:
        rows = with_wrong_labels(rows, int(max_label_errors))
    n_classes = 0 if labels.classes is None else len(labels.classes)
    if len(labels.unknown):
        rows = _of_either_class(rows, labels.unknown, n_classes)
    if n_classes <= 2:
        return (rows,)
    return tuple(one_class_against_rest(rows, k, always=FOR) for k in range(n_classes))


def _of_either_class(rows: Rows, unknown: Indices, n_classes: int) -> Rows:
    """Enter rows of unknown class twice, for and against each class, each with half its weight (sec-labels)."""
    if not isinstance(rows, MemoryRows):
        raise IpubError("Rows of unknown class are not read from a file: load the table into memory first.")
    n = rows.n_rows
    twice = np.concatenate([np.arange(n), unknown])
    weight_radius = np.zeros(len(twice))
    weight_radius[unknown], weight_radius[n:] = 1.0, 1.0
    y, weight = rows.y[twice], rows.weight[twice] * np.where(weight_radius > 0.0, 0.5, 1.0)
    y[unknown], y[n:] = (1.0, -1.0) if n_classes == 2 else (FOR, AGAINST)
    pairs = np.column_stack([unknown, np.arange(n, len(twice))])
    return MemoryRows(rows.matrix.take(twice), y, weight, LabelUncertainty(np.zeros(len(twice)), weight_radius, pairs))
