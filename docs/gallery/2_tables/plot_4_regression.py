"""
Regression, rounded values and rounded targets
==============================================

``BoundedRegressor`` bounds a number. Besides missing values, observed ones may be rounded (``precision``),
and targets may be intervals (``y_lower``, ``y_upper``).
"""

# %%
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_diabetes

from ipub import BoundedRegressor, Intervals
from ipub.plots import BoundsDisplay

X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
X = X[["age", "bmi", "bp", "s3", "s5"]]
rng = np.random.default_rng(0)
X_train, y_train, X_test, y_test = X[:340].copy(), y[:340], X[340:], y[340:]
X_train = X_train.mask(rng.random(X_train.shape) < 0.02)
print(f"{X_train.isna().sum().sum()} of {X_train.size} training values are missing")

# %%
# Missing values only
# -------------------
reg = BoundedRegressor(alpha=0.3, scale="standard").fit(X_train, y_train)
print(f"R2 on the test rows: {reg.score(X_test, y_test):.2f}")
_, ax = plt.subplots(figsize=(9, 4.6), layout="constrained")
BoundsDisplay.from_estimator(reg, X_test, ax=ax)
ax.set_ylabel("disease progression")

# %%
# Add what else is not exact
# --------------------------
#
# Blood pressure is read to the nearest 1 mmHg, age is counted in full years, and the target itself is read
# off a scale in steps of one.
rounded = Intervals(precision={"bp": 0.5, "age": 0.5})
models = {
    "missing values": reg,
    "and rounded age and pressure": BoundedRegressor(alpha=0.3, scale="standard", intervals=rounded).fit(
        X_train, y_train
    ),
    "and rounded targets": BoundedRegressor(alpha=0.3, scale="standard", intervals=rounded).fit(
        X_train, y_train, y_lower=y_train - 0.5, y_upper=y_train + 0.5
    ),
}
for name, model in models.items():
    low, high = model.predict_bounds(X_test).T
    print(f"{name:30} median width {np.median(high - low):5.1f}")

# %%
# The unit is that of the target, whose standard deviation is 77. Rounding that looks harmless may add more
# than the missing values do, since it concerns every row: all of them could be off in the same direction,
# and a bound for every filling has to hold then, too.
