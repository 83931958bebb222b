/* Row sums of single directions: what a table and ranges of its scores say of y.w (sec-row-sums). */

#ifndef IPUB_ROW_SUM_KERNEL_H
#define IPUB_ROW_SUM_KERNEL_H

#include <stdint.h>

typedef int64_t index_t;

enum { FREE = -1, CERTAIN = -2 };       /* groups: varies whatever the others do; does not vary */
enum { ANY_LEVEL = -1, BASE_LEVEL = -2 }; /* levels of a category in a variant */
enum { MOST_ENDS = 8, N_SHARES = 6, MOST_GROUPS = 4 };

/* What the sums of all directions share. Matrices are stored row by row; shapes are in brackets. */
typedef struct {
    index_t d, n_complete, n_uncertain, n_units, n_multipliers, n_variants, n_groups;

    /* the model's weights [d], and about the inverse of the curvature [d, d] */
    const double *lam, *w, *tilt, *settled_middle, *settled_radius, *weight_middle, *weight_radius, *inverse;

    /* complete rows: the columns [d, n_together] of so many rows, then those of the next; if most numbers are 0 also row
       by row, with zeros behind them [n_complete, stride]; lines [n_complete, 2 n_slopes, 3]: slope, above, below */
    const double *complete, *complete_rows, *complete_weight, *complete_lower, *complete_per_width, *lines, *curvature_size;
    index_t n_together, n_slopes, stride, is_sparse;
    double complete_size;

    /* uncertain rows [n_uncertain, d], [n_uncertain] */
    const double *rows, *row_weight, *row_norm, *center_lower, *center_upper;
    /* advice: derivatives at w, with either label less that of the center, and on a grid over all scores of a row */
    const double *value_at_w, *slope_at_w, *first_label, *second_label, *chord, *score_lower, *score_upper, *grid, *grid_scale;
    index_t n_grid;
    const index_t *label_group;

    /* the group in which a row counts that is left out of the table, or CERTAIN; derivatives of the l1 penalty over the
       ranges [d]; advice: the derivative of the penalty at w [d] */
    index_t dropped_group;
    const double *l1_lower, *l1_upper, *penalty_slope;

    /* units, row by row: a number in column unit_column with changes in [unit_lower, unit_upper], or, if unit_category
       is not negative, that category, whose row has level unit_base, or the mean of all levels if that is negative */
    const index_t *unit_start, *unit_column, *unit_category, *unit_base, *unit_group, *unit_at;
    const double *unit_lower, *unit_upper;
    const index_t *category_start, *category_columns;
    const index_t *budget; /* [n_groups] */

    /* variants, row by row; how many units of each group differ [n_variants, n_groups]; an entry for each unit */
    const index_t *variant_start, *variant_units, *variant_used, *variant_level;
    const double *variant_lower, *variant_upper;
    /* derivatives at the ends of pieces [n_variants, n_ends]; scores, distances from chords and means of derivatives for
       the ends, and for the points that cut each piece finer [n_variants, finer, n_ends] */
    const double *middle, *radius, *score, *below, *above, *between_share, *between_away;
    const double *score_size, *derivative_size;
    index_t n_ends, finer;

    index_t n_steps; /* Newton steps of the advice */
    double changed_share; /* of the law of a unit that counts in a budget, where it gains most: for what it is changed to */
} row_sum_table;

/* Bound y.w from above for each of n directions [n, d]; where `u` is not null, return also the multipliers u [n, d],
   z [n, n_uncertain], zeta [n, n_multipliers], and the lines of complete rows [n, n_complete].
   Returns 0, or 1 if there is no memory. */
int row_sum_upper(const row_sum_table *t, index_t n, const double *y, double *bound, double *u, double *z, double *zeta,
                  index_t *line);

/* Return how far the worst completion raises y.w for each of n directions, to first order. */
int row_sum_first_order(const row_sum_table *t, index_t n, const double *y, double *rise);

#endif
