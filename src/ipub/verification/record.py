"""What a verification found, as a record."""

from __future__ import annotations

import platform
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from ipub.verification.checked_rows import LISTED, Violation
from ipub.verification.coverage import Coverage

PACKAGES = ("numpy", "scipy", "python-flint")


@dataclass(frozen=True, eq=False)
class Verification:
    """What `ipub.verify` has checked, and what it found. ``print`` shows it; ``as_dict()`` is for files.

    Attributes
    ----------
    ok : bool
        Whether nothing is violated.
    n_violations : int
        Checks that failed.
    violations : tuple of Violation
        The first of them: ``what``, ``bounds``, the values that were ``found``, and the ``filling``.
    n_checks, n_retrainings, n_aimed : int
        Comparisons of a retrained model with a bound; retrained models; those among them that were trained on a filling
        chosen to break a bound.
    closest : float
        How near a score came to a bound, as a share of the width of the bounds; NaN if none are finite and wider than
        the error of the retrained scores.
    median_reached : float
        Half of the rows with such bounds have scores of fillings in at least this share of them.
    n_narrow, narrow_error : int, float
        Rows whose bounds are about as narrow as rounding; retrained scores differ from these by at most so much.
    n_rows, n_proved : int
        Rows, each class counted; and those of which it is proved in ball arithmetic that no filling at all leaves their
        bounds by more than 1 % of the width, None if the table is not small enough, or python-flint is missing.
    n_in_balls : int or None
        Retrained models, of those that came closest, that were proved again in ball arithmetic.
    coverage : Coverage or None
        Of bounds over draws: how often simulated tables were within them.
    promise : str
        The sentence that was checked.
    seconds, seed, digest, versions
        Time, the seed of all that is random, SHA-256 of table, labels, rows and bounds, and versions of the packages.
    """

    promise: str
    n_violations: int
    violations: tuple[Violation, ...]
    n_checks: int
    n_retrainings: int
    n_aimed: int
    closest: float
    median_reached: float
    n_narrow: int
    narrow_error: float
    n_rows: int
    n_proved: int | None
    n_in_balls: int | None
    coverage: Coverage | None
    seconds: float
    seed: int
    digest: str

    @property
    def ok(self) -> bool:
        """Whether nothing is violated."""
        return self.n_violations == 0

    @property
    def versions(self) -> dict[str, str]:
        """Versions of Python and of the packages that checked."""
        return {"python": platform.python_version(), **{name: _version(name) for name in ("ipub", *PACKAGES)}}

    def as_dict(self) -> dict[str, Any]:
        """Return the record as what JSON has."""
        found = {name: value for name, value in vars(self).items() if name not in ("violations", "coverage")}
        return {
            "ok": self.ok,
            **found,
            "violations": [str(each) for each in self.violations],
            "coverage": None if self.coverage is None else self.coverage._asdict(),
            "versions": self.versions,
        }

    def __str__(self) -> str:
        lines = [f"Promise: {self.promise}"]
        if self.coverage is None:
            lines.append(
                f"Checked: {self.n_checks:,} bounds against {self.n_retrainings:,} retrained models, {self.n_aimed:,} "
                "of them on fillings that were chosen to break a bound"
            )
        else:
            lines.append(f"Checked: {self.coverage}")
        if self.closest == self.closest:
            lines.append(
                f"Closest: a score came within {100.0 * self.closest:.2g} % of the width of its bounds; half of the "
                f"rows were seen in {100.0 * self.median_reached:.0f} % of theirs or more"
            )
        if self.n_narrow and self.ok:
            lines.append(
                f"Narrow: bounds of {self.n_narrow:,} rows are as narrow as rounding: retrained models agree with them "
                f"to {self.narrow_error:.0e}"
            )
        if self.n_in_balls is None:
            lines.append("Ball arithmetic: not installed (the extra ipub[verify])")
        else:
            lines.append(f"Ball arithmetic: {self.n_in_balls} of the closest models proved again")
        if self.n_proved is not None:
            lines.append(
                f"Proved by intervals: of {self.n_proved} of {self.n_rows} rows, that no filling at all leaves the "
                "bounds by more than 1 % of their width"
            )
        lines.append(f"Violations: {self.n_violations}")
        lines += [f"  {each}" for each in self.violations[:LISTED]]
        packages = ", ".join(f"{name} {number}" for name, number in self.versions.items())
        lines += [f"Seed {self.seed}, {self.seconds:.1f} s, {packages}", f"SHA-256 {self.digest}"]
        return "\n".join(lines)

    __repr__ = __str__


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "not installed"
