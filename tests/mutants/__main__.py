"""Put each mutant into a copy of the source and run its tests on the copy.

    python -m mutants [-j JOBS] [--again] [WORD ...]

Only mutants with one of the words in their name, file or function are run, all if there are no words. Those that were
killed before, by tests and in a file that have not changed since, are not tried again, so an interrupted run goes on
where it stopped; `--again` tries them all. The exit status
is 1 if a mutant survives that is not argued to be equivalent, and 2 if the list of mutants does not fit the source or
the tests do not pass on the unchanged source.
"""

from __future__ import annotations

import argparse
import re
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from mutants.catalogue import MUTANTS
from mutants.copies import (
    FAILED,
    PASSED,
    ROOT,
    CannotBuildError,
    build_loops,
    copy_built_source,
    copy_source,
    run_tests,
)
from mutants.entry import Mutant, StaleMutantError
from mutants.record import Record

PACKAGE = ROOT / "src" / "ipub"

RECORD = ROOT / "build" / "mutants.jsonl"
"""Where it is kept which were killed."""

MOST_SECONDS = 1800
"""No tests of a mutant take nearly as long; if they do, nothing is known of it."""


@dataclass(frozen=True)
class Outcome:
    """What the tests said of a mutant."""

    mutant: Mutant
    killed_by: str
    """The test that failed first; empty if none did."""
    broken: str
    """What pytest wrote if it could not run the tests."""
    seconds: float


def try_mutant(mutant: Mutant) -> Outcome:
    """Run the tests of one mutant on a copy of the source that has it."""
    start = time.perf_counter()
    with tempfile.TemporaryDirectory(prefix="mutant-") as name:
        try:
            is_compiled = mutant.is_compiled(PACKAGE)
            mutant.apply((copy_built_source if is_compiled else copy_source)(Path(name)))
            if is_compiled:
                build_loops(Path(name))
            status, output = run_tests(Path(name) / "src", mutant.tests, timeout=MOST_SECONDS)
        except CannotBuildError as error:
            return Outcome(mutant, "", str(error), time.perf_counter() - start)
        except TimeoutError:
            return Outcome(mutant, "", f"The tests did not end within {MOST_SECONDS} s.", time.perf_counter() - start)
    found = re.search(r"^(?:FAILED|ERROR) (\S+)", output, flags=re.MULTILINE)
    killed_by = (found.group(1) if found else "a test") if status == FAILED else ""
    broken = "" if killed_by or status == PASSED else output
    return Outcome(mutant, killed_by.removeprefix("tests/"), broken, time.perf_counter() - start)


def passes_unchanged(mutants: list[Mutant], jobs: int) -> bool:
    """Run all tests of some mutants on an unchanged copy: only what passes there can notice anything."""
    tests = tuple(dict.fromkeys(test for mutant in mutants for test in mutant.tests))
    with tempfile.TemporaryDirectory(prefix="unchanged-") as name:
        source = copy_source(Path(name)).parent
        status, output = run_tests(source, tests, "-n", str(jobs))
    if status != PASSED:
        print(output)
        print("The tests do not pass on the unchanged source.")
    return status == PASSED


def _title(mutant: Mutant) -> str:
    """Return file, function and name of a mutant; without the file, if it is stale."""
    try:
        file = f"{mutant.find(PACKAGE)[0].relative_to(PACKAGE)}: "
    except StaleMutantError:
        file = ""
    return f"{file}{mutant.where}: {mutant.name}"


def report(outcome: Outcome) -> None:
    mutant = outcome.mutant
    if outcome.broken:
        print(f"{outcome.broken}\nBROKEN    {mutant.where}: {mutant.name}")
    elif outcome.killed_by:
        print(f"killed    {mutant.where}: {mutant.name} ({outcome.seconds:.0f} s, {outcome.killed_by})")
    elif mutant.equivalent:
        print(f"equivalent {mutant.where}: {mutant.name}: {mutant.equivalent}")
    else:
        print(f"SURVIVED  {mutant.where}: {mutant.name} ({outcome.seconds:.0f} s)")
    sys.stdout.flush()


def main() -> int:
    parser = argparse.ArgumentParser(prog="mutants", description="Run tests on a source with errors planted in it.")
    parser.add_argument("words", nargs="*", help="run only mutants with one of these in their name or file")
    parser.add_argument("-j", "--jobs", type=int, default=2, help="mutants at a time")
    parser.add_argument("--no-check", action="store_true", help="do not run the tests on the unchanged source first")
    parser.add_argument("--again", action="store_true", help="try those that were killed before, too")
    options = parser.parse_args()
    chosen = [m for m in MUTANTS if not options.words or any(w in _title(m) for w in options.words)]
    try:
        for mutant in chosen:
            mutant.find(PACKAGE)
    except StaleMutantError as error:
        print(error)
        return 2
    record = Record(RECORD, PACKAGE, ROOT / "tests")
    before = {} if options.again else {mutant: record.killed_by(mutant) for mutant in chosen}
    left = [mutant for mutant in chosen if not before.get(mutant)]
    if len(left) < len(chosen):
        print(f"{len(chosen) - len(left)} of {len(chosen)} mutants were killed before; --again tries them too.")
    if left and not options.no_check and not passes_unchanged(left, options.jobs):
        return 2
    outcomes = [Outcome(mutant, killed_by, "", 0.0) for mutant, killed_by in before.items() if killed_by]
    with ThreadPoolExecutor(options.jobs) as pool:
        for outcome in pool.map(try_mutant, left):
            report(outcome)
            outcomes.append(outcome)
            if outcome.killed_by:
                record.add(outcome.mutant, outcome.killed_by)
    survivors = [o for o in outcomes if not (o.killed_by or o.broken or o.mutant.equivalent)]
    killed = sum(bool(o.killed_by) for o in outcomes)
    equivalent = sum(not o.killed_by and bool(o.mutant.equivalent) for o in outcomes)
    print(f"{killed} of {len(outcomes)} mutants killed, {equivalent} argued equivalent, {len(survivors)} survived.")
    for outcome in survivors:
        print(f"SURVIVED  {outcome.mutant.where}: {outcome.mutant.name}")
    wrongly_argued = [o for o in outcomes if o.killed_by and o.mutant.equivalent]
    for outcome in wrongly_argued:
        print(f"Argued equivalent, but killed by {outcome.killed_by}: {outcome.mutant.name}")
    if any(outcome.broken for outcome in outcomes):
        return 2
    return 1 if survivors or wrongly_argued else 0


if __name__ == "__main__":
    sys.exit(main())
