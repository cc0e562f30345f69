/* The levels of HRM, forward and backward, in float32 on one thread.
 *
 * PyTorch spends more than half of a step of a small model outside of matrix products: on operations whose operands do not
 * stay in the cache from one to the next, and on calling them. Here a block of rows goes through a whole block at a time.
 * The mathematics is that of `layers.py`, in another order of summation. `native.py` builds and calls this.
 *
 * B sequences of S positions, D channels, H heads, I the inner size of SwiGLU. Matrices are row-major.
 */
#include "product.h"

typedef struct {
    long B, S, D, H, I, layers;
    float eps;
} Shape;

/* What a block is made of, each as panels: `ahead` multiplies on the way forward, `back` on the way back. */
enum { QKV, OUT, GATE_UP, DOWN, MATRICES };
typedef struct {
    const float *ahead[MATRICES], *back[MATRICES];
} Weights;

INLINE long gate_stride(const Shape *s) { return 2 * s->I + 16; } /* off a power of two: rows must not share cache sets */

/* Rows that go through a block together: what 48 need stays in the second-level cache; large weights are read for more. */
INLINE long together(const Shape *s) { return s->D > 128 ? 384 : 48; }

/* exp to 2 ulp: 2^n from the exponent bits, the rest from Cephes' polynomial. Below -87 it is as good as 0. */
INLINE vec vexp(vec x) {
    const vec low = {-87, -87, -87, -87, -87, -87, -87, -87}, high = -low;
    x = pick(x < low, low, x);
    x = pick(x > high, high, x);
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

/* Softmax of a row of `n` scores times `scale`, in place; the padding up to `wide` becomes 0. */
static void softmax(float *row, long n, long wide, float scale) {
    for (long j = n; j < wide; j++) row[j] = -1e30f;
    vec most = AT(row);
    for (long j = 8; j < wide; j += 8) most = pick(AT(row + j) > most, AT(row + j), most);
    float top = most[0];
    for (int i = 1; i < 8; i++) top = most[i] > top ? most[i] : top;
    for (long j = 0; j < wide; j += 8) AT(row + j) = vexp((AT(row + j) - top) * scale);
    for (long j = n; j < wide; j++) row[j] = 0;
    vec total = {0};
    for (long j = 0; j < wide; j += 8) total += AT(row + j);
    const float factor = 1 / sum8(total);
    for (long j = 0; j < wide; j += 8) AT(row + j) *= factor;
}

/* Attention of the first `queries` positions of every sequence: mixed[B * queries][D]. `weights` [B][H][queries][up16(S)]. */
static void attend(const Shape *s, const float *qkv, long queries, float *weights, long weights_step, float *mixed, float *panels) {
    const long S = s->S, D = s->D, K = D / s->H, wide = up16(S);
    const float scale = 1 / sqrtf((float)K);
    for (long b = 0; b < s->B; b++)
        for (long h = 0; h < s->H; h++, weights += weights_step) {
            const float *q = qkv + b * S * 3 * D + h * K, *k = q + D, *v = q + 2 * D;
            into_panels(panels, K, S, k, 1, 3 * D);
            product(queries, wide, K, q, 3 * D, 1, panels, weights, wide, 0);
            for (long i = 0; i < queries; i++) softmax(weights + i * wide, S, wide, scale);
            into_panels(panels, S, K, v, 3 * D, 1);
            product(queries, K, S, weights, wide, 1, panels, mixed + b * queries * D + h * K, D, 0);
        }
}

static void attend_back(const Shape *s, const float *qkv, const float *weights, const float *d_mixed, float *d_qkv, float *scratch) {
    const long S = s->S, D = s->D, K = D / s->H, wide = up16(S);
    const float scale = 1 / sqrtf((float)K);
    float *panels = scratch, *d_scores = scratch + (wide > up16(K) ? wide : up16(K)) * (S > K ? S : K);
    for (long b = 0; b < s->B; b++)
        for (long h = 0; h < s->H; h++, weights += S * wide) {
            const long at = b * S * 3 * D + h * K;
            const float *q = qkv + at, *k = q + D, *v = q + 2 * D, *out = d_mixed + b * S * D + h * K;
            float *dq = d_qkv + at, *dk = dq + D, *dv = dq + 2 * D;
            into_panels(panels, S, K, out, D, 1);
            product(S, K, S, weights, 1, wide, panels, dv, 3 * D, 0);
            into_panels(panels, K, S, v, 1, 3 * D);
            product(S, wide, K, out, D, 1, panels, d_scores, wide, 0);
            for (long i = 0; i < S; i++) {
                float *row = d_scores + i * wide;
                const float *p = weights + i * wide;
                vec total = {0};
                for (long j = 0; j < wide; j += 8) total += AT(row + j) * AT(p + j);
                const float mean = sum8(total);
                for (long j = 0; j < wide; j += 8) AT(row + j) = (AT(row + j) - mean) * AT(p + j) * scale;
            }
            into_panels(panels, S, K, k, 3 * D, 1);
            product(S, K, S, d_scores, wide, 1, panels, dq, 3 * D, 0);
            into_panels(panels, S, K, q, 3 * D, 1);
            product(S, K, S, d_scores, 1, wide, panels, dk, 3 * D, 0);
        }
}

/* ---- what the way back needs of one block ---- */

typedef struct {
    float *x, *qkv, *weights, *mixed, *middle, *gates, *out, *scale1, *scale2;
} Saved;

static void carve(const Shape *s, float *base, Saved *v) {
    const long N = s->B * s->S;
    float *at = base;
    v->x = at, at += N * s->D;
    v->qkv = at, at += N * 3 * s->D;
    v->weights = at, at += s->B * s->H * s->S * up16(s->S);
    v->mixed = at, at += N * s->D;
    v->middle = at, at += N * s->D;
    v->gates = at, at += N * gate_stride(s);
    v->out = at, at += N * s->D;
    v->scale1 = at, at += up16(N);
    v->scale2 = at;
}

/* Floats that one block saves. */
static long each_floats(const Shape *s) {
    const long N = s->B * s->S;
    return N * (7 * s->D + gate_stride(s)) + s->B * s->H * s->S * up16(s->S) + 2 * up16(N);
}

/* Floats that `level_forward` needs to save. */
long saved_floats(const Shape *s) { return s->layers * each_floats(s); }

/* One block from `v->x`; with `first` the result has only the first position of every sequence. Without `keep` the gates and
 * attention weights of one part are overwritten by the next. */
static void block(const Shape *s, const Weights *w, const float *cosine, const float *sine, Saved *v, float *out, int first,
                  int keep, float *panels) {
    const long N = s->B * s->S, D = s->D, I = s->I, ldg = gate_stride(s);
    const long queries = first ? 1 : s->S, rows = s->B * queries, x_row = first ? s->S * D : D, part = together(s);
    if (first) { /* queries of the first positions alone; keys and values of all */
        product(s->B, D, D, v->x, x_row, 1, w->ahead[QKV], v->qkv, s->S * 3 * D, 0);
        product(N, 2 * D, D, v->x, D, 1, w->ahead[QKV] + D * D, v->qkv + D, 3 * D, 0);
    } else {
        product(N, 3 * D, D, v->x, D, 1, w->ahead[QKV], v->qkv, 3 * D, 0);
    }
    if (cosine) turn_all(s, v->qkv, cosine, sine, 0);
    attend(s, v->qkv, queries, v->weights, keep ? s->S * up16(s->S) : 0, v->mixed, panels);
    for (long r = 0; r < rows; r += part) {
        const long n = rows - r < part ? rows - r : part;
        float *middle = v->middle + r * D, *gates = v->gates + (keep ? r * ldg : 0), *inner = panels, *to = out + r * D;
        for (long i = 0; i < n; i++) memcpy(middle + i * D, v->x + (r + i) * x_row, D * sizeof(float));
        product(n, D, D, v->mixed + r * D, D, 1, w->ahead[OUT], middle, D, 1);
        norm(n, D, middle, s->eps, v->scale1 + r);
        product(n, 2 * I, D, middle, D, 1, w->ahead[GATE_UP], gates, ldg, 0);
        for (long i = 0; i < n; i++)
            for (long j = 0; j < I; j += 8) {
                const vec gate = AT(gates + i * ldg + j);
                AT(inner + i * (I + 16) + j) = gate / (1.0f + vexp(-gate)) * AT(gates + i * ldg + I + j);
            }
        memcpy(to, middle, n * D * sizeof(float));
        product(n, D, I, inner, I + 16, 1, w->ahead[DOWN], to, D, 1);
        norm(n, D, to, s->eps, v->scale2 + r);
    }
}

INLINE long panel_floats(const Shape *s) {
    const long wide = up16(s->S > s->D ? s->S : s->D), inner = together(s) * (s->I + 16);
    return wide * wide > inner ? wide * wide : inner;
}

/* out = level(state + injection + more), `more` may be NULL. `save` is NULL when no gradient will be asked for; then
 * `scratch` holds each_floats behind its panel_floats. `out` may be `state`. */
static void pass(const Shape *s, const Weights *w, const float *cosine, const float *sine, const float *state,
                 const float *injection, const float *more, float *out, float *save, int first, float *scratch) {
    const long N = s->B * s->S, D = s->D;
    Saved v;
    float *base = save ? save : scratch + panel_floats(s);
    carve(s, base, &v);
    for (long i = 0; i < N * D; i += 8) AT(v.x + i) = AT(state + i) + AT(injection + i);
    for (long i = 0; more && i < N * D; i += 8) AT(v.x + i) += AT(more + i);
    for (long layer = 0; layer < s->layers; layer++) {
        const int last = layer == s->layers - 1;
        block(s, w + layer, cosine, sine, &v, last ? out : v.out, first && last, save != NULL, scratch);
        if (save && last) memcpy(v.out, out, N * D * sizeof(float));
        if (last) break;
        float *x = v.out;
        if (save) {
            carve(s, base += each_floats(s), &v);
            memcpy(v.x, x, N * D * sizeof(float));
        } else { /* the result is the next block's input, whose place is free */
            v.out = v.x, v.x = x;
        }
    }
}

/* One pass that can be gone back: `save` receives saved_floats. Returns 1 without memory. */
int level_forward(const Shape *s, const Weights *w, const float *cosine, const float *sine, const float *state,
                  const float *injection, float *out, float *save) {
    float *scratch = floats(panel_floats(s));
    if (!scratch) return 1;
    pass(s, w, cosine, sine, state, injection, NULL, out, save, 0, scratch);
    free(scratch);
    return 0;
}

/* Passes without gradient, in place. Each letter of `plan` is one: L is z_L = low(z_L + z_H + x), H is z_H = high(z_H + z_L),
 * and h the same for the first position of every sequence alone, which then fill the beginning of z_H. */
int cycles(const Shape *low, const Shape *high, const Weights *w_low, const Weights *w_high, const float *cosine,
           const float *sine, float *z_L, float *z_H, const float *x, const char *plan) {
    float *scratch = floats(panel_floats(low) + each_floats(low));
    if (!scratch) return 1;
    for (; *plan; plan++) {
        if (*plan == 'L')
            pass(low, w_low, cosine, sine, z_L, z_H, x, z_L, NULL, 0, scratch);
        else
            pass(high, w_high, cosine, sine, z_H, z_L, NULL, z_H, NULL, *plan == 'h', scratch);
    }
    free(scratch);
    return 0;
}

/* One block backwards: `grad` is the gradient of the result on entry and that of `v->x` on return. */
static void block_back(const Shape *s, const Weights *w, const float *cosine, const float *sine, const Saved *v, float *grad,
                       float *const d_weights[MATRICES], float *scratch) {
    const long N = s->B * s->S, D = s->D, I = s->I, ldg = gate_stride(s), ldi = I + 16, part = together(s);
    float *d_mixed = scratch, *d_qkv = d_mixed + N * D, *inner = d_qkv + N * 3 * D, *d_gates = inner + part * ldi;
    float *panels = d_gates + part * ldg;
    for (long r = 0; r < N; r += part) {
        const long n = N - r < part ? N - r : part;
        float *g = grad + r * D;
        const float *middle = v->middle + r * D, *gates = v->gates + r * ldg;
        norm_back(n, D, g, v->out + r * D, v->scale2 + r);
        product(n, I, D, g, D, 1, w->back[DOWN], d_gates + I, ldg, 0); /* of the inner values, for now */
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
        product(n, D, 2 * I, d_gates, ldg, 1, w->back[GATE_UP], g, D, 1);
        norm_back(n, D, g, middle, v->scale1 + r);
        into_panels(panels, n, D, v->mixed + r * D, D, 1);
        product(D, D, n, g, 1, D, panels, d_weights[OUT], D, 1);
        product(n, D, D, g, D, 1, w->back[OUT], d_mixed + r * D, D, 0);
    }
    attend_back(s, v->qkv, v->weights, d_mixed, d_qkv, inner);
    if (cosine) turn_all(s, d_qkv, cosine, sine, 1);
    for (long r = 0; r < N; r += part) {
        const long n = N - r < part ? N - r : part;
        into_panels(panels, n, D, v->x + r * D, D, 1);
        product(3 * D, D, n, d_qkv + r * 3 * D, 1, 3 * D, panels, d_weights[QKV], D, 1);
        product(n, D, 3 * D, d_qkv + r * 3 * D, 3 * D, 1, w->back[QKV], grad + r * D, D, 1);
    }
}

/* `grad`: that of the result on entry, that of state and of injection on return. d_weights[layers * 4] are added to. */
int level_backward(const Shape *s, const Weights *w, const float *cosine, const float *sine, float *save, float *grad,
                   float *const *d_weights) {
    const long N = s->B * s->S, D = s->D, wide = up16(s->S > D ? s->S : D), ldg = gate_stride(s);
    Saved v;
    const long each = each_floats(s);
    const long rows = together(s) * (s->I + 16 + ldg + up16(s->I > D ? s->I : D)), heads = wide * wide + s->S * up16(s->S);
    float *scratch = floats(N * 4 * D + (rows > heads ? rows : heads));
    if (!scratch) return 1;
    for (long layer = s->layers - 1; layer >= 0; layer--) {
        carve(s, save + layer * each, &v);
        block_back(s, w + layer, cosine, sine, &v, grad, d_weights + layer * MATRICES, scratch);
    }
    free(scratch);
    return 0;
}

/* The weight [outputs][inputs] of a linear layer as panels: `ahead` for x W^T, `back` for y W. */
void pack(const float *weight, long outputs, long inputs, float *ahead, float *back) {
    into_panels(ahead, inputs, outputs, weight, 1, inputs);
    into_panels(back, outputs, inputs, weight, inputs, 1);
}
