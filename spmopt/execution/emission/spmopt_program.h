/* What the files of the program in C share. */
#ifndef SPMOPT_PROGRAM_H
#define SPMOPT_PROGRAM_H

#include <stddef.h>
#include <stdint.h>

#include "spmopt_commands.h"

/* Computes an operation: from all bytes of what it reads to all bytes of what it writes, both in
 * the order of its operands. It must not change what it reads. */
typedef void (*spmopt_operator)(uint32_t operation, uint8_t *const *reads, uint8_t *const *writes);

struct spmopt_program { /* commands.bin */
    const struct spmopt_header *header;
    const struct spmopt_tensor *tensors;
    const struct spmopt_operation *operations;
    const uint32_t *operands;
    const struct spmopt_command *commands;
    const struct spmopt_descriptor *descriptors;
    const uint32_t *waits;
    const char *names;
};

/* In main.c. */
extern struct spmopt_program program;
extern spmopt_operator *operators; /* by operation */
extern uint8_t *dram;

void fail(const char *message);
void *allocated(uint64_t bytes);
uint8_t *read_file(const char *folder, const char *name, uint64_t *bytes);

/* In hash.c or reference.c: say what operators compute and fill DRAM; see whether the contents at
 * the end are right, and return what the program does. */
void prepare(const char *folder);
int conclude(void);

/* In digest.c: BLAKE2b with a digest of 8 bytes. */
struct blake {
    uint64_t state[8], length;
    size_t filled;
    uint8_t block[128];
};

void blake_start(struct blake *b, const char *person);
void blake_add(struct blake *b, const uint8_t *bytes, uint64_t size);
uint64_t blake_end(struct blake b);

#endif
