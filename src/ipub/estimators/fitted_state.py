"""The fitted state of an estimator: set all at once, and used only while the parameters are those of `fit`."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from types import FunctionType
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from ipub.certificates import Certificate
from ipub.losses import Loss, make_loss
from ipub.numeric.parallel import single_threaded_blas
from ipub.rows.sparse_array import unit_rows
from ipub.training import Training
from ipub.training.deferred import done
from ipub.training.reading import Columns, LearntTable
from ipub.training.reading.intervals import FORMER_PARAMETERS
from ipub.training.training import Certified

MAY_CHANGE_AFTER_FIT = frozenset({"effort", "handle_unknown", "max_iter", "random_state", "tol", "verbose"})
"""Parameters that may change after `fit`: how rows are read, how exact training is and what is shown. All others
determine what the model and its bounds mean."""

TRAINING, FITTED_WITH = "_training", "_fitted_with"
"""Attributes that are no results: the training, with its rows, and the parameters of `fit`. An estimator that was
copied, unpickled or loaded has no training until it is asked for one, which then has no rows."""

CERTIFIED = ("certificate_", "coef_bounds_", "intercept_bounds_")
"""Results of `fit` that need what is certified."""

SHOWN = 60
"""Characters of a parameter's value in an error message, at most."""


class KeptTraining(NamedTuple):
    """The training of an estimator."""

    training: Training
    results: Mapping[str, Any]
    """The results of `fit` that it has: one that was set by hand since is another object, and counts."""


def certificates_of(certificate: Certificate | tuple[Certificate, ...] | None) -> tuple[Certificate, ...]:
    """Return what `certificate_` of an estimator is, as one for each model; none if nothing was certified."""
    if certificate is None:
        return ()
    return certificate if isinstance(certificate, tuple) else (certificate,)


def keeps_training_rows(certificate: Certificate | tuple[Certificate, ...] | None) -> bool:
    """Whether a certificate, or one of several, keeps training rows; None keeps nothing."""
    return any(each.keeps_training_rows for each in certificates_of(certificate))


def keep_training(estimator: Any, training: Training) -> None:
    """Make an estimator the fitted one of a training. Either all of its fitted attributes change or none."""
    table = training.table
    attributes: dict[str, Any] = {
        "n_features_in_": table.columns.n_features_in,
        "encoder_": table.columns.encoder,
        "hole_ranges_": table.hole_ranges,
        "fill_values_": table.fill_values,
        "precision_": table.precision,
        "scaling_": table.scaling,
        "conditional_intervals_": table.conditional,
        "alpha_": training.alpha,
        "alpha_choice_": training.alpha_choice,
        "n_iter_": training.n_iter,
        "dual_gap_": training.dual_gap,
        "coef_": training.coef,
        "intercept_": training.intercept,
    }
    if training.certified.is_done:
        attributes |= _certified_results(training)
    if table.columns.feature_names_in is not None:
        attributes["feature_names_in_"] = table.columns.feature_names_in
    if training.classes is None:
        attributes["coef_"], attributes["intercept_"] = training.coef[0], float(training.intercept[0])
    else:
        attributes["classes_"] = training.classes
    _assign(estimator, attributes, KeptTraining(training, attributes))


def _certified_results(training: Training) -> dict[str, Any]:
    """Return the results of `fit` that need what is certified; it is certified now unless it was before."""
    certificates = training.certificates
    if not certificates:
        return {"certificate_": None}
    results: tuple[Any, ...] = certificates, training.coef_bounds, training.intercept_bounds
    only = len(certificates) == 1
    return {name: value[0] if only else value for name, value in zip(CERTIFIED, results, strict=True)}


def certify_now(estimator: Any) -> dict[str, Any]:
    """Give an estimator the results of `fit` that need what is certified, if it was fitted without them.

    Returns its attributes. A fit in another thread meanwhile gives it new ones, which these do not touch.
    """
    state: dict[str, Any] = vars(estimator)
    kept: KeptTraining | None = state.get(TRAINING)
    if kept is not None and "certificate_" not in kept.results:
        results = _certified_results(kept.training)
        # One that was set by hand stays, and counts.
        new = {name: value for name, value in results.items() if name not in state}
        state.update(new, **{TRAINING: KeptTraining(kept.training, {**kept.results, **results})})
    return state


class CertifiedResult:
    """An attribute of a fitted estimator that needs what is certified: made at the first request."""

    def __set_name__(self, owner: type[Any], name: str) -> None:
        self.name = name

    def __get__(self, estimator: Any, owner: type[Any]) -> Any:
        # Python asks here only if the estimator has no attribute of this name of its own.
        if estimator is not None:
            state = certify_now(estimator)
            if self.name in state:
                return state[self.name]
        raise AttributeError(f"{owner.__name__!r} object has no attribute {self.name!r}")


def _assign(estimator: Any, attributes: Mapping[str, Any], training: KeptTraining | None) -> None:
    # Not every fit sets these: what an earlier one has left would be wrong.
    not_always = {"feature_names_in_", *CERTIFIED}
    others = {name: value for name, value in vars(estimator).items() if name not in not_always}
    parameters = {**dict.fromkeys(FORMER_PARAMETERS), **estimator.get_params(deep=False)}
    # Copies, so that a mapping or an array that is changed in place is noticed.
    meaning = {name: copy.deepcopy(value) for name, value in parameters.items() if name not in MAY_CHANGE_AFTER_FIT}
    # One assignment: an interrupt comes before it or after it.
    estimator.__dict__ = {**others, **attributes, TRAINING: training, FITTED_WITH: meaning}


def is_result(name: str) -> bool:
    """Whether an attribute is a result of `fit`, by scikit-learn's convention."""
    return name.isidentifier() and name.endswith("_") and not name.startswith("_")


def training_of(estimator: Any) -> Training:
    """Return the training of a fitted estimator, whose parameters are checked."""
    check_unchanged(estimator)
    state = vars(estimator)
    kept: KeptTraining | None = state.get(TRAINING)
    by_hand = () if kept is None else [name for name in CERTIFIED if name in state and name not in kept.results]
    if kept is None or by_hand or any(state.get(name) is not value for name, value in kept.results.items()):
        if state.get(TRAINING) is not kept:  # certified in another thread meanwhile
            return training_of(estimator)
        certify_now(estimator)
        results = {name: value for name, value in state.items() if is_result(name)}
        kept = state[TRAINING] = KeptTraining(_training_from(estimator, kept), results)
    return kept.training


def loss_of(estimator: Any) -> Loss:
    """Return the loss that the parameters of an estimator name."""
    return make_loss(estimator.loss, estimator.get_params(deep=False))


def _training_from(estimator: Any, kept: KeptTraining | None) -> Training:
    """Return the training that the results of a fitted estimator describe, with the rows that it has kept."""
    columns = Columns(
        type(estimator), estimator.n_features_in_, getattr(estimator, "feature_names_in_", None), estimator.encoder_
    )
    table = LearntTable(
        columns,
        estimator.hole_ranges_,
        estimator.fill_values_,
        estimator.precision_,
        estimator.scaling_,
        estimator.conditional_intervals_,
    )
    certificates, d = certificates_of(estimator.certificate_), len(estimator.fill_values_)
    n_certified, nothing = len(certificates), np.empty(0)
    coef_bounds = np.reshape(getattr(estimator, "coef_bounds_", nothing), (n_certified, d, 2))
    intercept_bounds = np.reshape(getattr(estimator, "intercept_bounds_", nothing), (n_certified, 2))
    return Training(
        table,
        loss_of(estimator),
        estimator.alpha_,
        estimator.fit_intercept,
        getattr(estimator, "classes_", None),
        done(Certified(certificates, coef_bounds, intercept_bounds)),
        coef=np.reshape(estimator.coef_, (-1, d)),
        intercept=np.reshape(estimator.intercept_, -1),
        n_iter=estimator.n_iter_,
        dual_gap=estimator.dual_gap_,
        models=() if kept is None else kept.training.models,
        around=None if kept is None else kept.training.around,
        alpha_choice=estimator.alpha_choice_,
        given=None if kept is None else kept.training.given,
    )


# --- parameters that change after fit --------------------------------------------------------------


def check_unchanged(estimator: Any) -> None:
    """Raise a `NotFittedError` if an estimator is not fitted, or if a parameter with a meaning is not that of `fit`."""
    fitted_with = vars(estimator).get(FITTED_WITH)
    if fitted_with is None:
        check_is_fitted(estimator, [FITTED_WITH, "certificate_"])
    for name, before in fitted_with.items():
        now = getattr(estimator, name)
        # What can be changed in place was copied, and is another object.
        if before is not now and not _is_same(before, now):
            raise NotFittedError(
                f"{name} was {_shown(before)} when this {type(estimator).__name__} was fitted, and is {_shown(now)} "
                "now: call fit again, or set it back."
            )


def fitted_parameter(estimator: Any, name: str) -> Any:
    """Return the value that a parameter had in `fit`; of an estimator that is not fitted, the value that it has."""
    return getattr(estimator, FITTED_WITH, {}).get(name, getattr(estimator, name))


def stored_parameter(value: Any) -> Any:
    """Return the value of a parameter as files and pickles hold it: without fillings and imputers."""
    return value.stored() if hasattr(value, "stored") else value


def _is_same(before: Any, now: Any) -> bool:
    """Whether two values of a parameter are equal; arrays and sequences value by value, mappings key by key."""
    if isinstance(before, Mapping) and isinstance(now, Mapping):
        return before.keys() == now.keys() and all(_is_same(value, now[key]) for key, value in before.items())
    if is_dataclass(before) or is_dataclass(now):
        return type(before) is type(now) and all(
            _is_same(getattr(before, field.name), getattr(now, field.name)) for field in fields(before) if field.compare
        )
    if isinstance(before, BaseEstimator) or isinstance(now, BaseEstimator):
        return type(before) is type(now) and _is_same(before.get_params(), now.get_params())
    if callable(before) or callable(now):
        return before is now or type(before) is type(now) is not FunctionType
    if before is None or now is None:
        return before is now
    if isinstance(before, str) or isinstance(now, str):
        return isinstance(before, str) and isinstance(now, str) and before == now
    try:
        first, second = np.asarray(before), np.asarray(now)
    except ValueError:  # lists of different lengths, which are no array
        return False
    are_numbers = first.dtype.kind in "biuf" and second.dtype.kind in "biuf"
    return np.array_equal(first, second, equal_nan=are_numbers)


def _shown(value: Any) -> str:
    text = " ".join(repr(value).split())
    return text if len(text) <= SHOWN else f"{text[: SHOWN - 3]}..."


# --- model files -----------------------------------------------------------------------------------


def fitted_attributes(estimator: Any, rows: bool) -> dict[str, Any]:
    """Return the results of `fit` by name, for a file; `restore_fitted` takes them back.

    Without `rows`, bounds of scores and weights are in the form that keeps no training rows.
    """
    check_unchanged(estimator)
    attributes = {name: value for name, value in certify_now(estimator).items() if is_result(name)}
    return attributes if rows else _without_rows(attributes, training_of(estimator))


def _without_rows(attributes: dict[str, Any], training: Training) -> dict[str, Any]:
    """Return fitted attributes with certificates that keep no training rows, and the bounds of weights from these."""
    if not training.certificates:
        return attributes
    from ipub.training.without_rows import certificates_without_rows

    certificates, d = certificates_without_rows(training), training.coef.shape[1]
    with single_threaded_blas(d):
        bounds = np.stack([each.score_bounds(unit_rows(d + training.fit_intercept)) for each in certificates])
    of_intercept = bounds[:, d] if training.fit_intercept else np.zeros((len(bounds), 2))
    found: dict[str, Any] = {
        "certificate_": certificates,
        "coef_bounds_": bounds[:, :d],
        "intercept_bounds_": of_intercept,
    }
    is_one = not isinstance(attributes["certificate_"], tuple)
    return attributes | {name: value[0] if is_one else value for name, value in found.items()}


def stored_state(estimator: Any, state: dict[str, Any]) -> dict[str, Any]:
    """Return the state of an estimator for a pickle: without the training table."""
    if FITTED_WITH not in state:
        return state
    # A filling or an imputer may hold the table too.
    fitted_with = {name: stored_parameter(value) for name, value in state[FITTED_WITH].items()}
    return {**state, TRAINING: None, FITTED_WITH: fitted_with, "uncertainty": stored_parameter(estimator.uncertainty)}


def as_saved(estimator: Any, rows: bool) -> Any:
    """Return a fitted estimator as `load` gives it back: its bounds are those that a file delivers."""
    parameters = {name: stored_parameter(value) for name, value in estimator.get_params(deep=False).items()}
    other = type(estimator)(**parameters)
    restore_fitted(other, fitted_attributes(estimator, rows))
    return other


def restore_fitted(estimator: Any, attributes: Mapping[str, Any]) -> None:
    """Make an estimator with its parameters the fitted one of which `fitted_attributes` were stored."""
    # Files of earlier versions do not have all of them; alpha was a number then.
    others = dict.fromkeys(("encoder_", "scaling_", "conditional_intervals_", "alpha_choice_"))
    _assign(estimator, {**others, "alpha_": estimator.alpha, **attributes}, None)
