"""Adds up what the attacks of a run did, over all workers, and prints it at the end."""

from __future__ import annotations

import pytest

from support.attacks import Tally


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
