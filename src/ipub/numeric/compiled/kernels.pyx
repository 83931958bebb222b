# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False, freethreading_compatible=True
"""The loops in C, for arrays of Python. Callers give arrays of the right shapes: only types and layouts are checked."""

from cpython.buffer cimport PyBUF_SIMPLE, PyBUF_WRITABLE, PyBuffer_Release, PyObject_GetBuffer
from numpy import dtype, empty, ndarray

cdef extern from "kernels.h" nogil:
    void ipub_up(Py_ssize_t n, const double *values, double eps, double tiny, double *found)
    void ipub_down(Py_ssize_t n, const double *values, double eps, double tiny, double *found)
    void ipub_sum_error(
        Py_ssize_t n, const double *values, double eps, double tiny, double factor, double underflow, double *found)
    void ipub_sum_upper(
        Py_ssize_t n, const double *values, double eps, double tiny, double factor, double underflow, double *found)

    ctypedef struct GroupedRows:
        const double *rows
        Py_ssize_t n_columns
        const Py_ssize_t *which
        Py_ssize_t n_which
        const Py_ssize_t *starts
        Py_ssize_t n_groups

    int ipub_weighted_grams(
        const GroupedRows *grouped, Py_ssize_t n_values, const double *values, int is_squared, double *found,
        int widest)
    void ipub_weighted_sums(
        const GroupedRows *grouped, Py_ssize_t n_values, const double *first, const double *last, double *found)


cdef enum:
    UP, DOWN, SUM_ERROR, SUM_UPPER

cdef dict KINDS = {"up": UP, "down": DOWN, "sum_error": SUM_ERROR, "sum_upper": SUM_UPPER}

FLOAT = dtype(float)
MANY = 10_000
"""Numbers that take long enough to let other threads run."""


cdef class OutwardLoop:
    """A function of `ipub.numeric.rounding`, by a loop in C where it is called with an array of floats or one float.

    Anything else, such as an array of another library, goes to the function itself. The bits are the same. Constants
    are those of the function's module.
    """

    cdef object function
    cdef dict constants, __dict__
    cdef int kind

    def __init__(self, function):
        self.function, self.constants, self.kind = function, function.__globals__, KINDS[function.__name__]

    def __reduce__(self):
        return self.function.__name__

    def __call__(self, values, Py_ssize_t roundings=0):
        cdef double number, rounded
        cdef Py_buffer given, made
        if type(values) is float:
            number = values
            self.run(1, &number, roundings, &rounded)
            return rounded
        if type(values) is not ndarray or values.dtype is not FLOAT or not values.flags.c_contiguous:
            return self.function(values) if self.kind <= DOWN else self.function(values, roundings)
        found = empty(values.shape)
        PyObject_GetBuffer(values, &given, PyBUF_SIMPLE)
        PyObject_GetBuffer(found, &made, PyBUF_WRITABLE)
        self.run(made.len // <Py_ssize_t>sizeof(double), <const double *>given.buf, roundings, <double *>made.buf)
        PyBuffer_Release(&given)
        PyBuffer_Release(&made)
        return found

    cdef int run(self, Py_ssize_t n, const double *values, Py_ssize_t roundings, double *found) except -1:
        cdef double eps = self.constants["EPS"], tiny = self.constants["TINY"]
        cdef double underflow = self.constants["UNDERFLOW"]
        cdef double factor = roundings * eps
        if n < MANY:
            round_all(self.kind, n, values, eps, tiny, factor, underflow, found)
        else:
            with nogil:
                round_all(self.kind, n, values, eps, tiny, factor, underflow, found)
        return 0


cdef inline void round_all(
    int kind, Py_ssize_t n, const double *values, double eps, double tiny, double factor, double underflow,
    double *found
) noexcept nogil:
    if kind == UP:
        ipub_up(n, values, eps, tiny, found)
    elif kind == DOWN:
        ipub_down(n, values, eps, tiny, found)
    elif kind == SUM_ERROR:
        ipub_sum_error(n, values, eps, tiny, factor, underflow, found)
    else:
        ipub_sum_upper(n, values, eps, tiny, factor, underflow, found)


cdef inline GroupedRows grouped_rows(
    const double[:, ::1] rows, const Py_ssize_t[::1] which, const Py_ssize_t[::1] starts
) noexcept nogil:
    return GroupedRows(&rows[0, 0], rows.shape[1], &which[0], which.shape[0], &starts[0], starts.shape[0] - 1)


def weighted_grams(
    const double[:, ::1] rows,
    const Py_ssize_t[::1] which,
    const Py_ssize_t[::1] starts,
    const double[:, ::1] values,
    bint is_squared,
    double[:, :, :, ::1] found,
    int widest=8,
):
    """Set ``found[g, s]`` to ``sum_i values[s, i] x_i x_i^T`` over the rows of group g, squares of values if so said.

    The rows of group g are ``rows[which[starts[g]:starts[g + 1]]]``, and `values` are in the order of `which`.
    No vector register that is used has more than `widest` numbers: the bits are the same for all.
    """
    cdef GroupedRows grouped = grouped_rows(rows, which, starts)
    cdef int status
    with nogil:
        status = ipub_weighted_grams(
            &grouped, values.shape[0], &values[0, 0], is_squared, &found[0, 0, 0, 0], widest
        )
    if status:
        raise MemoryError


def weighted_sums(
    const double[:, ::1] rows,
    const Py_ssize_t[::1] which,
    const Py_ssize_t[::1] starts,
    const double[:, ::1] first,
    const double[:, ::1] last,
    double[:, :, ::1] found,
):
    """Set ``found[g, s]`` to ``sum_i (x_i first[s, i]) last[s, i]`` over the rows of group g; see `weighted_grams`."""
    cdef GroupedRows grouped = grouped_rows(rows, which, starts)
    with nogil:
        ipub_weighted_sums(&grouped, first.shape[0], &first[0, 0], &last[0, 0], &found[0, 0, 0])
