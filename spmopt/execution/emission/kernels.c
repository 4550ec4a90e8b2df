/* Kernels of reference: what steps of operators.bin do, on arrays of doubles without gaps.
 *
 * A kernel gets arrays, integers and numbers; what they are stands with each, n being integer 0.
 * Arrays of results are zeros at first, or what steps before left there. */
#ifdef __clang__
#pragma STDC FP_CONTRACT OFF
#endif
#include <math.h>
#include <stddef.h>
#include <string.h>

#include "spmopt_operators.h"

typedef const struct spmopt_call call;
static const double PI = 3.141592653589793;

/* n elements: y = x. */
static void copy(call *c) { memcpy(c->results[0], c->operands[0], (size_t)c->integers[0] * 8); }

/* n elements: y = a number. */
static void fill(call *c) {
    for (int64_t k = 0; k < c->integers[0]; k++) c->results[0][k] = c->numbers[0];
}

/* n elements: y = the numbers. */
static void constant(call *c) {
    for (int64_t k = 0; k < c->integers[0]; k++) c->results[0][k] = c->numbers[k];
}

/* Loops over arrays whose indices are affine, for convolutions, matrix products, poolings and
 * their gradients. Integers: the number of loops, of arrays, where each array begins; and for each
 * loop, the outermost first, how far it runs and the step of each array. The innermost is the
 * body's. */
typedef void (*body)(double *const *arrays, int64_t n, const int64_t *steps);

#define MOST_LOOPS 16
#define MOST_ARRAYS 4

static void loop(call *c, double *const *arrays, body inner) {
    int64_t loops = c->integers[0], count = c->integers[1], place[MOST_LOOPS] = {0};
    const int64_t *first = c->integers + 2, *extents = first + count;
    double *at[MOST_ARRAYS];
    for (int64_t k = 0; k < count; k++) at[k] = arrays[k] + first[k];
    for (int64_t level = loops; level >= 0;) {
        const int64_t *last = extents + (loops - 1) * (count + 1);
        inner(at, last[0], last + 1);
        for (level = loops - 2; level >= 0; level--) {
            const int64_t *own = extents + level * (count + 1);
            for (int64_t k = 0; k < count; k++) at[k] += own[k + 1];
            if (++place[level] < own[0]) break;
            for (int64_t k = 0; k < count; k++) at[k] -= own[0] * own[k + 1];
            place[level] = 0;
        }
    }
}

static void loop_of(call *c, size_t operands, body inner) {
    double *arrays[MOST_ARRAYS] = {c->results[0]};
    for (size_t k = 0; k < operands; k++) arrays[k + 1] = (double *)c->operands[k]; /* only read */
    loop(c, arrays, inner);
}

static void add_products(double *const *p, int64_t n, const int64_t *step) {
    double *y = p[0], sum = 0;
    const double *a = p[1], *b = p[2];
    if (step[0] == 0) {
        for (int64_t k = 0; k < n; k++, a += step[1], b += step[2]) sum += *a * *b;
        *y += sum;
    } else {
        for (int64_t k = 0; k < n; k++, y += step[0], a += step[1], b += step[2]) *y += *a * *b;
    }
}

static void add(double *const *p, int64_t n, const int64_t *step) {
    double *y = p[0];
    const double *a = p[1];
    for (int64_t k = 0; k < n; k++, y += step[0], a += step[1]) *y += *a;
}

static void take_greater(double *const *p, int64_t n, const int64_t *step) {
    double *y = p[0];
    const double *a = p[1];
    for (int64_t k = 0; k < n; k++, y += step[0], a += step[1])
        if (*a > *y || isnan(*a)) *y = *a;
}

static void give_to_greatest(double *const *p, int64_t n, const int64_t *step) {
    double *dx = p[0];
    const double *dy = p[1], *x = p[2], *y = p[3];
    for (int64_t k = 0; k < n; k++, dx += step[0], dy += step[1], x += step[2], y += step[3])
        *dx += *dy * (*x == *y);
}

/* Loops: y += a b; y += a; y = max(y, a); dx += dy where x is y, the greatest of its window. */
static void products(call *c) { loop_of(c, 2, add_products); }
static void sums(call *c) { loop_of(c, 1, add); }
static void maxima(call *c) { loop_of(c, 1, take_greater); }
static void maxima_gradient(call *c) { loop_of(c, 3, give_to_greatest); }

/* n elements: y = f(x), with numbers as parameters. */
#define UNARY(name, expression)                                                                    \
    static void name(call *c) {                                                                    \
        const double *number = c->numbers;                                                         \
        (void)number;                                                                              \
        for (int64_t k = 0; k < c->integers[0]; k++) {                                             \
            double x = c->operands[0][k];                                                          \
            c->results[0][k] = (expression);                                                       \
        }                                                                                          \
    }

/* n elements: y = f(a, b); the slopes below are of dX = dY f'(x), x the input or the result. */
#define BINARY(name, expression)                                                                   \
    static void name(call *c) {                                                                    \
        const double *number = c->numbers;                                                         \
        (void)number;                                                                              \
        for (int64_t k = 0; k < c->integers[0]; k++) {                                             \
            double a = c->operands[0][k], b = c->operands[1][k];                                   \
            c->results[0][k] = (expression);                                                       \
        }                                                                                          \
    }

#define SLOPE(name, expression)                                                                    \
    static void name(call *c) {                                                                    \
        const double *number = c->numbers;                                                         \
        (void)number;                                                                              \
        for (int64_t k = 0; k < c->integers[0]; k++) {                                             \
            double x = c->operands[1][k];                                                          \
            c->results[0][k] = c->operands[0][k] * (expression);                                   \
        }                                                                                          \
    }

static double greater(double a, double b) { return isnan(a) || a > b ? a : b; }
static double less(double a, double b) { return isnan(a) || a < b ? a : b; }
static double maximum(double a, double b) { return isnan(b) ? b : greater(a, b); }
static double minimum(double a, double b) { return isnan(b) ? b : less(a, b); }
static double sigmoid_of(double x) { return 1 / (1 + exp(-x)); }
static double share_of(double x) { return 0.5 + 0.5 * erf(x / sqrt(2.0)); }
static double softplus_of(double x) { return fmax(x, 0) + log1p(exp(-fabs(x))) + 0 * x; }
static double sign_of(double x) { return isnan(x) ? x : (x > 0) - (x < 0); }
static double bent(double x) { return sqrt(2 / PI) * (x + 0.044715 * x * x * x); }

static double gelu_slope(double x) { return share_of(x) + x * exp(-0.5 * x * x) / sqrt(2 * PI); }
static double gelu_tanh_slope(double x) {
    double slope = sqrt(2 / PI) * (1 + 3 * 0.044715 * x * x), t = tanh(bent(x));
    return 0.5 * (1 + t) + 0.5 * x * (1 - t * t) * slope;
}
static double swish_slope(double x, double alpha) {
    double s = sigmoid_of(alpha * x);
    return s + alpha * x * s * (1 - s);
}
static double mish_slope(double x) {
    double t = tanh(softplus_of(x));
    return t + x * sigmoid_of(x) * (1 - t * t);
}

UNARY(relu, maximum(x, 0))
UNARY(clip, minimum(maximum(x, number[0]), number[1]))
UNARY(negative, -x)
UNARY(absolute, fabs(x))
UNARY(sign, sign_of(x))
UNARY(square_root, sqrt(x))
UNARY(exponential, exp(x))
UNARY(logarithm, log(x))
UNARY(error_function, 2 * share_of(sqrt(2.0) * x) - 1)
UNARY(reciprocal, 1 / x)
UNARY(sine, sin(x))
UNARY(cosine, cos(x))
UNARY(hyperbolic_tangent, tanh(x))
UNARY(sigmoid, sigmoid_of(x))
UNARY(hard_sigmoid, maximum(0, minimum(1, x * number[0] + number[1])))
UNARY(hard_swish, x * maximum(0, minimum(1, x * number[0] + number[1])))
UNARY(swish, x * sigmoid_of(number[0] * x))
UNARY(mish, x * tanh(softplus_of(x)))
UNARY(gelu, x * share_of(x))
UNARY(gelu_tanh, 0.5 * x * (1 + tanh(bent(x))))
UNARY(elu, x > 0 ? x : number[0] * expm1(x))
UNARY(selu, number[1] * (x > 0 ? x : number[0] * expm1(x)))
UNARY(leaky_relu, x > 0 ? x : number[0] * x)
UNARY(softplus, softplus_of(x))
UNARY(softsign, x / (1 + fabs(x)))
UNARY(scale_by, x * number[0])
UNARY(divide_by, x / number[0])
UNARY(round_whole, rint(x))
UNARY(round_to_zero, trunc(x))
UNARY(round_down, floor(x))
UNARY(round_up, ceil(x))
UNARY(invert, x == 0)

BINARY(sum, a + b)
BINARY(difference, a - b)
BINARY(product, a * b)
BINARY(quotient, a / b)
BINARY(power, pow(a, b))
BINARY(greatest, maximum(a, b))
BINARY(least, minimum(a, b))
BINARY(equal, a == b)
BINARY(is_greater, a > b)
BINARY(is_greater_or_equal, a >= b)
BINARY(is_less, a < b)
BINARY(is_less_or_equal, a <= b)
BINARY(both, a != 0 && b != 0)
BINARY(either, a != 0 || b != 0)

SLOPE(relu_gradient, x > 0)
SLOPE(clip_gradient, x > number[0] && x < number[1])
SLOPE(absolute_gradient, sign_of(x))
SLOPE(square_root_gradient, 0.5 / x)
SLOPE(exponential_gradient, x)
SLOPE(logarithm_gradient, 1 / x)
SLOPE(error_function_gradient, 2 / sqrt(PI) * exp(-x * x))
SLOPE(reciprocal_gradient, -x * x)
SLOPE(sine_gradient, cos(x))
SLOPE(cosine_gradient, -sin(x))
SLOPE(hyperbolic_tangent_gradient, 1 - x * x)
SLOPE(sigmoid_gradient, x * (1 - x))
SLOPE(hard_sigmoid_gradient, number[0] * (x > 0 && x < 1))
SLOPE(hard_swish_gradient, x <= -3 ? 0 : x >= 3 ? 1 : (2 * x + 3) / 6)
SLOPE(swish_gradient, swish_slope(x, number[0]))
SLOPE(mish_gradient, mish_slope(x))
SLOPE(gelu_gradient, gelu_slope(x))
SLOPE(gelu_tanh_gradient, gelu_tanh_slope(x))
SLOPE(elu_gradient, x > 0 ? 1 : number[0] * exp(minimum(x, 0)))
SLOPE(selu_gradient, number[1] * (x > 0 ? 1 : number[0] * exp(minimum(x, 0))))
SLOPE(leaky_relu_gradient, x > 0 ? 1 : number[0])
SLOPE(softplus_gradient, sigmoid_of(x))
SLOPE(softsign_gradient, 1 / ((1 + fabs(x)) * (1 + fabs(x))))

/* n elements: y = condition ? a : b. */
static void choose(call *c) {
    for (int64_t k = 0; k < c->integers[0]; k++)
        c->results[0][k] = c->operands[c->operands[0][k] != 0 ? 1 : 2][k];
}

/* n elements: y = dy where a is b, else 0. */
static void give_where_equal(call *c) {
    for (int64_t k = 0; k < c->integers[0]; k++)
        c->results[0][k] = c->operands[0][k] * (c->operands[1][k] == c->operands[2][k]);
}

/* Rows of m elements: y = f of each row. Integers: rows, m; number 0: what a sum is divided by. */
#define ROWS(name, start, expression)                                                              \
    static void name(call *c) {                                                                    \
        const double *p = c->operands[0];                                                          \
        for (int64_t row = 0; row < c->integers[0]; row++) {                                       \
            double found = (start);                                                                \
            for (int64_t k = 0; k < c->integers[1]; k++, p++) found = (expression);                \
            c->results[0][row] = found / c->numbers[0];                                            \
        }                                                                                          \
    }

ROWS(sum_rows, 0, found + *p)
ROWS(sum_squares, 0, found + *p * *p)
ROWS(greatest_of_rows, -INFINITY, maximum(found, *p))
ROWS(least_of_rows, INFINITY, minimum(found, *p))
ROWS(product_of_rows, 1, found * *p)

/* Rows of m elements. Integers: rows, m. */
static double softmax_row(const double *x, double *y, int64_t m) {
    double most = -INFINITY, total = 0;
    for (int64_t k = 0; k < m; k++) most = maximum(most, x[k]);
    for (int64_t k = 0; k < m; k++) total += y[k] = exp(x[k] - most);
    for (int64_t k = 0; k < m; k++) y[k] /= total;
    return most + log(total);
}

static void softmax(call *c) {
    for (int64_t row = 0, m = c->integers[1]; row < c->integers[0]; row++)
        softmax_row(c->operands[0] + row * m, c->results[0] + row * m, m);
}

static void log_softmax(call *c) {
    for (int64_t row = 0, m = c->integers[1]; row < c->integers[0]; row++) {
        const double *x = c->operands[0] + row * m;
        double *y = c->results[0] + row * m, total = softmax_row(x, y, m);
        for (int64_t k = 0; k < m; k++) y[k] = x[k] - total;
    }
}

static void softmax_gradient(call *c) { /* dy, y */
    for (int64_t row = 0, m = c->integers[1]; row < c->integers[0]; row++) {
        const double *dy = c->operands[0] + row * m, *y = c->operands[1] + row * m;
        double total = 0;
        for (int64_t k = 0; k < m; k++) total += dy[k] * y[k];
        for (int64_t k = 0; k < m; k++) c->results[0][row * m + k] = y[k] * (dy[k] - total);
    }
}

static void log_softmax_gradient(call *c) { /* dy, y */
    for (int64_t row = 0, m = c->integers[1]; row < c->integers[0]; row++) {
        const double *dy = c->operands[0] + row * m, *y = c->operands[1] + row * m;
        double total = 0;
        for (int64_t k = 0; k < m; k++) total += dy[k];
        for (int64_t k = 0; k < m; k++) c->results[0][row * m + k] = dy[k] - exp(y[k]) * total;
    }
}

/* n elements: the normalized x, and the inverse deviation, of x and of its mean and mean square;
 * integer 1: normalized numbers are rounded; number 0: epsilon. */
static void normalize(call *c) {
    for (int64_t k = 0; k < c->integers[0]; k++) {
        double mean = c->operands[1][k], spread = c->operands[2][k] - mean * mean;
        double inverse = 1 / sqrt(maximum(spread, 0) + c->numbers[0]);
        double found = (c->operands[0][k] - mean) * inverse;
        c->results[0][k] = c->integers[1] ? rint(found) : found;
        c->results[1][k] = inverse;
    }
}

/* n elements: y = scale (x - mean) / sqrt(variance + epsilon) + bias. Number 0: epsilon. */
static void batch_normalization(call *c) {
    for (int64_t k = 0; k < c->integers[0]; k++) {
        double x = c->operands[0][k] - c->operands[3][k];
        double deviation = sqrt(c->operands[4][k] + c->numbers[0]);
        c->results[0][k] = c->operands[1][k] * x / deviation + c->operands[2][k];
    }
}

/* Rows of m elements: dX of dY, the scale, the normalized X and the inverse deviation.
 * Integers: rows, m, whether X was centered. */
static void normalization_gradient(call *c) {
    for (int64_t row = 0, m = c->integers[1]; row < c->integers[0]; row++) {
        const double *dy = c->operands[0] + row * m, *scale = c->operands[1] + row * m;
        const double *x = c->operands[2] + row * m, *inverse = c->operands[3] + row * m;
        double shift = 0, inner = 0;
        for (int64_t k = 0; k < m; k++) {
            double g = dy[k] * scale[k];
            shift += g, inner += g * x[k];
        }
        shift = c->integers[2] ? shift / (double)m : 0, inner /= (double)m;
        for (int64_t k = 0; k < m; k++)
            c->results[0][row * m + k] = inverse[k] * (dy[k] * scale[k] - shift - x[k] * inner);
    }
}

/* n elements: dX of dY, the scale, the normalized X, the inverse deviation, and the sums over the
 * batch that are the gradients of scale and bias. Number 0: of how many elements they are. */
static void batch_gradient(call *c) {
    const double *const *p = c->operands;
    for (int64_t k = 0; k < c->integers[0]; k++) {
        double of_scale = p[4][k] / c->numbers[0], of_bias = p[5][k] / c->numbers[0];
        c->results[0][k] = p[1][k] * p[3][k] * (p[0][k] - of_bias - p[2][k] * of_scale);
    }
}

/* Rows of m scores, and a label each. Integers: rows, m; number 0, of losses: what those of rows
 * are multiplied by and then rounded, 0 where they are not. */
static double counted(double loss, double factor) { return factor != 0 ? rint(factor * loss) : loss; }

static void cross_entropy(call *c) {
    double total = 0;
    for (int64_t row = 0, m = c->integers[1]; row < c->integers[0]; row++) {
        const double *x = c->operands[0] + row * m, label = c->operands[1][row];
        double most = -INFINITY, all = 0, chosen = 0;
        for (int64_t k = 0; k < m; k++) most = maximum(most, x[k]);
        for (int64_t k = 0; k < m; k++) all += exp(x[k] - most);
        for (int64_t k = 0; k < m; k++) chosen += (x[k] - most - log(all)) * (label == (double)k);
        total += counted(chosen, c->numbers[0]);
    }
    c->results[0][0] = -total;
}

static void cross_entropy_gradient(call *c) { /* dy, x, labels */
    for (int64_t row = 0, m = c->integers[1]; row < c->integers[0]; row++) {
        double *dx = c->results[0] + row * m;
        softmax_row(c->operands[1] + row * m, dx, m);
        for (int64_t k = 0; k < m; k++)
            dx[k] = c->operands[0][row * m + k] * (dx[k] - (c->operands[2][row] == (double)k));
    }
}

static void likelihood(call *c) {
    double total = 0;
    for (int64_t row = 0, m = c->integers[1]; row < c->integers[0]; row++) {
        double chosen = 0;
        for (int64_t k = 0; k < m; k++)
            chosen += c->operands[0][row * m + k] * (c->operands[1][row] == (double)k);
        double found = log(chosen);
        if (c->numbers[0] != 0 && isfinite(chosen) && !isfinite(found)) found = 0;
        total += counted(found, c->numbers[0]);
    }
    c->results[0][0] = -total;
}

static void likelihood_gradient(call *c) { /* dy, x, labels */
    for (int64_t row = 0, m = c->integers[1]; row < c->integers[0]; row++)
        for (int64_t k = 0; k < m; k++) {
            double chosen = c->operands[2][row] == (double)k, x = c->operands[1][row * m + k];
            c->results[0][row * m + k] =
                -c->operands[0][row * m + k] * chosen / (chosen > 0 ? x : 1);
        }
}

/* n elements: about half of them doubled and the others 0, by their places; what is kept. */
static void dropout(call *c) {
    for (int64_t k = 0; k < c->integers[0]; k++) {
        double kept = (double)((uint64_t)k * 0x9E3779B97F4A7C15u >> 63);
        c->results[0][k] = 2 * c->operands[0][k] * kept;
        c->results[1][k] = kept;
    }
}

/* n elements: a weight, its gradient, and states. Numbers: rate, decays, epsilon. */
static void sgd(call *c) {
    for (int64_t k = 0; k < c->integers[0]; k++)
        c->results[0][k] = c->operands[0][k] - c->numbers[0] * c->operands[1][k];
}

static void momentum(call *c) {
    for (int64_t k = 0; k < c->integers[0]; k++) {
        double state = c->numbers[1] * c->operands[2][k] + c->operands[1][k];
        c->results[0][k] = c->operands[0][k] - c->numbers[0] * state;
        c->results[1][k] = state;
    }
}

static void adam(call *c) {
    const double *number = c->numbers;
    for (int64_t k = 0; k < c->integers[0]; k++) {
        double g = c->operands[1][k];
        double first = number[1] * c->operands[2][k] + (1 - number[1]) * g;
        double second = number[2] * c->operands[3][k] + (1 - number[2]) * g * g;
        c->results[0][k] = c->operands[0][k] - number[0] * first / (sqrt(second) + number[3]);
        c->results[1][k] = first;
        c->results[2][k] = second;
    }
}

static void adagrad(call *c) {
    for (int64_t k = 0; k < c->integers[0]; k++) {
        double g = c->operands[1][k], state = c->operands[2][k] + g * g;
        c->results[0][k] = c->operands[0][k] - c->numbers[0] * g / (sqrt(state) + c->numbers[3]);
        c->results[1][k] = state;
    }
}

/* Return an index of an axis of some size; -1 where it is none. */
static int64_t index_of(double given, int64_t size) {
    if (!(given >= (double)-size && given < (double)size)) return -1;
    return given < 0 ? (int64_t)given + size : (int64_t)given;
}

/* Take slices of an axis by indices. Integers: elements before the axis, its size, elements
 * behind it, indices. */
static void gather(call *c) {
    int64_t before = c->integers[0], size = c->integers[1], inner = c->integers[2];
    int64_t count = c->integers[3];
    for (int64_t outer = 0; outer < before; outer++)
        for (int64_t k = 0; k < count; k++) {
            double *y = c->results[0] + (outer * count + k) * inner;
            int64_t at = index_of(c->operands[1][k], size);
            for (int64_t e = 0; e < inner; e++)
                y[e] = at < 0 ? NAN : c->operands[0][(outer * size + at) * inner + e];
        }
}

static void gather_gradient(call *c) { /* dy, indices */
    int64_t before = c->integers[0], size = c->integers[1], inner = c->integers[2];
    int64_t count = c->integers[3];
    for (int64_t outer = 0; outer < before; outer++)
        for (int64_t k = 0; k < count; k++) {
            const double *dy = c->operands[0] + (outer * count + k) * inner;
            int64_t at = index_of(c->operands[1][k], size);
            for (int64_t e = 0; e < (at < 0 ? before * size * inner : inner); e++) {
                if (at < 0)
                    c->results[0][e] = NAN; /* bytes that were never written: all is spoilt */
                else
                    c->results[0][(outer * size + at) * inner + e] += dy[e];
            }
        }
}

/* n elements: an LSTM's cell c' = f c + i g and h = o tanh(c'), of i, f, o, g and c. */
static void lstm_cell(call *c) {
    const double *const *p = c->operands;
    for (int64_t k = 0; k < c->integers[0]; k++) {
        double cell = p[1][k] * p[4][k] + p[0][k] * p[3][k];
        c->results[0][k] = cell;
        c->results[1][k] = p[2][k] * tanh(cell);
    }
}

/* n elements: gradients of i, f, o, g, c, of dc' (0 where nothing reads it), dh, these and c'. */
static void lstm_cell_gradient(call *c) {
    const double *const *p = c->operands;
    for (int64_t k = 0; k < c->integers[0]; k++) {
        double t = tanh(p[7][k]), dh = p[1][k], dc = dh * p[4][k] * (1 - t * t) + p[0][k];
        c->results[0][k] = dc * p[5][k];
        c->results[1][k] = dc * p[6][k];
        c->results[2][k] = dh * t;
        c->results[3][k] = dc * p[2][k];
        c->results[4][k] = dc * p[3][k];
    }
}

/* n elements: pairs (a, b) turned by angles of these cosines and sines; number 0: 1, or -1 for
 * the other way. */
static void turn(call *c) {
    const double *const *p = c->operands;
    for (int64_t k = 0; k < c->integers[0]; k++) {
        double cosine = p[2][k], sine = p[3][k] * c->numbers[0];
        c->results[0][k] = p[0][k] * cosine - p[1][k] * sine;
        c->results[1][k] = p[1][k] * cosine + p[0][k] * sine;
    }
}

/* n elements: whole numbers from -8 to 7 that stand for results x, and for x added to what was
 * there before. So sums in any order are the same, bit for bit. What is no number becomes 0 where
 * all operands are numbers. Integers: n, whether the first operand behind x is what was there
 * before, how many operands follow, and their elements; number 0: the factor. */
static void wrap(call *c) {
    const double *x = c->operands[0], *before = c->integers[1] ? c->operands[1] : NULL;
    const double *const *others = c->operands + (c->integers[1] ? 2 : 1);
    int finite = 0;
    for (int64_t k = 0; k < c->integers[0] && !finite; k++) finite = !isfinite(x[k]);
    for (int64_t place = 0; place < c->integers[2] && finite; place++)
        for (int64_t k = 0; k < c->integers[3 + place] && finite; k++)
            finite = isfinite(others[place][k]) != 0;
    for (int64_t k = 0; k < c->integers[0]; k++) {
        double found = finite && !isfinite(x[k]) ? 0 : x[k];
        found = rint(found * c->numbers[0]) + (before == NULL ? 8 : 8 + before[k]);
        c->results[0][k] = found - 16 * floor(found / 16) - 8;
    }
}

#define NAMED(name) {#name, name}

const struct spmopt_named_kernel spmopt_kernels[] = {
    NAMED(copy), NAMED(fill), NAMED(constant), NAMED(products), NAMED(sums), NAMED(maxima),
    NAMED(maxima_gradient), NAMED(relu), NAMED(clip), NAMED(negative), NAMED(absolute), NAMED(sign),
    NAMED(square_root), NAMED(exponential), NAMED(logarithm), NAMED(error_function),
    NAMED(reciprocal), NAMED(sine), NAMED(cosine), NAMED(hyperbolic_tangent), NAMED(sigmoid),
    NAMED(hard_sigmoid), NAMED(hard_swish), NAMED(swish), NAMED(mish), NAMED(gelu),
    NAMED(gelu_tanh), NAMED(elu), NAMED(selu), NAMED(leaky_relu), NAMED(softplus), NAMED(softsign),
    NAMED(scale_by), NAMED(divide_by), NAMED(round_whole), NAMED(round_to_zero), NAMED(round_down),
    NAMED(round_up), NAMED(invert), NAMED(sum), NAMED(difference), NAMED(product), NAMED(quotient),
    NAMED(power), NAMED(greatest), NAMED(least), NAMED(equal), NAMED(is_greater),
    NAMED(is_greater_or_equal), NAMED(is_less), NAMED(is_less_or_equal), NAMED(both), NAMED(either),
    NAMED(relu_gradient), NAMED(clip_gradient), NAMED(absolute_gradient),
    NAMED(square_root_gradient), NAMED(exponential_gradient), NAMED(logarithm_gradient),
    NAMED(error_function_gradient), NAMED(reciprocal_gradient), NAMED(sine_gradient),
    NAMED(cosine_gradient), NAMED(hyperbolic_tangent_gradient), NAMED(sigmoid_gradient),
    NAMED(hard_sigmoid_gradient), NAMED(hard_swish_gradient), NAMED(swish_gradient),
    NAMED(mish_gradient), NAMED(gelu_gradient), NAMED(gelu_tanh_gradient), NAMED(elu_gradient),
    NAMED(selu_gradient), NAMED(leaky_relu_gradient), NAMED(softplus_gradient),
    NAMED(softsign_gradient), NAMED(choose), NAMED(give_where_equal), NAMED(sum_rows),
    NAMED(sum_squares), NAMED(greatest_of_rows), NAMED(least_of_rows), NAMED(product_of_rows),
    NAMED(softmax), NAMED(log_softmax), NAMED(softmax_gradient), NAMED(log_softmax_gradient),
    NAMED(normalize), NAMED(batch_normalization), NAMED(normalization_gradient),
    NAMED(batch_gradient), NAMED(cross_entropy), NAMED(cross_entropy_gradient), NAMED(likelihood),
    NAMED(likelihood_gradient), NAMED(dropout), NAMED(sgd), NAMED(momentum), NAMED(adam),
    NAMED(adagrad), NAMED(gather), NAMED(gather_gradient), NAMED(lstm_cell),
    NAMED(lstm_cell_gradient), NAMED(turn), NAMED(wrap),
    {NULL, NULL}};
