/* The optimizer: AdamATan2, in float32 on one thread. */
#include "vectors.h"

/* atan2 of y and x >= 0 to 2 ulp, with Cephes' polynomial. */
INLINE vec vatan2(vec y, vec x) {
    const vec zero = {0}, one = zero + 1.0f;
    const vec size = pick(y < 0, -y, y);
    const vec low = pick(size < x, size, x), high = pick(size < x, x, size);
    vec t = pick(high == 0, zero, pick(low == high, one, low / high));
    const ivec steep = t > 0.414213562f;
    t = pick(steep, (t - 1.0f) / (t + 1.0f), t);
    const vec z = t * t;
    vec r = (((z * 8.05374449538e-2f - 1.38776856032e-1f) * z + 1.99777106478e-1f) * z - 3.33329491539e-1f) * z * t + t;
    r = pick(steep, r + 0.785398163f, r);
    r = pick(size > x, 1.570796327f - r, r);
    return pick(y < 0, -r, r);
}

INLINE void adam_at(float *p, const float *grad, float *m, float *v, float keep, float new1, float new2, float spread, float rate) {
    const vec g = AT(grad), mean = AT(m) + (g - AT(m)) * new1, square = AT(v) * (1 - new2) + g * g * new2;
    vec root;
    for (int i = 0; i < 8; i++) root[i] = sqrtf(square[i]);
    AT(m) = mean;
    AT(v) = square;
    AT(p) = AT(p) * keep - vatan2(mean, root * spread) * rate;
}

static void adam_row(long n, float *p, const float *grad, float *m, float *v, float keep, float new1, float new2, float spread,
                     float rate) {
    long i = 0;
    for (; i + 8 <= n; i += 8) adam_at(p + i, grad + i, m + i, v + i, keep, new1, new2, spread, rate);
    if (i == n) return;
    float rest[4][8] = {{0}};
    const size_t bytes = (size_t)(n - i) * sizeof(float);
    memcpy(rest[0], p + i, bytes), memcpy(rest[1], grad + i, bytes), memcpy(rest[2], m + i, bytes), memcpy(rest[3], v + i, bytes);
    adam_at(rest[0], rest[1], rest[2], rest[3], keep, new1, new2, spread, rate);
    memcpy(p + i, rest[0], bytes), memcpy(m + i, rest[2], bytes), memcpy(v + i, rest[3], bytes);
}

/* A step of AdamATan2 on `count` weights of `sizes`: p = p * keep - rate * atan2(m, spread * sqrt(v)). The gradient's shares in the
 * moments, which lie one after another, are `new1` = 1 - beta1 and `new2` = 1 - beta2. */
void adam_atan2(long count, const long *sizes, float *const *p, const float *const *grads, float *m, float *v, float keep,
                float new1, float new2, float spread, float rate) {
    for (long i = 0; i < count; m += sizes[i], v += sizes[i], i++)
        adam_row(sizes[i], p[i], grads[i], m, v, keep, new1, new2, spread, rate);
}
