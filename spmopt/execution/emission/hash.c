/* Operators without meaning: results are pseudo-random bytes made of every operand byte, so that
 * one wrong address changes everything after it. What main.c prints then are the digests of
 * replay.py, and of the executions of spmopt itself, bit for bit. */
#include <string.h>

#include "spmopt_program.h"

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
                drawn = by ? mixed >> by | mixed << (64 - by) : mixed;
            }
            uint32_t part = (uint32_t)(half ? drawn >> 32 : drawn);
            half = !half;
            for (uint64_t byte = at; byte < at + 4 && byte < tensor->bytes; byte++, part >>= 8)
                dram[tensor->dram_address + byte] = (uint8_t)part;
        }
    }
}

void prepare(const char *folder) {
    (void)folder;
    fill_dram();
    for (uint64_t k = 0; k < program.header->operations.count; k++) operators[k] = hash_operator;
}

int conclude(void) { return 0; }
