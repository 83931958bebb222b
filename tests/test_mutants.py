"""The list of mutants fits the source, and what runs them tells a killed one from a survivor."""

import subprocess
import sys
from pathlib import Path

import pytest

import ipub
from mutants.__main__ import try_mutant
from mutants.catalogue import MUTANTS
from mutants.entry import Mutant, StaleMutantError
from mutants.record import Record

PACKAGE = Path(ipub.__file__).parent
TESTS = Path(__file__).parent


def test_there_are_many_and_no_two_have_the_same_name_in_one_function():
    assert len(MUTANTS) >= 40
    assert len({(mutant.where, mutant.name) for mutant in MUTANTS}) == len(MUTANTS)


def test_the_source_that_a_mutant_changes_is_there_once():
    stale = []
    for mutant in MUTANTS:
        try:
            mutant.find(PACKAGE)
        except StaleMutantError as error:
            stale.append(str(error))
        assert mutant.old != mutant.new, mutant
    assert not stale, "\n".join(stale)


def test_the_source_that_a_mutant_makes_is_python():
    for mutant in MUTANTS:
        path, changed = mutant.changed(PACKAGE)
        if path.suffix == ".py":
            try:
                compile(changed, path.name, "exec")
            except SyntaxError as error:
                raise AssertionError(mutant) from error


def test_the_tests_of_a_mutant_exist():
    named = {test.partition("[")[0] for mutant in MUTANTS for test in mutant.tests}
    sources = {file: (TESTS / file).read_text() for file in {test.partition("::")[0] for test in named}}
    for test in named:
        file, _, name = test.partition("::")
        assert not name or f"def {name}(" in sources[file], test


def test_the_combinations_that_a_mutant_names_exist():
    named = {str(TESTS / test) for mutant in MUTANTS for test in mutant.tests if "[" in test}
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider", *sorted(named)]
    done = subprocess.run(command, cwd=TESTS.parent, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]


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


def test_a_mutant_that_was_killed_is_tried_again_only_after_a_change(tmp_path):
    package, tests = tmp_path / "package", tmp_path / "tests"
    package.mkdir()
    tests.mkdir()
    (package / "f.py").write_text("def f():\n    return 1\n")
    (tests / "test_f.py").write_text("# one\n")
    mutant = Mutant("two", "f", "return 1", "return 2", ("test_f.py::test_f",))
    file = tmp_path / "build" / "mutants.jsonl"

    record = Record(file, package, tests)
    assert record.killed_by(mutant) == ""
    record.add(mutant, "test_f.py::test_f")
    with file.open("a") as lines:
        lines.write('["interrupted')
    assert Record(file, package, tests).killed_by(mutant) == "test_f.py::test_f"

    (tests / "test_f.py").write_text("# another\n")
    assert Record(file, package, tests).killed_by(mutant) == ""
