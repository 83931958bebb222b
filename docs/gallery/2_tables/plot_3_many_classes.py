"""
More than two classes
=====================

With K classes one model is trained for each class against the others. Bounds are computed for each, and a
label is possible as long as its upper bound reaches the largest lower bound.
"""

# %%
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_wine

from ipub import BoundedClassifier

wine = load_wine(as_frame=True)
order = np.random.default_rng(0).permutation(len(wine.data))
X, y = wine.data.iloc[order].reset_index(drop=True), wine.target_names[wine.target.iloc[order]]
X = X[["alcohol", "malic_acid", "flavanoids", "color_intensity", "hue", "proline"]]
X_train, X_test = X[:120].copy(), X[120:]
rng = np.random.default_rng(1)
X_train = X_train.mask(rng.random(X_train.shape) < 0.05)  # 5 % of the training values become missing
print(f"{X_train.isna().sum().sum()} of {X_train.size} training values are missing")

# %%
clf = BoundedClassifier(alpha=0.05, scale="standard").fit(X_train, y[:120])
print(f"bounds have the shape {clf.decision_bounds(X_test).shape}: rows, classes, lower and upper")
possible = clf.predict_set(X_test)
for k in range(1, 4):
    print(f"{(possible.sum(axis=1) == k).sum():2} of {len(possible)} test rows have {k} possible label(s)")

# %%
# Three wines: one that is certain, and two that are not.
rows = [int(np.flatnonzero(possible.sum(axis=1) == 1)[0]), *np.flatnonzero(possible.sum(axis=1) > 1)[:2].tolist()]
bounds = clf.decision_bounds(X_test.iloc[rows])
_, axes = plt.subplots(1, len(rows), figsize=(9, 3.2), sharey=True, layout="constrained")
for ax, row, ends in zip(axes, rows, bounds, strict=True):
    colours = ["#0072B2" if able else "#BBBBBB" for able in possible[row]]
    ax.barh(range(3), ends[:, 1] - ends[:, 0], left=ends[:, 0], color=colours, height=0.5)
    ax.axvline(ends[:, 0].max(), color="#333333", linestyle="--")
    ax.set_yticks(range(3), clf.classes_)
    ax.set(title=f"row {row}: {' or '.join(clf.classes_[possible[row]])}", xlabel="score")

# %%
# A bar that ends left of the dashed line, the largest lower bound, belongs to a label that no filling gives
# (grey).
