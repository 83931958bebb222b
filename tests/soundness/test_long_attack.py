"""The long attack goes on where it stopped, and finds what is planted in answers that only it attacks."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from ipub import BoundedClassifier, BoundedRegressor
from support import attack_areas, long_attack
from support.attack_areas import AREAS, Tally


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    monkeypatch.setattr(attack_areas, "RETRAININGS", 20)


ANSWERS = ("metric ranges", "first k rows", "tipping brackets", "any filling, log_loss", "labels in doubt")


@pytest.mark.parametrize("area", ANSWERS)
def test_nothing_is_violated(area):
    found = Tally()
    for number in range(3):
        found.add(long_attack.problem(area, number))
    assert found.problems == 3
    assert found.checks >= found.retrainings > 5
    assert not found.violations


def is_found(area: str) -> bool:
    return any(long_attack.problem(area, number).violations for number in range(4))


def test_a_range_of_a_metric_that_is_too_narrow_is_found(monkeypatch):
    score_range = BoundedClassifier.score_range

    def narrowed(self, X, y, name, search):
        known = score_range(self, X, y, name, search=search)
        return replace(known, lower=known.value, upper=known.value)

    monkeypatch.setattr(BoundedClassifier, "score_range", narrowed)
    assert is_found("metric ranges")


def test_rows_that_are_said_to_be_first_and_are_not_are_found(monkeypatch):
    for kind in (BoundedClassifier, BoundedRegressor):
        top = kind.top

        def wrong(self, rows, k, top=top):
            known = top(self, rows, k)
            known.rows["state"] = np.where(known.rows["state"] == "out", "in", known.rows["state"])
            return known

        monkeypatch.setattr(kind, "top", wrong)
    assert is_found("first k rows")


def test_a_number_of_cells_that_is_too_large_is_found(monkeypatch):
    monkeypatch.setattr(BoundedClassifier, "flip_distance", lambda self, rows: np.full((len(rows), 2), np.inf))
    assert is_found("tipping brackets")


def test_a_run_goes_on_where_it_stopped(tmp_path, monkeypatch, capsys):
    asked = []

    def area(rng):
        asked.append(rng.random())
        return Tally(problems=1, retrainings=2, aimed=1, checks=5, violations=["planted"] if len(asked) == 3 else [])

    monkeypatch.setattr(long_attack, "AREAS", {**AREAS, "budgets": area})
    given = ["--areas", "budgets", "--record", str(tmp_path / "attack.json"), "--minutes"]
    clock = iter(range(100))
    monkeypatch.setattr(long_attack.time, "monotonic", lambda: float(next(clock)))
    assert long_attack.main([*given, str(2.5 / 60)]) == 0
    assert len(asked) == 2
    assert long_attack.main([*given, str(1.5 / 60)]) == 1
    assert "planted" in capsys.readouterr().out
    assert len(set(asked)) == 3
    known = long_attack.read(tmp_path / "attack.json")["budgets"]
    assert (known.problems, known.checks, known.violations) == (3, 15, ["planted"])


def test_a_share_that_is_promised_and_missed_is_a_violation():
    tallies = {name: Tally() for name in AREAS}
    tallies["conditional intervals"] = Tally(hits=880, trials=1000)
    assert not long_attack.violated(tallies)
    tallies["conditional intervals"] = Tally(hits=700, trials=1000)
    assert "90% are promised" in long_attack.violated(tallies)[0]
