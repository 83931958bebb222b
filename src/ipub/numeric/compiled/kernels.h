/* Loops over arrays. What each computes, operation by operation, and why bounds hold with it: fp-loops. */

#ifndef IPUB_KERNELS_H
#define IPUB_KERNELS_H

#include <float.h>
#include <math.h>
#include <stddef.h>

#if FLT_EVAL_METHOD != 0
#error "doubles are not computed as doubles here"
#endif

#ifdef __FAST_MATH__
#error "bounds need the operations as they are written"
#endif

/* FOR_EACH_PROCESSOR compiles a function once for each width of vector registers; which one runs is chosen when the
   extension is loaded. All have the same bits: no operation is fused, and a sum is written in an order that registers
   of any width can add in. */
#if defined(__GNUC__) && !defined(__clang__) && defined(__x86_64__) && defined(__GLIBC__)
#define HAS_VERSIONS 1
#define FOR_EACH_PROCESSOR __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define HAS_VERSIONS 0
#define FOR_EACH_PROCESSOR
#endif

#if defined(_MSC_VER)
#define RESTRICT __restrict
#else
#define RESTRICT restrict
#endif

/* outward.c: values[i] and found[i] for i < n. */
void ipub_up(ptrdiff_t n, const double *values, double eps, double tiny, double *found);
void ipub_down(ptrdiff_t n, const double *values, double eps, double tiny, double *found);
void ipub_sum_error(
    ptrdiff_t n, const double *values, double eps, double tiny, double factor, double underflow, double *found);
void ipub_sum_upper(
    ptrdiff_t n, const double *values, double eps, double tiny, double factor, double underflow, double *found);

/* row_sums.c: sums over the rows which[starts[g]], ..., which[starts[g + 1] - 1] of each group g. */
typedef struct {
    const double *rows; /* n_columns numbers in each */
    ptrdiff_t n_columns;
    const ptrdiff_t *which;
    ptrdiff_t n_which;
    const ptrdiff_t *starts;
    ptrdiff_t n_groups;
} GroupedRows;

/* Set found[g, s] to sum_i values[s, i] x_i x_i^T, or with values[s, i]^2; return 0, or -1 if there is no memory. No
   vector register that is used has more than `widest` doubles. */
int ipub_weighted_grams(
    const GroupedRows *grouped, ptrdiff_t n_values, const double *values, int is_squared, double *found, int widest);

/* Set found[g, s] to sum_i (x_i first[s, i]) last[s, i]. */
void ipub_weighted_sums(
    const GroupedRows *grouped, ptrdiff_t n_values, const double *first, const double *last, double *found);

#endif
