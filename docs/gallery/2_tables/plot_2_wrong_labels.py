"""
Wrong labels and unknown labels
===============================

Not only features may be uncertain. ``max_label_errors=k`` gives bounds that hold even if any k (or fewer) of
the labels are wrong, whichever they are; ``unknown_labels=True`` takes rows whose class nobody knows.
"""

# %%
import matplotlib.pyplot as plt
import numpy as np

from ipub import BoundedClassifier
from ipub.datasets import load_mammographic_masses

X, y = load_mammographic_masses()
complete = ~np.isnan(X).any(axis=1)
X, y = X[complete], y[complete]  # 830 patients without missing values: only labels are uncertain here
X_train, y_train, X_test = X[:630], y[:630], X[630:]

# %%
# How many wrong labels does a prediction withstand?
# --------------------------------------------------
errors = [0, 2, 5, 10, 15, 20, 30]
certain = []
for k in errors:
    clf = BoundedClassifier(alpha=0.3, scale="standard", max_label_errors=k).fit(X_train, y_train)
    certain.append((clf.predict_set(X_test).sum(axis=1) == 1).mean())
    print(f"any {k:2} of 630 labels wrong: {certain[-1]:4.0%} of the predictions stay the same")

# %%
_, ax = plt.subplots(figsize=(9, 3.8), layout="constrained")
ax.plot(errors, certain, marker="o", color="#0072B2")
ax.set(xlabel="labels that may be wrong, whichever they are", ylabel="certain predictions", ylim=(0, 1.02))

# %%
# Row by row
# ----------
#
# ``flip_distance`` brackets the number for single rows: fewer wrong labels than the first number cannot
# change the class, which is proved; the second number of wrong labels does change it, which was found.
clf = BoundedClassifier(alpha=0.3, scale="standard").fit(X_train, y_train)
some = X_test[np.argsort(np.abs(clf.decision_function(X_test)))[[5, 40, 120]]]
for row, (at_least, found) in zip(some, clf.flip_distance(some, of="labels"), strict=True):
    print(f"{row}: at least {at_least:.0f} labels must be wrong, and {found:.0f} are enough")

# %%
# Labels that nobody knows
# ------------------------
#
# Ten patients have not come back. Dropping them assumes that they are like the others; here each may be of
# either class.
partly = y_train.astype(object)
partly[:10] = None
clf = BoundedClassifier(alpha=0.3, scale="standard", unknown_labels=True).fit(X_train, partly)
print(f"{(clf.predict_set(X_test).sum(axis=1) == 1).mean():.0%} certain with ten unknown labels")
