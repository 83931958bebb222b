# cython: language_level=3, boundscheck=False, wraparound=False, freethreading_compatible=True
"""Row sums of single directions in C, for arrays of Python. Callers give arrays of the right shapes."""

from libc.stdint cimport int64_t

import numpy as np

cdef extern from "row_sum_kernel.h" nogil:
    ctypedef struct row_sum_table:
        int64_t d, n_complete, n_uncertain, n_units, n_multipliers, n_variants, n_groups, n_slopes, n_grid, n_ends, finer, n_steps, stride, is_sparse, n_together, dropped_group
        double complete_size, changed_share
        const double *lam
        const double *l1_lower
        const double *l1_upper
        const double *penalty_slope
        const double *w
        const double *tilt
        const double *settled_middle
        const double *settled_radius
        const double *weight_middle
        const double *weight_radius
        const double *inverse
        const double *complete
        const double *complete_rows
        const double *complete_weight
        const double *complete_lower
        const double *complete_per_width
        const double *lines
        const double *curvature_size
        const double *rows
        const double *row_weight
        const double *row_norm
        const double *center_lower
        const double *center_upper
        const double *value_at_w
        const double *slope_at_w
        const double *first_label
        const double *second_label
        const double *chord
        const double *score_lower
        const double *score_upper
        const double *grid
        const double *grid_scale
        const double *unit_lower
        const double *unit_upper
        const double *variant_lower
        const double *variant_upper
        const double *score
        const double *middle
        const double *radius
        const double *below
        const double *above
        const double *between_share
        const double *between_away
        const double *score_size
        const double *derivative_size
        const int64_t *label_group
        const int64_t *unit_start
        const int64_t *unit_column
        const int64_t *unit_category
        const int64_t *unit_base
        const int64_t *unit_group
        const int64_t *unit_at
        const int64_t *category_start
        const int64_t *category_columns
        const int64_t *budget
        const int64_t *variant_start
        const int64_t *variant_units
        const int64_t *variant_used
        const int64_t *variant_level
    int row_sum_upper(
        const row_sum_table *t, int64_t n, const double *y, double *bound, double *u, double *z, double *zeta, int64_t *line
    )
    int row_sum_first_order(const row_sum_table *t, int64_t n, const double *y, double *rise)


cdef class RowSumKernel:
    """What the row sums of all directions share: the fields of `row_sum_table`, by name."""

    cdef row_sum_table table
    cdef dict arrays

    def __init__(self, **fields):
        self.arrays = {}
        self.table.d = fields["d"]
        self.table.n_complete = fields["n_complete"]
        self.table.n_uncertain = fields["n_uncertain"]
        self.table.n_units = fields["n_units"]
        self.table.n_multipliers = fields["n_multipliers"]
        self.table.n_variants = fields["n_variants"]
        self.table.n_groups = fields["n_groups"]
        self.table.n_slopes = fields["n_slopes"]
        self.table.n_grid = fields["n_grid"]
        self.table.n_ends = fields["n_ends"]
        self.table.finer = fields["finer"]
        self.table.n_steps = fields["n_steps"]
        self.table.stride = fields["stride"]
        self.table.n_together = fields["n_together"]
        self.table.is_sparse = fields["is_sparse"]
        self.table.complete_size = fields["complete_size"]
        self.table.changed_share = fields["changed_share"]
        self.table.dropped_group = fields["dropped_group"]
        self.table.lam = self._numbers("lam", fields)
        self.table.w = self._numbers("w", fields)
        self.table.l1_lower = self._numbers("l1_lower", fields)
        self.table.l1_upper = self._numbers("l1_upper", fields)
        self.table.penalty_slope = self._numbers("penalty_slope", fields)
        self.table.tilt = self._numbers("tilt", fields)
        self.table.settled_middle = self._numbers("settled_middle", fields)
        self.table.settled_radius = self._numbers("settled_radius", fields)
        self.table.weight_middle = self._numbers("weight_middle", fields)
        self.table.weight_radius = self._numbers("weight_radius", fields)
        self.table.inverse = self._numbers("inverse", fields)
        self.table.complete = self._numbers("complete", fields)
        self.table.complete_rows = self._numbers("complete_rows", fields)
        self.table.complete_weight = self._numbers("complete_weight", fields)
        self.table.complete_lower = self._numbers("complete_lower", fields)
        self.table.complete_per_width = self._numbers("complete_per_width", fields)
        self.table.lines = self._numbers("lines", fields)
        self.table.curvature_size = self._numbers("curvature_size", fields)
        self.table.rows = self._numbers("rows", fields)
        self.table.row_weight = self._numbers("row_weight", fields)
        self.table.row_norm = self._numbers("row_norm", fields)
        self.table.center_lower = self._numbers("center_lower", fields)
        self.table.center_upper = self._numbers("center_upper", fields)
        self.table.value_at_w = self._numbers("value_at_w", fields)
        self.table.slope_at_w = self._numbers("slope_at_w", fields)
        self.table.first_label = self._numbers("first_label", fields)
        self.table.second_label = self._numbers("second_label", fields)
        self.table.chord = self._numbers("chord", fields)
        self.table.score_lower = self._numbers("score_lower", fields)
        self.table.score_upper = self._numbers("score_upper", fields)
        self.table.grid = self._numbers("grid", fields)
        self.table.grid_scale = self._numbers("grid_scale", fields)
        self.table.unit_lower = self._numbers("unit_lower", fields)
        self.table.unit_upper = self._numbers("unit_upper", fields)
        self.table.variant_lower = self._numbers("variant_lower", fields)
        self.table.variant_upper = self._numbers("variant_upper", fields)
        self.table.score = self._numbers("score", fields)
        self.table.middle = self._numbers("middle", fields)
        self.table.radius = self._numbers("radius", fields)
        self.table.below = self._numbers("below", fields)
        self.table.above = self._numbers("above", fields)
        self.table.between_share = self._numbers("between_share", fields)
        self.table.between_away = self._numbers("between_away", fields)
        self.table.score_size = self._numbers("score_size", fields)
        self.table.derivative_size = self._numbers("derivative_size", fields)
        self.table.label_group = self._indices("label_group", fields)
        self.table.unit_start = self._indices("unit_start", fields)
        self.table.unit_column = self._indices("unit_column", fields)
        self.table.unit_category = self._indices("unit_category", fields)
        self.table.unit_base = self._indices("unit_base", fields)
        self.table.unit_group = self._indices("unit_group", fields)
        self.table.unit_at = self._indices("unit_at", fields)
        self.table.category_start = self._indices("category_start", fields)
        self.table.category_columns = self._indices("category_columns", fields)
        self.table.budget = self._indices("budget", fields)
        self.table.variant_start = self._indices("variant_start", fields)
        self.table.variant_units = self._indices("variant_units", fields)
        self.table.variant_used = self._indices("variant_used", fields)
        self.table.variant_level = self._indices("variant_level", fields)

    cdef const double *_numbers(self, str name, dict fields) except? NULL:
        array = np.require(fields[name], dtype=np.float64, requirements="C").reshape(-1)
        self.arrays[name] = array = array if array.size else np.zeros(1)
        cdef const double[::1] view = array
        return &view[0]

    cdef const int64_t *_indices(self, str name, dict fields) except? NULL:
        array = np.require(fields[name], dtype=np.int64, requirements="C").reshape(-1)
        self.arrays[name] = array = array if array.size else np.zeros(1, dtype=np.int64)
        cdef const int64_t[::1] view = array
        return &view[0]

    def upper(self, const double[:, ::1] Y, double[::1] bound):
        """Bound ``y.w`` from above for each direction in Y."""
        cdef int failed = 0
        if Y.shape[0]:
            with nogil:
                failed = row_sum_upper(&self.table, Y.shape[0], &Y[0, 0], &bound[0], NULL, NULL, NULL, NULL)
        if failed:
            raise MemoryError

    def upper_with_multipliers(self, const double[:, ::1] Y):
        """Return the bounds, and the multipliers u, z, zeta and lines of complete rows that they belong to."""
        cdef int64_t k = Y.shape[0]
        bound, u = np.empty(k), np.empty((k, self.table.d))
        z, zeta = np.empty((k, self.table.n_uncertain)), np.empty((k, self.table.n_multipliers))
        line = np.empty((k, self.table.n_complete), dtype=np.int64)
        cdef double[::1] of_bound = bound, of_u = u.reshape(-1), of_z = np.append(z, 0.0), of_zeta = np.append(zeta, 0.0)
        cdef int64_t[::1] of_line = np.append(line, 0)
        if row_sum_upper(&self.table, k, &Y[0, 0], &of_bound[0], &of_u[0], &of_z[0], &of_zeta[0], &of_line[0]):
            raise MemoryError
        return (
            bound, u, np.asarray(of_z)[: z.size].reshape(z.shape), np.asarray(of_zeta)[: zeta.size].reshape(zeta.shape),
            np.asarray(of_line)[: line.size].reshape(line.shape),
        )

    def first_order(self, const double[:, ::1] Y, double[::1] rise):
        """Return how far the worst completion raises ``y.w`` for each direction in Y, to first order."""
        cdef int failed = 0
        if Y.shape[0]:
            with nogil:
                failed = row_sum_first_order(&self.table, Y.shape[0], &Y[0, 0], &rise[0])
        if failed:
            raise MemoryError
