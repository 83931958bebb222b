"""
Beside other interval methods
=============================

Bounds over all fillings can be had in several ways: by a sphere around the trained weights (the paper that
this method begins with), by its refinements, or by training on many extreme fillings, which gives a range
that is too narrow. On a small table all of them can be compared with the truth, or nearly.
"""

# %%
import itertools

import matplotlib.pyplot as plt
import numpy as np

from ipub import BoundedClassifier
from ipub.datasets import load_mammographic_masses

X, y = load_mammographic_masses()
complete = np.flatnonzero(~np.isnan(X).any(axis=1))
rows = complete[:300]
X_train, y_train, X_test = X[rows].copy(), y[rows], X[complete[400:415]]
rng = np.random.default_rng(0)
cells = rng.choice(300, 8, replace=False), rng.integers(0, 4, 8)
X_train[cells] = np.nan  # eight missing values: 256 corners
alpha = 0.1

# %%
# All corners
# -----------
#
# Train on each of the 256 fillings that put every missing value at an end of its interval. What they attain
# is real, so no valid bound is narrower. (A worst filling may lie inside, so that the truth is a little
# wider still.)
clf = BoundedClassifier(alpha=alpha, scale="standard").fit(X_train, y_train)
center, spread = np.nanmean(X_train, axis=0), np.nanstd(X_train, axis=0)
plain = BoundedClassifier(alpha=alpha, certificate=None)
ends = clf.hole_ranges_[cells[1]]
scores = []
for corner in itertools.product((0, 1), repeat=8):
    filled = X_train.copy()
    filled[cells] = ends[range(8), corner]
    plain.fit((filled - center) / spread, y_train)
    scores.append(plain.decision_function((X_test - center) / spread))
scores = np.array(scores)
attained = np.ptp(scores, axis=0)

# %%
# Certified bounds, and twenty random fillings
# --------------------------------------------
widths = {"20 random corners (no bound)": np.ptp(scores[rng.choice(256, 20)], axis=0)}
for name in ("pointwise", "tight", "slope", "ball", "sphere"):
    model = BoundedClassifier(alpha=alpha, scale="standard", certificate=name).fit(X_train, y_train)
    bounds = model.decision_bounds(X_test)
    assert (bounds[:, 0] <= scores.min(axis=0)).all()
    assert (bounds[:, 1] >= scores.max(axis=0)).all()
    widths[f'certificate="{name}"'] = bounds[:, 1] - bounds[:, 0]
ratios = {name: np.median(width / attained) for name, width in widths.items()}
for name, ratio in ratios.items():
    print(f"{name:30} {ratio:6.2f} times the range of all corners")

# %%
_, ax = plt.subplots(figsize=(9, 3.8), layout="constrained")
bars = ax.barh(list(ratios), list(ratios.values()), color=["#8C8C8C"] + ["#0072B2"] * 5)
ax.bar_label(bars, [f"{ratio:.2f}" for ratio in ratios.values()], padding=4)
ax.axvline(1.0, color="#333333", linestyle="--", linewidth=1)
ax.set_xscale("log")
ax.invert_yaxis()
ax.set(xlabel="median width, in units of what all 256 corners attain", xlim=(0.3, 200))
ax.spines[["top", "right"]].set_visible(False)
