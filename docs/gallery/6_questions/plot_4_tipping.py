"""
When does a conclusion tip?
===========================

Missing values were filled in, and a model was trained. How many of them would have to be other values before any
of its predictions changes? ``tipping_points`` brackets the number: fewer cannot (proved), so many do (a filling
was found and trained).
"""

# %%
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from ipub import BoundedClassifier
from ipub.datasets import load_mammographic_masses
from ipub.plots import TippingDisplay

X, y = load_mammographic_masses()
X = pd.DataFrame(X, columns=["age", "shape", "margin", "density"])
clf = BoundedClassifier(alpha=0.1, scale="standard").fit(X[:700], y[:700])
rows = X[700:].dropna()[:80]
points = clf.tipping_points(rows)
print(points)

# %%
# The last lines are benchmarks to read the first ones by: what all missing values of one column together can change.
#
# The share of predictions that are certain, against the share of the missing values that may differ:
TippingDisplay.from_estimator(clf, rows)
points.rows[np.isfinite(points.rows["at_most"])].head()

# %%
# The stronger the penalty, the more it takes
# -------------------------------------------
figure, axes = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained", sharey=True)
for axis, alpha in zip(axes, (0.05, 0.5), strict=True):
    other = BoundedClassifier(alpha=alpha, scale="standard").fit(X[:700], y[:700])
    TippingDisplay.from_estimator(other, rows, ax=axis)
    axis.set_title(f"alpha {alpha}", fontsize=10)
