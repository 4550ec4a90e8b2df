/* Operators that compute what the network says, by the steps that operators.bin lists. DRAM holds
 * the bytes of contents.bin at the start; at the end they are compared with expected.bin. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "spmopt_operators.h"
#include "spmopt_program.h"

static struct {
    uint8_t *file;
    const struct spmopt_operators_header *header;
    const struct spmopt_result *results;
    const struct spmopt_task *tasks;
    const struct spmopt_buffer *buffers;
    const struct spmopt_step *steps;
    const struct spmopt_view *views;
    const int64_t *integers;
    const double *numbers;
    const char *names;
    spmopt_kernel *kernels; /* by step */
    uint8_t *expected;      /* expected.bin */
} reference;

static const uint64_t ELEMENT_BYTES[] = {8, 4, 8, 4, 2, 1, 1, 1}; /* by type */

/* Convert n elements of a type in memory to doubles, or back. */
#define FROM(type)                                                                                 \
    for (uint64_t k = 0; k < n; k++) {                                                             \
        type value;                                                                                \
        memcpy(&value, bytes + k * sizeof value, sizeof value);                                    \
        numbers[k] = (double)value;                                                                \
    }                                                                                              \
    break

#define TO(type, converted)                                                                        \
    for (uint64_t k = 0; k < n; k++) {                                                             \
        double x = numbers[k];                                                                     \
        type value = (type)(converted);                                                            \
        memcpy(bytes + k * sizeof value, &value, sizeof value);                                    \
    }                                                                                              \
    break

static void widen(double *numbers, const uint8_t *bytes, uint32_t type, uint64_t n) {
    switch (type) {
    case SPMOPT_F64: FROM(double);
    case SPMOPT_F32: FROM(float);
    case SPMOPT_I64: FROM(int64_t);
    case SPMOPT_I32: FROM(int32_t);
    case SPMOPT_I16: FROM(int16_t);
    case SPMOPT_I8: FROM(int8_t);
    default: FROM(uint8_t);
    }
}

/* Return the integer of a range that is nearest; those of 64 bits are those that doubles have. */
static double nearest(double x, double low, double high) {
    return isnan(x) ? 0 : rint(x < low ? low : x > high ? high : x);
}

static void narrow(uint8_t *bytes, const double *numbers, uint32_t type, uint64_t n) {
    switch (type) {
    case SPMOPT_F64: TO(double, isnan(x) ? NAN : x); /* always the same bits */
    case SPMOPT_F32: TO(float, isnan(x) ? NAN : x);
    case SPMOPT_I64: TO(int64_t, nearest(x, -9007199254740992, 9007199254740992));
    case SPMOPT_I32: TO(int32_t, nearest(x, INT32_MIN, INT32_MAX));
    case SPMOPT_I16: TO(int16_t, nearest(x, INT16_MIN, INT16_MAX));
    case SPMOPT_I8: TO(int8_t, nearest(x, INT8_MIN, INT8_MAX));
    case SPMOPT_U8: TO(uint8_t, nearest(x, 0, UINT8_MAX));
    default: TO(uint8_t, x != 0);
    }
}

/* Copy the elements of a view to an array without gaps, or back. */
static void copy_view(const struct spmopt_view *v, double *buffer, double *dense, int back) {
    const int64_t *shape = reference.integers + v->first_integer, *stride = shape + v->rank;
    int64_t place[16] = {0};
    double *at = buffer + v->offset;
    uint32_t last = v->rank - 1;
    for (uint64_t done = 0; done < v->elements; done += (uint64_t)shape[last]) {
        for (int64_t k = 0; k < shape[last]; k++) {
            if (back)
                at[k * stride[last]] = dense[done + (uint64_t)k];
            else
                dense[done + (uint64_t)k] = at[k * stride[last]];
        }
        for (uint32_t axis = last; axis-- > 0;) {
            at += stride[axis];
            if (++place[axis] < shape[axis]) break;
            at -= shape[axis] * stride[axis];
            place[axis] = 0;
        }
    }
}

static int has_gaps(const struct spmopt_view *v) {
    const int64_t *shape = reference.integers + v->first_integer;
    return v->rank > 1 || (v->rank == 1 && shape[1] != 1);
}

static void run_step(uint32_t index, double *const *buffers) {
    const struct spmopt_step *s = &reference.steps[index];
    const struct spmopt_view *views = reference.views + s->first_view;
    uint32_t count = s->results + s->operands;
    double **arrays = allocated(count * sizeof *arrays);
    for (uint32_t k = 0; k < count; k++) {
        arrays[k] = buffers[views[k].buffer] + views[k].offset;
        if (!has_gaps(&views[k])) continue;
        arrays[k] = allocated(views[k].elements * sizeof **arrays);
        copy_view(&views[k], buffers[views[k].buffer], arrays[k], 0);
    }
    struct spmopt_call call = {arrays, (const double *const *)arrays + s->results,
                               reference.integers + s->first_integer,
                               reference.numbers + s->first_number};
    reference.kernels[index](&call);
    for (uint32_t k = 0; k < count; k++) {
        if (!has_gaps(&views[k])) continue;
        if (k < s->results) copy_view(&views[k], buffers[views[k].buffer], arrays[k], 1);
        free(arrays[k]);
    }
    free(arrays);
}

static void reference_operator(uint32_t operation, uint8_t *const *reads, uint8_t *const *writes) {
    const struct spmopt_task *task = &reference.tasks[operation];
    const struct spmopt_buffer *buffers = reference.buffers + task->first_buffer;
    double **arrays = allocated(task->buffers * sizeof *arrays);
    for (uint32_t k = 0; k < task->buffers; k++) {
        const struct spmopt_buffer *b = &buffers[k];
        arrays[k] = allocated(b->elements * sizeof **arrays);
        if (b->use == SPMOPT_BUFFER_READ)
            widen(arrays[k], reads[b->place], b->type, b->elements);
        else
            memset(arrays[k], 0, b->elements * sizeof **arrays);
    }
    for (uint32_t k = 0; k < task->steps; k++) run_step(task->first_step + k, arrays);
    for (uint32_t k = 0; k < task->buffers; k++) {
        const struct spmopt_buffer *b = &buffers[k];
        if (b->use == SPMOPT_BUFFER_WRITE)
            narrow(writes[b->place], arrays[k], b->type, b->elements);
        free(arrays[k]);
    }
    free(arrays);
}

static spmopt_kernel kernel_named(const char *name) {
    for (const struct spmopt_named_kernel *k = spmopt_kernels; k->name != NULL; k++)
        if (strcmp(k->name, name) == 0) return k->kernel;
    fprintf(stderr, "error: kernels.c has no kernel %s\n", name);
    exit(2);
}

static void load_operators(const char *folder) {
    uint64_t bytes;
    uint8_t *file = reference.file = read_file(folder, "operators.bin", &bytes);
    const struct spmopt_operators_header *h = (const struct spmopt_operators_header *)file;
    if (bytes < sizeof *h || memcmp(h->magic, SPMOPT_OPERATORS_MAGIC, sizeof h->magic) ||
        h->version != SPMOPT_VERSION || h->tasks.count != program.header->operations.count)
        fail("operators.bin is of another program, or version");
    reference.header = h;
    reference.results = (const void *)(file + h->results.offset);
    reference.tasks = (const void *)(file + h->tasks.offset);
    reference.buffers = (const void *)(file + h->buffers.offset);
    reference.steps = (const void *)(file + h->steps.offset);
    reference.views = (const void *)(file + h->views.offset);
    reference.integers = (const void *)(file + h->integers.offset);
    reference.numbers = (const void *)(file + h->numbers.offset);
    reference.names = (const char *)(file + h->names.offset);
    reference.kernels = allocated(h->steps.count * sizeof *reference.kernels);
    for (uint64_t k = 0; k < h->steps.count; k++)
        reference.kernels[k] = kernel_named(reference.names + reference.steps[k].kernel);
}

static uint8_t *read_contents(const char *folder, const char *name) {
    uint64_t bytes;
    uint8_t *found = read_file(folder, name, &bytes);
    if (bytes != program.header->dram_bytes) fail("contents of DRAM are of another program");
    return found;
}

void prepare(const char *folder) {
    load_operators(folder);
    uint8_t *contents = read_contents(folder, "contents.bin");
    memcpy(dram, contents, program.header->dram_bytes);
    free(contents);
    reference.expected = read_contents(folder, "expected.bin");
    for (uint64_t k = 0; k < program.header->operations.count; k++)
        operators[k] = reference_operator;
}

/* Return the greatest difference of two tensors; infinite where one alone is no number. */
static double difference(const uint8_t *one, const uint8_t *other, uint32_t type, uint64_t bytes) {
    double most = 0, a, b;
    for (uint64_t at = 0; at < bytes; at += ELEMENT_BYTES[type]) {
        widen(&a, one + at, type, 1), widen(&b, other + at, type, 1);
        double distance = isnan(a) && isnan(b) ? 0 : isnan(a - b) ? INFINITY : fabs(a - b);
        most = distance > most ? distance : most;
    }
    return most;
}

int conclude(void) {
    uint64_t compared = 0, same = 0, wrong = 0;
    double most = 0, part = 0;
    for (uint64_t t = 0; t < program.header->tensors.count; t++) {
        const struct spmopt_result *r = &reference.results[t];
        const struct spmopt_tensor *tensor = &program.tensors[t];
        const uint8_t *one = dram + tensor->dram_address;
        const uint8_t *other = reference.expected + tensor->dram_address;
        if (!r->compared) continue;
        compared++;
        if (memcmp(one, other, tensor->bytes) == 0) {
            same++;
            continue;
        }
        double distance = difference(one, other, r->type, tensor->bytes);
        most = distance > most ? distance : most;
        part = distance / r->allowed > part ? distance / r->allowed : part;
        if (distance <= r->allowed && r->allowed > 0) continue;
        wrong++;
        printf("wrong: %s differs by %g\n", program.names + tensor->name, distance);
    }
    printf("compared %" PRIu64 ", the same %" PRIu64 ", wrong %" PRIu64
           ", greatest difference %.3g, of what is allowed %.3g\n",
           compared, same, wrong, most, part);
    free(reference.kernels), free(reference.expected), free(reference.file);
    return wrong > 0;
}
