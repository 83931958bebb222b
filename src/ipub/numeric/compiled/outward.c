/* Outward rounding (rounding.py) of arrays, each in one loop: the same operations in the same order as with NumPy. */

#include "kernels.h"

static inline double rounded_up(double value, double eps, double tiny)
{
    return value + (fabs(value) * eps + tiny);
}

static inline double error_of_sum(double value, double eps, double tiny, double factor, double underflow)
{
    return rounded_up(rounded_up(factor * value, eps, tiny) + underflow, eps, tiny);
}

FOR_EACH_PROCESSOR
void ipub_up(ptrdiff_t n, const double *RESTRICT values, double eps, double tiny, double *RESTRICT found)
{
    for (ptrdiff_t i = 0; i < n; i++)
        found[i] = rounded_up(values[i], eps, tiny);
}

FOR_EACH_PROCESSOR
void ipub_down(ptrdiff_t n, const double *RESTRICT values, double eps, double tiny, double *RESTRICT found)
{
    for (ptrdiff_t i = 0; i < n; i++)
        found[i] = values[i] - (fabs(values[i]) * eps + tiny);
}

FOR_EACH_PROCESSOR
void ipub_sum_error(
    ptrdiff_t n, const double *RESTRICT values, double eps, double tiny, double factor, double underflow,
    double *RESTRICT found)
{
    for (ptrdiff_t i = 0; i < n; i++)
        found[i] = error_of_sum(values[i], eps, tiny, factor, underflow);
}

FOR_EACH_PROCESSOR
void ipub_sum_upper(
    ptrdiff_t n, const double *RESTRICT values, double eps, double tiny, double factor, double underflow,
    double *RESTRICT found)
{
    for (ptrdiff_t i = 0; i < n; i++) {
        double error = error_of_sum(values[i], eps, tiny, factor, underflow);
        found[i] = rounded_up(values[i] + error, eps, tiny);
    }
}
