/* One version of add_tile, for vector registers of WIDTH doubles: included by row_sums.c, once for each width.

   gram[p, q] += sum_i left[p, i] right[q, i] for p, q < TILE and i < n, where n is a multiple of LANES. Row i is added
   to lane i % LANES; lanes are added in pairs. So all versions have the same bits. */

#if WIDTH > 1
typedef double REGISTER __attribute__((vector_size(8 * WIDTH)));
#else
typedef double REGISTER;
#endif

static TARGET void ADD_TILE(
    const double *RESTRICT left, const double *RESTRICT right, ptrdiff_t n, double *RESTRICT gram, ptrdiff_t wide)
{
    double lanes[TILE * TILE][LANES];
    for (int lane = 0; lane < LANES; lane += WIDTH) {
        REGISTER s00 = {0}, s01 = {0}, s02 = {0}, s03 = {0}, s10 = {0}, s11 = {0}, s12 = {0}, s13 = {0};
        REGISTER s20 = {0}, s21 = {0}, s22 = {0}, s23 = {0}, s30 = {0}, s31 = {0}, s32 = {0}, s33 = {0};
        for (ptrdiff_t i = lane; i < n; i += LANES) {
            REGISTER x0, x1, x2, x3, y0, y1, y2, y3;
            memcpy(&x0, left + i, sizeof x0);
            memcpy(&x1, left + i + STRIDE, sizeof x1);
            memcpy(&x2, left + i + 2 * STRIDE, sizeof x2);
            memcpy(&x3, left + i + 3 * STRIDE, sizeof x3);
            memcpy(&y0, right + i, sizeof y0);
            memcpy(&y1, right + i + STRIDE, sizeof y1);
            memcpy(&y2, right + i + 2 * STRIDE, sizeof y2);
            memcpy(&y3, right + i + 3 * STRIDE, sizeof y3);
            s00 += x0 * y0;
            s01 += x0 * y1;
            s02 += x0 * y2;
            s03 += x0 * y3;
            s10 += x1 * y0;
            s11 += x1 * y1;
            s12 += x1 * y2;
            s13 += x1 * y3;
            s20 += x2 * y0;
            s21 += x2 * y1;
            s22 += x2 * y2;
            s23 += x2 * y3;
            s30 += x3 * y0;
            s31 += x3 * y1;
            s32 += x3 * y2;
            s33 += x3 * y3;
        }
        const REGISTER sums[TILE * TILE] = {
            s00, s01, s02, s03, s10, s11, s12, s13, s20, s21, s22, s23, s30, s31, s32, s33};
        for (int pq = 0; pq < TILE * TILE; pq++)
            memcpy(&lanes[pq][lane], &sums[pq], sizeof sums[pq]);
    }
    for (int pq = 0; pq < TILE * TILE; pq++) {
        const double *of = lanes[pq];
        gram[pq / TILE * wide + pq % TILE] +=
            ((of[0] + of[4]) + (of[2] + of[6])) + ((of[1] + of[5]) + (of[3] + of[7]));
    }
}

#undef WIDTH
#undef REGISTER
#undef TARGET
#undef ADD_TILE
