/* Outward rounding (rounding.py) of arrays, each in one loop: the same operations in the same order as with NumPy. */

#include "kernels.h"

FOR_EACH_PROCESSOR
void ipub_up(ptrdiff_t n, const double *RESTRICT values, double eps, double tiny, double *RESTRICT found)
{
    for (ptrdiff_t i = 0; i < n; i++)
        found[i] = values[i] + (fabs(values[i]) * eps + tiny);
}
