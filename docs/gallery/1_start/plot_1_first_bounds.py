"""
First bounds
============

A table of 961 patients describes masses seen in mammograms; the question is whether a mass is malignant. 160
of its values are missing. We train on 761 patients and ask: for which of the other 200 does the prediction
depend on what the missing values are?
"""

# %%
# NaN marks a missing value, and ``fit`` takes the table as it is. ``alpha="1se"`` lets cross-validation
# pick the strength of the penalty.
import matplotlib.pyplot as plt
import numpy as np

from ipub import BoundedClassifier
from ipub.datasets import load_mammographic_masses
from ipub.plots import BoundsDisplay, StatusDisplay

X, y = load_mammographic_masses()
X_train, y_train, X_test, y_test = X[:761], y[:761], X[761:], y[761:]
print(f"{np.isnan(X_train).sum()} of {X_train.size} training values are missing")

clf = BoundedClassifier(alpha="1se", scale="standard").fit(X_train, y_train)
print(f"alpha = {clf.alpha_:.2g}, accuracy on the test rows {clf.score(X_test, y_test):.3f}")

# %%
# Bounds of a prediction
# ----------------------
#
# Fill in the missing values in any way, train again, and predict: the probability lies between these two
# numbers. They come from one training; no filling was tried.
print(clf.predict_proba_bounds([[67, 3, 5, 3], [45, 3, 3, 3]]).round(3))

# %%
# Drawn for all test rows, in the order of the prediction. Where a bar lies on one side of the dashed line,
# the predicted class is *certain*: no filling changes it.
_, ax = plt.subplots(figsize=(9, 5), layout="constrained")
BoundsDisplay.from_estimator(clf, X_test, ax=ax)

# %%
# Certain, open, or unproved
# --------------------------
#
# Bounds may be wider than what fillings really do. ``predict_status`` looks closer at the rows whose bar
# crosses the line: *open* means that it knows two fillings that give different classes, *unproved* that it
# could neither prove the class nor find such fillings.
_, ax = plt.subplots(figsize=(9, 4.8), layout="constrained")
StatusDisplay.from_estimator(clf, X_test, ax=ax)

# %%
# What exactly is promised stands in one sentence:
print(clf.certificate_.promise)

# %%
# It is a statement about the model, not about the truth: a certain prediction may be wrong, as any
# prediction may. It is wrong for every filling alike.
certain = clf.predict_set(X_test).sum(axis=1) == 1
right = clf.predict(X_test) == y_test
for name, rows in {"certain": certain, "other": ~certain}.items():
    print(f"{rows.sum()} {name} predictions, accuracy {right[rows].mean():.3f}")
