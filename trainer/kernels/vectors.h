/* Vectors of eight floats, as GCC and Clang know them. */
#ifndef VECTORS_H
#define VECTORS_H

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define INLINE static inline __attribute__((always_inline))

typedef float vec __attribute__((vector_size(32)));
typedef int ivec __attribute__((vector_size(32)));
typedef vec anywhere __attribute__((aligned(4), may_alias)); /* a vector in memory, wherever it begins */

#define AT(pointer) (*(anywhere *)(pointer))
INLINE vec pick(ivec which, vec yes, vec no) { return (vec)((which & (ivec)yes) | (~which & (ivec)no)); }
INLINE long up16(long n) { return (n + 15) / 16 * 16; }
INLINE float *floats(long n) { return aligned_alloc(64, (size_t)up16(n) * sizeof(float)); }

INLINE float sum8(vec v) { return ((v[0] + v[4]) + (v[1] + v[5])) + ((v[2] + v[6]) + (v[3] + v[7])); }

#endif
