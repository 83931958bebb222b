"""
Over what range is my accuracy?
===============================

A test accuracy is reported as one number. It is that of one filling of the training table: another filling
gives another model, and another accuracy. ``score_range`` says between which values accuracy, AUC or the
difference of two groups are for *every* filling, and how far fillings were found to push them.
"""

# %%
import matplotlib.pyplot as plt
import numpy as np

from ipub import BoundedClassifier, Budget
from ipub.datasets import load_mammographic_masses

X, y = load_mammographic_masses()
X_train, y_train, X_test, y_test = X[:700], y[:700], X[700:], y[700:]
clf = BoundedClassifier(alpha=0.1, scale="standard").fit(X_train, y_train)
print(f"{np.isnan(X_train).sum()} values of the training table are missing")
clf.score_range(X_test, y_test)

# %%
# Several metrics at once
# -----------------------
#
# Between ``lower`` and ``upper`` is what is proved, between ``attained_lower`` and ``attained_upper`` what
# models that were trained on fillings gave. The exact range is between both.
names = ["accuracy", "balanced_accuracy", "recall", "precision", "roc_auc", "neg_log_loss"]
found = clf.score_range(X_test, y_test, names)
found.round(3)

# %%
# What it buys to look at all rows together
# -----------------------------------------
#
# One filling gives all rows their scores. Whoever lets each row move by itself gets a range that no filling
# comes near: the accuracy if every row whose class is open is wrong, or right.
lower, upper = clf.decision_bounds(X_test).T
is_positive = y_test == clf.classes_[1]
surely_right = np.where(is_positive, lower > 0, upper < 0)
may_be_right = np.where(is_positive, upper >= 0, lower <= 0)
print(f"accuracy, row by row: {surely_right.mean():.3f} to {may_be_right.mean():.3f}")
print(f"accuracy, all rows together: {found['lower'][0]:.3f} to {found['upper'][0]:.3f}")

# %%
# Other promises
# --------------
#
# If at most five of the missing values differ from the filled-in ones, or at most three rows of the training
# table do not belong there, accuracy hardly moves.
promises = {
    "any filling": clf,
    "5 values differ": BoundedClassifier(alpha=0.1, scale="standard", uncertainty=Budget(cells=5)),
    "3 rows absent, 5 values differ": BoundedClassifier(
        alpha=0.1, scale="standard", uncertainty=Budget(cells=5, rows=3)
    ),
}
ranges = {}
for name, model in promises.items():
    ranges[name] = model.fit(X_train, y_train).score_range(X_test, y_test, ["accuracy", "roc_auc"])

# %%
figure, axes = plt.subplots(1, 2, figsize=(9, 3.1), layout="constrained", sharey=True)
for k, ax in enumerate(axes):
    for at, frame in enumerate(ranges.values()):
        row = frame.iloc[k]
        ax.hlines(at, row["lower"], row["upper"], color="#0072B2", alpha=0.35, linewidth=8)
        ax.hlines(at, row["attained_lower"], row["attained_upper"], color="#D55E00", linewidth=3)
        ax.plot(row["value"], at, "|", color="#333333", markersize=14)
    ax.set(xlabel=row["metric"], yticks=range(len(ranges)), yticklabels=list(ranges), ylim=(2.6, -0.6))
handles = [
    plt.Line2D([], [], color="#0072B2", alpha=0.35, linewidth=8),
    plt.Line2D([], [], color="#D55E00", linewidth=3),
]
figure.legend(handles, ["proved", "fillings reach"], frameon=False, loc="outside lower center", ncols=2)

# %%
# Groups of rows
# --------------
#
# With a group for each row the difference between groups is bounded as well, as one number that the filling
# moves: with ``"selection_rate"`` this is demographic parity, with ``"recall"`` equal opportunity.
age = np.where(X_test[:, 0] > 60, "over 60", "up to 60")
clf.score_range(X_test, y_test, ["selection_rate", "recall"], groups=age).round(3)
