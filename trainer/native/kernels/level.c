/* The levels of HRM, forward and backward, in float32 on one thread.
 *
 * PyTorch spends more than half of a step of a small model outside of matrix products: on operations whose operands do not
 * stay in the cache from one to the next, and on calling them. Here a block of rows goes through a whole block at a time.
 * The mathematics is that of `layers.py`, in another order of summation. Matrices are row-major.
 */
#include "level.h"

#include "product.h"

INLINE long gate_stride(const Shape *s) { return 2 * s->I + 16; } /* off a power of two: rows must not share cache sets */

/* Rows that go through a block together: what 48 need stays in the second-level cache; large weights are read for more. */
INLINE long together(const Shape *s) { return s->D > 128 ? 384 : 48; }

/* The sizes of a block's matrices, which are stored as [outputs][inputs]. */
INLINE long outputs(const Shape *s, long which) { return which == QKV ? 3 * s->D : which == GATE_UP ? 2 * s->I : s->D; }
INLINE long inputs(const Shape *s, long which) { return which == DOWN ? s->I : s->D; }

/* ---- the parts of a block ---- */

/* Rows over their root mean square, in place; `scale` receives the factors. */
static void norm(long rows, long D, float *x, float eps, float *scale) {
    for (long r = 0; r < rows; r++, x += D) {
        vec total = {0};
        for (long d = 0; d < D; d += 8) total += AT(x + d) * AT(x + d);
        const float factor = 1 / sqrtf(sum8(total) / D + eps);
        for (long d = 0; d < D; d += 8) AT(x + d) *= factor;
        scale[r] = factor;
    }
}

/* The gradient before the norm, in place, from the normed rows `y` and their factors. */
static void norm_back(long rows, long D, float *grad, const float *y, const float *scale) {
    for (long r = 0; r < rows; r++, grad += D, y += D) {
        vec total = {0};
        for (long d = 0; d < D; d += 8) total += AT(grad + d) * AT(y + d);
        const float along = sum8(total) / D;
        for (long d = 0; d < D; d += 8) AT(grad + d) = (AT(grad + d) - AT(y + d) * along) * scale[r];
    }
}

/* Turns one head's vector by its position; with `back` by the opposite angle. `sine` carries the minus of its first half. */
INLINE void turn(float *x, const float *cosine, const float *sine, long K, int back) {
    const long half = K / 2;
    for (long i = 0; i < half; i++) {
        const float a = x[i], b = x[i + half], s = back ? -sine[i + half] : sine[i + half];
        x[i] = a * cosine[i] - b * s;
        x[i + half] = b * cosine[i] + a * s;
    }
}

static void turn_all(const Shape *s, float *qkv, const float *cosine, const float *sine, int back) {
    const long K = s->D / s->H;
    for (long r = 0; r < s->B * s->S; r++, qkv += 3 * s->D)
        for (long h = 0; h < 2 * s->H; h++) turn(qkv + h * K, cosine + r % s->S * K, sine + r % s->S * K, K, back);
}

/* Softmax of a row of `n` scores times `scale`, in place; what follows up to `wide` is padding. Returns the logarithm of the sum
 * of the exponentials. */
static float softmax(float *row, long n, long wide, float scale) {
    for (long j = n; j < wide; j++) row[j] = -1e30f;
    vec most = AT(row);
    for (long j = 8; j < wide; j += 8) most = pick(AT(row + j) > most, AT(row + j), most);
    float top = most[0];
    for (int i = 1; i < 8; i++) top = most[i] > top ? most[i] : top;
    vec total = {0};
    for (long j = 0; j < wide; j += 8) {
        AT(row + j) = vexp((AT(row + j) - top) * scale);
        total += AT(row + j);
    }
    const float sum = sum8(total), factor = 1 / sum;
    for (long j = 0; j < wide; j += 8) AT(row + j) *= factor;
    return top * scale + logf(sum);
}

/* Queries that meet all keys together: their scores stay in the second-level cache, and no matrix of all pairs is ever kept. */
#define QUERIES 96

INLINE long attention_floats(const Shape *s) {
    const long wide = up16(s->S), head = up16(s->D / s->H);
    return 3 * wide * head + QUERIES * (2 * wide + head);
}

/* Attention of the first `queries` positions of every sequence: mixed[B * queries][D]. `sums`, unless NULL, receives for every
 * head and query the logarithm of its sum of exponentials, [B][H][S], from which the way back has the weights again. */
static void attend(const Shape *s, const float *qkv, long queries, float *mixed, float *sums, float *scratch) {
    const long S = s->S, D = s->D, K = D / s->H, wide = up16(S);
    const float scale = 1 / sqrtf((float)K);
    float *keys = scratch, *values = keys + K * wide, *weights = values + S * up16(K);
    for (long b = 0; b < s->B; b++)
        for (long h = 0; h < s->H; h++) {
            const float *q = qkv + b * S * 3 * D + h * K, *k = q + D, *v = q + 2 * D;
            into_panels(keys, K, S, k, 1, 3 * D);
            into_panels(values, S, K, v, 3 * D, 1);
            for (long from = 0; from < queries; from += QUERIES) {
                const long n = queries - from < QUERIES ? queries - from : QUERIES;
                product(n, wide, K, q + from * 3 * D, 3 * D, 1, keys, weights, wide, 0);
                for (long i = 0; i < n; i++) {
                    const float sum = softmax(weights + i * wide, S, wide, scale);
                    if (sums) sums[(b * s->H + h) * S + from + i] = sum;
                }
                product(n, K, S, weights, wide, 1, values, mixed + (b * queries + from) * D + h * K, D, 0);
            }
        }
}

/* The way back of `attend`, as in Dao et al., "FlashAttention", 2022: the weights are computed again from the sums. */
static void attend_back(const Shape *s, const float *qkv, const float *mixed, const float *sums, const float *d_mixed, float *d_qkv,
                        float *scratch) {
    const long S = s->S, D = s->D, K = D / s->H, wide = up16(S), head = up16(K);
    const float scale = 1 / sqrtf((float)K);
    float *keys = scratch, *key_rows = keys + K * wide, *values = key_rows + S * head, *part = values + K * wide;
    float *weights = part + QUERIES * head, *d_scores = weights + QUERIES * wide;
    for (long b = 0; b < s->B; b++)
        for (long h = 0; h < s->H; h++, sums += S) {
            const long at = b * S * 3 * D + h * K;
            const float *q = qkv + at, *k = q + D, *v = q + 2 * D;
            float *dq = d_qkv + at, *dk = dq + D, *dv = dq + 2 * D;
            into_panels(keys, K, S, k, 1, 3 * D);
            into_panels(key_rows, S, K, k, 3 * D, 1);
            into_panels(values, K, S, v, 1, 3 * D);
            for (long from = 0; from < S; from += QUERIES) {
                const long n = S - from < QUERIES ? S - from : QUERIES;
                const float *out = mixed + (b * S + from) * D + h * K, *d_out = d_mixed + (b * S + from) * D + h * K;
                product(n, wide, K, q + from * 3 * D, 3 * D, 1, keys, weights, wide, 0);
                product(n, wide, K, d_out, D, 1, values, d_scores, wide, 0);
                for (long i = 0; i < n; i++) {
                    float *p = weights + i * wide, *d = d_scores + i * wide;
                    float mean = 0;
                    for (long c = 0; c < K; c++) mean += out[i * D + c] * d_out[i * D + c];
                    for (long j = 0; j < wide; j += 8) {
                        AT(p + j) = vexp(AT(p + j) * scale - sums[from + i]);
                        AT(d + j) = (AT(d + j) - mean) * AT(p + j) * scale;
                    }
                }
                product(n, K, S, d_scores, wide, 1, key_rows, dq + from * 3 * D, 3 * D, 0);
                into_panels(part, n, K, d_out, D, 1);
                product(S, K, n, weights, 1, wide, part, dv, 3 * D, from > 0);
                into_panels(part, n, K, q + from * 3 * D, 3 * D, 1);
                product(S, K, n, d_scores, 1, wide, part, dk, 3 * D, from > 0);
            }
        }
}

/* ---- what the way back needs of one block ---- */

typedef struct {
    float *x, *qkv, *sums, *mixed, *middle, *gates, *out, *scale1, *scale2;
} Kept;

static void carve(const Shape *s, float *base, Kept *v) {
    const long N = s->B * s->S;
    float *at = base;
    v->x = at, at += N * s->D;
    v->qkv = at, at += N * 3 * s->D;
    v->sums = at, at += up16(N * s->H);
    v->mixed = at, at += N * s->D;
    v->middle = at, at += N * s->D;
    v->gates = at, at += N * gate_stride(s);
    v->out = at, at += N * s->D;
    v->scale1 = at, at += up16(N);
    v->scale2 = at;
}

/* Floats that one block keeps. */
static long each_floats(const Shape *s) {
    const long N = s->B * s->S;
    return N * (7 * s->D + gate_stride(s)) + up16(N * s->H) + 2 * up16(N);
}

long kept_floats(const Shape *s) { return s->layers * each_floats(s); }

/* One block from `v->x`; with `first` the result has only the first position of every sequence. Without `keep` the gates of one
 * part are overwritten by the next. */
static void block(const Level *l, float *const *w, Kept *v, float *out, int first, int keep, float *scratch) {
    const Shape *s = &l->shape;
    const long N = s->B * s->S, D = s->D, I = s->I, ldg = gate_stride(s);
    const long queries = first ? 1 : s->S, rows = s->B * queries, x_row = first ? s->S * D : D, part = together(s);
    if (first) { /* queries of the first positions alone; keys and values of all */
        product(s->B, D, D, v->x, x_row, 1, w[QKV], v->qkv, s->S * 3 * D, 0);
        product(N, 2 * D, D, v->x, D, 1, w[QKV] + D * D, v->qkv + D, 3 * D, 0);
    } else {
        product(N, 3 * D, D, v->x, D, 1, w[QKV], v->qkv, 3 * D, 0);
    }
    if (l->cosine) turn_all(s, v->qkv, l->cosine, l->sine, 0);
    attend(s, v->qkv, queries, v->mixed, keep ? v->sums : NULL, scratch);
    for (long r = 0; r < rows; r += part) {
        const long n = rows - r < part ? rows - r : part;
        float *middle = v->middle + r * D, *gates = v->gates + (keep ? r * ldg : 0), *inner = scratch, *to = out + r * D;
        for (long i = 0; i < n; i++) memcpy(middle + i * D, v->x + (r + i) * x_row, D * sizeof(float));
        product(n, D, D, v->mixed + r * D, D, 1, w[OUT], middle, D, 1);
        norm(n, D, middle, s->eps, v->scale1 + r);
        product(n, 2 * I, D, middle, D, 1, w[GATE_UP], gates, ldg, 0);
        for (long i = 0; i < n; i++)
            for (long j = 0; j < I; j += 8) {
                const vec gate = AT(gates + i * ldg + j);
                AT(inner + i * (I + 16) + j) = gate / (1.0f + vexp(-gate)) * AT(gates + i * ldg + I + j);
            }
        memcpy(to, middle, n * D * sizeof(float));
        product(n, D, I, inner, I + 16, 1, w[DOWN], to, D, 1);
        norm(n, D, to, s->eps, v->scale2 + r);
    }
}

/* Floats that a block, and its way back, works with beside those of attention. */
INLINE long rows_floats(const Shape *s) {
    return together(s) * (s->I + 16 + gate_stride(s) + up16(s->I > s->D ? s->I : s->D));
}

long scratch_floats(const Shape *s) {
    const long rows = rows_floats(s), attention = attention_floats(s), most = rows > attention ? rows : attention;
    const long ahead = each_floats(s), back = s->B * s->S * 4 * s->D;
    return up16(most) + (ahead > back ? ahead : back);
}

void level_pass(const Level *l, const float *state, const float *injection, const float *more, float *out, float *keep, int first,
                float *scratch) {
    const Shape *s = &l->shape;
    const long N = s->B * s->S, D = s->D, rows = rows_floats(s), attention = attention_floats(s);
    Kept v;
    float *base = keep ? keep : scratch + up16(rows > attention ? rows : attention);
    carve(s, base, &v);
    for (long i = 0; i < N * D; i += 8) AT(v.x + i) = AT(state + i) + AT(injection + i);
    for (long i = 0; more && i < N * D; i += 8) AT(v.x + i) += AT(more + i);
    for (long layer = 0; layer < s->layers; layer++) {
        const int last = layer == s->layers - 1;
        block(l, l->ahead + layer * MATRICES, &v, last ? out : v.out, first && last, keep != NULL, scratch);
        if (keep && last) memcpy(v.out, out, N * D * sizeof(float));
        if (last) break;
        float *x = v.out;
        if (keep) {
            carve(s, base += each_floats(s), &v);
            memcpy(v.x, x, N * D * sizeof(float));
        } else { /* the result is the next block's input, whose place is free */
            v.out = v.x, v.x = x;
        }
    }
}

/* One block backwards: `grad` is the gradient of the result on entry and that of `v->x` on return. */
static void block_back(const Level *l, const float *const *stored, const Kept *v, float *grad, float *const *d_weights, float *scratch) {
    const Shape *s = &l->shape;
    float *const *w = l->back;
    const long N = s->B * s->S, D = s->D, I = s->I, ldg = gate_stride(s), ldi = I + 16, part = together(s);
    float *d_mixed = scratch, *d_qkv = d_mixed + N * D, *inner = d_qkv + N * 3 * D, *d_gates = inner + part * ldi;
    float *panels = d_gates + part * ldg;
    for (long i = 0; i < MATRICES; i++) into_panels(w[i], outputs(s, i), inputs(s, i), stored[i], inputs(s, i), 1);
    for (long r = 0; r < N; r += part) {
        const long n = N - r < part ? N - r : part;
        float *g = grad + r * D;
        const float *middle = v->middle + r * D, *gates = v->gates + r * ldg;
        norm_back(n, D, g, v->out + r * D, v->scale2 + r);
        product(n, I, D, g, D, 1, w[DOWN], d_gates + I, ldg, 0); /* of the inner values, for now */
        for (long i = 0; i < n; i++)
            for (long j = 0; j < I; j += 8) {
                const vec gate = AT(gates + i * ldg + j), up = AT(gates + i * ldg + I + j);
                const vec sigmoid = 1.0f / (1.0f + vexp(-gate)), silu = gate * sigmoid;
                const vec d_inner = AT(d_gates + i * ldg + I + j);
                AT(inner + i * ldi + j) = silu * up;
                AT(d_gates + i * ldg + I + j) = d_inner * silu;
                AT(d_gates + i * ldg + j) = d_inner * up * (sigmoid + silu * (1.0f - sigmoid));
            }
        into_panels(panels, n, I, inner, ldi, 1);
        product(D, I, n, g, 1, D, panels, d_weights[DOWN], I, 1);
        into_panels(panels, n, D, middle, D, 1);
        product(2 * I, D, n, d_gates, 1, ldg, panels, d_weights[GATE_UP], D, 1);
        product(n, D, 2 * I, d_gates, ldg, 1, w[GATE_UP], g, D, 1);
        norm_back(n, D, g, middle, v->scale1 + r);
        into_panels(panels, n, D, v->mixed + r * D, D, 1);
        product(D, D, n, g, 1, D, panels, d_weights[OUT], D, 1);
        product(n, D, D, g, D, 1, w[OUT], d_mixed + r * D, D, 0);
    }
    attend_back(s, v->qkv, v->mixed, v->sums, d_mixed, d_qkv, inner);
    if (l->cosine) turn_all(s, d_qkv, l->cosine, l->sine, 1);
    for (long r = 0; r < N; r += part) {
        const long n = N - r < part ? N - r : part;
        into_panels(inner, n, D, v->x + r * D, D, 1);
        product(3 * D, D, n, d_qkv + r * 3 * D, 1, 3 * D, inner, d_weights[QKV], D, 1);
        product(n, D, 3 * D, d_qkv + r * 3 * D, 3 * D, 1, w[QKV], grad + r * D, D, 1);
    }
}

void level_back(const Level *l, float *keep, float *grad, float *scratch) {
    Kept v;
    for (long layer = l->shape.layers - 1; layer >= 0; layer--) {
        carve(&l->shape, keep + layer * each_floats(&l->shape), &v);
        block_back(l, l->stored + layer * MATRICES, &v, grad, l->gradients + layer * MATRICES, scratch);
    }
}

/* Brings the weights into panels; to be called when they have changed. */
void level_pack(const Level *l) {
    const Shape *s = &l->shape;
    for (long i = 0; i < s->layers * MATRICES; i++) {
        const long which = i % MATRICES;
        into_panels(l->ahead[i], inputs(s, which), outputs(s, which), l->stored[i], 1, inputs(s, which));
    }
}

/* C[M][N] = A[M][K] B with B as panels: by how fast this machine does it, it is known whether the kernels pay (pace.py). */
void multiply(long M, long N, long K, const float *A, const float *panels, float *C) { product(M, N, K, A, K, 1, panels, C, N, 0); }
