/* Records of operators.bin: what each operation computes, as steps of the kernels in kernels.c;
 * README.md of spmopt/execution/emission says more. All is little-endian; sections begin at
 * multiples of 8 bytes.
 *
 * An operation has buffers of doubles: one for each tensor that it reads or writes, and temporary
 * ones, all zeros but for what is read. A step applies a kernel to views of buffers. */
#ifndef SPMOPT_OPERATORS_H
#define SPMOPT_OPERATORS_H

#include <stdint.h>

#include "spmopt_commands.h"

#define SPMOPT_OPERATORS_MAGIC "SPMOPTOP" /* without the terminating 0 */

enum spmopt_type { /* of elements in memory */
    SPMOPT_F64 = 0,
    SPMOPT_F32 = 1,
    SPMOPT_I64 = 2,
    SPMOPT_I32 = 3,
    SPMOPT_I16 = 4,
    SPMOPT_I8 = 5,
    SPMOPT_U8 = 6,
    SPMOPT_BOOL = 7
};

enum spmopt_buffer_use { SPMOPT_BUFFER_READ = 0, SPMOPT_BUFFER_WRITE = 1, SPMOPT_BUFFER_OWN = 2 };

struct spmopt_operators_header {
    char magic[8];
    uint32_t version; /* SPMOPT_VERSION */
    uint32_t unused;
    struct spmopt_section results;  /* struct spmopt_result, by tensor */
    struct spmopt_section tasks;    /* struct spmopt_task, by operation */
    struct spmopt_section buffers;  /* struct spmopt_buffer */
    struct spmopt_section steps;    /* struct spmopt_step */
    struct spmopt_section views;    /* struct spmopt_view */
    struct spmopt_section integers; /* int64_t: shapes, strides, what kernels are given */
    struct spmopt_section numbers;  /* double */
    struct spmopt_section names;    /* char: each ends with 0 */
};

struct spmopt_result {
    uint32_t type;     /* enum spmopt_type */
    uint32_t compared; /* with expected.bin */
    double allowed;    /* greatest difference of an element; 0: all bits are the same */
};

struct spmopt_task {
    uint32_t first_buffer;
    uint32_t buffers;
    uint32_t first_step;
    uint32_t steps;
};

struct spmopt_buffer {
    uint32_t use;   /* enum spmopt_buffer_use */
    uint32_t place; /* among what the operation reads, or writes */
    uint32_t type;  /* enum spmopt_type, of that tensor */
    uint32_t unused;
    uint64_t elements;
};

struct spmopt_step {
    uint32_t kernel;     /* offset of its name */
    uint32_t first_view; /* of its results, then of its operands */
    uint32_t results;
    uint32_t operands;
    uint32_t first_integer;
    uint32_t integers;
    uint32_t first_number;
    uint32_t numbers;
};

struct spmopt_view {       /* elements of a buffer, in the order of a row-major array */
    uint32_t buffer;       /* of the task's */
    uint32_t rank;         /* of the array; its shape, then its strides in elements, ... */
    uint32_t first_integer; /* ... in the section integers */
    uint32_t unused;
    uint64_t offset; /* of the first element */
    uint64_t elements;
};

_Static_assert(sizeof(struct spmopt_operators_header) == 144, "header");
_Static_assert(sizeof(struct spmopt_result) == 16, "result");
_Static_assert(sizeof(struct spmopt_buffer) == 24, "buffer");
_Static_assert(sizeof(struct spmopt_step) == 32, "step");
_Static_assert(sizeof(struct spmopt_view) == 32, "view");

/* What a kernel is given: arrays without gaps, in the order of views. */
struct spmopt_call {
    double *const *results;
    const double *const *operands;
    const int64_t *integers;
    const double *numbers;
};

typedef void (*spmopt_kernel)(const struct spmopt_call *call);

struct spmopt_named_kernel {
    const char *name;
    spmopt_kernel kernel;
};

extern const struct spmopt_named_kernel spmopt_kernels[]; /* the last has no name */

#endif
