/* Vectors of eight floats, as GCC and Clang know them. */
#ifndef VECTORS_H
#define VECTORS_H

#include <math.h>
#include <stdlib.h>
#include <string.h>
#ifdef __AVX__
#include <immintrin.h>
#endif

#define INLINE static inline __attribute__((always_inline))

typedef float vec __attribute__((vector_size(32)));
typedef int ivec __attribute__((vector_size(32)));
typedef vec anywhere __attribute__((aligned(4), may_alias)); /* a vector in memory, wherever it begins */

#define AT(pointer) (*(anywhere *)(pointer))
#ifdef __AVX512F__
typedef float wide __attribute__((vector_size(64)));
typedef wide wide_anywhere __attribute__((aligned(4), may_alias));
#define WIDE_AT(pointer) (*(wide_anywhere *)(pointer))
#endif
INLINE vec pick(ivec which, vec yes, vec no) { return (vec)((which & (ivec)yes) | (~which & (ivec)no)); }
INLINE long up16(long n) { return (n + 15) / 16 * 16; }

INLINE float sum8(vec v) { return ((v[0] + v[4]) + (v[1] + v[5])) + ((v[2] + v[6]) + (v[3] + v[7])); }

/* The larger and the smaller of each pair; a `v` that is no number stays. */
#ifdef __AVX__
INLINE vec at_least(vec low, vec v) { return (vec)_mm256_max_ps((__m256)low, (__m256)v); }
INLINE vec at_most(vec high, vec v) { return (vec)_mm256_min_ps((__m256)high, (__m256)v); }
#else
INLINE vec at_least(vec low, vec v) { return pick(v < low, low, v); }
INLINE vec at_most(vec high, vec v) { return pick(v > high, high, v); }
#endif

#if defined(__has_builtin)
#if __has_builtin(__builtin_shufflevector)
#define SHUFFLE(a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#endif
#endif
#ifndef SHUFFLE
#define SHUFFLE(a, b, ...) __builtin_shuffle(a, b, (ivec){__VA_ARGS__})
#endif

/* Eight rows of eight become eight columns. */
INLINE void transpose8(vec r[8]) {
    vec t[8], u[8];
    for (int i = 0; i < 8; i += 2) {
        t[i] = SHUFFLE(r[i], r[i + 1], 0, 8, 1, 9, 4, 12, 5, 13);
        t[i + 1] = SHUFFLE(r[i], r[i + 1], 2, 10, 3, 11, 6, 14, 7, 15);
    }
    for (int i = 0; i < 8; i += 4)
        for (int j = 0; j < 2; j++) {
            u[i + 2 * j] = SHUFFLE(t[i + j], t[i + j + 2], 0, 1, 8, 9, 4, 5, 12, 13);
            u[i + 2 * j + 1] = SHUFFLE(t[i + j], t[i + j + 2], 2, 3, 10, 11, 6, 7, 14, 15);
        }
    for (int i = 0; i < 4; i++) {
        r[i] = SHUFFLE(u[i], u[i + 4], 0, 1, 2, 3, 8, 9, 10, 11);
        r[i + 4] = SHUFFLE(u[i], u[i + 4], 4, 5, 6, 7, 12, 13, 14, 15);
    }
}

/* exp to 2 ulp: 2^n from the exponent bits, the rest from Cephes' polynomial. Below -87 it is as good as 0. */
INLINE vec vexp(vec x) {
    const vec zero = {0}, high = zero + 87.0f;
    x = at_most(high, at_least(-high, x));
    const float magic = 12582912.0f; /* 1.5 * 2^23: adding it rounds to an integer */
    vec n = (x * 1.44269504f + magic) - magic;
    vec r = x - n * 0.693359375f;
    r = r - n * -2.12194440e-4f;
    vec p = r * 1.9875691500e-4f + 1.3981999507e-3f;
    p = p * r + 8.3334519073e-3f;
    p = p * r + 4.1665795894e-2f;
    p = p * r + 1.6666665459e-1f;
    p = p * r + 5.0000001201e-1f;
    p = p * r * r + r + 1.0f;
    union { ivec i; vec f; } two = {.i = (__builtin_convertvector(n, ivec) + 127) << 23};
    return p * two.f;
}

#endif
