/* Loops over arrays. What each must compute, operation by operation, is in docs/theory.md, F20. */

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

/* One version of a function for each kind of vector registers, chosen when the program starts. All have the same bits:
   no operation is fused, and sums are written in the order in which vector registers of any width can add them. */
#if defined(__GNUC__) && !defined(__clang__) && defined(__x86_64__) && defined(__linux__) && defined(__GLIBC__)
#define FOR_EACH_PROCESSOR __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define FOR_EACH_PROCESSOR
#endif

#if defined(_MSC_VER)
#define RESTRICT __restrict
#else
#define RESTRICT restrict
#endif

/* outward.c */
void ipub_up(ptrdiff_t n, const double *values, double eps, double tiny, double *found);

#endif
