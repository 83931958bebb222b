"""Certified prediction bounds for models trained on data with missing values."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ipub.app.files.modelfile import load, save
    from ipub.errors import IpubError, IpubWarning
    from ipub.estimators import BoundedClassifier, BoundedRegressor
    from ipub.estimators.held_out_bounds import cross_val_bounds
    from ipub.estimators.imputation_check import ImputationReport, imputation_report
    from ipub.estimators.penalty_paths import PenaltyPath, penalty_path
    from ipub.estimators.pipelines import BoundedPipeline, make_bounded_pipeline
    from ipub.estimators.sklearn_models.certified import certify
    from ipub.promises import Budget, Draws
    from ipub.reports.document import report
    from ipub.tables.columns import SentinelWarning
    from ipub.tables.holes import IntervalWarning
    from ipub.tables.interval_matrix import IntervalMatrix
    from ipub.tables.levels import CategoryWarning
    from ipub.training.reading.intervals import Intervals
    from ipub.verification.record import Verification
    from ipub.verification.retraining import verify

__version__ = "0.1.0"
__all__ = [
    "BoundedClassifier",
    "BoundedPipeline",
    "BoundedRegressor",
    "Budget",
    "CategoryWarning",
    "Draws",
    "ImputationReport",
    "IntervalMatrix",
    "IntervalWarning",
    "Intervals",
    "IpubError",
    "IpubWarning",
    "PenaltyPath",
    "SentinelWarning",
    "Verification",
    "__version__",
    "certify",
    "cross_val_bounds",
    "imputation_report",
    "load",
    "make_bounded_pipeline",
    "penalty_path",
    "report",
    "save",
    "verify",
]

if not TYPE_CHECKING:  # which would take any name for one of ours
    _MODULES = {
        "BoundedClassifier": "estimators",
        "BoundedPipeline": "estimators.pipelines",
        "BoundedRegressor": "estimators",
        "Budget": "promises",
        "CategoryWarning": "tables.levels",
        "Draws": "promises",
        "ImputationReport": "estimators.imputation_check",
        "IntervalMatrix": "tables.interval_matrix",
        "IntervalWarning": "tables.holes",
        "Intervals": "training.reading.intervals",
        "IpubError": "errors",
        "IpubWarning": "errors",
        "PenaltyPath": "estimators.penalty_paths",
        "SentinelWarning": "tables.columns",
        "Verification": "verification.record",
        "certify": "estimators.sklearn_models.certified",
        "cross_val_bounds": "estimators.held_out_bounds",
        "imputation_report": "estimators.imputation_check",
        "load": "app.files.modelfile",
        "make_bounded_pipeline": "estimators.pipelines",
        "penalty_path": "estimators.penalty_paths",
        "report": "reports.document",
        "save": "app.files.modelfile",
        "verify": "verification.retraining",
    }

    def __getattr__(name: str) -> Any:
        """Import what is asked for: the package alone, for its version say, loads in no time."""
        if name not in _MODULES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        found = globals()[name] = getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
        return found

    def __dir__() -> list[str]:
        return sorted({*globals(), *__all__})
