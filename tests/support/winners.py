"""Which theorem gives a bound."""

from __future__ import annotations

import numpy as np

from ipub.certificates import Certificate


def win_rate(certificate: Certificate, X: np.ndarray) -> dict[str, float]:
    """Return for each theorem the fraction of ends (lower and upper) for which it gives the bound."""
    low, high = (np.column_stack(ends) for ends in zip(*(part.ends(X) for part in certificate.parts), strict=True))
    names = np.array([part.name for part in certificate.parts])
    winners = names[np.concatenate([low.argmax(axis=1), high.argmin(axis=1)])]
    return {str(name): float(np.mean(winners == name)) for name in dict.fromkeys(names)}
