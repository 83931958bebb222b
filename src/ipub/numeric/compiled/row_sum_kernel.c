/* Row sums of single directions (sec-row-sums).

   For each direction: multipliers are chosen (advice: any would do), then the bound that belongs to them is computed
   and rounded up by the amounts of fp-row-sums. A sum of sizes that is not finite makes a bound infinite, so that no NaN is
   lost in a comparison: whatever enters a term is no larger than its size. */

#include "row_sum_kernel.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernels.h"

/* Inlined into each version of what is made for each kind of processor. What is large and called once a direction or a
   row has versions of its own: one function of all would take a compiler three times as long, and be no faster. */
#if defined(__GNUC__)
#define INLINED static inline __attribute__((always_inline))
#else
#define INLINED static inline
#endif

static const double EPS = 2.220446049250313e-16, UNDERFLOW = 1e-160, TINY = 1e-300;
static const double SHARES[N_SHARES] = {0.0, 0.33, 0.67, 1.0, 1.25, 1.5};
enum { FIRST_SHARE = 3 };
static const double LARGEST_SHARE = 1.5;

enum { GAIN_PASSES = 2, MANY_COLUMNS = 16, CORRECTIONS = 2 };
static const double SPREAD = 0.7; /* how far apart effects of levels are, in doubts, for one to be preferred */

typedef struct {
    double *U, *W, *u, *force, *left, *size;                      /* [d] */
    double *K, *padded;                                           /* [d, stride], [stride] */
    double *along, *slope, *scratch;                              /* [n_complete] */
    double *row_along, *row_slope, *row_coefficient, *multiplier;        /* [n_uncertain] */
    double *gain, *effect;                                        /* of labels [n_uncertain], of units [n_units] */
    double *drop_gain;                                            /* of rows that are left out [n_uncertain] */
    double least_gain[MOST_GROUPS];                               /* that the budget of a group allows */
    double *mean, *spread, *zeta;                                 /* [n_multipliers] */
    double *gains[MOST_GROUPS], *ordered;                         /* [n_gains], row by row; scratch for one group */
    index_t *gains_at;                                            /* the first of each row and group */
    double *totals;                                               /* [n_multipliers, N_SHARES] */
    index_t *place, *choice, *label_choice;                       /* [n_complete], [n_units], [n_uncertain] */
    double *largest;                                              /* of the variants of one row */
    double of_penalty, of_penalty_size;                           /* what the penalty adds where a row is left out */
    index_t n_gains[MOST_GROUPS];
} workspace;

static inline double larger(double a, double b) { return a > b ? a : b; }
static inline double lesser(double a, double b) { return a < b ? a : b; }

INLINED double dot(index_t n, const double *RESTRICT a, const double *RESTRICT b) {
    double s[8] = {0}, rest = 0.0;
    index_t i = 0;
    for (; i + 8 <= n; i += 8)
        for (int k = 0; k < 8; k++) s[k] += a[i + k] * b[i + k];
    for (; i < n; i++) rest += a[i] * b[i];
    return (((s[0] + s[4]) + (s[2] + s[6])) + ((s[1] + s[5]) + (s[3] + s[7]))) + rest;
}

INLINED double dot_abs(index_t n, const double *RESTRICT a, const double *RESTRICT b) {
    double s[8] = {0}, rest = 0.0;
    index_t i = 0;
    for (; i + 8 <= n; i += 8)
        for (int k = 0; k < 8; k++) s[k] += fabs(a[i + k]) * b[i + k];
    for (; i < n; i++) rest += fabs(a[i]) * b[i];
    return (((s[0] + s[4]) + (s[2] + s[6])) + ((s[1] + s[5]) + (s[3] + s[7]))) + rest;
}

/* Complete rows that are looked at together; their columns [d, n] are one after the other in memory. */
typedef struct {
    index_t start, end, n;
    const double *columns;
} chunk;

INLINED chunk chunk_from(const row_sum_table *t, index_t start) {
    index_t end = start + t->n_together < t->n_complete ? start + t->n_together : t->n_complete;
    return (chunk){start, end, end - start, t->complete + start * t->d};
}

/* out[i] = x_i.v for the rows of a chunk */
INLINED void products(index_t d, chunk c, const double *RESTRICT v, double *RESTRICT out) {
    out += c.start;
    index_t a = 1, n = c.n;
    for (index_t i = 0; i < n; i++) out[i] = v[0] * c.columns[i];
    for (; a + 4 <= d; a += 4) {
        const double *RESTRICT four = c.columns + a * n, *RESTRICT by = v + a;
        for (index_t i = 0; i < n; i++)
            out[i] += (by[0] * four[i] + by[1] * four[n + i]) + (by[2] * four[2 * n + i] + by[3] * four[3 * n + i]);
    }
    for (; a < d; a++)
        for (index_t i = 0; i < n; i++) out[i] += v[a] * c.columns[a * n + i];
}

INLINED void times(index_t d, const double *RESTRICT matrix, const double *RESTRICT v, double *RESTRICT out) {
    for (index_t a = 0; a < d; a++) out[a] = dot(d, matrix + a * d, v);
}

/* --- advice -------------------------------------------------------------------------------------------------- */

/* About the derivative of a row at a score, by its grid. */
INLINED double derivative(const row_sum_table *t, index_t i, double s) {
    const double *grid = t->grid + i * t->n_grid;
    double at = (s - t->score_lower[i]) * t->grid_scale[i], last = (double)(t->n_grid - 1);
    at = at > 0.0 ? lesser(at, last) : 0.0;
    index_t k = (index_t)at;
    k = k < t->n_grid - 1 ? k : t->n_grid - 2;
    return grid[k] + (at - (double)k) * (grid[k + 1] - grid[k]);
}

/* About the slope at a score of the convex (or concave) envelope of a row's derivative over [first, last]. */
INLINED double envelope_slope(const row_sum_table *t, index_t i, double first, double last, double s, int is_convex) {
    double width = last - first, scale = t->grid_scale[i];
    s = lesser(larger(s, first), last);
    if (!(scale > 0.0)) return t->slope_at_w[i];
    double tangent = (derivative(t, i, s + 0.5 / scale) - derivative(t, i, s - 0.5 / scale)) * scale;
    if (!(width > 1e-9 * (fabs(s) + 1e-9))) return tangent;
    double v0 = derivative(t, i, first), v3 = derivative(t, i, last);
    double v1 = derivative(t, i, first + width / 3.0), v2 = derivative(t, i, first + width / 1.5), steepest;
    double second_difference = derivative(t, i, s + 1.0 / scale) - 2.0 * derivative(t, i, s) + derivative(t, i, s - 1.0 / scale);
    if (is_convex) steepest = larger((v3 - v0) / width, larger((v3 - v1) * 1.5 / width, (v3 - v2) * 3.0 / width));
    else steepest = larger((v3 - v0) / width, larger((v2 - v0) * 1.5 / width, (v1 - v0) * 3.0 / width));
    /* Up to its knee an envelope is the derivative, then a line: so its slope changes by little if s does. */
    double straight = 1e-9 * (fabs(v0) + fabs(v3));
    return (is_convex ? second_difference >= -straight : second_difference <= straight) ? lesser(tangent, steepest) : steepest;
}

/* The columns of a unit that is a category, its number of levels, and a weighted sum of v over its row's own level. */
INLINED index_t levels_of(const row_sum_table *t, index_t unit, const index_t **columns) {
    index_t category = t->unit_category[unit], start = t->category_start[category];
    *columns = t->category_columns + start;
    return t->category_start[category + 1] - start;
}

INLINED double of_base(const row_sum_table *t, index_t unit, const double *v) {
    const index_t *columns;
    index_t n = levels_of(t, unit, &columns);
    if (t->unit_base[unit] >= 0) return v[columns[t->unit_base[unit]]];
    double sum = 0.0;
    for (index_t l = 0; l < n; l++) sum += v[columns[l]];
    return sum / (double)n;
}

/* Put the k largest of n numbers first, a NaN counting as large. */
static void largest_first(double *values, index_t n, index_t k) {
    index_t low = 0, high = n - 1;
    if (k <= 0 || k >= n) return;
    for (index_t i = 0; i < n; i++)
        if (values[i] != values[i]) values[i] = INFINITY;
    while (low < high) {
        double pivot = values[low + (high - low) / 2];
        index_t i = low, j = high;
        while (i <= j) {
            while (values[i] > pivot) i++;
            while (values[j] < pivot) j--;
            if (i <= j) {
                double other = values[i];
                values[i++] = values[j];
                values[j--] = other;
            }
        }
        if (k - 1 <= j) high = j;
        else if (k - 1 >= i) low = i;
        else return;
    }
}

/* Whether a row is among those that the worst case leaves out, as advised. */
INLINED int is_left_out(const row_sum_table *t, const workspace *s, index_t i) {
    return t->dropped_group >= 0 && s->drop_gain[i] >= s->least_gain[t->dropped_group] && s->drop_gain[i] > 0.0;
}

/* What the worst completion takes off the gradient at w to first order, given U, into `force`. */
INLINED void first_force(const row_sum_table *t, workspace *s) {
    index_t d = t->d;
    for (index_t a = 0; a < d; a++) s->force[a] = (s->U[a] > 0.0 ? 1.0 : -1.0) * t->settled_radius[a];
    for (index_t g = 0; g < t->n_groups; g++) s->n_gains[g] = 0;
    double of_penalty = dot(d, t->penalty_slope, s->U);
    for (index_t i = 0; i < t->n_uncertain; i++) {
        double along = dot(d, t->rows + i * d, s->U), value = t->value_at_w[i], slope = t->slope_at_w[i] * along;
        s->row_along[i] = along;
        for (index_t k = t->unit_start[i]; k < t->unit_start[i + 1]; k++) {
            double least = 0.0;
            if (t->unit_category[k] < 0) {
                double effect = value * s->U[t->unit_column[k]] + slope * t->w[t->unit_column[k]];
                double low = effect * t->unit_lower[k], high = effect * t->unit_upper[k];
                s->choice[k] = low > high, least = lesser(low, high);
            } else {
                const index_t *columns;
                index_t n = levels_of(t, k, &columns);
                double base = value * of_base(t, k, s->U) + slope * of_base(t, k, t->w);
                least = INFINITY, s->choice[k] = 0; /* what is not known is no reason to choose another */
                for (index_t l = 0; l < n; l++) {
                    double effect = value * s->U[columns[l]] + slope * t->w[columns[l]] - base;
                    if (effect < least) least = effect, s->choice[k] = l;
                }
            }
            s->effect[k] = -t->row_weight[i] * least;
            if (t->unit_group[k] >= 0) s->gains[t->unit_group[k]][s->n_gains[t->unit_group[k]]++] = s->effect[k];
        }
        if (t->label_group[i] != CERTAIN) {
            double first = t->first_label[i] * along, second = t->second_label[i] * along;
            s->label_choice[i] = second < first, s->gain[i] = -t->row_weight[i] * lesser(first, second);
            if (t->label_group[i] >= 0) s->gains[t->label_group[i]][s->n_gains[t->label_group[i]]++] = s->gain[i];
        }
        if (t->dropped_group >= 0) {
            s->drop_gain[i] = t->row_weight[i] * (value * along + of_penalty);
            s->gains[t->dropped_group][s->n_gains[t->dropped_group]++] = s->drop_gain[i];
        }
    }
    double *least = s->least_gain;
    for (index_t g = 0; g < t->n_groups; g++) {
        index_t n = s->n_gains[g], k = t->budget[g];
        largest_first(s->gains[g], n, k);
        least[g] = k <= 0 ? INFINITY : -INFINITY;
        if (k > 0 && k < n) {
            least[g] = s->gains[g][0];
            for (index_t j = 1; j < k; j++) least[g] = lesser(least[g], s->gains[g][j]);
        }
    }
    for (index_t i = 0; i < t->n_uncertain; i++) {
        double row_factor = 0.0, value = t->row_weight[i] * t->value_at_w[i], slope = t->row_weight[i] * t->slope_at_w[i];
        for (index_t k = t->unit_start[i]; k < t->unit_start[i + 1]; k++) {
            index_t group = t->unit_group[k];
            if (group >= 0 && (s->effect[k] < least[group] || !(s->effect[k] > 0.0))) continue;
            if (t->unit_category[k] < 0) {
                index_t j = t->unit_column[k];
                double change = s->choice[k] ? t->unit_upper[k] : t->unit_lower[k];
                s->force[j] -= value * change, row_factor -= slope * change * t->w[j];
            } else {
                const index_t *columns;
                index_t n = levels_of(t, k, &columns), chosen = s->choice[k], base = t->unit_base[k];
                row_factor -= slope * (t->w[columns[chosen]] - of_base(t, k, t->w));
                s->force[columns[chosen]] -= value;
                if (base >= 0) s->force[columns[base]] += value;
                else
                    for (index_t l = 0; l < n; l++) s->force[columns[l]] += value / (double)n;
            }
        }
        index_t group = t->label_group[i];
        if (group != CERTAIN && (group < 0 || (s->gain[i] >= least[group] && s->gain[i] > 0.0)))
            row_factor -= t->row_weight[i] * (s->label_choice[i] ? t->second_label[i] : t->first_label[i]);
        if (is_left_out(t, s, i)) {
            row_factor += value;
            for (index_t a = 0; a < d; a++) s->force[a] += t->row_weight[i] * t->penalty_slope[a];
        }
        if (row_factor != 0.0)
            for (index_t a = 0; a < d; a++) s->force[a] += row_factor * t->rows[i * d + a];
    }
}

/* Choose a law of the units of each uncertain row, and the slope of its line. */
INLINED void choose_laws(const row_sum_table *t, workspace *s, int is_first) {
    index_t d = t->d;
    for (index_t i = 0; i < t->n_uncertain; i++) {
        const double *row = t->rows + i * d;
        double score = dot(d, row, s->W), along = t->chord[i] * s->row_along[i], label = 0.0;
        index_t label_group = t->label_group[i];
        if (label_group != CERTAIN && (label_group < 0 || s->gain[i] >= s->least_gain[label_group]))
            label = s->label_choice[i] ? t->second_label[i] : t->first_label[i];
        double value = label + (is_first ? derivative(t, i, score) : s->row_coefficient[i]);
        double center = 0.5 * (t->center_lower[i] + t->center_upper[i]);
        double half = 0.5 * (t->center_upper[i] - t->center_lower[i]), mean_along = s->row_along[i];
        int has_category = 0;
        for (index_t k = t->unit_start[i]; k < t->unit_start[i + 1]; k++) {
            index_t at = t->unit_at[k];
            if (t->unit_group[k] >= 0) { /* of a budget: what is filled in, or what gains most */
                index_t chosen = s->choice[k], n = 1, one = t->unit_column[k];
                const index_t *columns = &one;
                double change = 1.0, radius_met, size, likely;
                if (t->unit_category[k] >= 0) {
                    n = levels_of(t, k, &columns);
                    index_t base = columns[t->unit_base[k]], other = columns[chosen];
                    radius_met = t->weight_radius[base] + t->weight_radius[other];
                    size = fabs(t->weight_middle[other] - t->weight_middle[base]);
                } else {
                    change = chosen ? t->unit_upper[k] : t->unit_lower[k];
                    radius_met = fabs(change) * t->weight_radius[one], size = fabs(change * t->weight_middle[one]);
                }
                double lead = s->effect[k] - s->least_gain[t->unit_group[k]];
                lead = lead / larger(t->row_weight[i] * fabs(along) * radius_met, TINY);
                likely = t->changed_share * (0.5 + 0.5 * (lead > -1.0 ? lesser(lead, 1.0) : -1.0));
                if (t->unit_category[k] >= 0) {
                    for (index_t l = 0; l < n; l++) s->mean[at + l] = s->spread[at + l] = 0.0;
                    s->spread[at + t->unit_base[k]] = 1.0 - likely, s->mean[at + t->unit_base[k]] = -likely;
                    s->spread[at + chosen] += likely, s->mean[at + chosen] += likely;
                } else s->mean[at] = likely * change, s->spread[at] = likely * (1.0 - likely) * change * change;
                for (index_t l = 0; l < n; l++) {
                    double mean = s->mean[at + l];
                    center += mean * t->weight_middle[columns[l]];
                    mean_along += mean * s->U[columns[l]], score += mean * s->W[columns[l]];
                }
                half += sqrt(likely * (1.0 - likely)) * size + likely * radius_met;
            } else if (t->unit_category[k] < 0) {
                index_t j = t->unit_column[k];
                double middle = 0.5 * (t->unit_lower[k] + t->unit_upper[k]), R = t->unit_upper[k] - middle;
                double effect = value * s->U[j] + along * t->weight_middle[j];
                double radius_met = fabs(along) * t->weight_radius[j];
                double decided = lesser(fabs(effect) / larger(radius_met, TINY), 1.0) * R;
                s->mean[at] = middle + (effect > 0.0 ? -decided : decided);
                s->spread[at] = R * R - decided * decided;
                center += s->mean[at] * t->weight_middle[j];
                half += (R - decided) * fabs(t->weight_middle[j]) + R * t->weight_radius[j];
                mean_along += s->mean[at] * s->U[j], score += s->mean[at] * s->W[j];
            } else {
                const index_t *columns;
                index_t n = levels_of(t, k, &columns);
                double radius_met = 0.0, least = INFINITY, sum = 0.0;
                has_category = 1;
                for (index_t l = 0; l < n; l++) {
                    index_t j = columns[l];
                    radius_met += t->weight_radius[j];
                    s->mean[at + l] = value * s->U[j] + along * t->weight_middle[j];
                    least = lesser(least, s->mean[at + l]);
                }
                radius_met = larger(SPREAD * fabs(along) * radius_met / (double)n, TINY);
                for (index_t l = 0; l < n; l++) {
                    s->spread[at + l] = exp(larger((least - s->mean[at + l]) / radius_met, -50.0));
                    sum += s->spread[at + l];
                }
                double base = t->unit_base[k] >= 0 ? 0.0 : 1.0 / (double)n;
                for (index_t l = 0; l < n; l++) {
                    s->spread[at + l] /= sum;
                    s->mean[at + l] = s->spread[at + l] - (l == t->unit_base[k] ? 1.0 : base);
                    mean_along += s->mean[at + l] * s->U[columns[l]], score += s->mean[at + l] * s->W[columns[l]];
                }
            }
        }
        double low = t->score_lower[i], high = t->score_upper[i];
        double first = lesser(larger(center - half, low), high), last = lesser(larger(center + half, low), high);
        s->row_slope[i] = has_category ? t->chord[i] : envelope_slope(t, i, first, last, score, mean_along > 0.0);
        s->row_coefficient[i] = is_left_out(t, s, i) ? 0.0 : derivative(t, i, score) + label;
    }
}

/* Add weight row row^T to the lower half of K; both have a stride, which is a multiple of 8, and zeros behind the last
   column. */
INLINED void add_square(index_t d, index_t stride, double weight, const double *RESTRICT row, double *RESTRICT K) {
    for (index_t a = 0; a < d; a++) {
        double part = weight * row[a], *RESTRICT to = K + a * stride;
        if (part != 0.0)
            for (index_t block = 0; block <= a; block += 8)
                for (int b = 0; b < 8; b++) to[block + b] += part * row[block + b];
    }
}

/* Add weight (row + mean)(row + mean)^T + weight covariance of a row's law to the lower half of K; `row` is scratch. */
INLINED void add_law(const row_sum_table *t, workspace *s, index_t i, double weight, double *row) {
    index_t d = t->d, stride = t->stride;
    memcpy(row, t->rows + i * d, (size_t)d * sizeof(double));
    for (index_t k = t->unit_start[i]; k < t->unit_start[i + 1]; k++) {
        index_t at = t->unit_at[k];
        if (t->unit_category[k] < 0) {
            index_t j = t->unit_column[k];
            row[j] += s->mean[at], s->K[j * stride + j] += weight * s->spread[at];
            continue;
        }
        const index_t *columns;
        index_t n = levels_of(t, k, &columns);
        for (index_t l = 0; l < n; l++) {
            double part = weight * s->spread[at + l];
            row[columns[l]] += s->mean[at + l];
            if (part == 0.0) continue;
            s->K[columns[l] * stride + columns[l]] += part;
            for (index_t o = 0; o < n; o++)
                if (columns[o] <= columns[l]) s->K[columns[l] * stride + columns[o]] -= part * s->spread[at + o];
        }
    }
    add_square(d, t->stride, weight, row, s->K);
}

/* Add the products of a with four columns, one after the other, to `out`. */
INLINED void add_four_products(index_t n, const double *RESTRICT a, const double *RESTRICT b, double *RESTRICT out) {
    double s[4][8] = {{0}};
    index_t i = 0;
    for (; i + 8 <= n; i += 8)
        for (int j = 0; j < 4; j++)
            for (int k = 0; k < 8; k++) s[j][k] += a[i + k] * b[j * n + i + k];
    for (; i < n; i++)
        for (int j = 0; j < 4; j++) s[j][0] += a[i] * b[j * n + i];
    for (int j = 0; j < 4; j++)
        for (int k = 0; k < 8; k++) out[j] += s[j][k];
}

/* Add the squares of the complete rows of a chunk, with the slopes of their lines, to the lower half of K. */
INLINED void add_squares(const row_sum_table *t, workspace *s, chunk c) {
    index_t d = t->d, stride = t->stride;
    const double *weight = t->complete_weight + c.start, *slope = s->slope + c.start;
    double *RESTRICT weighted = s->scratch + c.start;
    if (t->is_sparse) {
        for (index_t i = 0; i < c.n; i++)
            add_square(d, stride, weight[i] * slope[i], t->complete_rows + (c.start + i) * stride, s->K);
        return;
    }
    for (index_t a = 0; a < d; a++) {
        const double *RESTRICT column = c.columns + a * c.n;
        double *row = s->K + a * stride;
        for (index_t i = 0; i < c.n; i++) weighted[i] = weight[i] * slope[i] * column[i];
        index_t b = 0;
        for (; b + 3 <= a; b += 4) add_four_products(c.n, weighted, c.columns + b * c.n, row + b);
        for (; b <= a; b++) row[b] += dot(c.n, weighted, c.columns + b * c.n);
    }
}

/* Whether u is found by corrections: where there are many columns, K takes longer than all else. */
INLINED int is_corrected(const row_sum_table *t) { return t->n_steps == 0 && t->d >= MANY_COLUMNS; }

/* Choose the lines of complete rows, which touch their derivatives where W's scores are, and add up their curvature. */
INLINED void choose_lines(const row_sum_table *t, workspace *s) {
    index_t n_slopes = t->n_slopes;
    for (index_t a = 0; a < t->d * t->stride; a++) s->K[a] = 0.0;
    for (index_t start = 0; start < t->n_complete; start += t->n_together) {
        chunk c = chunk_from(t, start);
        products(t->d, c, s->U, s->along);
        products(t->d, c, s->W, s->scratch);
        for (index_t i = c.start; i < c.end; i++) {
            double at = (s->scratch[i] - t->complete_lower[i]) * t->complete_per_width[i] + 0.5;
            index_t place = at > 0.0 ? (at < (double)n_slopes ? (index_t)at : n_slopes - 1) : 0;
            place = s->along[i] > 0.0 ? place : place + n_slopes;
            s->place[i] = place;
            s->slope[i] = t->lines[(i * 2 * n_slopes + place) * 3];
        }
        if (!is_corrected(t)) add_squares(t, s, c);
    }
}

/* Add the penalty's curvature and that of the laws to K. */
INLINED void add_laws(const row_sum_table *t, workspace *s) {
    for (index_t a = 0; a < t->d; a++) s->K[a * t->stride + a] += t->lam[a];
    for (index_t i = 0; i < t->n_uncertain; i++) add_law(t, s, i, t->row_weight[i] * s->row_slope[i], s->padded);
}

/* Bring u nearer to K^-1 y by the inverse that all directions share, where K has no part of complete rows yet. */
INLINED void correct(const row_sum_table *t, workspace *s, const double *y) {
    index_t d = t->d, stride = t->stride;
    for (index_t a = 0; a < d; a++) {
        const double *row = s->K + a * stride;
        s->left[a] = y[a] - dot(a + 1, row, s->u);
        for (index_t b = 0; b < a; b++) s->left[b] -= row[b] * s->u[a];
    }
    for (index_t start = 0; start < t->n_complete; start += t->n_together) {
        chunk c = chunk_from(t, start);
        products(d, c, s->u, s->scratch);
        for (index_t i = c.start; i < c.end; i++) s->scratch[i] *= t->complete_weight[i] * s->slope[i];
        for (index_t a = 0; a < d; a++) s->left[a] -= dot(c.n, s->scratch + start, c.columns + a * c.n);
    }
    times(d, t->inverse, s->left, s->force);
    for (index_t a = 0; a < d; a++) s->u[a] += s->force[a];
}

/* The Cholesky factor of K in place; 0 if it has none. */
INLINED int factored_curvature(const row_sum_table *t, workspace *s) {
    index_t d = t->d, stride = t->stride;
    add_laws(t, s);
    for (index_t a = 0; a < d; a++) {
        double *RESTRICT row = s->K + a * stride;
        for (index_t b = 0; b < a; b++) row[b] = (row[b] - dot(b, row, s->K + b * stride)) / s->K[b * stride + b];
        double pivot = row[a] - dot(a, row, row);
        if (!(pivot > 0.0)) return 0;
        row[a] = sqrt(pivot);
    }
    return 1;
}

/* Solve K out = y, given the factor of K. */
INLINED void solve(const row_sum_table *t, const workspace *s, const double *y, double *out) {
    index_t d = t->d, stride = t->stride;
    for (index_t a = 0; a < d; a++) out[a] = (y[a] - dot(a, s->K + a * stride, out)) / s->K[a * stride + a];
    for (index_t a = d - 1; a >= 0; a--) {
        out[a] /= s->K[a * stride + a];
        for (index_t b = 0; b < a; b++) out[b] -= s->K[a * stride + b] * out[a];
    }
}

/* What is left at W of the gradient of the worst case: lines of complete rows, laws of the others. Into `left`. */
INLINED void worst_gradient(const row_sum_table *t, workspace *s) {
    index_t d = t->d, n = t->n_complete;
    for (index_t a = 0; a < d; a++)
        s->left[a] =
            t->lam[a] * s->W[a] + t->settled_middle[a] - (s->U[a] > 0.0 ? 1.0 : -1.0) * t->settled_radius[a];
    for (index_t start = 0; start < n; start += t->n_together) {
        chunk c = chunk_from(t, start);
        products(d, c, s->W, s->scratch);
        for (index_t i = c.start; i < c.end; i++) {
            const double *line = t->lines + (i * 2 * t->n_slopes + s->place[i]) * 3;
            double score = s->scratch[i], height = s->along[i] > 0.0 ? -line[1] : line[2];
            s->scratch[i] = t->complete_weight[i] * (line[0] * score + height);
        }
        for (index_t a = 0; a < d; a++) s->left[a] += dot(c.n, s->scratch + start, c.columns + a * c.n);
    }
    double left_out = 0.0;
    for (index_t i = 0; i < t->n_uncertain; i++)
        if (is_left_out(t, s, i)) left_out += t->row_weight[i];
    if (left_out > 0.0)
        for (index_t a = 0; a < d; a++) s->left[a] -= left_out * (t->penalty_slope[a] + t->lam[a] * (s->W[a] - t->w[a]));
    for (index_t i = 0; i < t->n_uncertain; i++) {
        double row_factor = t->row_weight[i] * s->row_coefficient[i], weight = t->row_weight[i] * s->row_slope[i];
        for (index_t a = 0; a < d; a++) s->left[a] += row_factor * t->rows[i * d + a];
        for (index_t k = t->unit_start[i]; k < t->unit_start[i + 1]; k++) {
            index_t at = t->unit_at[k];
            if (t->unit_category[k] < 0) {
                index_t j = t->unit_column[k];
                s->left[j] += row_factor * s->mean[at] + weight * s->spread[at] * s->W[j];
                continue;
            }
            const index_t *columns;
            index_t m = levels_of(t, k, &columns);
            double mean = 0.0;
            for (index_t l = 0; l < m; l++) mean += s->spread[at + l] * s->W[columns[l]];
            for (index_t l = 0; l < m; l++)
                s->left[columns[l]] += row_factor * s->mean[at + l] + weight * s->spread[at + l] * (s->W[columns[l]] - mean);
        }
    }
}

/* Choose lines, laws and u: those under which the worst case of all rows together is one model, by Newton steps. */
FOR_EACH_PROCESSOR
static void choose(const row_sum_table *t, workspace *s, const double *y) {
    index_t d = t->d;
    times(d, t->inverse, y, s->U);
    first_force(t, s);
    times(d, t->inverse, s->force, s->W);
    for (index_t a = 0; a < d; a++) s->W[a] += t->w[a];
    for (index_t step = 0;; step++) {
        choose_laws(t, s, step == 0);
        choose_lines(t, s);
        if (is_corrected(t)) {
            add_laws(t, s);
            memcpy(s->u, s->U, (size_t)d * sizeof(double));
            for (int k = 0; k < CORRECTIONS; k++) correct(t, s, y);
            return;
        }
        if (!factored_curvature(t, s)) {
            memcpy(s->u, s->U, (size_t)d * sizeof(double));
            return;
        }
        if (step < t->n_steps) worst_gradient(t, s);
        solve(t, s, y, s->u);
        if (step == t->n_steps) return;
        solve(t, s, s->left, s->force);
        for (index_t a = 0; a < d; a++) s->W[a] -= 0.5 * s->force[a], s->U[a] = 0.5 * (s->U[a] + s->u[a]);
        for (index_t i = 0; i < t->n_uncertain; i++) s->row_along[i] = dot(d, t->rows + i * d, s->U);
    }
}

/* --- what is proved ------------------------------------------------------------------------------------------ */

/* Multipliers of an uncertain row: z of its score, zeta of the weights that its units meet. */
FOR_EACH_PROCESSOR
static void row_multipliers(const row_sum_table *t, workspace *s, index_t i) {
    double along = dot(t->d, t->rows + i * t->d, s->u), z = along;
    for (index_t k = t->unit_start[i]; k < t->unit_start[i + 1]; k++) {
        index_t at = t->unit_at[k];
        if (t->unit_category[k] < 0) z += s->mean[at] * s->u[t->unit_column[k]];
        else {
            const index_t *columns;
            index_t n = levels_of(t, k, &columns);
            for (index_t l = 0; l < n; l++) z += s->mean[at + l] * s->u[columns[l]];
        }
    }
    z *= s->row_slope[i];
    s->row_along[i] = along, s->multiplier[i] = z;
    for (index_t k = t->unit_start[i]; k < t->unit_start[i + 1]; k++) {
        index_t at = t->unit_at[k];
        if (t->unit_category[k] < 0)
            s->zeta[at] = z * s->mean[at] + s->row_slope[i] * s->spread[at] * s->u[t->unit_column[k]];
        else {
            const index_t *columns;
            index_t n = levels_of(t, k, &columns);
            double mean = 0.0;
            for (index_t l = 0; l < n; l++) mean += s->spread[at + l] * s->u[columns[l]];
            for (index_t l = 0; l < n; l++)
                s->zeta[at + l] =
                    z * s->mean[at + l] + s->row_slope[i] * s->spread[at + l] * (s->u[columns[l]] - mean);
        }
    }
}

/* Bound a variant's term over all pieces of its scores for one share, given at the ends of pieces all but what the
   completed score adds (lem-chords). `over` has the least bound of each piece that other shares gave. There is one piece
   less than there are ends: what is computed behind the last counts nowhere. */
INLINED void over_pieces(const row_sum_table *t, index_t v, double slope, const double *RESTRICT at_end, double steep,
                         double falling, double rising, double *RESTRICT over, int n_ends) {
    index_t first = v * t->finer * n_ends;
    const double *RESTRICT score = t->score + first;
    double move[MOST_ENDS + 1], at_first[MOST_ENDS + 1], before[MOST_ENDS], after[MOST_ENDS], result[MOST_ENDS];
    double rectangle[MOST_ENDS];
    for (int e = 0; e < n_ends; e++) move[e] = slope * score[e], at_first[e] = at_end[e] + move[e];
    move[n_ends] = move[n_ends - 1], at_first[n_ends] = at_first[n_ends - 1];
    for (int e = 0; e < n_ends; e++) {
        rectangle[e] = larger(at_end[e], at_end[e + 1]) + larger(move[e], move[e + 1]);
        before[e] = at_first[e], result[e] = -INFINITY;
    }
    for (index_t part = 0; part < t->finer; part++) {
        const double *RESTRICT below = t->below + first + part * n_ends, *RESTRICT above = t->above + first + part * n_ends;
        if (part + 1 < t->finer) {
            index_t inner = first + (part + 1) * n_ends;
            const double *RESTRICT share = t->between_share + inner, *RESTRICT away = t->between_away + inner;
            for (int e = 0; e < n_ends; e++)
                after[e] = at_end[e] + share[e] * (at_end[e + 1] - at_end[e]) + steep * away[e] +
                           slope * t->score[inner + e];
        } else
            for (int e = 0; e < n_ends; e++) after[e] = at_first[e + 1];
        for (int e = 0; e < n_ends; e++) {
            double off = larger(falling * below[e], rising * above[e]);
            result[e] = larger(result[e], larger(before[e], after[e]) + off);
            before[e] = after[e];
        }
    }
    for (int e = 0; e < n_ends; e++) over[e] = lesser(over[e], lesser(result[e], rectangle[e]));
}

/* The greatest values of a unit at the ends of pieces, its changes and the weights it weight_coefficient at their worst: added to
   `at_end`, or, for a unit of a budget, what they are above the base's, into `gain`. */
INLINED void add_choice(double own, double change, const double *RESTRICT middle, double *RESTRICT most,
                              int is_first, int n_ends) {
    if (is_first)
        for (int e = 0; e < n_ends; e++) most[e] = own - middle[e] * change;
    else
        for (int e = 0; e < n_ends; e++) most[e] = larger(most[e], own - middle[e] * change);
}

typedef struct {
    double z, along, fixed[N_SHARES];
} row_numbers;

/* What the weights of a unit, and its change, add but for the derivative's part: (zeta - slope change).w at its worst. */
INLINED double number_term(double zeta, double slope, double change, double middle, double radius) {
    double weight_coefficient = zeta - slope * change;
    return weight_coefficient * middle + fabs(weight_coefficient) * radius;
}

/* What the weights that a unit weight_coefficient add if it does not differ from its row's base: zeta.w at its worst. */
INLINED double unit_at_base(const row_sum_table *t, const workspace *s, index_t unit) {
    index_t at = t->unit_at[unit], one = t->unit_column[unit], n = 1;
    const index_t *columns = &one;
    double sum = 0.0;
    if (t->unit_category[unit] >= 0) n = levels_of(t, unit, &columns);
    for (index_t l = 0; l < n; l++)
        sum += number_term(s->zeta[at + l], 0.0, 0.0, t->weight_middle[columns[l]], t->weight_radius[columns[l]]);
    return sum;
}

/* Whether a variant is the one without its row. */
INLINED int is_without_row(const row_sum_table *t, index_t v) {
    return t->dropped_group >= 0 && t->variant_used[v * t->n_groups + t->dropped_group] != 0;
}

/* What the penalty adds to the term of a row that is left out, (Lambda u + kappa q).w at its worst, and the size of all
   that it is made of (lem-absent-row). */
INLINED void penalty_term(const row_sum_table *t, workspace *s) {
    s->of_penalty = s->of_penalty_size = 0.0;
    if (t->dropped_group < 0) return;
    for (index_t a = 0; a < t->d; a++) {
        double u = s->u[a], slope = t->lam[a] * u;
        s->of_penalty += number_term(slope, 0.0, 0.0, t->weight_middle[a], t->weight_radius[a]) +
                         larger(u * t->l1_lower[a], u * t->l1_upper[a]);
        s->of_penalty_size += fabs(slope) * (fabs(t->weight_middle[a]) + t->weight_radius[a]) +
                              fabs(u) * larger(fabs(t->l1_lower[a]), fabs(t->l1_upper[a]));
    }
}

/* Bound the term of a variant with one share, or improve `over`; returns the largest over its pieces. */
INLINED double variant_term(const row_sum_table *t, const workspace *s, index_t i, index_t v, int share,
                                  const row_numbers *row, double falling, double rising, double *RESTRICT over,
                                  int n_ends) {
    index_t first = t->unit_start[i], n_units = t->unit_start[i + 1] - first;
    double slope = SHARES[share] * row->z, steep = larger(falling, rising), at_end[MOST_ENDS + 1];
    const double *RESTRICT middle = t->middle + v * n_ends, *RESTRICT radius = t->radius + v * n_ends;
    double most[MOST_ENDS], gains[MOST_GROUPS][MOST_ENDS][16];
    index_t n_gains[MOST_GROUPS] = {0}, used[MOST_GROUPS] = {0};
    for (index_t g = 0; g < t->n_groups; g++) used[g] = t->variant_used[v * t->n_groups + g];
    for (int e = 0; e < n_ends; e++)
        at_end[e] = (row->fixed[share] + steep * radius[e]) - middle[e] * row->along;
    if (is_without_row(t, v))
        for (int e = 0; e < n_ends; e++) at_end[e] += s->of_penalty;
    for (index_t k = 0; k < n_units; k++) {
        index_t unit = first + k, entry = t->variant_units[v] + k, at = t->unit_at[unit], group = t->unit_group[unit];
        double base;
        if (group >= 0 && used[group] == 0) { /* as it is filled in */
            double rest = unit_at_base(t, s, unit);
            for (int e = 0; e < n_ends; e++) at_end[e] += rest;
            continue;
        }
        if (t->unit_category[unit] < 0) {
            index_t j = t->unit_column[unit];
            double wm = t->weight_middle[j], wr = t->weight_radius[j], zeta = s->zeta[at], u = s->u[j];
            double low = t->variant_lower[entry], high = t->variant_upper[entry];
            add_choice(number_term(zeta, slope, low, wm, wr), low * u, middle, most, 1, n_ends);
            if (high > low) add_choice(number_term(zeta, slope, high, wm, wr), high * u, middle, most, 0, n_ends);
        } else {
            const index_t *columns;
            index_t n = levels_of(t, unit, &columns), level = t->variant_level[entry], base_level = t->unit_base[unit];
            double center = base_level >= 0 ? 0.0 : 1.0 / (double)n, base_u = of_base(t, unit, s->u), total = 0.0;
            int is_first = 1;
            for (index_t l = 0; l < n; l++) {
                double zeta = s->zeta[at + l], apart = zeta + slope * (l == base_level ? 1.0 : center);
                total += apart * t->weight_middle[columns[l]] + fabs(apart) * t->weight_radius[columns[l]];
            }
            if (level == BASE_LEVEL) add_choice(unit_at_base(t, s, unit), 0.0, middle, most, 1, n_ends);
            else
                for (index_t l = level >= 0 ? level : 0; l < (level >= 0 ? level + 1 : n); l++) {
                    double apart = s->zeta[at + l] + slope * (l == base_level ? 1.0 : center);
                    double own = total - slope * t->weight_middle[columns[l]] +
                                 (fabs(apart - slope) - fabs(apart)) * t->weight_radius[columns[l]];
                    add_choice(own, s->u[columns[l]] - base_u, middle, most, is_first, n_ends);
                    is_first = 0;
                }
        }
        if (group < 0)
            for (int e = 0; e < n_ends; e++) at_end[e] += most[e];
        else {
            base = unit_at_base(t, s, unit);
            for (int e = 0; e < n_ends; e++) {
                double gain = larger(most[e] - base, 0.0), *kept = gains[group][e];
                index_t n = n_gains[group], m = used[group] < 16 ? used[group] : 16;
                at_end[e] += base;
                if (used[group] >= 16) at_end[e] += gain; /* so many that all may differ */
                else { /* keep the largest in order */
                    index_t place = n < m ? n : m;
                    while (place > 0 && kept[place - 1] < gain) {
                        if (place < m) kept[place] = kept[place - 1];
                        place--;
                    }
                    if (place < m) kept[place] = gain;
                }
            }
            n_gains[group]++;
        }
    }
    for (index_t g = 0; g < t->n_groups; g++)
        if (used[g] < 16)
            for (int e = 0; e < n_ends; e++)
                for (index_t k = 0; k < (n_gains[g] < used[g] ? n_gains[g] : used[g]); k++) at_end[e] += gains[g][e][k];
    at_end[n_ends] = at_end[n_ends - 1];
    over_pieces(t, v, slope, at_end, steep, falling, rising, over, n_ends);
    double largest = over[0];
    for (int e = 1; e < n_ends - 1; e++) largest = larger(largest, over[e]);
    return largest;
}

/* How far (x_i + d).u reaches over the options of a variant, and the size of all that its term is made of. */
INLINED void variant_sizes(const row_sum_table *t, const workspace *s, index_t i, index_t v, const row_numbers *row,
                          double norm, double *falling, double *rising, double *size) {
    double least = row->along, most = row->along, slope = LARGEST_SHARE * fabs(row->z);
    double center = larger(fabs(t->center_lower[i]), fabs(t->center_upper[i])), derivative = t->derivative_size[v];
    double sum = 2.0 * slope * (t->score_size[v] + center) + derivative * norm * t->row_norm[i];
    if (is_without_row(t, v)) sum += s->of_penalty_size;
    for (index_t k = t->unit_start[i]; k < t->unit_start[i + 1]; k++) {
        index_t entry = t->variant_units[v] + k - t->unit_start[i], at = t->unit_at[k];
        double low = INFINITY, high = -INFINITY;
        if (t->unit_category[k] < 0) {
            index_t j = t->unit_column[k];
            double u = s->u[j], weight = fabs(t->weight_middle[j]) + t->weight_radius[j];
            double change = larger(fabs(t->variant_lower[entry]), fabs(t->variant_upper[entry]));
            double a = t->variant_lower[entry] * u, b = t->variant_upper[entry] * u;
            low = lesser(a, b), high = larger(a, b);
            sum += (fabs(s->zeta[at]) + slope * change) * weight + derivative * change * fabs(u);
        } else {
            const index_t *columns;
            index_t n = levels_of(t, k, &columns), level = t->variant_level[entry];
            double base = of_base(t, k, s->u), largest = 0.0, largest_u = 0.0;
            for (index_t l = 0; l < n; l++) {
                index_t j = columns[l];
                double weight = fabs(t->weight_middle[j]) + t->weight_radius[j], change = s->u[j] - base;
                sum += fabs(s->zeta[at + l]) * weight;
                largest = larger(largest, weight), largest_u = larger(largest_u, fabs(s->u[j]));
                if (level == ANY_LEVEL || level == l) low = lesser(low, change), high = larger(high, change);
            }
            if (level == BASE_LEVEL) low = high = 0.0;
            /* the weights of a level and of the base's, which is one level or the mean of all */
            sum += 4.0 * slope * largest + 2.0 * derivative * largest_u;
        }
        if (t->unit_group[k] >= 0) low = lesser(low, 0.0), high = larger(high, 0.0);
        least += low, most += high;
    }
    *falling = larger(most, 0.0), *rising = larger(-least, 0.0), *size = sum;
}

/* The numbers of ends are constants to the compiler: 8 or 4, and no other (checked_fields.py). */
#define VARIANT_TERM(v, share)                                                                                  \
    (t->n_ends == 8 ? variant_term(t, s, i, start + (v), share, &row, falling[v], rising[v], over[v], 8)        \
                    : variant_term(t, s, i, start + (v), share, &row, falling[v], rising[v], over[v], 4))

/* Whether a variant uses nothing of any budget. */
INLINED int is_base(const row_sum_table *t, index_t v) {
    for (index_t g = 0; g < t->n_groups; g++)
        if (t->variant_used[v * t->n_groups + g] != 0) return 0;
    return 1;
}

/* Bounds of the terms of a row's variants: each with one share, then those that may be the largest with all; those that
   use something of a budget only `if_used`. */
FOR_EACH_PROCESSOR
static void row_terms(const row_sum_table *t, workspace *s, index_t i, double norm, double *largest, int if_used) {
    index_t start = t->variant_start[i], n = t->variant_start[i + 1] - start;
    row_numbers row = {s->multiplier[i], s->row_along[i], {0}};
    double over[64][MOST_ENDS], falling[64], rising[64], error[64];
    char is_refined[64];
    for (int k = 0; k < N_SHARES; k++) {
        double z = (1.0 - SHARES[k]) * row.z;
        row.fixed[k] = larger(z * t->center_lower[i], z * t->center_upper[i]);
    }
    for (index_t v = 0; v < n; v++) {
        double size;
        variant_sizes(t, s, i, start + v, &row, norm, falling + v, rising + v, &size);
        error[v] = (double)(6 * t->d + 64) * EPS * size * (1.0 + 1e-6) + UNDERFLOW + TINY;
        if (!(error[v] < INFINITY)) error[v] = INFINITY;
        for (int e = 0; e < MOST_ENDS; e++) over[v][e] = INFINITY;
        largest[v] = VARIANT_TERM(v, FIRST_SHARE);
        is_refined[v] = 1; /* where no unit differs, the completed score is that of the center: share 1 is best */
        for (index_t k = t->unit_start[i]; k < t->unit_start[i + 1]; k++)
            is_refined[v] &= t->unit_group[k] >= 0 && t->variant_used[(start + v) * t->n_groups + t->unit_group[k]] == 0;
        largest[v] = error[v] < INFINITY ? largest[v] + error[v] : INFINITY;
        is_refined[v] |= !if_used && !is_base(t, start + v);
    }
    /* Of the variants with the same use of the budgets the largest counts. */
    for (;;) {
        index_t at = -1;
        for (index_t v = 0; v < n && at < 0; v++) {
            if (is_refined[v] || !(error[v] < INFINITY)) continue;
            int is_largest = 1;
            for (index_t o = 0; o < n && is_largest; o++)
                is_largest = largest[o] <= largest[v] ||
                             memcmp(t->variant_used + (start + o) * t->n_groups,
                                    t->variant_used + (start + v) * t->n_groups,
                                    (size_t)t->n_groups * sizeof(index_t)) != 0;
            if (is_largest) at = v;
        }
        if (at < 0) return;
        /* The best share is mostly one: others are tried on either side of the first while they help. */
        for (int side = -1; side <= 1; side += 2)
            for (int k = FIRST_SHARE + side; k >= 0 && k < N_SHARES; k += side) {
                double found = error[at] + VARIANT_TERM(at, k);
                int helps = found < largest[at];
                largest[at] = found;
                if (!helps) break;
            }
        is_refined[at] = 1;
    }
}

/* The least number of units of a group that a variant stands for: one more than the next smaller number looked at. */
INLINED index_t least_used(const row_sum_table *t, index_t i, index_t v, index_t group) {
    index_t start = t->variant_start[i], end = t->variant_start[i + 1], least = 0;
    index_t most = t->variant_used[v * t->n_groups + group];
    for (index_t o = start; o < end; o++) {
        index_t used = t->variant_used[o * t->n_groups + group];
        if (used < most && used >= least) least = used + 1;
    }
    return least;
}

/* Return a row's term with nothing of a budget used, and put what using budgets adds at most among the gains of the
   groups: f_g(q) for q units of group g, concave in q, group by group (lem-budget). */
FOR_EACH_PROCESSOR
static double row_gains(const row_sum_table *t, workspace *s, index_t i, const double *largest) {
    index_t start = t->variant_start[i], n = t->variant_start[i + 1] - start, n_groups = t->n_groups;
    double m = t->row_weight[i], base = -INFINITY, majorant[MOST_GROUPS][17];
    for (index_t v = 0; v < n; v++)
        if (is_base(t, start + v) && !(largest[v] <= base)) base = largest[v];
    for (index_t g = 0; g < n_groups; g++) {
        double gained[17], *to_gains = s->gains[g] + s->gains_at[i * n_groups + g];
        index_t most = 0;
        for (int q = 0; q < 17; q++) gained[q] = majorant[g][q] = 0.0;
        for (index_t v = 0; v < n; v++) {
            const index_t *used = t->variant_used + (start + v) * n_groups;
            double gain = largest[v] - base;
            index_t q = used[g] < 16 ? used[g] : 16;
            int later = 0;
            for (index_t h = g + 1; h < n_groups; h++) later |= used[h] != 0;
            if (later || q == 0) continue;
            double off = fabs(largest[v]) + fabs(base);
            for (index_t h = 0; h < g; h++) { /* fewer units of an earlier group, which gain less, count as these too */
                index_t fewest = least_used(t, i, start + v, h);
                double gained_before = majorant[h][fewest < 16 ? fewest : 16];
                gain -= gained_before, off += gained_before;
            }
            gain += 16.0 * EPS * off;
            most = q > most ? q : most;
            if (!(gain <= gained[q])) gained[q] = gain;
        }
        /* what q units gain at most: also what the next number of units that was looked at does */
        for (index_t q = most - 1; q > 0; q--)
            if (gained[q] == 0.0 || !(gained[q] >= 0.0)) gained[q] = gained[q + 1];
        for (index_t from = 0; from < most;) {
            index_t to = from + 1;
            double steepest = gained[to] - gained[from];
            for (index_t q = from + 2; q <= most; q++) {
                double slope = (gained[q] - gained[from]) / (double)(q - from);
                if (slope > steepest) steepest = slope, to = q;
            }
            for (index_t q = from + 1; q <= to; q++) {
                double step = larger(steepest, 0.0) * (1.0 + 16.0 * EPS);
                majorant[g][q] = majorant[g][q - 1] + step;
                *to_gains++ = m * step;
            }
            from = to;
        }
        for (index_t q = most + 1; q < 17; q++) majorant[g][q] = majorant[g][most];
    }
    return base;
}

/* The k-th largest gain of each group, k its budget; with the sum of the k largest of all groups. */
INLINED double largest_gains(const row_sum_table *t, workspace *s) {
    double sum = 0.0;
    for (index_t g = 0; g < t->n_groups; g++) {
        index_t n = s->gains_at[t->n_uncertain * t->n_groups + g], k = t->budget[g] < n ? t->budget[g] : n;
        /* Most gains are less than half of what was the k-th largest when they were bounded less well. */
        double few = 0.5 * s->least_gain[g];
        index_t n_few = 0;
        for (index_t j = 0; j < n; j++) {
            s->ordered[n_few] = s->gains[g][j];
            n_few += !(s->ordered[n_few] < few);
        }
        if (n_few < k) memcpy(s->ordered, s->gains[g], (size_t)n * sizeof(double)), n_few = n;
        largest_first(s->ordered, n_few, k);
        s->least_gain[g] = INFINITY;
        for (index_t j = 0; j < k; j++) sum += s->ordered[j], s->least_gain[g] = lesser(s->least_gain[g], s->ordered[j]);
    }
    return sum;
}

/* Whether some gain of a row is among the largest of its group. */
INLINED int is_among_largest(const row_sum_table *t, const workspace *s, index_t i) {
    for (index_t g = 0; g < t->n_groups; g++) {
        index_t end = s->gains_at[(i + 1) * t->n_groups + g];
        for (index_t k = s->gains_at[i * t->n_groups + g]; k < end; k++)
            if (s->gains[g][k] >= s->least_gain[g]) return 1;
    }
    return 0;
}

FOR_EACH_PROCESSOR
static double bound_of(const row_sum_table *t, workspace *s, const double *y) {
    index_t d = t->d, n = t->n_complete;
    choose(t, s, y);
    double norm = sqrt(dot(d, s->u, s->u)) * (1.0 + (double)(d + 4) * EPS) + UNDERFLOW;
    penalty_term(t, s);
    for (index_t a = 0; a < d; a++) {
        s->left[a] = y[a] - t->lam[a] * s->u[a];
        s->size[a] = fabs(y[a]) + t->lam[a] * fabs(s->u[a]) + norm * t->curvature_size[a];
    }
    for (index_t start = 0; start < n; start += t->n_together) {
        chunk c = chunk_from(t, start);
        products(d, c, s->u, s->along);
        for (index_t i = c.start; i < c.end; i++) {
            const double *line = t->lines + (i * 2 * t->n_slopes + s->place[i]) * 3;
            double along = s->along[i];
            s->scratch[i] = along > 0.0 ? along * line[1] : -along * line[2];
            s->slope[i] = line[0] * along * t->complete_weight[i];
        }
        for (index_t a = 0; a < d; a++) s->left[a] -= dot(c.n, s->slope + start, c.columns + a * c.n);
    }
    double complete = dot(n, s->scratch, t->complete_weight);
    double incomplete = 0.0, incomplete_size = 0.0;
    for (index_t i = 0; i < t->n_uncertain; i++) {
        double m = t->row_weight[i];
        row_multipliers(t, s, i);
        double row_factor = m * s->multiplier[i];
        for (index_t a = 0; a < d; a++) {
            double part = row_factor * t->rows[i * d + a];
            s->left[a] -= part, s->size[a] += fabs(part);
        }
        for (index_t k = t->unit_start[i]; k < t->unit_start[i + 1]; k++) {
            index_t at = t->unit_at[k], one = t->unit_column[k], n_columns = 1;
            const index_t *columns = &one;
            if (t->unit_category[k] >= 0) n_columns = levels_of(t, k, &columns);
            for (index_t l = 0; l < n_columns; l++) {
                double part = m * s->zeta[at + l];
                s->left[columns[l]] -= part, s->size[columns[l]] += fabs(part);
            }
        }
        row_terms(t, s, i, norm, s->largest, 0);
        double base = row_gains(t, s, i, s->largest);
        incomplete += m * base, incomplete_size += m * fabs(base);
    }
    /* Gains are bounded with one share: only those that count are worth others. */
    double gained = largest_gains(t, s);
    for (int pass = 0; pass < GAIN_PASSES && gained > 0.0; pass++) {
        for (index_t i = 0; i < t->n_uncertain; i++)
            if (is_among_largest(t, s, i)) {
                row_terms(t, s, i, norm, s->largest, 1);
                row_gains(t, s, i, s->largest);
            }
        gained = largest_gains(t, s);
    }
    double residual = 0.0, residual_size = 0.0, tilted = 0.0, settled = 0.0, around = 0.0, of_settled = 0.0;
    double roundings = 2.0 * (double)(n + t->n_uncertain + t->n_multipliers + d + 32) * EPS;
    for (index_t a = 0; a < d; a++) {
        double off = roundings * s->size[a] + UNDERFLOW, middle = t->weight_middle[a], radius = t->weight_radius[a];
        residual += s->left[a] * middle + fabs(s->left[a]) * radius + off * (fabs(middle) + radius);
        residual_size += fabs(s->left[a]) * (fabs(middle) + radius);
        tilted += fabs(s->u[a]) * t->tilt[a];
        settled -= s->u[a] * t->settled_middle[a];
        around += fabs(s->u[a]) * t->settled_radius[a];
        of_settled += fabs(s->u[a]) * fabs(t->settled_middle[a]);
    }
    of_settled *= (double)(d + 8) * EPS, residual_size *= (double)(d + 8) * EPS;
    double n_rows = (double)(n + t->n_uncertain), n_units = (double)(t->n_multipliers + t->n_uncertain + (t->dropped_group >= 0 ? t->n_uncertain : 0));
    double error = (double)(n + 2 * d + 32) * EPS * norm * t->complete_size + (n_rows + 8.0) * EPS * incomplete_size +
                   (n_units + 16.0) * EPS * gained;
    double parts = complete + incomplete + gained + error + residual + residual_size + tilted + settled + around + of_settled;
    double sizes = fabs(complete) + fabs(incomplete) + gained + error + fabs(residual) + residual_size + tilted +
                   fabs(settled) + around + of_settled;
    double bound = parts + (double)(d + 16) * EPS * sizes + UNDERFLOW;
    return bound < INFINITY ? bound : INFINITY; /* a NaN too */
}

/* --- for many directions -------------------------------------------------------------------------------------- */

static int open_workspace(const row_sum_table *t, workspace *s, double **doubles, index_t **indices) {
    index_t d = t->d, n = t->n_complete, rows = t->n_uncertain, units = t->n_units, most = 0;
    index_t n_gains = 16 * rows + units + 1, groups = t->n_groups;
    for (index_t i = 0; i < rows; i++) {
        index_t here = t->variant_start[i + 1] - t->variant_start[i];
        most = here > most ? here : most;
    }
    if (most > 64) return 1;
    index_t total = 6 * d + (d + 1) * t->stride + 3 * n + 6 * rows + units + 3 * t->n_multipliers + (groups + 1) * n_gains + 64;
    double *at = *doubles = malloc((size_t)total * sizeof(double));
    index_t *index = *indices = malloc((size_t)(n + units + rows + (rows + 1) * groups + 1) * sizeof(index_t));
    if (at == NULL || index == NULL) return 1;
    double **of_columns[] = {&s->U, &s->W, &s->u, &s->force, &s->left, &s->size};
    for (int k = 0; k < 6; k++) *of_columns[k] = at, at += d;
    s->K = at, at += d * t->stride, s->padded = at, at += t->stride;
    for (index_t a = 0; a < t->stride; a++) s->padded[a] = 0.0;
    s->along = at, at += n, s->slope = at, at += n, s->scratch = at, at += n;
    s->row_along = at, at += rows, s->row_slope = at, at += rows, s->multiplier = at, at += rows, s->gain = at, at += rows;
    s->row_coefficient = at, at += rows, s->drop_gain = at, at += rows;
    s->effect = at, at += units;
    s->mean = at, at += t->n_multipliers, s->spread = at, at += t->n_multipliers, s->zeta = at, at += t->n_multipliers;
    for (index_t g = 0; g < groups; g++) s->gains[g] = at, at += n_gains;
    s->ordered = at, at += n_gains;
    s->largest = at;
    s->place = index, s->choice = index + n, s->label_choice = index + n + units;
    s->gains_at = index + n + units + rows;
    for (index_t g = 0; g < groups; g++) {
        s->gains_at[g] = 0;
        for (index_t i = 0; i < rows; i++) {
            index_t used = 0;
            for (index_t v = t->variant_start[i]; v < t->variant_start[i + 1]; v++)
                if (t->variant_used[v * groups + g] > used) used = t->variant_used[v * groups + g];
            s->gains_at[(i + 1) * groups + g] = s->gains_at[i * groups + g] + (used < 16 ? used : 16);
        }
    }
    return 0;
}

int row_sum_upper(const row_sum_table *t, index_t n, const double *y, double *bound, double *u, double *z, double *zeta,
                  index_t *line) {
    workspace s;
    double *doubles = NULL;
    index_t *indices = NULL;
    int failed = open_workspace(t, &s, &doubles, &indices);
    for (index_t k = 0; k < n && !failed; k++) {
        bound[k] = bound_of(t, &s, y + k * t->d);
        if (u == NULL) continue;
        memcpy(u + k * t->d, s.u, (size_t)t->d * sizeof(double));
        memcpy(z + k * t->n_uncertain, s.multiplier, (size_t)t->n_uncertain * sizeof(double));
        memcpy(zeta + k * t->n_multipliers, s.zeta, (size_t)t->n_multipliers * sizeof(double));
        memcpy(line + k * t->n_complete, s.place, (size_t)t->n_complete * sizeof(index_t));
    }
    free(doubles);
    free(indices);
    return failed;
}

int row_sum_first_order(const row_sum_table *t, index_t n, const double *y, double *rise) {
    workspace s;
    double *doubles = NULL;
    index_t *indices = NULL;
    int failed = open_workspace(t, &s, &doubles, &indices);
    for (index_t k = 0; k < n && !failed; k++) {
        times(t->d, t->inverse, y + k * t->d, s.U);
        first_force(t, &s);
        rise[k] = dot(t->d, s.U, s.force);
    }
    free(doubles);
    free(indices);
    return failed;
}
