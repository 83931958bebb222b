"""A long attack on bounds, area by area, which goes on where it was stopped.

    PYTHONPATH=tests python -m support.long_attack [--minutes M] [--areas AREA ...]

Each problem is a random table, model and promise; its bounds are attacked by retraining with the independent verifier
(`ipub.verify`), or with ball arithmetic ("any vector"). What was done is added, problem by problem, to
``build/attack.json``; the number of a problem is its seed. The exit status is 1 if a bound was ever violated.
"""

from __future__ import annotations

import argparse
import json
import os
import time
import traceback
import warnings
from dataclasses import asdict
from pathlib import Path
from unittest.mock import patch

import numpy as np
from scipy.stats import binom

from ipub.verification import ball_proofs
from support.attack_areas import AREAS, COVERED, Tally

RECORD = Path(__file__).parents[2] / "build" / "attack.json"
UNLIKELY = 1e-9
"""A share that is promised is contradicted by a count that is less likely."""


def read(path: Path) -> dict[str, Tally]:
    """Return what was done before."""
    known = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    return {name: Tally(**known.get(name, {})) for name in AREAS}


def write(path: Path, tallies: dict[str, Tally]) -> None:
    """Replace the record as a whole."""
    path.parent.mkdir(exist_ok=True)
    part = path.with_suffix(f".{os.getpid()}.part")
    part.write_text(json.dumps({name: asdict(each) for name, each in tallies.items()}, indent=1), encoding="utf-8")
    os.replace(part, path)


def problem(name: str, number: int) -> Tally:
    """Attack one problem of an area; an error of the package is no violation, and ends the run."""
    rng = np.random.default_rng([list(AREAS).index(name), number])
    # Proofs of whole tables take too long here.
    with warnings.catch_warnings(), patch.object(ball_proofs, "MOST_NUMBERS", -1):
        warnings.simplefilter("ignore")
        try:
            return AREAS[name](rng)
        except Exception as error:
            error.add_note(f"in problem {number} of the area {name!r}")
            raise


def shown(tallies: dict[str, Tally]) -> str:
    """Return the record as a table."""
    lines = [f"{'area':28} {'problems':>9} {'checks':>11} {'retrained':>10} {'aimed':>6} {'sharp':>6} violations"]
    total = Tally()
    for name, each in [*tallies.items(), ("all", total)]:
        aimed = f"{each.aimed / each.retrainings:.0%}" if each.retrainings else "-"
        sharp = f"{each.sharp / each.problems:.0%}" if each.problems else "-"
        covered = f"  inside: {each.hits / each.trials:.4f} of {each.trials:,}" if each.trials and name != "all" else ""
        figures = f"{each.problems:9,} {each.checks:11,} {each.retrainings:10,} {aimed:>6} {sharp:>6}"
        lines.append(f"{name:28} {figures} {len(each.violations)}{covered}")
        total.add(each)
    return "\n".join(lines)


def violated(tallies: dict[str, Tally]) -> list[str]:
    """Return what was violated, of promised shares too."""
    found = [f"{name}: {text}" for name, each in tallies.items() for text in each.violations]
    for name, share in COVERED.items():
        each = tallies[name]
        if each.trials and binom.cdf(each.hits, each.trials, share) < UNLIKELY:
            found.append(f"{name}: {each.hits} of {each.trials} are inside, and {share:.0%} are promised")
    return found


def main(arguments: list[str] | None = None) -> int:
    """Attack for a while; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--areas", nargs="*", default=list(AREAS), choices=list(AREAS))
    parser.add_argument("--record", type=Path, default=RECORD)
    options = parser.parse_args(arguments)
    tallies, end = read(options.record), time.monotonic() + 60.0 * options.minutes
    errors = 0
    while time.monotonic() < end:
        # The area that has had least time is next, so that all get their part.
        name = min(options.areas, key=lambda each: tallies[each].seconds)
        number, start = tallies[name].problems, time.process_time()
        try:
            tallies[name].add(problem(name, number))
        except Exception:
            traceback.print_exc()
            errors += 1
            tallies[name].add(Tally(problems=1))
        tallies[name].seconds += time.process_time() - start
        write(options.record, tallies)
    print(shown(tallies))
    found = violated(tallies)
    print(*found, sep="\n")
    return 1 if found or errors else 0


if __name__ == "__main__":
    raise SystemExit(main())
