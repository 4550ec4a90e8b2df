/* Digests of bytes. */
#include <string.h>

#include "spmopt_program.h"

/* BLAKE2b (RFC 7693) with a digest of 8 bytes and without a key. */
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

void blake_start(struct blake *b, const char *person) {
    uint8_t padded[16] = {0};
    memset(b, 0, sizeof *b);
    memcpy(padded, person, strlen(person));
    memcpy(b->state, BLAKE_START, sizeof b->state);
    b->state[0] ^= 0x01010000u ^ 8u; /* sequential, digest of 8 bytes */
    b->state[6] ^= word(padded);
    b->state[7] ^= word(padded + 8);
}

void blake_add(struct blake *b, const uint8_t *bytes, uint64_t size) {
    while (size > 0) {
        if (b->filled == sizeof b->block) blake_block(b, 0), b->filled = 0;
        uint64_t room = sizeof b->block - b->filled, part = size < room ? size : room;
        memcpy(b->block + b->filled, bytes, part);
        b->filled += part, b->length += part, bytes += part, size -= part;
    }
}

uint64_t blake_end(struct blake b) {
    memset(b.block + b.filled, 0, sizeof b.block - b.filled);
    blake_block(&b, 1);
    return b.state[0];
}
