"""
What should I measure?
======================

Some missing values can be found, at a price: a patient is called, a laboratory is asked. ``measurement_plan`` says
which to find first so that most predictions become certain, and ``sufficient_cells`` which are enough.
"""

# %%
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from ipub import BoundedClassifier
from ipub.datasets import load_mammographic_masses

X, y = load_mammographic_masses()
X = pd.DataFrame(X, columns=["age", "shape", "margin", "density"])
complete = X.notna().all(axis=1).to_numpy()
X, y = X[complete].reset_index(drop=True), y[complete]

# %%
# To see whether a plan is any good, values that are known are hidden here: five per cent of a complete table.
rng = np.random.default_rng(0)
truth, X_test = X[:500], X[500:]
X_train, y_train = truth.mask(rng.random(truth.shape) < 0.05), y[:500]
clf = BoundedClassifier(alpha=0.1, scale="standard").fit(X_train, y_train)
plan = clf.measurement_plan(X_test)
plan

# %%
# The values to find, the best first, and what is certain then:
plan.cells.head()

# %%
plan.curve


# %%
# Does it keep its word?
# ----------------------
#
# The hidden values are found again in the order of the plan, and in an order by chance.
def certain(cells):
    """Return the share of certain predictions with some values found."""
    found = X_train.copy()
    for row, column in zip(cells["row"], cells["column"], strict=True):
        found.loc[row, column] = truth.loc[row, column]
    model = BoundedClassifier(alpha=0.1, scale="standard").fit(found, y_train)
    return (model.predict_set(X_test).sum(axis=1) == 1).mean()


steps = np.linspace(0, len(plan.cells), 7).astype(int)
by_chance = plan.cells.sample(frac=1.0, random_state=0)
figure, ax = plt.subplots(figsize=(6, 3.4), layout="constrained")
ax.plot(steps, [certain(plan.cells[:n]) for n in steps], "o-", color="#0072B2", label="the plan")
ax.plot(steps, [certain(by_chance[:n]) for n in steps], "s-", color="#999999", label="at random")
if_filled = plan.curve["certain_if_as_filled"] / plan.n_rows
ax.plot(plan.curve["n_cells"], if_filled, ":", color="#0072B2", label="proved before, if they are as filled in")
ax.set(xlabel="values found", ylabel="certain predictions")
ax.legend(frameon=False)

# %%
# Costs, and whole rows
# ---------------------
#
# Values of a column may be dearer than others, and one visit finds all values of a row.
clf.measurement_plan(X_test, budget=30, cost={"margin": 3.0, "shape": 3.0}).cells["column"].value_counts()

# %%
clf.measurement_plan(X_test, budget=5, by="row").cells

# %%
# Which values are enough?
# ------------------------
#
# Filled in as they are now, so many of the values make 98 % of the predictions certain, whatever all others are:
enough = clf.sufficient_cells(X_test, share=0.98, values="filled_in")
print(f"{len(enough)} of {len(plan.cells)}")
