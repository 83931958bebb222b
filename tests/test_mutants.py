"""The list of mutants fits the source, and what runs them tells a killed one from a survivor."""

from pathlib import Path

import pytest

import ipub
from mutants.__main__ import try_mutant
from mutants.catalogue import MUTANTS
from mutants.entry import Mutant, StaleMutantError

PACKAGE = Path(ipub.__file__).parent
TESTS = Path(__file__).parent


def test_there_are_many_and_no_two_have_the_same_name_in_one_function():
    assert len(MUTANTS) >= 40
    assert len({(mutant.where, mutant.name) for mutant in MUTANTS}) == len(MUTANTS)


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: f"{mutant.where}: {mutant.name}")
def test_the_source_that_a_mutant_changes_is_there_once_and_its_tests_exist(mutant):
    path, changed = mutant.changed(PACKAGE)
    assert changed != path.read_text()
    if path.suffix == ".py":
        compile(changed, path.name, "exec")
    for test in mutant.tests:
        file, _, name = test.partition("::")
        assert f"def {name.partition('[')[0]}" in (TESTS / file).read_text()


@pytest.mark.parametrize("old", ["no such source", "value"])
def test_a_mutant_whose_source_is_not_there_once_is_refused_by_name(old):
    with pytest.raises(StaleMutantError, match="a stale one"):
        Mutant("a stale one", "up", old, "", ()).find(PACKAGE)


@pytest.mark.parametrize(("new", "killed"), [("np.add(value, step)", True), ("np.subtract(value, step)", False)])
def test_a_mutant_is_killed_if_a_test_fails_and_the_working_tree_stays_as_it_is(new, killed):
    file = PACKAGE / "numeric" / "rounding.py"
    before = file.read_text()
    test = "numeric/test_rounding.py::test_up_and_down_reach_the_neighbouring_floats_and_at_most_the_next_but_one"
    outcome = try_mutant(Mutant("down", "down", "np.subtract(value, step, out=step)", new, (test,)))
    assert outcome.broken == ""
    assert bool(outcome.killed_by) == killed
    assert file.read_text() == before


def test_tests_that_cannot_run_kill_nothing():
    mutant = Mutant("no Python", "UNDERFLOW", "= 1e-160", "= = 1e-160", ("numeric/test_rounding.py",))
    outcome = try_mutant(mutant)
    assert outcome.killed_by == ""
    assert "SyntaxError" in outcome.broken
