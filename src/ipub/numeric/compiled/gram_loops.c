/* Weighted sums of x x^T over rows, several at once and by groups of rows.

   Rows are copied, some hundred at a time, with their columns one after the other, so that they stay in the processor's
   cache and a loop over them runs in vector registers. Only pairs of columns j <= k are computed, and no scaled copy of
   the table is made. */

#include "kernels.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Rows that are copied at once: 28 columns of them, and the same scaled, are 170 kB. */
#define AT_ONCE 384
/* Numbers from one column of the copy to the next: at a distance of a power of two they would share places in the
   cache. */
#define STRIDE (AT_ONCE + 8)
/* Partial sums of each sum. */
#define LANES 8
/* Columns on each side of the part of a matrix that is added up in registers. */
#define TILE 4

#if HAS_VERSIONS
#define WIDTH 8
#define REGISTER Register8
#define TARGET __attribute__((target("avx512f")))
#define ADD_TILE add_tile_8
#include "add_tile.h"

#define WIDTH 4
#define REGISTER Register4
#define TARGET __attribute__((target("avx2")))
#define ADD_TILE add_tile_4
#include "add_tile.h"
#endif

#if defined(__GNUC__)
#define WIDTH 2
#else
#define WIDTH 1
#endif
#define REGISTER Register
#define TARGET
#define ADD_TILE add_tile
#include "add_tile.h"

typedef void AddTile(const double *, const double *, ptrdiff_t, double *, ptrdiff_t);

static AddTile *fastest_add_tile(int widest)
{
#if HAS_VERSIONS
    __builtin_cpu_init();
    if (widest >= 8 && __builtin_cpu_supports("avx512f"))
        return add_tile_8;
    if (widest >= 4 && __builtin_cpu_supports("avx2"))
        return add_tile_4;
#endif
    (void)widest;
    return add_tile;
}

/* Copy n rows, column by column, and zeros up to the next multiple of LANES; return how many there are then. */
static ptrdiff_t copy_columns(
    double *RESTRICT columns, const double *RESTRICT rows, ptrdiff_t d, const ptrdiff_t *RESTRICT which, ptrdiff_t n)
{
    const ptrdiff_t whole = n - n % LANES;
    for (ptrdiff_t i = 0; i < whole; i += LANES) {
        const double *of[LANES];
        for (int l = 0; l < LANES; l++)
            of[l] = rows + which[i + l] * d;
        for (ptrdiff_t j = 0; j < d; j++)
            for (int l = 0; l < LANES; l++)
                columns[j * STRIDE + i + l] = of[l][j];
    }
    if (whole == n)
        return n;
    for (ptrdiff_t j = 0; j < d; j++)
        for (ptrdiff_t i = whole; i < whole + LANES; i++)
            columns[j * STRIDE + i] = i < n ? rows[which[i] * d + j] : 0.0;
    return whole + LANES;
}

/* Multiply each of n rows by its value, and set those up to n_padded to zero. */
FOR_EACH_PROCESSOR
static void scale_columns(
    double *RESTRICT scaled, const double *RESTRICT columns, ptrdiff_t d, const double *RESTRICT values, ptrdiff_t n,
    ptrdiff_t n_padded)
{
    for (ptrdiff_t j = 0; j < d; j++) {
        for (ptrdiff_t i = 0; i < n; i++)
            scaled[j * STRIDE + i] = columns[j * STRIDE + i] * values[i];
        for (ptrdiff_t i = n; i < n_padded; i++)
            scaled[j * STRIDE + i] = 0.0;
    }
}

int ipub_weighted_grams(
    const GroupedRows *grouped, ptrdiff_t n_values, const double *values, int is_squared, double *found, int widest)
{
    AddTile *const add = fastest_add_tile(widest);
    const ptrdiff_t d = grouped->n_columns, wide = (d + TILE - 1) / TILE * TILE;
    const size_t table = (size_t)(wide * STRIDE), square = (size_t)(wide * wide), line = 64 / sizeof(double);
    /* Two copies of some rows, in lines of the cache, and a sum for each of the values. */
    double *const memory = calloc(2 * table + (size_t)n_values * square + line, sizeof(double));
    if (memory == NULL)
        return -1;
    double *const columns = (double *)(((uintptr_t)memory + 63) / 64 * 64);
    double *const scaled = columns + table, *const grams = scaled + table;
    const double *const right = is_squared ? scaled : columns;
    for (ptrdiff_t g = 0; g < grouped->n_groups; g++) {
        memset(grams, 0, (size_t)n_values * square * sizeof(double));
        const ptrdiff_t end = grouped->starts[g + 1];
        for (ptrdiff_t start = grouped->starts[g]; start < end; start += AT_ONCE) {
            const ptrdiff_t n = end - start < AT_ONCE ? end - start : AT_ONCE;
            const ptrdiff_t n_padded = copy_columns(columns, grouped->rows, d, grouped->which + start, n);
            for (ptrdiff_t s = 0; s < n_values; s++) {
                double *const gram = grams + s * wide * wide;
                scale_columns(scaled, columns, d, values + s * grouped->n_which + start, n, n_padded);
                for (ptrdiff_t j = 0; j < wide; j += TILE)
                    for (ptrdiff_t k = j; k < wide; k += TILE)
                        add(scaled + j * STRIDE, right + k * STRIDE, n_padded, gram + j * wide + k, wide);
            }
        }
        for (ptrdiff_t s = 0; s < n_values; s++)
            for (ptrdiff_t j = 0; j < d; j++)
                for (ptrdiff_t k = j; k < d; k++) {
                    double *const here = found + (g * n_values + s) * d * d;
                    here[j * d + k] = here[k * d + j] = grams[(s * wide + j) * wide + k];
                }
    }
    free(memory);
    return 0;
}

FOR_EACH_PROCESSOR
void ipub_weighted_sums(
    const GroupedRows *grouped, ptrdiff_t n_values, const double *RESTRICT first, const double *RESTRICT last,
    double *RESTRICT found)
{
    const ptrdiff_t d = grouped->n_columns, n = grouped->n_which;
    memset(found, 0, (size_t)(grouped->n_groups * n_values * d) * sizeof(double));
    for (ptrdiff_t g = 0; g < grouped->n_groups; g++)
        for (ptrdiff_t i = grouped->starts[g]; i < grouped->starts[g + 1]; i++) {
            const double *const row = grouped->rows + grouped->which[i] * d;
            for (ptrdiff_t s = 0; s < n_values; s++) {
                double *const total = found + (g * n_values + s) * d;
                const double a = first[s * n + i], b = last[s * n + i];
                for (ptrdiff_t j = 0; j < d; j++)
                    total[j] += (row[j] * a) * b;
            }
        }
}
