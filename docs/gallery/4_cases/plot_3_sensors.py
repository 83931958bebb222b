"""
Sensors: drop-outs and rounded readings
=======================================

Six sensors on a machine predict the temperature of a bearing. Readings are rounded, transmissions drop out,
and one sensor saturates: above its limit it only says "at least 104". All three are intervals, and the alarm
should not depend on what they hide.
"""

# %%
import matplotlib.pyplot as plt
import numpy as np

from ipub import BoundedRegressor, IntervalMatrix

rng = np.random.default_rng(0)
n = 1000
load = 50 + 25 * np.sin(np.arange(n) / 60) + rng.normal(0, 6, n)
speed = 20 + 0.1 * load + rng.normal(0, 1.5, n)
ambient = 18 + 6 * np.sin(np.arange(n) / 150) + rng.normal(0, 0.5, n)
vibration = 0.6 * speed + rng.normal(0, 2, n)
flow = 30 - 0.1 * load + rng.normal(0, 1.5, n)
pressure = 60 + 0.5 * load + rng.normal(0, 4, n)
X = np.column_stack([load, speed, ambient, vibration, flow, pressure])
bearing = 30 + 0.35 * load + 0.5 * ambient + 0.6 * vibration - 0.5 * flow + rng.normal(0, 1.5, n)

# %%
# From readings to intervals
# --------------------------
#
# Lower and upper bounds of every cell: a rounded reading is ±0.05, a drop-out is anything in the central 98
# % of its sensor, and a saturated pressure lies between 104 and 120, the strongest that the pipe
# withstands.
reading = X.round(1)
lower, upper = reading - 0.05, reading + 0.05
dropped = rng.random(X.shape) < 0.003
low, high = np.quantile(reading, [0.01, 0.99], axis=0)
lower[dropped], upper[dropped] = (np.broadcast_to(end, X.shape)[dropped] for end in (low, high))
saturated = (X[:, 5] > 104) & ~dropped[:, 5]
lower[saturated, 5], upper[saturated, 5] = 104, 120
print(f"{dropped.sum()} readings dropped out, {saturated.sum()} are saturated, {X.size} are rounded")

# %%
# The model of the first 700 time steps, with bounds for the others. Their rows are intervals too.
cells = IntervalMatrix.from_bounds(lower[:700], upper[:700])
reg = BoundedRegressor(alpha=0.05, scale="standard").fit(cells, bearing[:700])
later = IntervalMatrix.from_bounds(lower[700:], upper[700:])
bounds, middle = reg.predict_bounds(later), reg.predict(later)
print(f"R2 {reg.score(later, bearing[700:]):.2f}, median width of the bounds {np.median(np.diff(bounds)):.1f} degrees")

# %%
# An alarm at 62 degrees
# ----------------------
limit = 62.0
surely, never = bounds[:, 0] > limit, bounds[:, 1] <= limit
print(f"alarm, whatever is hidden: {surely.sum()}; no alarm, whatever is hidden: {never.sum()}")
print(f"the bounds leave it open: {(~surely & ~never).sum()}")

_, ax = plt.subplots(figsize=(9, 4.6), layout="constrained")
time = np.arange(700, n)
ax.fill_between(time, *bounds.T, color="#0072B2", alpha=0.3, label="bounds over all fillings", step="mid")
ax.plot(time, middle, color="#0072B2", linewidth=1, label="prediction")
ax.plot(time, bearing[700:], ".", color="#333333", markersize=2.5, label="measured bearing temperature")
ax.axhline(limit, color="#D55E00", linestyle="--", label="alarm")
ax.set(xlabel="time step", ylabel="degrees")
ax.legend(frameon=False, ncols=2)

# %%
# The measured temperatures scatter around the prediction more than the bounds are wide: bounds are about
# the model, not about the noise of the world. The spikes are rows with a drop-out of their own.
