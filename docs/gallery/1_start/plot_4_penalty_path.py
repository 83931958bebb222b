"""
What a stronger penalty costs and gains
=======================================

The penalty decides how far a model follows single values, and so how far missing values can move it.
Cross-validation says what a stronger penalty costs in accuracy; ``penalty_path`` says what it gains in
certainty.
"""

# %%
import matplotlib.pyplot as plt
import numpy as np

from ipub import BoundedClassifier, penalty_path
from ipub.datasets import load_mammographic_masses
from ipub.plots import PathDisplay, plot_penalty_path

X, y = load_mammographic_masses()
X_train, y_train, X_test, y_test = X[:761], y[:761], X[761:], y[761:]

# %%
# What cross-validation says
# --------------------------
#
# ``alpha="1se"`` takes the strongest penalty whose held-out loss cannot be told from the least. The loss is
# flat over a wide range, so there is room for a stronger penalty.
clf = BoundedClassifier(alpha="1se", scale="standard").fit(X_train, y_train)
_, ax = plt.subplots(figsize=(9, 5), layout="constrained")
PathDisplay.from_estimator(clf, ax=ax)
print(clf.alpha_path_.iloc[::3].round(3).to_string(index=False))

# %%
# What the bounds say
# -------------------
#
# Ten penalties from strong to weak. *Certain and right* are rows that every filling predicts right.
path = penalty_path(
    BoundedClassifier(scale="standard"), X_train, y_train, X_test, y_test, alphas=np.geomspace(3.0, 0.005, 10)
)
_, ax = plt.subplots(figsize=(9, 5), layout="constrained")
plot_penalty_path(path, ax=ax)

# %%
# On the left the proof ends: below some penalty the bounds become so wide that nothing is certain, though
# the predictions themselves hardly change. On the right the model becomes too simple, and less accurate.
# Between the two is a wide range in which most predictions are certain and little is lost. The last column
# is the median width of the bounds of the score.
print(path)
