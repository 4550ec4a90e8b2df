/* Follow commands.bin on arrays, and print a digest of each tensor in DRAM at the end.
 *
 *     cc -std=c11 -O2 -pthread main.c -o program && ./program commands.bin
 *
 * DMA and moves are copies by threads of their own, one an engine; with -DSYNC all commands run in
 * the order of the file, and no threads are needed. Operators are functions: what computes
 * something real takes the place of hash_operator in the table of operators. The digests are those
 * of replay.py, and of the executions of spmopt itself, bit for bit. */
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

#include "spmopt_commands.h"
#include "spmopt_sizes.h"

#define AT_LEAST_1(n) ((n) > 0 ? (n) : 1)

static uint8_t spm[SPMOPT_SPM_BYTES];
static uint8_t in[AT_LEAST_1(SPMOPT_IN_BYTES)];
static uint8_t out[AT_LEAST_1(SPMOPT_OUT_BYTES)];
static uint8_t moved[AT_LEAST_1(SPMOPT_MOVE_BYTES)];
static uint8_t *const memories[] = {spm, in, out, moved};
static uint8_t *dram; /* as large as all tensors: not static, for tools that limit that */

static struct {
    const struct spmopt_header *header;
    const struct spmopt_tensor *tensors;
    const struct spmopt_operation *operations;
    const uint32_t *operands;
    const struct spmopt_command *commands;
    const struct spmopt_descriptor *descriptors;
    const uint32_t *waits;
    const char *names;
} program;

/* Computes an operation: from all bytes of what it reads to all bytes of what it writes, both in
 * the order of its operands. It must not change what it reads. */
typedef void (*spmopt_operator)(uint32_t operation, uint8_t *const *reads, uint8_t *const *writes);

static void fail(const char *message) {
    fprintf(stderr, "error: %s\n", message);
    exit(2);
}

static void *allocated(uint64_t bytes) {
    void *found = malloc(AT_LEAST_1(bytes));
    if (found == NULL) fail("not enough memory");
    return found;
}

/* BLAKE2b (RFC 7693) with a digest of 8 bytes and without a key. */
struct blake {
    uint64_t state[8], length;
    size_t filled;
    uint8_t block[128];
};

static const uint64_t BLAKE_START[8] = {
    0x6A09E667F3BCC908u, 0xBB67AE8584CAA73Bu, 0x3C6EF372FE94F82Bu, 0xA54FF53A5F1D36F1u,
    0x510E527FADE682D1u, 0x9B05688C2B3E6C1Fu, 0x1F83D9ABFB41BD6Bu, 0x5BE0CD19137E2179u};
static const uint8_t BLAKE_ORDER[10][16] = {
    {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15},
    {14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3},
    {11, 8, 12, 0, 5, 2, 15, 13, 10, 14, 3, 6, 7, 1, 9, 4},
    {7, 9, 3, 1, 13, 12, 11, 14, 2, 6, 5, 10, 4, 0, 15, 8},
    {9, 0, 5, 7, 2, 4, 10, 15, 14, 1, 11, 12, 6, 8, 3, 13},
    {2, 12, 6, 10, 0, 11, 8, 3, 4, 13, 7, 5, 15, 14, 1, 9},
    {12, 5, 1, 15, 14, 13, 4, 10, 0, 7, 6, 3, 9, 2, 8, 11},
    {13, 11, 7, 14, 12, 1, 3, 9, 5, 0, 15, 4, 8, 6, 2, 10},
    {6, 15, 14, 9, 11, 3, 0, 8, 12, 2, 13, 7, 1, 4, 10, 5},
    {10, 2, 8, 4, 7, 6, 1, 5, 15, 11, 9, 14, 3, 12, 13, 0}};
static const uint8_t BLAKE_MIXED[8][4] = {{0, 4, 8, 12},  {1, 5, 9, 13},  {2, 6, 10, 14},
                                          {3, 7, 11, 15}, {0, 5, 10, 15}, {1, 6, 11, 12},
                                          {2, 7, 8, 13},  {3, 4, 9, 14}};

static uint64_t word(const uint8_t *bytes) {
    uint64_t found = 0;
    for (int k = 7; k >= 0; k--) found = found << 8 | bytes[k];
    return found;
}

static uint64_t rotated(uint64_t x, int by) { return x >> by | x << (64 - by); }

static void blake_block(struct blake *b, int last) {
    uint64_t v[16], m[16];
    for (int k = 0; k < 8; k++) v[k] = b->state[k], v[k + 8] = BLAKE_START[k];
    for (int k = 0; k < 16; k++) m[k] = word(b->block + 8 * k);
    v[12] ^= b->length;
    if (last) v[14] = ~v[14];
    for (int round = 0; round < 12; round++) {
        const uint8_t *order = BLAKE_ORDER[round % 10];
        for (int k = 0; k < 8; k++) {
            const uint8_t *at = BLAKE_MIXED[k];
            uint64_t *p = v + at[0], *q = v + at[1], *r = v + at[2], *s = v + at[3];
            *p += *q + m[order[2 * k]], *s = rotated(*s ^ *p, 32);
            *r += *s, *q = rotated(*q ^ *r, 24);
            *p += *q + m[order[2 * k + 1]], *s = rotated(*s ^ *p, 16);
            *r += *s, *q = rotated(*q ^ *r, 63);
        }
    }
    for (int k = 0; k < 8; k++) b->state[k] ^= v[k] ^ v[k + 8];
}

static void blake_start(struct blake *b, const char *person) {
    uint8_t padded[16] = {0};
    memset(b, 0, sizeof *b);
    memcpy(padded, person, strlen(person));
    memcpy(b->state, BLAKE_START, sizeof b->state);
    b->state[0] ^= 0x01010000u ^ 8u; /* sequential, digest of 8 bytes */
    b->state[6] ^= word(padded);
    b->state[7] ^= word(padded + 8);
}

static void blake_add(struct blake *b, const uint8_t *bytes, uint64_t size) {
    while (size > 0) {
        if (b->filled == sizeof b->block) blake_block(b, 0), b->filled = 0;
        uint64_t room = sizeof b->block - b->filled, part = size < room ? size : room;
        memcpy(b->block + b->filled, bytes, part);
        b->filled += part, b->length += part, bytes += part, size -= part;
    }
}

static uint64_t blake_end(struct blake b) {
    memset(b.block + b.filled, 0, sizeof b.block - b.filled);
    blake_block(&b, 1);
    return b.state[0];
}

/* Fill results with numbers that follow from the operation's name and all that it reads. */
static void hash_operator(uint32_t operation, uint8_t *const *reads, uint8_t *const *writes) {
    const struct spmopt_operation *o = &program.operations[operation];
    const uint32_t *operands = program.operands + o->first_operand;
    const char *name = program.names + o->name;
    struct blake all;
    blake_start(&all, "operation");
    blake_add(&all, (const uint8_t *)name, strlen(name));
    for (uint32_t k = 0; k < o->reads; k++)
        blake_add(&all, reads[k], program.tensors[operands[k]].bytes);
    for (uint32_t k = 0; k < o->writes; k++) {
        uint8_t place[4] = {(uint8_t)k, (uint8_t)(k >> 8), (uint8_t)(k >> 16), (uint8_t)(k >> 24)};
        struct blake own = all;
        blake_add(&own, place, sizeof place);
        uint64_t seed = blake_end(own), size = program.tensors[operands[o->reads + k]].bytes;
        for (uint64_t at = 0; at < size; at += 8) { /* SplitMix64 */
            uint64_t z = seed += 0x9E3779B97F4A7C15u;
            z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
            z = (z ^ z >> 27) * 0x94D049BB133111EBu;
            z ^= z >> 31;
            for (uint64_t byte = at; byte < at + 8 && byte < size; byte++, z >>= 8)
                writes[k][byte] = (uint8_t)z;
        }
    }
}

static spmopt_operator *operators; /* by operation */

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

/* Contents at the start: numpy.random.default_rng(0).bytes for each tensor that is there, else
 * 0xFF. The generator is PCG64 (XSL-RR of 128 bits), whose state for seed 0 stands here. */
__extension__ typedef unsigned __int128 wide;
#define WIDE(high, low) ((wide)(high) << 64 | (low))

static void fill_dram(void) {
    wide state = WIDE(0x1AA1B5345996452Du, 0x09585EB7A69561E3u);
    const wide step = WIDE(0x418DDADB3AF71A82u, 0x588133BC447873A9u);
    uint64_t drawn = 0;
    int half = 0;
    memset(dram, 0xFF, program.header->dram_bytes);
    for (uint64_t t = 0; t < program.header->tensors.count; t++) {
        const struct spmopt_tensor *tensor = &program.tensors[t];
        if (!(tensor->flags & SPMOPT_IN_DRAM)) continue;
        for (uint64_t at = 0; at < tensor->bytes; at += 4) { /* halves, the low one first */
            if (!half) {
                state = state * WIDE(0x2360ED051FC65DA4u, 0x4385DF649FCCF645u) + step;
                uint64_t mixed = (uint64_t)(state >> 64) ^ (uint64_t)state;
                int by = (int)(state >> 122);
                drawn = by ? rotated(mixed, by) : mixed;
            }
            uint32_t part = (uint32_t)(half ? drawn >> 32 : drawn);
            half = !half;
            for (uint64_t byte = at; byte < at + 4 && byte < tensor->bytes; byte++, part >>= 8)
                dram[tensor->dram_address + byte] = (uint8_t)part;
        }
    }
}

static uint8_t *read_file(const char *path) {
    FILE *file = fopen(path, "rb");
    if (file == NULL || fseek(file, 0, SEEK_END)) fail("commands.bin cannot be read; name it");
    long size = ftell(file);
    if (size < (long)sizeof(struct spmopt_header)) fail("commands.bin is truncated");
    uint8_t *found = allocated((uint64_t)size);
    rewind(file);
    if (fread(found, 1, (size_t)size, file) != (size_t)size) fail("commands.bin cannot be read");
    fclose(file);
    return found;
}

static void load_program(const uint8_t *file) {
    const struct spmopt_header *h = (const struct spmopt_header *)file;
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
    for (uint64_t k = 0; k < h->operations.count; k++) operators[k] = hash_operator;
    dram = allocated(h->dram_bytes);
}

int main(int count, char **arguments) {
    uint8_t *file = read_file(count > 1 ? arguments[1] : "commands.bin");
    load_program(file);
    fill_dram();
    execute_all();
    for (uint64_t t = 0; t < program.header->tensors.count; t++) {
        struct blake digest;
        blake_start(&digest, "");
        blake_add(&digest, dram + program.tensors[t].dram_address, program.tensors[t].bytes);
        uint64_t value = blake_end(digest);
        printf("%" PRIu64 " ", t);
        for (int k = 0; k < 8; k++, value >>= 8) printf("%02x", (unsigned)(value & 0xFF));
        printf("\n");
    }
    free(dram), free(operators), free(file);
    return 0;
}
