/* A whole training step of HRM, but for the optimizers: embedding, the cycles, the heads, the loss and its metrics, halting, the value
 * of going on, and all gradients. What PyTorch would do here is a hundred small operations, each of which costs more to call than to
 * compute. The mathematics is that of `model.py` and `loss.py`.
 */
#include "level.h"
#include "product.h"

#define IGNORED (-100) /* the label of a position that is not scored */

enum { SEPARATE, REUSE, NONE };                                                              /* where the value of going on comes from */
enum { COUNT, ACCURACY, EXACT, Q_ACCURACY, STEPS, LM_LOSS, Q_HALT_LOSS, Q_CONTINUE_LOSS, SUMS }; /* see `compute_loss` */
enum { DONE, BAD_TOKEN, BAD_PUZZLE, BAD_LABEL };

/* What does not change from step to step. Gradients are added up in d_*. */
typedef struct {
    Level low, high;
    long V, prefix, puzzles, puzzle_size, H_cycles, L_cycles, max_steps, full, target, stablemax;
    float scale;
    const float *tokens, *positions, *table, *head, *q_weight, *q_bias, *H_init, *L_init;
    float *d_tokens, *d_positions, *d_head, *d_q_weight, *d_q_bias;
} Model;

/* One step: the rows in flight, which it changes, the batch that fills their gaps, and what it finds. */
typedef struct {
    float *z_H, *z_L, *q_state;
    int *steps;
    unsigned char *halted;
    int *inputs, *labels, *ids;
    const int *new_inputs, *new_labels, *new_ids;
    const int *least; /* [B]: no row halts of itself before so many steps */
    float *d_rows;    /* [B][puzzle_size]: the gradient of each row's puzzle embedding */
    long long *row_ids;
    double share; /* what the loss is multiplied by */
    double *sums; /* [SUMS] */
} Step;

INLINE long length(const Model *m) { return m->low.shape.S - m->prefix; }

/* Floats that `step` works with, from the beginning of its arena. */
typedef struct {
    float *x, *next_L, *next_H, *d_z, *d_x, *logits, *ahead, *back, *panels, *kept_H, *kept_L, *scratch;
    long size;
} Arena;

static Arena arena(const Model *m, float *base) {
    const Shape *s = &m->low.shape;
    const long T = length(m), state = up16(s->B * s->S * s->D), wide = up16(m->V), D = up16(s->D);
    const long low = scratch_floats(s), high = scratch_floats(&m->high.shape);
    const long sizes[] = {state, state, state, state, state, up16(s->B * T * wide), s->D * wide, m->V * D, T * D,
                          kept_floats(&m->high.shape), kept_floats(s) * (m->full ? m->L_cycles : 1), low > high ? low : high};
    Arena a;
    float **places[] = {&a.x, &a.next_L, &a.next_H, &a.d_z, &a.d_x, &a.logits, &a.ahead, &a.back, &a.panels, &a.kept_H, &a.kept_L,
                        &a.scratch};
    float *at = base;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; at += up16(sizes[i]), i++) *places[i] = at;
    a.size = at - base;
    return a;
}

long step_floats(const Model *m) { return arena(m, NULL).size; }

/* Passes without gradient, in place. Each letter of `plan` is one: L is z_L = low(z_L + z_H + x), H is z_H = high(z_H + z_L), and h
 * the same for the first position of every sequence alone, which then fill the beginning of z_H. */
void cycles(const Level *low, const Level *high, float *z_L, float *z_H, const float *x, const char *plan, float *scratch) {
    for (; *plan; plan++) {
        if (*plan == 'L')
            level_pass(low, z_L, z_H, x, z_L, NULL, 0, scratch);
        else
            level_pass(high, z_H, z_L, NULL, z_H, NULL, *plan == 'h', scratch);
    }
}

/* Puts rows of the batch where rows have halted, and counts the step. Returns what is wrong with the rows. */
static int refill(const Model *m, Step *t) {
    const Shape *s = &m->low.shape;
    const long T = length(m);
    for (long b = 0; b < s->B; b++) {
        int *inputs = t->inputs + b * T, *labels = t->labels + b * T;
        if (t->halted[b]) {
            memcpy(inputs, t->new_inputs + b * T, T * sizeof(int));
            memcpy(labels, t->new_labels + b * T, T * sizeof(int));
            t->ids[b] = t->new_ids[b], t->steps[b] = 0;
            for (long i = 0; i < s->S; i++) {
                memcpy(t->z_H + (b * s->S + i) * s->D, m->H_init, s->D * sizeof(float));
                memcpy(t->z_L + (b * s->S + i) * s->D, m->L_init, s->D * sizeof(float));
            }
        }
        t->steps[b]++;
        if (m->prefix && (t->ids[b] < 0 || t->ids[b] >= m->puzzles)) return BAD_PUZZLE;
        for (long i = 0; i < T; i++) {
            if (inputs[i] < 0 || inputs[i] >= m->V) return BAD_TOKEN;
            if (labels[i] != IGNORED && (labels[i] < 0 || labels[i] >= m->V)) return BAD_LABEL;
        }
    }
    return DONE;
}

/* The embedded rows [B][S][D]. */
static void embed(const Model *m, Step *t, float *x) {
    const long S = m->low.shape.S, D = m->low.shape.D, T = length(m), head = m->prefix * D;
    for (long b = 0; b < m->low.shape.B; b++, x += S * D) {
        if (m->prefix) {
            memcpy(x, m->table + t->ids[b] * m->puzzle_size, m->puzzle_size * sizeof(float));
            memset(x + m->puzzle_size, 0, (head - m->puzzle_size) * sizeof(float));
            t->row_ids[b] = t->ids[b];
        }
        for (long i = 0; i < T; i++) memcpy(x + head + i * D, m->tokens + t->inputs[b * T + i] * D, D * sizeof(float));
        for (long i = 0; m->positions && i < S * D; i += 8) AT(x + i) += AT(m->positions + i);
        for (long i = 0; i < S * D; i += 8) AT(x + i) *= m->scale;
    }
}

static void embed_back(const Model *m, const Step *t, const float *d_x) {
    const long S = m->low.shape.S, D = m->low.shape.D, T = length(m), head = m->prefix * D;
    for (long b = 0; b < m->low.shape.B; b++, d_x += S * D) {
        for (long i = 0; i < (m->prefix ? m->puzzle_size : 0); i++) t->d_rows[b * m->puzzle_size + i] = d_x[i] * m->scale;
        for (long i = 0; m->positions && i < S * D; i += 8) AT(m->d_positions + i) += AT(d_x + i) * m->scale;
        for (long i = 0; i < T; i++) {
            float *to = m->d_tokens + t->inputs[b * T + i] * D;
            for (long d = 0; d < D; d += 8) AT(to + d) += AT(d_x + head + i * D + d) * m->scale;
        }
    }
}

/* A value of the Q head: 0 halt, 1 go on. */
static float q_value(const Model *m, const float *z, int which) {
    const float *w = m->q_weight + which * m->low.shape.D;
    vec total = {0};
    for (long d = 0; d < m->low.shape.D; d += 8) total += AT(z + d) * AT(w + d);
    return sum8(total) + m->q_bias[which];
}

/* Adds the gradients of one value of the Q head; `d_z` may be NULL. */
static void q_back(const Model *m, const float *z, int which, float grad, float *d_z) {
    const long D = m->low.shape.D;
    for (long d = 0; d < D; d += 8) AT(m->d_q_weight + which * D + d) += AT(z + d) * grad;
    for (long d = 0; d_z && d < D; d += 8) AT(d_z + d) += AT(m->q_weight + which * D + d) * grad;
    m->d_q_bias[which] += grad;
}

INLINE float sigmoid(float x) { return 1 / (1 + expf(-x)); }
INLINE float cross_entropy(float x, float target) { return (x > 0 ? x : x < 0 ? 0 : x) - x * target + log1pf(expf(-fabsf(x))); }
INLINE float larger(float a, float b) { return a != a || a > b ? a : b; } /* a number that is none wins, as in PyTorch */

/* The loss of one position; its `V` logits become their gradients times `share`. Those of stablemax: s(x) = x + 1 from 0 on, 1 / (1 - x)
 * below, p = s / sum(s). */
static double position_loss(const Model *m, float *logits, long label, double share) {
    double total = 0, of_label = 0, top = logits[0], s[m->V];
    for (long v = 1; v < m->V; v++) top = logits[v] > top ? logits[v] : top;
    for (long v = 0; v < m->V; v++) {
        const double x = logits[v];
        s[v] = !m->stablemax ? exp(x - top) : x < 0 ? 1 / (1 - x) : x + 1;
        total += s[v];
    }
    of_label = s[label];
    for (long v = 0; v < m->V; v++) {
        const double slope = !m->stablemax ? s[v] : logits[v] < 0 ? s[v] * s[v] : logits[v] == logits[v] ? 1 : logits[v];
        logits[v] = (float)(share * slope * (1 / total - (v == label) / of_label));
    }
    return -log(of_label / total);
}

/* Whether the logit of `label` is the first of the largest, where a number that is none is larger than all. */
static int is_right(const float *logits, long V, long label) {
    long best = 0;
    for (long v = 1; v < V && logits[best] == logits[best]; v++)
        if (!(logits[v] <= logits[best])) best = v;
    return best == label;
}

/* Loss and metrics of sequence `b`, the gradients at the results of both heads, and whether it halts. `logits` [T][up16(V)] become
 * gradients; `next` is the state of the first position after one more step. */
static void judge(const Model *m, Step *t, long b, float *logits, const float *next, float *d_z) {
    const long S = m->low.shape.S, D = m->low.shape.D, T = length(m);
    const int *labels = t->labels + b * T;
    const float *z = t->z_H + b * S * D, halt = q_value(m, z, 0), go_on = q_value(m, z, 1);
    const int fresh = t->halted[b], last = t->steps[b] >= m->max_steps;
    long labelled = 0, right = 0;
    for (long i = 0; i < T; i++) labelled += labels[i] != IGNORED;
    for (long i = 0; i < T; i++, logits += up16(m->V)) {
        if (labels[i] == IGNORED) {
            memset(logits, 0, m->V * sizeof(float));
            continue;
        }
        right += is_right(logits, m->V, labels[i]);
        t->sums[LM_LOSS] += position_loss(m, logits, labels[i], t->share / labelled) / labelled;
    }
    const int stop = halt > (m->target == NONE ? 0 : go_on), exact = right == labelled;
    t->halted[b] = (last || (m->max_steps > 1 && stop)) && t->steps[b] >= t->least[b];
    const float target = next ? sigmoid(last ? q_value(m, next, 0) : larger(q_value(m, next, 0), q_value(m, next, 1)))
                              : sigmoid(larger(halt, go_on));
    if (labelled && t->halted[b]) {
        t->sums[COUNT] += 1, t->sums[ACCURACY] += (double)right / labelled, t->sums[EXACT] += exact;
        t->sums[Q_ACCURACY] += (halt >= 0) == exact, t->sums[STEPS] += t->steps[b];
    }
    const float half = (float)(0.5 * t->share);
    if (labelled) {
        t->sums[Q_HALT_LOSS] += cross_entropy(halt, exact);
        q_back(m, z, 0, half * (sigmoid(halt) - exact), d_z);
        if (next) {
            t->sums[Q_CONTINUE_LOSS] += cross_entropy(go_on, target);
            q_back(m, z, 1, half * (sigmoid(go_on) - target), d_z);
        } else if (m->target == REUSE && !fresh) {
            const float before = q_value(m, t->q_state + b * D, 1);
            t->sums[Q_CONTINUE_LOSS] += cross_entropy(before, target);
            q_back(m, t->q_state + b * D, 1, half * (sigmoid(before) - target), NULL);
        }
    }
    if (m->target == REUSE) memcpy(t->q_state + b * D, z, D * sizeof(float));
}

/* One step, with `base` as memory for step_floats. Returns DONE, or what is wrong with the data; then nothing was learned. */
int step(const Model *m, Step *t, float *base) {
    const Shape *s = &m->low.shape;
    const long S = s->S, D = s->D, T = length(m), state = s->B * S * D, wide = up16(m->V), passes = m->full ? m->L_cycles : 1;
    const Arena a = arena(m, base);
    char plan[m->H_cycles * (m->L_cycles + 1) + 1], *end = plan;
    for (long h = 0; h < m->H_cycles; h++, *end++ = 'H')
        for (long l = 0; l < m->L_cycles; l++) *end++ = 'L';
    *end = 0;

    const int wrong = refill(m, t);
    if (wrong) return wrong;
    embed(m, t, a.x);
    const char behind = end[-1 - passes];
    end[-1 - passes] = 0; /* the last pass of each level, or all of the last cycle, is gone back */
    cycles(&m->low, &m->high, t->z_L, t->z_H, a.x, plan, a.scratch);
    end[-1 - passes] = behind;
    for (long l = 0; l < passes; l++)
        level_pass(&m->low, t->z_L, t->z_H, a.x, t->z_L, a.kept_L + l * kept_floats(s), 0, a.scratch);
    level_pass(&m->high, t->z_H, t->z_L, NULL, t->z_H, a.kept_H, 0, a.scratch);

    const int ahead = m->target == SEPARATE && m->max_steps > 1; /* the value of going on: what the next step would say */
    if (ahead) {
        memcpy(a.next_L, t->z_L, state * sizeof(float));
        memcpy(a.next_H, t->z_H, state * sizeof(float));
        end[-1] = 'h';
        cycles(&m->low, &m->high, a.next_L, a.next_H, a.x, plan, a.scratch);
    }

    memset(t->sums, 0, SUMS * sizeof *t->sums);
    memset(a.d_z, 0, state * sizeof(float));
    into_panels(a.ahead, D, m->V, m->head, 1, D);
    into_panels(a.back, m->V, D, m->head, D, 1);
    for (long b = 0; b < s->B; b++) {
        const float *z = t->z_H + (b * S + m->prefix) * D;
        float *logits = a.logits + b * T * wide;
        product(T, m->V, D, z, D, 1, a.ahead, logits, wide, 0);
        judge(m, t, b, logits, ahead ? a.next_H + b * D : NULL, a.d_z + b * S * D);
        product(T, D, m->V, logits, wide, 1, a.back, a.d_z + (b * S + m->prefix) * D, D, 1);
        into_panels(a.panels, T, D, z, D, 1);
        product(m->V, D, T, logits, 1, wide, a.panels, m->d_head, D, 1);
    }

    level_back(&m->high, a.kept_H, a.d_z, a.scratch);
    memset(a.d_x, 0, state * sizeof(float));
    for (long l = passes - 1; l >= 0; l--) {
        level_back(&m->low, a.kept_L + l * kept_floats(s), a.d_z, a.scratch);
        for (long i = 0; i < state; i += 8) AT(a.d_x + i) += AT(a.d_z + i);
    }
    embed_back(m, t, a.d_x);
    return DONE;
}
