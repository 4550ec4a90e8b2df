/* The Lagrangian dual at given prices, as dual.py and program/paths.py compute it with NumPy: the
   same operations on doubles in the same order, so that both give the same bits.

   Accesses are in the order of RankedIntervals: the k-th access of every tensor in one slice, and
   tensor j at position j of each slice that it has an access in. So all arrays are walked from one
   end to the other, and tensors [first, last) are independent of the others: one thread each.

   Steps come once for each ratio of bytes moved to bytes held, as prices of a byte do; those of a
   tensor are the ones of its ratio. */

#include <math.h>
#include <stdint.h>

#ifdef _WIN32
#define EXPORT __declspec(dllexport)
#else
#define EXPORT __attribute__((visibility("default")))
#endif

/* The digest of this file as it was compiled: a library of another version is not used. */
#define TEXT(word) #word
#define TEXT_OF(word) TEXT(word)
EXPORT const char *source(void) { return TEXT_OF(SOURCE); }

enum { READ = 1, WRITE = 2, FIXED = 4, DEAD = 8, LIVE = 16, FROM_DRAM = 32, FINAL = 64,
       DIRTY = 128, ABSENT = 256, EARLY = 512 };
enum { IN_SPM_ONLY = 0, IN_BOTH = 1, IN_DRAM = 2, BY_DRAM = 4 };
enum { BLOCK_BITS = 4, BLOCK = 1 << BLOCK_BITS };

typedef struct {
    int64_t accesses, steps, period, ranks; /* period: the steps of one ratio */
    const int64_t *slice; /* (ranks + 1,) where the slices begin */
    const int32_t *step, *begin;
    const uint16_t *flags;
    const double *size, *passes, *ratio;
    /* By how much more a byte moves because of its command's set-up, or none: by itself, streamed. */
    const double *moved, *streamed;
    double used_moved, used_streamed; /* of the channel by a command's set-up, in whole bytes */
} Intervals;

/* What a transfer may cost in a step, beside what does not depend on the step: of entering in it
   and staying to the interval's end, of staying from its begin and leaving, of a store alone. */
enum { LOAD, DROP, CLEAN, ENTER, WAYS = 4 }; /* the last: of a load alone */
typedef struct {
    double of[WAYS];
} Least;

typedef struct {
    const double *loaded, *stored, *held; /* (steps,) prices of a byte */
    double *held_before;                  /* (steps + 1,) */
    double loaded_fixed, stored_fixed;    /* of operands that do not overlap computing */
    double in_byte, out_byte;             /* of these what is the objective's, of a byte alone */
    double unpacked, packed;              /* of a byte held beyond those that move, in and out */
    /* Range minima: within blocks of steps from their begin and to their end, and (levels, blocks)
       of 2^level blocks from each on. */
    int64_t blocks;
    Least *value, *prefix, *suffix, *sparse; /* (steps,) the first three */
} Prices;

typedef struct {
    double *dirty_in, *clean_in, *gone_in, *dirty, *clean, *gone, *bypass, *best;
} Costs; /* all (accesses,); only the three after each access are needed to go on */

typedef struct {
    int32_t *load_at, *drop_at, *clean_at; /* where the path transfers so; else steps */
    uint8_t *arrive_dirty, *arrive_clean, *arrive_gone, *from_clean, *from_gone;
    int8_t *after, *arrived, *before; /* of the cheapest path, by trace */
} Choices;

typedef struct {
    double hold, load, drop, clean, keep_here, load_here, clean_here, stream;
} Arc;

static inline double least(double a, double b) { return b < a ? b : a; }

/* The later of equals, which holds less. */
static inline uint8_t least_state(double dirty, double clean, double gone) {
    double kept = least(clean, dirty);
    return gone <= kept ? IN_DRAM : clean <= dirty ? IN_BOTH : IN_SPM_ONLY;
}

/* Where the steps of the ratio end that a step is of. */
static inline int32_t end_of(const Intervals *all, int32_t step) {
    return (int32_t)((step / all->period + 1) * all->period);
}

static inline Least both(Least one, Least other) {
    Least result;
    for (int way = 0; way < WAYS; way++)
        result.of[way] = other.of[way] < one.of[way] ? other.of[way] : one.of[way];
    return result;
}

EXPORT void prepare(const Intervals *all, Prices *prices) {
    int64_t steps = all->steps, blocks = prices->blocks;
    double *before = prices->held_before;
    before[0] = 0.0;
    for (int64_t i = 0; i < steps; i++) {
        double in = prices->loaded[i], out = prices->stored[i];
        before[i + 1] = before[i] + prices->held[i];
        prices->value[i] = (Least){{in - before[i], out + before[i + 1], out, in}};
    }
    for (int64_t block = 0; block < blocks; block++) {
        int64_t begin = block << BLOCK_BITS, end = begin + BLOCK < steps ? begin + BLOCK : steps;
        Least now = prices->value[begin];
        for (int64_t i = begin; i < end; i++)
            prices->prefix[i] = now = both(now, prices->value[i]);
        prices->sparse[block] = now;
        now = prices->value[end - 1];
        for (int64_t i = end - 1; i >= begin; i--)
            prices->suffix[i] = now = both(now, prices->value[i]);
    }
    Least *row = prices->sparse;
    for (int64_t half = 1; 2 * half <= blocks; half *= 2, row += blocks)
        for (int64_t i = 0; i + 2 * half <= blocks; i++)
            row[blocks + i] = both(row[i], row[i + half]);
}

/* Least values of the steps [begin, end); infinite if there are none. */
static inline Least cheapest(const Prices *prices, int32_t begin, int32_t end) {
    if (begin >= end) return (Least){{INFINITY, INFINITY, INFINITY, INFINITY}};
    int32_t first = begin >> BLOCK_BITS, last = (end - 1) >> BLOCK_BITS;
    Least found;
    if (first == last) {
        found = prices->value[begin];
        for (int32_t i = begin + 1; i < end; i++) found = both(found, prices->value[i]);
        return found;
    }
    found = both(prices->suffix[begin], prices->prefix[end - 1]);
    int32_t count = last - first - 1, width = 1;
    if (count > 0) {
        const Least *row = prices->sparse;
        for (; 2 * width <= count; width *= 2) row += prices->blocks;
        found = both(found, both(row[first + 1], row[last - width]));
    }
    return found;
}

/* First of the steps [begin, end) with the least value of a way; `none` if there are none. */
static int32_t cheapest_at(const Prices *prices, int way, int32_t begin, int32_t end, int32_t none) {
    if (begin >= end) return none;
    double least = cheapest(prices, begin, end).of[way];
    int32_t at = begin, last = (end - 1) >> BLOCK_BITS, first = begin >> BLOCK_BITS;
    if (first != last && prices->suffix[begin].of[way] != least) {
        /* The first block with it, by leaps over as many as have none. */
        int32_t block = first + 1, width = 1;
        const Least *row = prices->sparse;
        for (; 2 * width <= last - block; width *= 2) row += prices->blocks;
        for (; width > 0; width /= 2, row -= prices->blocks)
            if (block + width <= last && row[block].of[way] != least) block += width;
        at = block << BLOCK_BITS;
    }
    while (prices->value[at].of[way] != least) at++;
    return at;
}

static inline double stream_price(int flags, double passes, double into, double out) {
    double partial = flags & DEAD ? 0.0 : (passes - 1) * into;
    double stored = flags & DEAD ? 0.0 : passes * out;
    into = flags & WRITE ? partial : passes * into;
    return into + (flags & READ ? 0.0 : stored);
}

/* Whether what is streamed comes in, and goes out. */
static inline int crosses_in(int flags, double passes) {
    return flags & WRITE ? passes > 1 && !(flags & DEAD) : 1;
}

static inline int crosses_out(int flags) { return !(flags & (READ | DEAD)); }

/* `interval`: whether the cheapest steps of the interval are asked for. */
static inline Arc arc_at(const Intervals *all, const Prices *prices, int64_t k, int interval) {
    int flags = all->flags[k];
    int32_t step = all->step[k], begin = all->begin[k];
    const double *before = prices->held_before;
    double ratio = all->ratio[k];
    double more_in = (1.0 - ratio) * prices->unpacked, more_out = (1.0 - ratio) * prices->packed;
    double in_byte = ratio * prices->in_byte + more_in;
    double out_byte = ratio * prices->out_byte + more_out;
    Arc arc;
    if (interval) {
        Least least = cheapest(prices, begin, step);
        arc.hold = before[step] - before[begin < step ? begin : step];
        arc.load = least.of[LOAD] + before[step];
        arc.drop = least.of[DROP] - before[begin];
        arc.clean = least.of[CLEAN] + arc.hold;
        if (all->moved && begin < step) {
            double out = all->moved[k] * (least.of[CLEAN] - out_byte);
            arc.load += all->moved[k] * (least.of[ENTER] - in_byte);
            arc.drop += out;
            arc.clean += out;
        }
    } else
        arc.hold = arc.load = arc.drop = arc.clean = INFINITY;
    double loaded = prices->loaded[step], stored = prices->stored[step];
    double held = prices->held[step];
    if (flags & EARLY) held += prices->held[step - 1];
    arc.keep_here = flags & ABSENT ? INFINITY : held;
    arc.load_here = flags & FIXED ? ratio * prices->loaded_fixed + more_in : loaded;
    arc.clean_here =
        (flags & FIXED) && !(flags & READ) ? ratio * prices->stored_fixed + more_out : stored;
    arc.stream = flags & FIXED ? INFINITY : stream_price(flags, all->passes[k], loaded, stored);
    if (all->moved) {
        double in = loaded - in_byte, out = stored - out_byte;
        arc.load_here += all->moved[k] * (arc.load_here - in_byte);
        arc.clean_here += all->moved[k] * (arc.clean_here - out_byte);
        arc.stream += all->streamed[k] * (crosses_in(flags, all->passes[k]) ? in : 0.0);
        arc.stream += all->streamed[k] * (crosses_out(flags) ? out : 0.0);
    }
    return arc;
}

static inline double final_drop(const Intervals *all, const Prices *prices, int64_t k) {
    int32_t after = all->step[k] + 1, end = end_of(all, all->step[k]);
    Least least = cheapest(prices, after, end);
    double drop = least.of[DROP] - prices->held_before[after];
    if (!all->moved || after == end) return drop;
    double out_byte = all->ratio[k] * prices->out_byte + (1.0 - all->ratio[k]) * prices->packed;
    return drop + all->moved[k] * (least.of[CLEAN] - out_byte);
}

/* Where the slice of a rank ends for tensors before `last`. */
static inline int64_t slice_end(const Intervals *all, int64_t rank, int64_t last) {
    int64_t begin = all->slice[rank], end = all->slice[rank + 1];
    return end - begin < last ? end : begin + last;
}

/* Cheapest paths up to each access, and by which state and step they come. */
EXPORT void forward(const Intervals *all, const Prices *prices, Costs *cost, Choices *choice,
                    int64_t first_tensor, int64_t last_tensor) {
    for (int64_t rank = 0; rank < all->ranks; rank++) {
        int64_t end = slice_end(all, rank, last_tensor), start = all->slice[rank];
        int64_t back = rank ? start - all->slice[rank - 1] : 0, ahead = all->slice[rank + 1];
        int64_t followed = rank + 1 < all->ranks ? all->slice[rank + 2] - ahead : 0;
        for (int64_t k = start + first_tensor; k < end; k++) {
            int flags = all->flags[k], read = flags & READ, dead = flags & DEAD;
            Arc arc = arc_at(all, prices, k, flags & (LIVE | FROM_DRAM));
            double d = INFINITY, r, n, bypass = 0.0;
            uint8_t left = IN_DRAM, kept = IN_SPM_ONLY;
            if (rank == 0) {
                n = flags & FROM_DRAM ? 0.0 : INFINITY;
                r = n + arc.load;
                kept = BY_DRAM + IN_DRAM;
            } else {
                double before_d = cost->dirty[k - back], before_r = cost->clean[k - back];
                double before_n = cost->gone[k - back];
                bypass = least(least(before_d, before_r), before_n);
                left = least_state(before_d + arc.drop, before_r, before_n);
                r = n = INFINITY;
                if (flags & LIVE) {
                    d = before_d + arc.hold;
                    n = least(least(before_n, before_r), before_d + arc.drop);
                    double held = before_r + arc.hold, cleaned = before_d + arc.clean;
                    double stays = least(held, cleaned), comes = n + arc.load;
                    r = least(stays, comes);
                    kept = stays <= comes ? (held <= cleaned ? IN_BOTH : IN_SPM_ONLY)
                                          : BY_DRAM + left;
                }
            }
            double keep = arc.keep_here, come = n + arc.load_here;
            double inside = least(least(r, d), come) + keep, past = n + arc.stream;
            if (dead && !read) {
                double write = bypass + (flags & FIXED ? keep : 0.0);
                cost->dirty[k] = cost->clean[k] = INFINITY;
                cost->gone[k] = flags & WRITE ? write : least(inside, past);
            } else {
                double written = flags & WRITE ? bypass + keep : inside;
                double cleaned = least(least(r, come), d + arc.clean_here) + keep;
                cost->dirty[k] = read ? d + keep : written;
                cost->clean[k] = read ? cleaned : written + arc.clean_here;
                cost->gone[k] = flags & WRITE ? bypass + arc.stream : past;
            }
            if (cost->dirty_in) {
                cost->dirty_in[k] = d;
                cost->clean_in[k] = r;
                cost->gone_in[k] = n;
                cost->bypass[k] = bypass;
            }
            if (cost->dirty_in || k - start >= followed) {
                double reached = cost->dirty[k];
                if (flags & FINAL) reached += final_drop(all, prices, k);
                cost->best[k] = least(least(reached, cost->clean[k]), cost->gone[k]);
            }
            if (choice) {
                uint8_t enters = least_state(d, r, come);
                int ends = dead && !read && inside <= past;
                choice->arrive_dirty[k] = read ? IN_SPM_ONLY : enters;
                choice->arrive_clean[k] = read ? least_state(d + arc.clean_here, r, come) : enters;
                choice->arrive_gone[k] = ends ? enters + BY_DRAM : IN_DRAM;
                choice->from_clean[k] = kept;
                choice->from_gone[k] = left;
            }
        }
    }
}

typedef struct {
    double *held, *into, *out; /* (steps + 2,) changes of what is held; (steps + 1,) bytes moved */
} Use;

/* Steps, up to its own, in which an access holds what it writes blindly. */
static inline int32_t written_in(int flags) {
    return flags & WRITE ? (flags & EARLY ? 2 : 1) : 0;
}

static inline void hold(Use *use, int32_t begin, int32_t end, double size) {
    use->held[begin] += size;
    use->held[end] -= size;
}

/* A transfer in the step `at` of [begin, end): its set-up is counted where one is cheapest. */
static inline void move(const Intervals *all, const Prices *prices, double *use, int way, int32_t at,
                        int32_t begin, int32_t end, double moved) {
    use[at] += moved;
    if (all->used_moved)
        use[cheapest_at(prices, way, begin, end, (int32_t)all->steps)] += all->used_moved;
}

/* States of the cheapest path, from its end, and what its bytes use. */
EXPORT void trace(const Intervals *all, const Prices *prices, const Costs *cost, Choices *choice,
                  Use *use, int64_t first_tensor, int64_t last_tensor) {
    for (int64_t rank = all->ranks - 1; rank >= 0; rank--) {
        int64_t start = all->slice[rank], end = slice_end(all, rank, last_tensor);
        int64_t back = rank ? start - all->slice[rank - 1] : 0, ahead = all->slice[rank + 1];
        int64_t followed = rank + 1 < all->ranks ? all->slice[rank + 2] - ahead : 0;
        for (int64_t k = start + first_tensor; k < end; k++) {
            int flags = all->flags[k], read = flags & READ, came = !(flags & WRITE);
            int64_t next = k - start < followed ? ahead + k - start : -1;
            double d = cost->dirty[k], r = cost->clean[k], n = cost->gone[k];
            int after;
            if (next >= 0 && all->flags[next] & LIVE)
                after = choice->before[next] & 3;
            else
                after = least_state(flags & FINAL ? d + final_drop(all, prices, k) : d, r, n);
            int arrived = after == IN_SPM_ONLY ? choice->arrive_dirty[k]
                          : after == IN_BOTH   ? choice->arrive_clean[k]
                                               : choice->arrive_gone[k];
            int state = arrived & 3;
            int before = state == IN_SPM_ONLY ? IN_SPM_ONLY
                         : state == IN_BOTH   ? choice->from_clean[k]
                                              : choice->from_gone[k];
            choice->after[k] = (int8_t)after;
            choice->arrived[k] = (int8_t)arrived;
            choice->before[k] = (int8_t)before;

            int32_t step = all->step[k], begin = all->begin[k], none = (int32_t)all->steps;
            double size = all->size[k], passes = all->passes[k], moved = size * all->ratio[k];
            double once = moved + all->used_moved, more = all->used_streamed;
            /* Dirty bytes that a blind write leaves count from the writing step on. */
            int32_t dirty_begin = begin - (rank ? written_in(all->flags[k - back]) : 0);
            int via = before >= BY_DRAM, origin = before & 3;
            if (after == IN_DRAM && arrived < BY_DRAM && !(flags & FIXED) &&
                (came || !(flags & DEAD))) {
                double times = came ? passes : passes - 1;
                use->into[step] += times > 0 ? moved * times + more : 0.0;
                if (crosses_out(flags)) use->out[step] += moved * passes + more;
            } else if (came && state == IN_DRAM) {
                hold(use, step, step + 1, size);
                use->into[step] += once;
            }
            if (!read && !(flags & DEAD) && after == IN_BOTH) {
                if (!came) hold(use, step + 1 - written_in(flags), step + 1, size);
                use->out[step] += once;
            }
            int32_t load_at = none, drop_at = none, clean_at = none;
            if (came && (state == IN_DRAM || via) && origin == IN_SPM_ONLY && flags & DIRTY) {
                drop_at = cheapest_at(prices, DROP, begin, step, none);
                hold(use, dirty_begin, drop_at + 1, size);
                move(all, prices, use->out, CLEAN, drop_at, begin, step, moved);
            }
            if (came && state == IN_SPM_ONLY) {
                hold(use, dirty_begin, step + 1, size);
                if (read && after == IN_BOTH) use->out[step] += once;
            } else if (came && state == IN_BOTH && (via || !rank)) {
                load_at = cheapest_at(prices, LOAD, begin, step, none);
                hold(use, load_at, step + 1, size);
                move(all, prices, use->into, ENTER, load_at, begin, step, moved);
            } else if (came && state == IN_BOTH && before == IN_BOTH) {
                hold(use, begin, step + 1, size);
            } else if (came && state == IN_BOTH) {
                clean_at = cheapest_at(prices, CLEAN, begin, step, none);
                hold(use, dirty_begin, step + 1, size);
                move(all, prices, use->out, CLEAN, clean_at, begin, step, moved);
            }
            if (flags & FINAL && after == IN_SPM_ONLY) {
                int32_t end = end_of(all, step), at = cheapest_at(prices, DROP, step + 1, end, none);
                hold(use, step + 1 - written_in(flags), at + 1, size);
                move(all, prices, use->out, CLEAN, at, step + 1, end, moved);
            }
            choice->load_at[k] = load_at;
            choice->drop_at[k] = drop_at;
            choice->clean_at[k] = clean_at;
        }
    }
}

/* Cheapest costs to go on from each state. */
EXPORT void backward(const Intervals *all, const Prices *prices, Costs *cost, int64_t first_tensor,
                     int64_t last_tensor) {
    for (int64_t rank = all->ranks - 1; rank >= 0; rank--) {
        int64_t start = all->slice[rank], end = slice_end(all, rank, last_tensor);
        int64_t ahead = all->slice[rank + 1];
        int64_t followed = rank + 1 < all->ranks ? all->slice[rank + 2] - ahead : 0;
        for (int64_t k = start + first_tensor; k < end; k++) {
            int flags = all->flags[k];
            double d = 0.0, r = 0.0, n = 0.0;
            if (flags & FINAL) d = final_drop(all, prices, k);
            if (k - start < followed) {
                int64_t next = ahead + k - start;
                d = r = n = cost->bypass[next];
                if (all->flags[next] & LIVE) {
                    Arc gap = arc_at(all, prices, next, 1);
                    double resident = cost->clean_in[next];
                    n = least(cost->gone_in[next], gap.load + resident);
                    r = least(gap.hold + resident, n);
                    d = least(least(gap.hold + cost->dirty_in[next], gap.clean + resident),
                              gap.drop + n);
                }
            }
            cost->dirty[k] = d;
            cost->clean[k] = r;
            cost->gone[k] = n;
            Arc arc = arc_at(all, prices, k, 0);
            double keep = arc.keep_here, stays = least(d, r + arc.clean_here) + keep;
            int ends = flags & DEAD && !(flags & READ);
            double written = ends ? n + keep : stays;
            cost->dirty_in[k] = flags & READ ? stays : written;
            cost->clean_in[k] = flags & READ ? r + keep : written;
            cost->gone_in[k] = least(cost->clean_in[k] + arc.load_here, arc.stream + n);
            double ended = (flags & FIXED ? keep : 0.0) + n;
            cost->bypass[k] = INFINITY;
            if (flags & WRITE) cost->bypass[k] = ends ? ended : least(written, arc.stream + n);
        }
    }
}

typedef struct {
    double *hold, *load, *drop, *clean, *keep_here, *load_here, *clean_here, *stream;
    int64_t *load_at, *drop_at, *clean_at;
} ArcColumns;

/* The cost of every arc, for those who price columns. */
EXPORT void arcs(const Intervals *all, const Prices *prices, ArcColumns *to) {
    for (int64_t k = 0; k < all->accesses; k++) {
        Arc arc = arc_at(all, prices, k, 1);
        int32_t begin = all->begin[k], step = all->step[k], none = (int32_t)all->steps;
        to->hold[k] = arc.hold;
        to->load[k] = arc.load;
        to->drop[k] = arc.drop;
        to->clean[k] = arc.clean;
        to->keep_here[k] = arc.keep_here;
        to->load_here[k] = arc.load_here;
        to->clean_here[k] = arc.clean_here;
        to->stream[k] = arc.stream;
        to->load_at[k] = cheapest_at(prices, LOAD, begin, step, none);
        to->drop_at[k] = cheapest_at(prices, DROP, begin, step, none);
        to->clean_at[k] = cheapest_at(prices, CLEAN, begin, step, none);
    }
}
