import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

def up(values: Array, eps: float, tiny: float, found: Array) -> None: ...
