"""Arrays of another library, on a device or not, that kernels written for NumPy run on unchanged.

NumPy hands its functions on to a class that has ``__array_ufunc__`` and ``__array_function__``. `DeviceArray` has both,
around an array of CuPy, PyTorch or array-api-strict, so a kernel that calls ``np.where`` or ``np.exp`` computes where
its block is. A function that is not known here is computed by NumPy in this process, from copies: always right, and
slow for what is as long as the table, so the functions that kernels use are known.
"""

from ipub.rows.device import functions as functions
from ipub.rows.device.array import DeviceArray
from ipub.rows.device.libraries import Library, is_foreign, library_of
from ipub.rows.device.transfer import to_device, to_host

__all__ = ["DeviceArray", "Library", "is_foreign", "library_of", "to_device", "to_host"]
