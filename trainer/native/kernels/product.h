/* Products with a matrix in panels: cut into strips of 16 columns, each [rows][16], with zeros after the last column. */
#ifndef PRODUCT_H
#define PRODUCT_H

#include "vectors.h"

#define STRIP 16 /* columns of a tile: two vectors */
#ifdef __AVX512F__
#define TALL 12 /* rows of a tile, which takes two strips where there are: 24 accumulators fit into 32 registers */
#else
#define TALL 6 /* rows of a tile: 12 accumulators fit into 16 registers */
#endif
#define EIGHTS ((TALL + 7) / 8)
#define ROWS 96  /* rows that meet a strip one after another */
#define DEEP 256 /* of the inner size at a time: what of a strip and of the rows meets stays in the first-level cache */
#define SHARE (DEEP * STRIP / (ROWS / TALL)) /* floats of the next strip that are fetched with each tile */
#define MANY 128 /* inner size and columns from which it pays to copy the rows of a tile next to one another */

INLINE void tile(const int rows, long K, const float *A, long row, long col, const float *strip, float *C, long ldc, long width,
                 int add) {
    vec c[TALL][2];
    for (int i = 0; i < rows; i++) c[i][0] = c[i][1] = (vec){0};
    for (long k = 0; k < K; k++, strip += STRIP) {
        const vec left = AT(strip), right = AT(strip + 8);
        for (int i = 0; i < rows; i++) {
            const float a = A[i * row + k * col];
            c[i][0] += a * left;
            c[i][1] += a * right;
        }
    }
    for (int i = 0; i < rows; i++) {
        float *to = C + i * ldc;
        if (width >= STRIP) {
            if (add) c[i][0] += AT(to), c[i][1] += AT(to + 8);
            AT(to) = c[i][0];
            AT(to + 8) = c[i][1];
        } else {
            for (long j = 0; j < width; j++) to[j] = (add ? to[j] : 0) + (j < 8 ? c[i][0][j] : c[i][1][j - 8]);
        }
    }
}

#ifdef __AVX512F__
/* The same of TALL rows as slivers and two whole strips next to each other, one vector each. */
INLINE void pair_tile(long K, const float *slivers, const float *strip, const float *beside, float *C, long ldc, int add) {
    wide c[TALL][2];
    for (int i = 0; i < TALL; i++) c[i][0] = c[i][1] = (wide){0};
    for (long k = 0; k < K; k++, strip += STRIP, beside += STRIP, slivers += TALL) {
        const wide left = WIDE_AT(strip), right = WIDE_AT(beside);
        for (int i = 0; i < TALL; i++) {
            c[i][0] += slivers[i] * left;
            c[i][1] += slivers[i] * right;
        }
    }
    for (int i = 0; i < TALL; i++) {
        float *to = C + i * ldc;
        if (add) c[i][0] += WIDE_AT(to), c[i][1] += WIDE_AT(to + STRIP);
        WIDE_AT(to) = c[i][0];
        WIDE_AT(to + STRIP) = c[i][1];
    }
}
#endif

/* Has the memory bring what a tile adds to, and a share of the next strip. Addresses beyond the end do no harm. */
INLINE void fetch(const float *C, long ldc, const float *strip, long share) {
    for (int i = 0; i < TALL; i++) __builtin_prefetch(C + i * ldc, 1);
    for (long at = 0; at < share; at += STRIP) __builtin_prefetch(strip + at, 0, 2);
}

/* The rows [M][K] as tiles read them: for every TALL rows [K][TALL]. Up to four floats behind the last are overwritten. */
static void into_slivers(float *to, long M, long K, const float *from, long row, long col) {
    for (long i = 0; i < M; i += TALL, from += TALL * row) {
        const float *at[TALL];
        for (int r = 0; r < TALL; r++) at[r] = from + (i + r < M ? r * row : 0); /* what is beyond the last row is not used */
        long k = 0;
        for (; col == 1 && k + 8 <= K; k += 8, to += 8 * TALL) {
            vec block[EIGHTS][8];
            for (int e = 0; e < EIGHTS; e++) {
                for (int r = 0; r < 8; r++) block[e][r] = AT(at[8 * e + r < TALL ? 8 * e + r : 0] + k);
                transpose8(block[e]);
            }
            for (int r = 0; r < 8; r++)
                for (int e = 0; e < EIGHTS; e++) AT(to + r * TALL + 8 * e) = block[e][r];
        }
        for (; row == 1 && i + 8 * EIGHTS <= M && k < K; k++, to += TALL)
            for (int e = 0; e < EIGHTS; e++) AT(to + 8 * e) = AT(from + k * col + 8 * e);
        for (; k < K; k++, to += TALL)
            for (int r = 0; r < TALL; r++) to[r] = at[r][k * col];
    }
}

/* The last rows of a block, fewer than a tile has. */
static void rest(long rows, long K, const float *A, long row, long col, const float *strip, float *C, long ldc, long width, int add) {
#define OF(n) case n: tile(n, K, A, row, col, strip, C, ldc, width, add); break;
    switch (rows) {
#if TALL > 6
        OF(11) OF(10) OF(9) OF(8) OF(7) OF(6)
#endif
        OF(5) OF(4) OF(3) OF(2) OF(1)
    }
#undef OF
}

/* C[M][N] (+)= A[M][K] B, with B as panels and A[i][k] at A[i * row + k * col]. Blocked as in Goto and van de Geijn, "Anatomy of
 * High-Performance Matrix Multiplication", 2008. */
static void product(long M, long N, long K, const float *A, long row, long col, const float *panels, float *C, long ldc, int add) {
    float slivers[ROWS * DEEP + STRIP] __attribute__((aligned(64)));
    const int copied = K >= MANY && N >= MANY;
    for (long top = 0; top < M; top += ROWS)
        for (long from = 0; from < K; from += DEEP) {
            const long rows = M - top < ROWS ? M - top : ROWS, depth = K - from < DEEP ? K - from : DEEP;
            const float *corner = A + top * row + from * col;
            const int more = add || from;
            if (copied) into_slivers(slivers, rows, depth, corner, row, col);
            const float *left = copied ? slivers : corner;
            const long down = copied ? depth : row, next = copied ? 1 : row, along = copied ? TALL : col;
            long j = 0;
#ifdef __AVX512F__
            for (; copied && rows >= TALL && j + 2 * STRIP <= N; j += 2 * STRIP) {
                const float *strip = panels + j * K + from * STRIP;
                float *to = C + top * ldc + j;
                long i = 0;
                for (; i + TALL <= rows; i += TALL) {
                    fetch(to + i * ldc, ldc, strip + 2 * K * STRIP + i / TALL * SHARE, SHARE);
                    fetch(to + STRIP + i * ldc, ldc, strip + 3 * K * STRIP + i / TALL * SHARE, SHARE);
                    pair_tile(depth, slivers + i * depth, strip, strip + K * STRIP, to + i * ldc, ldc, more);
                }
                rest(rows - i, depth, slivers + i * depth, 1, TALL, strip, to + i * ldc, ldc, STRIP, more);
                rest(rows - i, depth, slivers + i * depth, 1, TALL, strip + K * STRIP, to + STRIP + i * ldc, ldc, STRIP, more);
            }
#endif
            for (; j < N; j += STRIP) {
                const float *strip = panels + j * K + from * STRIP;
                float *to = C + top * ldc + j;
                long i = 0;
                for (; copied && i + TALL <= rows; i += TALL) {
                    fetch(to + i * ldc, ldc, strip + K * STRIP + i / TALL * SHARE, SHARE);
                    tile(TALL, depth, left + i * down, 1, TALL, strip, to + i * ldc, ldc, N - j, more);
                }
                for (; i + TALL <= rows; i += TALL)
                    tile(TALL, depth, left + i * down, next, along, strip, to + i * ldc, ldc, N - j, more);
                rest(rows - i, depth, left + i * down, next, along, strip, to + i * ldc, ldc, N - j, more);
            }
        }
}

/* The matrix [K][N] with elements at from[k * row + n * col], as panels. */
static void into_panels(float *to, long K, long N, const float *from, long row, long col) {
    for (long j = 0; j < N; j += STRIP) {
        const long width = N - j < STRIP ? N - j : STRIP;
        const float *at = from + j * col;
        long k = 0;
        for (; row == 1 && width == STRIP && k + 8 <= K; k += 8, to += 8 * STRIP)
            for (int half = 0; half < STRIP; half += 8) {
                vec block[8];
                for (int r = 0; r < 8; r++) block[r] = AT(at + (half + r) * col + k);
                transpose8(block);
                for (int r = 0; r < 8; r++) AT(to + r * STRIP + half) = block[r];
            }
        for (; k < K; k++, to += STRIP) {
            if (col == 1 && width == STRIP) {
                AT(to) = AT(at + k * row);
                AT(to + 8) = AT(at + k * row + 8);
                continue;
            }
            for (long n = 0; n < width; n++) to[n] = at[k * row + n * col];
            for (long n = width; n < STRIP; n++) to[n] = 0;
        }
    }
}

INLINE long panel_floats(long K, long N) { return K * up16(N); }

#endif
