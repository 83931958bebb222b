from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Indices = NDArray[np.intp]

class OutwardLoop:
    def __init__(self, function: Callable[..., Any]) -> None: ...
    def __call__(self, values: Any, roundings: int = 0) -> Any: ...

def weighted_grams(
    rows: Array, which: Indices, starts: Indices, values: Array, is_squared: bool, found: Array, widest: int = 8
) -> None: ...
def weighted_sums(rows: Array, which: Indices, starts: Indices, first: Array, last: Array, found: Array) -> None: ...
