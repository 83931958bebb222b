"""Certified prediction bounds for models trained on data with missing values."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ipub.data.holes import IntervalWarning
    from ipub.data.interval_matrix import IntervalMatrix
    from ipub.data.levels import CategoryWarning
    from ipub.data.sentinels import SentinelWarning
    from ipub.errors import IpubError, IpubWarning
    from ipub.estimators import BoundedClassifier, BoundedRegressor
    from ipub.imputation_check import ImputationReport, imputation_report
    from ipub.penalty_paths import PenaltyPath, penalty_path
    from ipub.sklearn_models.certify import certify
    from ipub.uncertainty import Budget, Draws

__version__ = "0.1.0"
__all__ = [
    "BoundedClassifier",
    "BoundedRegressor",
    "Budget",
    "CategoryWarning",
    "Draws",
    "ImputationReport",
    "IntervalMatrix",
    "IntervalWarning",
    "IpubError",
    "IpubWarning",
    "PenaltyPath",
    "SentinelWarning",
    "__version__",
    "certify",
    "imputation_report",
    "penalty_path",
]

if not TYPE_CHECKING:  # which would take any name for one of ours
    _MODULES = {
        "BoundedClassifier": "estimators",
        "BoundedRegressor": "estimators",
        "Budget": "uncertainty",
        "CategoryWarning": "data.levels",
        "Draws": "uncertainty",
        "ImputationReport": "imputation_check",
        "IntervalMatrix": "data.interval_matrix",
        "IntervalWarning": "data.holes",
        "IpubError": "errors",
        "IpubWarning": "errors",
        "PenaltyPath": "penalty_paths",
        "SentinelWarning": "data.sentinels",
        "certify": "sklearn_models.certify",
        "imputation_report": "imputation_check",
        "penalty_path": "penalty_paths",
    }

    def __getattr__(name: str) -> Any:
        """Import what is asked for: the package alone, for its version say, loads in no time."""
        if name not in _MODULES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        found = globals()[name] = getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
        return found

    def __dir__() -> list[str]:
        return sorted({*globals(), *__all__})
