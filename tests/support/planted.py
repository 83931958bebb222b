"""Errors planted on purpose: how they are put into the package, and that they are caught."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from types import ModuleType

import pytest

from ipub.numeric import rounding

PACKAGES = ("ipub", "experiments")
"""Where errors are planted: certificates that others have published are among the experiments."""


def plant(monkeypatch: pytest.MonkeyPatch, name: str, value: object) -> None:
    """Replace a name in every module of the packages that has it."""
    modules = [module for key, module in sys.modules.items() if key.split(".")[0] in PACKAGES and name in vars(module)]
    assert modules
    for module in modules:
        monkeypatch.setattr(module, name, value)


def plant_rounding_without_loops(monkeypatch: pytest.MonkeyPatch, names: dict[str, object]) -> None:
    """Round outward with NumPy, in the packages and in a module with these names."""
    for name in ("up", "down", "sum_error", "sum_upper"):
        with_loops = getattr(rounding, name)
        plain = getattr(with_loops, "__wrapped__", with_loops)
        plant_function(monkeypatch, rounding, name, plain)
        monkeypatch.setitem(names, name, plain)


def same(value):
    return value


def assert_caught(check: Callable[[], list[str]], plant_error: Callable[[], None]) -> None:
    assert check() == []
    plant_error()
    assert check() != []


def nothing(value):
    return 0.0 * value


def half(value):
    return 0.5 * value


def plant_function(monkeypatch: pytest.MonkeyPatch, owner: object, name: str, value: object) -> None:
    """Replace an attribute; that of a module in every module of the packages that imported it."""
    honest = getattr(owner, name)
    monkeypatch.setattr(owner, name, value)
    if isinstance(owner, ModuleType):
        for key, module in list(sys.modules.items()):
            if key.split(".")[0] in PACKAGES and vars(module).get(name) is honest:
                monkeypatch.setattr(module, name, value)


@contextmanager
def planted_function(owner: object, name: str, value: object) -> Iterator[None]:
    """Replace an attribute for some time; see `plant_function`."""
    with pytest.MonkeyPatch.context() as monkeypatch:
        plant_function(monkeypatch, owner, name, value)
        yield


def with_changes(result, **changes: Callable):
    """Return a dataclass or a named tuple with some fields changed; None stays."""
    if result is None:
        return None
    changed = {field: change(getattr(result, field)) for field, change in changes.items()}
    return result._replace(**changed) if hasattr(result, "_replace") else replace(result, **changed)


def altered(owner: object, name: str, **changes: Callable) -> Callable[[pytest.MonkeyPatch], None]:
    """Return what makes a function give a result with other fields."""
    honest = getattr(owner, name)

    def planted(*args, **kwargs):
        return with_changes(honest(*args, **kwargs), **changes)

    return replaced(owner, name, staticmethod(planted) if hasattr(honest, "__self__") else planted)


def replaced(owner: object, name: str, value: object) -> Callable[[pytest.MonkeyPatch], None]:
    """Return what puts something else in the place of a function."""
    return lambda monkeypatch: plant_function(monkeypatch, owner, name, value)


def scaled(owner: object, name: str, factor: float) -> Callable[[pytest.MonkeyPatch], None]:
    """Return what makes a function give so many times what it gives, or each of its parts."""
    honest = getattr(owner, name)

    def planted(*args, **kwargs):
        found = honest(*args, **kwargs)
        if not isinstance(found, tuple):
            return factor * found
        parts = [factor * part for part in found]
        return type(found)(*parts) if hasattr(found, "_fields") else tuple(parts)

    return replaced(owner, name, planted)
