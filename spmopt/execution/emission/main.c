/* Follow commands.bin on arrays, and print a digest of each tensor in DRAM at the end.
 *
 *     cc -std=c11 -O2 -pthread *.c -lm -o program && ./program [FOLDER [END]]
 *
 * FOLDER has the files that were emitted (by default where the program runs); END is a file that
 * gets the bytes of DRAM at the end. DMA and moves are copies by threads of their own, one an
 * engine; with -DSYNC all commands run in the order of the file, and no threads are needed.
 * Operators are functions, a table by operation; hash.c or reference.c fills it. */
#define _POSIX_C_SOURCE 200809L
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifndef SYNC
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#endif

#include "spmopt_program.h"
#include "spmopt_sizes.h"

#define AT_LEAST_1(n) ((n) > 0 ? (n) : 1)

static uint8_t spm[SPMOPT_SPM_BYTES];
static uint8_t in[AT_LEAST_1(SPMOPT_IN_BYTES)];
static uint8_t out[AT_LEAST_1(SPMOPT_OUT_BYTES)];
static uint8_t moved[AT_LEAST_1(SPMOPT_MOVE_BYTES)];
static uint8_t *const memories[] = {spm, in, out, moved};
uint8_t *dram; /* as large as all tensors: not static, for tools that limit that */
struct spmopt_program program;
spmopt_operator *operators;

void fail(const char *message) {
    fprintf(stderr, "error: %s\n", message);
    exit(2);
}

void *allocated(uint64_t bytes) {
    void *found = malloc(AT_LEAST_1(bytes));
    if (found == NULL) fail("not enough memory");
    return found;
}

/* Gather what an operation reads, compute, scatter what it writes. */
static void compute(const struct spmopt_command *c) {
    const struct spmopt_operation *o = &program.operations[c->operation];
    const struct spmopt_descriptor *first = program.descriptors + c->first_descriptor;
    const struct spmopt_descriptor *end = first + c->descriptors;
    uint32_t count = o->reads + o->writes;
    uint8_t **parts = allocated(count * sizeof *parts);
    for (const struct spmopt_descriptor *d = first; d < end; d++)
        if (d->use == SPMOPT_USE_SCRATCH) /* its contents may be anything */
            memset(spm + d->address, 0xFF, d->bytes);
    for (uint32_t k = 0; k < count; k++) {
        uint32_t tensor = program.operands[o->first_operand + k];
        parts[k] = allocated(program.tensors[tensor].bytes);
        for (const struct spmopt_descriptor *d = first; d < end && k < o->reads; d++)
            if (d->tensor == (int32_t)tensor && d->memory != SPMOPT_MEMORY_OUT)
                memcpy(parts[k] + d->tensor_offset, memories[d->memory] + d->address, d->bytes);
    }
    operators[c->operation]((uint32_t)c->operation, parts, parts + o->reads);
    for (uint32_t k = o->reads; k < count; k++) {
        uint32_t tensor = program.operands[o->first_operand + k];
        for (const struct spmopt_descriptor *d = first; d < end; d++)
            if (d->tensor == (int32_t)tensor && d->memory != SPMOPT_MEMORY_IN)
                memcpy(memories[d->memory] + d->address, parts[k] + d->tensor_offset, d->bytes);
    }
    for (uint32_t k = 0; k < count; k++) free(parts[k]);
    free(parts);
}

static void execute(const struct spmopt_command *c) {
    const struct spmopt_descriptor *d = program.descriptors + c->first_descriptor;
    uint8_t *outside = dram + c->dram_address;
    if (c->kind == SPMOPT_COMPUTE) compute(c);
    if (c->kind == SPMOPT_STREAM_IN) memcpy(in + c->buffer_address, outside, c->bytes);
    if (c->kind == SPMOPT_STREAM_OUT) memcpy(outside, out + c->buffer_address, c->bytes);
    if (c->kind == SPMOPT_LIFT || c->kind == SPMOPT_LAY) outside = moved + c->buffer_address;
    for (uint32_t k = 0; k < c->descriptors; k++, d++) {
        uint64_t at = d->tensor_offset - c->tensor_offset;
        if (c->kind == SPMOPT_LOAD || c->kind == SPMOPT_LAY)
            memcpy(spm + d->address, outside + at, d->bytes);
        if (c->kind == SPMOPT_STORE || c->kind == SPMOPT_LIFT)
            memcpy(outside + at, spm + d->address, d->bytes);
    }
}

#ifdef SYNC
static void execute_all(void) {
    for (uint64_t k = 0; k < program.header->commands.count; k++) execute(&program.commands[k]);
}
#else
static atomic_uchar *done; /* by command; all that orders commands of different engines */

/* Execute the commands of an engine, each when all that it waits for has ended. */
static void *run_engine(void *engine) {
    for (uint64_t k = 0; k < program.header->commands.count; k++) {
        const struct spmopt_command *c = &program.commands[k];
        if (c->engine != *(const uint32_t *)engine) continue;
        for (uint32_t w = 0; w < c->waits; w++)
            while (!atomic_load_explicit(&done[program.waits[c->first_wait + w]],
                                         memory_order_acquire))
                sched_yield();
        execute(c);
        atomic_store_explicit(&done[k], 1, memory_order_release);
    }
    return NULL;
}

static void execute_all(void) {
    pthread_t threads[SPMOPT_ENGINE_MOVE + 1];
    uint32_t engines[SPMOPT_ENGINE_MOVE + 1];
    done = allocated(program.header->commands.count * sizeof *done);
    for (uint64_t k = 0; k < program.header->commands.count; k++) atomic_init(&done[k], 0);
    for (uint32_t k = 0; k <= SPMOPT_ENGINE_MOVE; k++) {
        engines[k] = k;
        if (pthread_create(&threads[k], NULL, run_engine, &engines[k])) fail("no thread");
    }
    for (uint32_t k = 0; k <= SPMOPT_ENGINE_MOVE; k++) pthread_join(threads[k], NULL);
    free(done);
}
#endif

/* Return the bytes of a file of a folder. */
uint8_t *read_file(const char *folder, const char *name, uint64_t *bytes) {
    char message[64], *path = allocated(strlen(folder) + strlen(name) + 2);
    sprintf(path, "%s/%s", folder, name);
    FILE *file = fopen(path, "rb");
    snprintf(message, sizeof message, "%s cannot be read; name its folder", name);
    if (file == NULL || fseek(file, 0, SEEK_END)) fail(message);
    long size = ftell(file);
    rewind(file);
    if (size < 0) fail(message);
    uint8_t *found = allocated((uint64_t)size);
    if (fread(found, 1, (size_t)size, file) != (size_t)size) fail(message);
    fclose(file), free(path);
    *bytes = (uint64_t)size;
    return found;
}

static void load_program(const uint8_t *file, uint64_t bytes) {
    const struct spmopt_header *h = (const struct spmopt_header *)file;
    if (bytes < sizeof *h) fail("commands.bin is truncated");
    if (memcmp(h->magic, SPMOPT_MAGIC, sizeof h->magic) || h->version != SPMOPT_VERSION)
        fail("no commands.bin of this version, or of another byte order");
    if (h->spm_bytes != SPMOPT_SPM_BYTES || h->in_bytes != SPMOPT_IN_BYTES ||
        h->out_bytes != SPMOPT_OUT_BYTES || h->move_bytes != SPMOPT_MOVE_BYTES)
        fail("spmopt_sizes.h is of another commands.bin");
    program.header = h;
    program.tensors = (const void *)(file + h->tensors.offset);
    program.operations = (const void *)(file + h->operations.offset);
    program.operands = (const void *)(file + h->operands.offset);
    program.commands = (const void *)(file + h->commands.offset);
    program.descriptors = (const void *)(file + h->descriptors.offset);
    program.waits = (const void *)(file + h->waits.offset);
    program.names = (const char *)(file + h->names.offset);
    operators = allocated(h->operations.count * sizeof *operators);
    dram = allocated(h->dram_bytes);
}

static void print_digests(void) {
    for (uint64_t t = 0; t < program.header->tensors.count; t++) {
        struct blake digest;
        blake_start(&digest, "");
        blake_add(&digest, dram + program.tensors[t].dram_address, program.tensors[t].bytes);
        uint64_t value = blake_end(digest);
        printf("%" PRIu64 " ", t);
        for (int k = 0; k < 8; k++, value >>= 8) printf("%02x", (unsigned)(value & 0xFF));
        printf("\n");
    }
}

static void write_dram(const char *path) {
    FILE *file = fopen(path, "wb");
    uint64_t size = program.header->dram_bytes;
    if (file == NULL || fwrite(dram, 1, size, file) != size || fclose(file))
        fail("the contents of DRAM cannot be written");
}

int main(int count, char **arguments) {
    const char *folder = count > 1 ? arguments[1] : ".";
    uint64_t bytes;
    uint8_t *file = read_file(folder, "commands.bin", &bytes);
    load_program(file, bytes);
    prepare(folder);
    execute_all();
    print_digests();
    if (count > 2) write_dram(arguments[2]);
    int result = conclude();
    free(dram), free(operators), free(file);
    return result;
}
