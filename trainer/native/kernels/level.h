/* The levels of HRM, forward and backward, in float32 on one thread. See level.c. */
#ifndef LEVEL_H
#define LEVEL_H

/* B sequences of S positions, D channels, H heads, I the inner size of SwiGLU. */
typedef struct {
    long B, S, D, H, I, layers;
    float eps;
} Shape;

/* What a block is made of. */
enum { QKV, OUT, GATE_UP, DOWN, MATRICES };

/* A level: its blocks' weights as they are stored and as panels that multiply on the way forward, where their gradients are added up
 * (MATRICES of each for every block), and the rotary angles of its positions (NULL without). `back` are the panels of one block for
 * the way back: each is gone back through once in a step, so that they are made there, and take no memory for all. */
typedef struct {
    Shape shape;
    const float *const *stored;
    float *const *ahead, *const *back;
    float *const *gradients;
    const float *cosine, *sine;
} Level;

long kept_floats(const Shape *s);    /* what a pass that can be gone back keeps */
long scratch_floats(const Shape *s); /* what a pass or its way back works with */

/* out = level(state + injection + more), `more` may be NULL, `out` may be `state`. `keep` is NULL when nothing goes back. With
 * `first` the result is that of the first position of every sequence alone, [B][D]. */
void level_pass(const Level *l, const float *state, const float *injection, const float *more, float *out, float *keep, int first,
                float *scratch);

/* `grad`: that of the result on entry, that of state and of injections on return. Gradients of weights are added to. */
void level_back(const Level *l, float *keep, float *grad, float *scratch);

#endif
