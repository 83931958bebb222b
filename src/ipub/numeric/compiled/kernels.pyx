# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False, freethreading_compatible=True
"""The loops in C, for arrays of Python. Callers give arrays of the right shapes: only types and layouts are checked."""

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


def up(const double[::1] values, double eps, double tiny, double[::1] found):
    """Round each value up."""
    with nogil:
        ipub_up(values.shape[0], &values[0], eps, tiny, &found[0])


def down(const double[::1] values, double eps, double tiny, double[::1] found):
    """Round each value down."""
    with nogil:
        ipub_down(values.shape[0], &values[0], eps, tiny, &found[0])


def sum_error(const double[::1] values, double eps, double tiny, double factor, double underflow, double[::1] found):
    """Bound the rounding error of each sum."""
    with nogil:
        ipub_sum_error(values.shape[0], &values[0], eps, tiny, factor, underflow, &found[0])


def sum_upper(const double[::1] values, double eps, double tiny, double factor, double underflow, double[::1] found):
    """Bound each sum from above."""
    with nogil:
        ipub_sum_upper(values.shape[0], &values[0], eps, tiny, factor, underflow, &found[0])


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
