"""
Three promises side by side
===========================

"Whatever the missing values are" is the strongest promise, and often more than one needs. Two weaker ones are
proved as well: that only a few of the missing values differ from what was filled in (``Budget``), and that
they follow a law near that of an imputer (``Draws``). Bounds become narrower as the promise becomes weaker.
"""

# %%
import matplotlib.pyplot as plt
import numpy as np

from ipub import BoundedClassifier, Budget, Draws
from ipub.datasets import load_mammographic_masses
from ipub.plots import plot_promises

X, y = load_mammographic_masses()
X_train, y_train = X[:761], y[:761]
X_test = X[761:][~np.isnan(X[761:]).any(axis=1)]  # complete rows: only the training table is uncertain

promises = {
    "any filling": "worst",
    "at most 20 % of the values differ": Budget(share=0.2),
    "at most 5 % of the values differ": Budget(share=0.05),
    "37 draws of an imputer": Draws(n_draws=37, random_state=0),
}
models = {
    name: BoundedClassifier(alpha=0.1, scale="standard", uncertainty=uncertainty).fit(X_train, y_train)
    for name, uncertainty in promises.items()
}

# %%
# How many predictions are certain
# --------------------------------
for name, clf in models.items():
    certain = clf.predict_set(X_test).sum(axis=1) == 1
    low, high = clf.predict_proba_bounds(X_test).T
    print(f"{name:35} {certain.sum():3} of {len(certain)} certain, median width {np.median(high - low):.3f}")

# %%
# What is promised
# ----------------
#
# The sentences differ, and the differences matter: a budget always holds for the tables it names and says
# nothing about others; draws hold with a probability, and assume that the imputer is nearly right.
for name, clf in models.items():
    print(f"{name}\n    {clf.certificate_.promise}\n")

# %%
# The same rows under each promise
# --------------------------------
rows = slice(None, None, 4)
_, ax = plt.subplots(figsize=(9, 5.2), layout="constrained")
plot_promises(
    {name: clf.predict_proba_bounds(X_test[rows]) for name, clf in models.items()},
    models["any filling"].predict_proba(X_test[rows])[:, 1],
    threshold=0.5,
    quantity="probability of malignant",
    ax=ax,
)

# %%
# Which promise is right for your table is a question about why values are missing: see
# :doc:`/guide/promises`.
