/* Forward-backward with agreement, as chains.py describes it, pair by pair and without padding.

setup.py builds it, and compiled.py calls it. Every sum has a fixed order, and no two operations are fused, so that all
processors return the same bits. A vector holds LANES numbers, whatever the processor has; rows of matrices are padded
with zeros to whole vectors, of which there are `width`. */

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

const char *source = SOURCE; /* the checksum of this file */

#define LANES 16
#define KAPPA 4.0f
#define LEAST -60.0f /* see chains.py */
#define MOST 20.0f

typedef float Vector __attribute__((vector_size(4 * LANES)));
typedef int32_t Integers __attribute__((vector_size(4 * LANES)));

#if defined(__x86_64__) && defined(__linux__) && defined(__GLIBC__)
#define FOR_EACH_PROCESSOR __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define FOR_EACH_PROCESSOR
#endif
#define INLINE static inline __attribute__((always_inline))

/* One direction of a pair: I words that come from J positions. */
typedef struct {
    int I, J, width;
    float *likely;          /* [I,J] p(y_i | x_j), without lambda */
    float *none;            /* [I] */
    float *start;           /* [J] */
    float *moves, *reverse; /* [J,J] p(j | j') by j', and by j */
    float *given;           /* [I,J] p(y_i | x_j), with lambda */
    float *links, *unlinked;
    float *linked, *stayed; /* [I,J] parts of the forward probabilities */
    float *departures, *arrivals;
    float *scale;           /* [I] */
    float *taken;           /* [J,J] */
    float *mass;            /* [J] */
    double likelihood, factor; /* factor: the logarithm of what was taken out of `likely` and `none` */
} Chain;

INLINE float sum(const Vector *v) {
    float lanes[LANES];
    memcpy(lanes, v, sizeof lanes);
    for (int half = LANES / 2; half; half /= 2)
        for (int k = 0; k < half; k++) lanes[k] += lanes[k + half];
    return lanes[0];
}

/* Replace x by e^x to two units in the last place (Cephes), for x between -87 and 88. */
INLINE void exponential(Vector *power) {
    Vector x = *power, low = x - x - 87.0f, high = x - x + 88.0f;
    Integers under = x < low, over = x > high;
    x = (Vector)((under & (Integers)low) | (~under & (Integers)x));
    x = (Vector)((over & (Integers)high) | (~over & (Integers)x));
    Vector shifted = x * 1.44269504088896341f + 12582912.0f; /* adding 1.5 * 2^23 rounds */
    Vector n = shifted - 12582912.0f;
    x = x - n * 0.693359375f;
    x = x - n * -2.12194440e-4f;
    Vector p = x * 1.9875691500e-4f + 1.3981999507e-3f;
    p = p * x + 8.3334519073e-3f;
    p = p * x + 4.1665795894e-2f;
    p = p * x + 1.6666665459e-1f;
    p = p * x + 5.0000001201e-1f;
    p = p * x * x + x + 1.0f;
    *power = p * (Vector)(((Integers)shifted - 0x4B400000 + 127) << 23);
}

/* state [rows] times matrix [rows, width]: even and odd rows are summed apart, two vectors at a time. */
INLINE void product(const float *state, const float *matrix, int rows, int width, float *out) {
    const Vector *from = (const Vector *)matrix;
    for (int w = 0; w < width; w += 2) {
        int both = w + 1 < width;
        const Vector *at = from + w;
        Vector a = {0}, b = {0}, even = {0}, odd = {0};
        int j = 0;
        for (; j + 1 < rows; j += 2, at += 2 * width) {
            float first = state[j], second = state[j + 1];
            a += first * at[0];
            b += second * at[width];
            if (both) even += first * at[1], odd += second * at[width + 1];
        }
        if (j < rows) {
            a += state[j] * at[0];
            if (both) even += state[j] * at[1];
        }
        ((Vector *)out)[w] = a + b;
        if (both) ((Vector *)out)[w + 1] = even + odd;
    }
}

/* Find gamma of `given`, and what taken() needs. */
INLINE void read_chain(Chain *c) {
    int width = c->width;
    double likelihood = 0;
    float *state = c->departures; /* of word i - 1, in row i */
    memcpy(state, c->start, sizeof(Vector) * width);
    for (int i = 0; i < c->I; i++) {
        size_t row = (size_t)i * width * LANES;
        const Vector *likely = (Vector *)(c->given + row), *before = (Vector *)state;
        Vector *linked = (Vector *)(c->linked + row), *stayed = (Vector *)(c->stayed + row);
        Vector total = {0};
        float none = c->none[i];
        if (i) product(state, c->moves, c->J, width, c->linked + row);
        else memcpy(linked, state, sizeof(Vector) * width);
        for (int w = 0; w < width; w++) {
            linked[w] *= likely[w];
            stayed[w] = before[w] * none;
            total += linked[w] + stayed[w];
        }
        float scale = sum(&total);
        c->scale[i] = scale;
        likelihood += log(scale);
        float inverse = 1.0f / scale;
        state = c->departures + row + width * LANES;
        for (int w = 0; w < width; w++) {
            linked[w] *= inverse;
            stayed[w] *= inverse;
            ((Vector *)state)[w] = linked[w] + stayed[w];
        }
    }
    c->likelihood = likelihood;
    Vector *rest = (Vector *)c->departures + (size_t)(c->I + 1) * width, *moved = rest + width;
    for (int w = 0; w < width; w++) rest[w] = (Vector){0} + 1.0f;
    for (int i = c->I; i--;) {
        size_t row = (size_t)i * width * LANES;
        const Vector *likely = (Vector *)(c->given + row);
        Vector *linked = (Vector *)(c->linked + row), *stayed = (Vector *)(c->stayed + row);
        Vector *links = (Vector *)(c->links + row), *arrivals = (Vector *)(c->arrivals + row), total = {0};
        for (int w = 0; w < width; w++) {
            links[w] = linked[w] * rest[w];
            total += stayed[w] * rest[w];
        }
        c->unlinked[i] = sum(&total);
        if (!i) break;
        float inverse = 1.0f / c->scale[i], none = c->none[i] * inverse;
        for (int w = 0; w < width; w++) arrivals[w] = likely[w] * rest[w] * inverse;
        product((float *)arrivals, c->reverse, c->J, width, (float *)moved);
        for (int w = 0; w < width; w++) rest[w] = moved[w] + rest[w] * none;
    }
}

/* Where no word depends on the previous one; the priors [I,J] are in `linked`. */
INLINE void read_independent(Chain *c) {
    int width = c->width;
    double likelihood = 0;
    for (int i = 0; i < c->I; i++) {
        size_t row = (size_t)i * width * LANES;
        const Vector *likely = (Vector *)(c->likely + row), *prior = (Vector *)(c->linked + row);
        Vector *links = (Vector *)(c->links + row), total = {0};
        for (int w = 0; w < width; w++) total += links[w] = likely[w] * prior[w];
        float scale = sum(&total) + c->none[i];
        float inverse = 1.0f / scale;
        for (int w = 0; w < width; w++) links[w] *= inverse;
        c->unlinked[i] = c->none[i] / scale;
        likelihood += log(scale);
    }
    c->likelihood = likelihood;
}

/* How often a word is followed by a move from j' to j. */
INLINE void take(Chain *c) {
    int width = c->width;
    size_t row = (size_t)width * LANES;
    for (int j = 0; j < c->J; j++) {
        const Vector *moves = (Vector *)(c->moves + j * row);
        Vector *taken = (Vector *)(c->taken + j * row);
        for (int w = 0; w < width; w++) {
            Vector total = {0};
            for (int i = 1; i < c->I; i++)
                total += c->departures[i * row + j] * ((Vector *)(c->arrivals + i * row))[w];
            taken[w] = total * moves[w];
        }
    }
}

INLINE void given_by(Chain *c, const float *surplus) { /* [I,J], lambda */
    size_t vectors = (size_t)c->I * c->width;
    const Vector *likely = (Vector *)c->likely, *lambda = (const Vector *)surplus;
    Vector *given = (Vector *)c->given;
    for (size_t n = 0; n < vectors; n++) {
        Vector power = lambda[n];
        exponential(&power);
        given[n] = likely[n] * power;
    }
}

/* Read both directions, and again after each step of agreement. */
INLINE void agree(Chain *c, Chain *d, int steps, float *lambda, float *mu) {
    size_t row = (size_t)c->width * LANES, column = (size_t)d->width * LANES;
    double first[2];
    Chain *both[2] = {c, d};
    for (int side = 0; side < 2; side++) {
        memcpy(both[side]->given, both[side]->likely, 4 * LANES * (size_t)both[side]->I * both[side]->width);
        read_chain(both[side]);
        first[side] = both[side]->likelihood;
    }
    if (steps) {
        memset(lambda, 0, 4 * row * c->I);
        memset(mu, 0, 4 * column * d->I);
    }
    for (int step = 0; step < steps; step++) {
        for (int i = 0; i < c->I; i++)
            for (int j = 0; j < c->J; j++) {
                float each = lambda[i * row + j] + (d->links[j * column + i] - c->links[i * row + j]);
                each = each < -MOST ? -MOST : each > MOST ? MOST : each;
                lambda[i * row + j] = each;
                mu[j * column + i] = -each;
            }
        given_by(c, lambda);
        given_by(d, mu);
        read_chain(c);
        read_chain(d);
    }
    c->likelihood = first[0], d->likelihood = first[1];
}

/* Give the next `count` numbers of a block of memory, or only count them. */
static float *part(float *memory, size_t *at, size_t count) {
    float *here = memory ? memory + *at : NULL;
    *at += (count + LANES - 1) / LANES * LANES;
    return here;
}

/* Lay out two directions, of up to I words that come from up to J positions and the reverse; return the size. */
static size_t lay_out(float *memory, Chain *c, Chain *d, float **lambda, float **mu, size_t I, size_t J) {
    size_t at = 0;
    for (int side = 0; side < 2; side++) {
        Chain *e = side ? d : c;
        size_t words = side ? J : I, positions = side ? I : J;
        size_t row = (positions + LANES - 1) / LANES * LANES, cells = words * row, moves = positions * row;
        float **of_cells[] = {&e->likely, &e->given, &e->links, &e->linked, &e->stayed, &e->arrivals, side ? mu : lambda};
        for (int n = 0; n < 7; n++) *of_cells[n] = part(memory, &at, cells);
        float **of_moves[] = {&e->moves, &e->reverse, &e->taken};
        for (int n = 0; n < 3; n++) *of_moves[n] = part(memory, &at, moves);
        float **of_words[] = {&e->none, &e->unlinked, &e->scale};
        for (int n = 0; n < 3; n++) *of_words[n] = part(memory, &at, words);
        e->start = part(memory, &at, row), e->mass = part(memory, &at, row);
        e->departures = part(memory, &at, cells + 3 * row);
    }
    return at;
}

static float *take_memory(Chain *c, Chain *d, float **lambda, float **mu, size_t I, size_t J) {
    float *memory = NULL;
    size_t size = lay_out(NULL, c, d, lambda, mu, I, J);
    if (posix_memalign((void **)&memory, sizeof(Vector), 4 * size)) return NULL;
    lay_out(memory, c, d, lambda, mu, I, J);
    memset(memory, 0, 4 * size);
    return memory;
}

/* Set the sizes of a direction, and zero what a row has beyond them. */
static void resize(Chain *c, int I, int J) {
    c->I = I, c->J = J, c->width = (J + LANES - 1) / LANES;
    size_t row = (size_t)c->width * LANES;
    for (int i = 0; i < I; i++) memset(c->likely + i * row + J, 0, 4 * (row - J));
    memset(c->start + J, 0, 4 * (row - J));
    for (int j = 0; j < J; j++) {
        memset(c->moves + j * row + J, 0, 4 * (row - J));
        memset(c->reverse + j * row + J, 0, 4 * (row - J));
    }
}

INLINE void reverse_moves(Chain *c) {
    size_t row = (size_t)c->width * LANES;
    for (int j = 0; j < c->J; j++)
        for (int k = 0; k < c->J; k++) c->reverse[k * row + j] = c->moves[j * row + k];
}

INLINE int clipped(int distance, int longest) {
    return (distance < -longest ? -longest : distance > longest ? longest : distance) + longest;
}

static int length_of(const int64_t *ids, int most) {
    int length = 0;
    while (length < most && ids[length] >= 0) length++;
    return length;
}

static void copy_links(const Chain *c, float *links, int64_t columns) { /* [I,columns] */
    for (int i = 0; i < c->I; i++)
        memcpy(links + i * columns, c->links + (size_t)i * c->width * LANES, 4 * (size_t)c->J);
}

/* What one direction of `hmm` knows: by type, by the word that it predicts, and by the word that it comes from; and
what it counts: words without a link, jumps taken, and jumps possible. longest: of the jumps, with a weight each. */
typedef struct {
    const float *likely, *none, *weights;
    const int64_t *classes;
    int64_t longest;
    double *seen, *possible;
    float *unlinked, *links; /* links [B,I,J], or nothing */
    double likelihood;
} Tables;

static void prior_of(int I, int J, int i, float *out, int width) {
    float place = (i + 0.5f) / I;
    Vector total = {0};
    for (int w = 0; w < width; w++) {
        Vector each;
        for (int k = 0; k < LANES; k++) {
            int j = w * LANES + k;
            float distance = place - (j + 0.5f) / J;
            each[k] = -KAPPA * (distance < 0 ? -distance : distance);
        }
        exponential(&each);
        for (int k = 0; k < LANES; k++)
            if (w * LANES + k >= J) each[k] = 0;
        ((Vector *)out)[w] = each;
        total += each;
    }
    float inverse = 1.0f / sum(&total);
    for (int w = 0; w < width; w++) ((Vector *)out)[w] *= inverse;
}

INLINE void set_up_jumps(Chain *c, const Tables *t, const int64_t *sources) {
    size_t row = (size_t)c->width * LANES;
    int size = 2 * (int)t->longest + 1;
    for (int j = 0; j < c->J; j++) {
        const float *weights = t->weights + t->classes[sources[j]] * size;
        float total = 0, *moves = c->moves + j * row;
        for (int k = 0; k < c->J; k++) total += moves[k] = weights[clipped(k - j, (int)t->longest)];
        for (int k = 0; k < c->J; k++) moves[k] /= total;
        c->mass[j] = total;
    }
    reverse_moves(c);
}

INLINE void count_jumps(Chain *c, Tables *t, const int64_t *sources) {
    take(c);
    size_t row = (size_t)c->width * LANES;
    int size = 2 * (int)t->longest + 1;
    for (int j = 0; j < c->J; j++) {
        double *seen = t->seen + t->classes[sources[j]] * size, *possible = t->possible + (seen - t->seen);
        double total = 0;
        const float *taken = c->taken + j * row;
        for (int k = 0; k < c->J; k++) {
            seen[clipped(k - j, (int)t->longest)] += taken[k];
            total += taken[k];
        }
        total /= c->mass[j];
        for (int k = 0; k < c->J; k++) possible[clipped(k - j, (int)t->longest)] += total;
    }
}

/* Read B pairs by tables. sources [B,J], targets [B,I]: words, negative where padded; types [B,I,J]; evidence [B,I,J]:
by which `likely` of each cell is multiplied, or nothing. steps: of agreement, or less than 0 where no word depends on
the previous one; counts: what both directions link, by type. Returns 0, or 1 where there is no memory. */
FOR_EACH_PROCESSOR
int read_by_tables(int64_t B, int64_t I, int64_t J, const int64_t *sources, const int64_t *targets,
                   const int32_t *types, const float *evidence, int64_t steps, Tables *forward, Tables *backward,
                   float *counts) {
    Chain c, d;
    float *lambda, *mu, *memory = take_memory(&c, &d, &lambda, &mu, I, J);
    if (!memory) return 1;
    for (int64_t b = 0; b < B; b++, sources += J, targets += I, types += I * J) {
        int words = length_of(targets, (int)I), positions = length_of(sources, (int)J);
        resize(&c, words, positions);
        resize(&d, positions, words);
        size_t row = (size_t)c.width * LANES, column = (size_t)d.width * LANES;
        for (int i = 0; i < words; i++)
            for (int j = 0; j < positions; j++) {
                int32_t type = types[i * J + j];
                float factor = evidence ? evidence[(b * I + i) * J + j] : 1.0f;
                c.likely[i * row + j] = forward->likely[type] * factor;
                d.likely[j * column + i] = backward->likely[type] * factor;
            }
        for (int i = 0; i < words; i++) c.none[i] = forward->none[targets[i]];
        for (int j = 0; j < positions; j++) d.none[j] = backward->none[sources[j]];
        if (steps < 0) {
            for (int i = 0; i < words; i++) prior_of(words, positions, i, c.linked + i * row, c.width);
            for (int j = 0; j < positions; j++) prior_of(positions, words, j, d.linked + j * column, d.width);
            read_independent(&c);
            read_independent(&d);
        } else {
            prior_of(words, positions, 0, c.start, c.width);
            prior_of(positions, words, 0, d.start, d.width);
            set_up_jumps(&c, forward, sources);
            set_up_jumps(&d, backward, targets);
            agree(&c, &d, (int)steps, lambda, mu);
        }
        forward->likelihood += c.likelihood;
        backward->likelihood += d.likelihood;
        if (counts) {
            for (int i = 0; i < words; i++)
                for (int j = 0; j < positions; j++)
                    counts[types[i * J + j]] += c.links[i * row + j] * d.links[j * column + i];
            for (int i = 0; i < words; i++) forward->unlinked[targets[i]] += c.unlinked[i];
            for (int j = 0; j < positions; j++) backward->unlinked[sources[j]] += d.unlinked[j];
            if (steps >= 0) {
                count_jumps(&c, forward, sources);
                count_jumps(&d, backward, targets);
            }
        }
        if (forward->links) copy_links(&c, forward->links + b * I * J, J), copy_links(&d, backward->links + b * I * J, I);
    }
    free(memory);
    return 0;
}

/* What one direction of `neural-hmm` knows, in logarithms: linked [U,V], (1 - p0) p(v | u), or nothing where vectors are
given; none [V], p0 p(v | none); jumps [U,2m+1], by the subword that is left, before they are normalized; and what it
counts: subwords without a link [V], and by what the logarithm of all jumps would change if each score of a jump were
greater [U,2m+1]. With vectors: bias [V], b_v + log (1 - p0); totals [U], see find_totals. */
typedef struct {
    const float *linked, *none, *jumps, *bias, *totals;
    int64_t subwords, longest;
    float *gradient, *unlinked, *links; /* links [B,I,J], or nothing */
    double likelihood;
} Scores;

/* The vectors of the subwords of both sides, [U,size] and [V,size]. */
typedef struct {
    const float *sources, *targets;
    int64_t size;
} Vectors;

/* Products of vectors, of word i and position j at i * by_word + j * by_position. */
typedef struct {
    const float *cells;
    size_t by_word, by_position;
} Products;

/* Put LANES vectors side by side: those of these ids, or without ids the first ones; count: how many there are. */
INLINE void put_together(const float *table, const int64_t *ids, int64_t count, int64_t size, float *out) {
    for (int k = 0; k < LANES; k++) {
        const float *from = table + (ids ? ids[k < count ? k : 0] : k < count ? k : 0) * size;
        for (int64_t n = 0; n < size; n++) out[n * LANES + k] = k < count ? from[n] : 0;
    }
}

/* Multiply a vector with LANES others, always in the same order, whatever stands next to each. */
INLINE Vector multiplied(const float *vector, const Vector *others, int64_t size) {
    Vector a = {0}, b = {0}, c = {0}, d = {0};
    int64_t n = 0;
    for (; n + 3 < size; n += 4) {
        a += vector[n] * others[n];
        b += vector[n + 1] * others[n + 1];
        c += vector[n + 2] * others[n + 2];
        d += vector[n + 3] * others[n + 3];
    }
    for (; n < size; n++) a += vector[n] * others[n];
    return (a + b) + (c + d);
}

/* Add e^x to total * e^most. */
INLINE void add_power(Vector *most, Vector *total, Vector x) {
    Integers greater = x > *most;
    Vector top = (Vector)((greater & (Integers)x) | (~greater & (Integers)*most));
    Vector before = *most - top, here = x - top;
    exponential(&before);
    exponential(&here);
    *total = *total * before + here;
    *most = top;
}

/* Set forward [U] to log sum_v e^(f_v e_u + b_v) and backward [V] to log sum_u e^(f_v e_u + b'_u). Returns 0, or 1 where
there is no memory. */
FOR_EACH_PROCESSOR
int find_totals(int64_t U, int64_t V, const Vectors *vectors, const float *bias, const float *bias_back, float *forward,
                float *backward) {
    int64_t size = vectors->size;
    float *memory;
    if (posix_memalign((void **)&memory, sizeof(Vector), sizeof(Vector) * (size_t)(size + 2 * U))) return 1;
    Vector *others = (Vector *)memory, *most = others + size, *total = most + U, none = {0};
    for (int64_t u = 0; u < U; u++) most[u] = none - 1e30f, total[u] = none;
    for (int64_t v = 0; v < V; v += LANES) {
        int64_t count = V - v < LANES ? V - v : LANES;
        put_together(vectors->targets + v * size, NULL, count, size, memory);
        Vector own = none - 1e30f, most_back = own, total_back = none;
        memcpy(&own, bias + v, 4 * (size_t)count);
        Integers there = own > none - 1e29f;
        for (int64_t u = 0; u < U; u++) {
            Vector cells = multiplied(vectors->sources + u * size, others, size);
            Vector scores = (Vector)((there & (Integers)(cells + own)) | (~there & (Integers)own));
            add_power(most + u, total + u, scores);
            add_power(&most_back, &total_back, cells + bias_back[u]);
        }
        for (int k = 0; k < count; k++) backward[v + k] = most_back[k] + (float)log(total_back[k]);
    }
    for (int64_t u = 0; u < U; u++) {
        float top = most[u][0];
        for (int k = 1; k < LANES; k++) top = most[u][k] > top ? most[u][k] : top;
        Vector scaled = most[u] - top;
        exponential(&scaled);
        scaled *= total[u];
        forward[u] = top + (float)log(sum(&scaled));
    }
    free(memory);
    return 0;
}

/* Multiply all subwords of a pair: out [J, whole vectors of I]. */
INLINE void multiply_pair(const Vectors *vectors, const int64_t *sources, const int64_t *targets, int I, int J,
                          float *others, float *out) {
    int width = (I + LANES - 1) / LANES;
    for (int w = 0; w < width; w++) {
        put_together(vectors->targets, targets + w * LANES, I - w * LANES < LANES ? I - w * LANES : LANES,
                     vectors->size, others);
        for (int j = 0; j < J; j++)
            ((Vector *)out)[j * width + w] =
                multiplied(vectors->sources + sources[j] * vectors->size, (Vector *)others, vectors->size);
    }
}

INLINE void set_up_scores(Chain *c, const Scores *s, const int64_t *sources, const int64_t *targets,
                          const Products *products) {
    size_t row = (size_t)c->width * LANES;
    int size = 2 * (int)s->longest + 1;
    for (int j = 0; j < (int)row; j++) c->start[j] = j < c->J ? -KAPPA * (j + 0.5f) / c->J : -87.0f;
    for (int j = 0; j < c->J; j++) {
        const float *jumps = s->jumps + sources[j] * size;
        float *moves = c->moves + j * row, most = jumps[clipped(-j, (int)s->longest)];
        for (int k = 0; k < c->J; k++) {
            moves[k] = jumps[clipped(k - j, (int)s->longest)];
            if (moves[k] > most) most = moves[k];
        }
        for (int k = 0; k < c->J; k++) moves[k] -= most;
    }
    for (int j = -1; j < c->J; j++) { /* the start, and what each position is left for */
        Vector *each = (Vector *)(j < 0 ? c->start : c->moves + j * row), total = {0};
        for (int w = 0; w < c->width; w++) exponential(each + w);
        memset((float *)each + c->J, 0, 4 * (row - c->J));
        for (int w = 0; w < c->width; w++) total += each[w];
        float inverse = 1.0f / sum(&total);
        for (int w = 0; w < c->width; w++) each[w] *= inverse;
    }
    reverse_moves(c);
    c->factor = 0;
    for (int i = 0; i < c->I; i++) {
        float *likely = c->likely + i * row, none = s->none[targets[i]], most = none;
        if (products) {
            const float *cells = products->cells + i * products->by_word, bias = s->bias[targets[i]];
            for (int j = 0; j < c->J; j++) likely[j] = cells[j * products->by_position] + (bias - s->totals[sources[j]]);
        } else {
            const float *column = s->linked + targets[i];
            for (int j = 0; j < c->J; j++) likely[j] = column[sources[j] * s->subwords];
        }
        for (int j = 0; j < c->J; j++)
            if (likely[j] > most) most = likely[j];
        for (int j = 0; j < c->J; j++) likely[j] = likely[j] - most < LEAST ? LEAST : likely[j] - most;
        for (int w = 0; w < c->width; w++) exponential((Vector *)likely + w);
        memset(likely + c->J, 0, 4 * (row - c->J));
        c->none[i] = none - most < LEAST ? LEAST : none - most;
        c->factor += most;
    }
    for (int i = 0; i < c->I; i++) {
        Vector each = {c->none[i]};
        exponential(&each);
        c->none[i] = each[0];
    }
}

INLINE void count_scores(Chain *c, Scores *s, const int64_t *sources, const int64_t *targets) {
    take(c);
    size_t row = (size_t)c->width * LANES;
    int size = 2 * (int)s->longest + 1;
    for (int j = 0; j < c->J; j++) {
        float *gradient = s->gradient + sources[j] * size, total = 0;
        const float *taken = c->taken + j * row, *moves = c->moves + j * row;
        for (int k = 0; k < c->J; k++) total += taken[k];
        for (int k = 0; k < c->J; k++) gradient[clipped(k - j, (int)s->longest)] += taken[k] - total * moves[k];
    }
    for (int i = 0; i < c->I; i++) s->unlinked[targets[i]] += c->unlinked[i];
}

/* Read B pairs by scores. sources [B,J], targets [B,I]: subwords, negative where padded; steps: of agreement; vectors:
what scores are made of, or nothing where both directions have them; counts [U,V]: what both directions link, or nothing
where nothing is counted. Returns 0, or 1 where there is no memory. */
FOR_EACH_PROCESSOR
int read_by_scores(int64_t B, int64_t I, int64_t J, const int64_t *sources, const int64_t *targets, int64_t steps,
                   const Vectors *vectors, Scores *forward, Scores *backward, float *counts) {
    Chain c, d;
    float *lambda, *mu, *memory = take_memory(&c, &d, &lambda, &mu, I, J), *others = NULL, *cells = NULL;
    if (!memory) return 1;
    if (vectors) {
        size_t size = (size_t)vectors->size * LANES, most = (size_t)J * (size_t)((I + LANES - 1) / LANES) * LANES;
        if (posix_memalign((void **)&others, sizeof(Vector), 4 * (size + most))) {
            free(memory);
            return 1;
        }
        cells = others + size;
    }
    for (int64_t b = 0; b < B; b++, sources += J, targets += I) {
        int words = length_of(targets, (int)I), positions = length_of(sources, (int)J);
        resize(&c, words, positions);
        resize(&d, positions, words);
        size_t row = (size_t)c.width * LANES, column = (size_t)d.width * LANES;
        Products there = {cells, 1, column}, back = {cells, column, 1};
        if (vectors) multiply_pair(vectors, sources, targets, words, positions, others, cells);
        set_up_scores(&c, forward, sources, targets, vectors ? &there : NULL);
        set_up_scores(&d, backward, targets, sources, vectors ? &back : NULL);
        agree(&c, &d, (int)steps, lambda, mu);
        forward->likelihood += c.likelihood + c.factor;
        backward->likelihood += d.likelihood + d.factor;
        if (counts) {
            for (int i = 0; i < words; i++)
                for (int j = 0; j < positions; j++)
                    counts[sources[j] * forward->subwords + targets[i]] +=
                        c.links[i * row + j] * d.links[j * column + i];
            count_scores(&c, forward, sources, targets);
            count_scores(&d, backward, targets, sources);
        }
        if (forward->links) copy_links(&c, forward->links + b * I * J, J), copy_links(&d, backward->links + b * I * J, I);
    }
    free(others);
    free(memory);
    return 0;
}
