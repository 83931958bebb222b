"""
What if values are missing because they are high?
=================================================

The tipping-point analysis of clinical trials: shift the missing values away from the filled-in ones until a
conclusion changes, and ask whether such a shift is plausible. Here with proofs, at the points and between them.
"""

# %%
import numpy as np

from ipub import BoundedClassifier
from ipub.plots import ShiftGridDisplay

rng = np.random.default_rng(0)
n = 300
age, pressure = rng.normal(60.0, 10.0, n), rng.normal(140.0, 20.0, n)
event = (age - 60.0) / 10.0 + (pressure - 140.0) / 20.0 + rng.normal(size=n) > 0.0
X = np.column_stack([age, pressure])
X[(pressure > 150.0) & (rng.random(n) < 0.4), 1] = np.nan  # high pressures are missing more often
X[rng.choice(n, 20, replace=False), 0] = np.nan
clf = BoundedClassifier(alpha=0.02, scale="standard").fit(X, event)
patient = [[58.0, 144.0]]
grid = clf.shift_grid(patient, [0, 1], [np.linspace(-20, 20, 9), np.arange(-20.0, 41.0, 10.0)])
print(grid)

# %%
# Each mark is a model, trained with all missing values of a column shifted by so much. Where a cell is coloured,
# the class is proved for every shift in it, even if each patient's value has a shift of its own.
display = ShiftGridDisplay.from_grid(grid)
display.ax_.set_xlabel("missing ages shifted by (years)")
display.ax_.set_ylabel("missing pressures shifted by (mmHg)")

# %%
# One group alone
# ---------------
#
# Only missing values of those with an event are shifted: what if these in particular were higher?
one = clf.shift_grid(patient, 1, np.linspace(-40, 40, 9), training_rows=event)
print(one)
ShiftGridDisplay.from_grid(one)
