# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False, freethreading_compatible=True
"""The loops in C, for arrays of Python. Callers give arrays of the right shapes: only types and layouts are checked."""

cdef extern from "kernels.h" nogil:
    void ipub_up(Py_ssize_t n, const double *values, double eps, double tiny, double *found)


def up(const double[::1] values, double eps, double tiny, double[::1] found):
    """Round each value up."""
    with nogil:
        ipub_up(values.shape[0], &values[0], eps, tiny, &found[0])
