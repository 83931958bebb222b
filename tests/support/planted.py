"""Errors planted on purpose: how they are put into the package, and that they are caught."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace

import pytest


def plant(monkeypatch: pytest.MonkeyPatch, name: str, value: object) -> None:
    """Replace a name in every module of the package that has it."""
    modules = [module for key, module in sys.modules.items() if key.split(".")[0] == "ipub" and name in vars(module)]
    assert modules
    for module in modules:
        monkeypatch.setattr(module, name, value)


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


def altered(owner: object, name: str, **changes: Callable) -> Callable[[pytest.MonkeyPatch], None]:
    """Return what makes a function, or a method, give a result with other fields."""
    honest = getattr(owner, name)

    def planted(*args, **kwargs):
        found = honest(*args, **kwargs)
        return found and replace(found, **{field: change(getattr(found, field)) for field, change in changes.items()})

    return replaced(owner, name, staticmethod(planted) if hasattr(honest, "__self__") else planted)


def replaced(owner: object, name: str, value: object) -> Callable[[pytest.MonkeyPatch], None]:
    return lambda monkeypatch: monkeypatch.setattr(owner, name, value)


def scaled(owner: object, name: str, factor: float) -> Callable[[pytest.MonkeyPatch], None]:
    """Return what makes a function give so many times what it gives, or each of its parts."""
    honest = getattr(owner, name)

    def planted(*args):
        found = honest(*args)
        return tuple(factor * part for part in found) if isinstance(found, tuple) else factor * found

    return replaced(owner, name, planted)
