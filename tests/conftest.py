"""Exact models are computed once for all workers of a run; what its attacks did is added up and printed at the end.

Of a test marked `share(n)`, one combination of parameters in n is run every time, the others by `make test-long`.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest

from support.attacks import Tally
from support.oracles import shared

EXACT_MODELS = pytest.StashKey[tempfile.TemporaryDirectory[str]]()


def pytest_configure(config: pytest.Config) -> None:
    """Give all workers one folder for exact models: it is new for each run and removed at its end."""
    if hasattr(config, "workerinput"):
        shared.use_folder(Path(config.workerinput["exact_models"]))
    else:
        config.stash[EXACT_MODELS] = tempfile.TemporaryDirectory(prefix="exact-models-")


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node) -> None:
    node.workerinput["exact_models"] = node.config.stash[EXACT_MODELS].name


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Of a test marked `share(n)`, leave all but one in n combinations to the long run, unless they are named.

    Those are run whose values have numbers with a sum that n divides: as on a chessboard, any values of all parameters
    but one still meet if that one has n values. If there is a value that would never be run, n is too large.
    """
    named = {_without_folder(name) for name in config.args}
    numbers: dict[tuple[str, int], dict[str, int]] = {}
    seen, run = set(), set()
    for item in items:
        mark = item.get_closest_marker("share") if isinstance(item, pytest.Function) else None
        if mark is None:
            continue
        test, values = item.nodeid.partition("[")[0], []
        for place, value in enumerate(_values_by_decorator(item)):
            known = numbers.setdefault((test, place), {})
            values.append((test, place, known.setdefault(value, len(known))))
        is_run = sum(number for *_, number in values) % mark.args[0] == 0
        if item.get_closest_marker("long") is None and "[" not in "".join(config.args):
            seen.update(values)
            run.update(values if is_run else [])
        if not is_run and _without_folder(item.nodeid) not in named:
            item.add_marker(pytest.mark.long)
    if seen != run:
        raise pytest.UsageError(f"share(n) with an n that is too large: {sorted(seen - run)}")


def _without_folder(name: str) -> str:
    path, _, test = name.partition("::")
    return f"{Path(path).name}::{test}"


def _values_by_decorator(item: pytest.Function) -> list[str]:
    """Return the values of the parameters that each decorator, or parametrised fixture, gives a test."""
    values, params = [], dict(item.callspec.params)
    for mark in item.iter_markers("parametrize"):
        names = mark.args[0].split(",") if isinstance(mark.args[0], str) else mark.args[0]
        values.append(repr([params.pop(name.strip()) for name in names]))
    return values + [repr(value) for value in params.values()]


def pytest_unconfigure(config: pytest.Config) -> None:
    if EXACT_MODELS in config.stash:
        config.stash[EXACT_MODELS].cleanup()


@pytest.fixture
def report_attack(record_property):
    """Hand the figures of an attack to the summary at the end of the run; they travel from any worker."""

    def report(tally: Tally) -> None:
        for name, value in tally.figures().items():
            record_property(f"attack {name}", value)

    return report


@pytest.fixture
def report_proofs(record_property):
    """Hand the number of exact comparisons to the summary at the end of the run."""
    return lambda count: record_property("attack exact proofs", count)


def pytest_terminal_summary(terminalreporter):
    totals: dict[str, int] = {}
    for outcome in ("passed", "failed"):
        for report in terminalreporter.stats.get(outcome, []):
            for name, value in getattr(report, "user_properties", []):
                if report.when == "call" and name.startswith("attack "):
                    key = name.removeprefix("attack ")
                    totals[key] = totals.get(key, 0) + value
    if "checks" in totals:
        checks, retrainings = totals["checks"], totals["retrainings"]
        terminalreporter.write_line(
            f"attacks: {checks:,} checks from {retrainings:,} retrainings, "
            f"{totals['adversarial_checks'] / checks:.1%} of the checks and "
            f"{totals['adversarial_retrainings'] / retrainings:.1%} of the retrainings adversarial, "
            f"{totals['aimed_checks']:,} checks of the very row and side aimed at, "
            f"{totals['sharp_checks'] / checks:.1%} with a tolerance below 1 % of the bound's width, "
            f"{totals['violations']:,} violations"
        )
    if "exact proofs" in totals:
        terminalreporter.write_line(f"exact: {totals['exact proofs']:,} bounds proven against exact minimisers")
