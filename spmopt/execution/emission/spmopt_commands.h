/* Records of commands.bin; README.md of spmopt/execution/emission says what they mean.
 *
 * The file is a header and sections of records, all little-endian, each section at a multiple of 8
 * bytes. Sizes, offsets and addresses are bytes; indices count from 0. */
#ifndef SPMOPT_COMMANDS_H
#define SPMOPT_COMMANDS_H

#include <stdint.h>

#define SPMOPT_MAGIC "SPMOPT\r\n" /* without the terminating 0 */
#define SPMOPT_VERSION 1u
#define SPMOPT_SCRATCH (-1) /* in place of a tensor */

enum spmopt_kind {
    SPMOPT_LOAD = 0,
    SPMOPT_STORE = 1,
    SPMOPT_STREAM_IN = 2,
    SPMOPT_STREAM_OUT = 3,
    SPMOPT_COMPUTE = 4,
    SPMOPT_LIFT = 5,
    SPMOPT_LAY = 6
};

enum spmopt_engine {
    SPMOPT_ENGINE_DMA_IN = 0,
    SPMOPT_ENGINE_DMA_OUT = 1,
    SPMOPT_ENGINE_COMPUTE = 2,
    SPMOPT_ENGINE_MOVE = 3
};

enum spmopt_memory {
    SPMOPT_MEMORY_SPM = 0,
    SPMOPT_MEMORY_IN = 1,
    SPMOPT_MEMORY_OUT = 2,
    SPMOPT_MEMORY_MOVE = 3
};

enum spmopt_use {
    SPMOPT_USE_READ = 0,
    SPMOPT_USE_WRITE = 1,
    SPMOPT_USE_UPDATE = 2,
    SPMOPT_USE_SCRATCH = 3
};

enum spmopt_flags { SPMOPT_IN_DRAM = 1, SPMOPT_KEEP = 2, SPMOPT_DUPLEX = 1 };

struct spmopt_section {
    uint64_t offset; /* of its first record in the file */
    uint64_t count;  /* of records */
};

struct spmopt_header {
    char magic[8];
    uint32_t version;
    uint32_t flags; /* SPMOPT_DUPLEX */
    uint64_t spm_bytes;
    uint64_t page_bytes;
    uint64_t dram_bytes;
    uint64_t in_bytes; /* of the buffers */
    uint64_t out_bytes;
    uint64_t move_bytes;
    struct spmopt_section tensors;     /* struct spmopt_tensor */
    struct spmopt_section operations;  /* struct spmopt_operation */
    struct spmopt_section operands;    /* uint32_t: tensors */
    struct spmopt_section commands;    /* struct spmopt_command */
    struct spmopt_section descriptors; /* struct spmopt_descriptor */
    struct spmopt_section waits;       /* uint32_t: commands */
    struct spmopt_section names;       /* char: UTF-8, each ends with 0 */
};

struct spmopt_tensor {
    uint64_t bytes;
    uint64_t dram_address;
    uint32_t flags; /* SPMOPT_IN_DRAM, SPMOPT_KEEP */
    uint32_t name;  /* offset in names; its kind likewise */
    uint32_t kind;
    uint32_t unused;
};

struct spmopt_operation {
    uint32_t name;
    uint32_t kind;
    uint32_t first_operand; /* those read, then those written; what is updated is in both */
    uint32_t reads;         /* their numbers */
    uint32_t writes;
    uint32_t unused;
};

struct spmopt_command {
    uint32_t kind;   /* enum spmopt_kind */
    uint32_t engine; /* enum spmopt_engine */
    uint32_t step;
    int32_t operation; /* of SPMOPT_COMPUTE, else -1 */
    int32_t tensor;    /* of all others, else -1 */
    uint32_t fetches;
    uint64_t tensor_offset;
    uint64_t bytes;
    uint64_t dram_address;     /* of DMA, else 0 */
    uint64_t buffer_address;   /* of streams and moves, else 0 */
    uint32_t first_descriptor; /* where its descriptors begin, and their number; ... */
    uint32_t descriptors;
    uint32_t first_wait; /* ... in the section waits: what it waits for, ... */
    uint32_t waits;
    uint32_t first_waiter; /* ... and what waits for it */
    uint32_t waiters;
};

struct spmopt_descriptor {
    int32_t tensor;  /* or SPMOPT_SCRATCH */
    uint16_t memory; /* enum spmopt_memory */
    uint16_t use;    /* enum spmopt_use */
    uint64_t address;
    uint64_t tensor_offset;
    uint64_t bytes;
};

_Static_assert(sizeof(struct spmopt_header) == 176, "header");
_Static_assert(sizeof(struct spmopt_tensor) == 32, "tensor");
_Static_assert(sizeof(struct spmopt_operation) == 24, "operation");
_Static_assert(sizeof(struct spmopt_command) == 80, "command");
_Static_assert(sizeof(struct spmopt_descriptor) == 32, "descriptor");

#endif
