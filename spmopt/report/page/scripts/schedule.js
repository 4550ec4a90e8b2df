// A schedule as typed arrays, with indices to look things up.

const LOAD = 0,
  STORE = 1,
  STREAM_IN = 2,
  STREAM_OUT = 3;
const COMMANDS = ["load", "store", "stream in", "stream out"];
const ACCESSES = ["reads", "writes", "updates"];
const SCRATCH = -1;

/**
 * Places of each key, key after key: those of `k` are `places[first[k]:first[k + 1]]`.
 * @typedef {{first: Int32Array, places: Int32Array}} Groups
 */

/** @param {ArrayLike<number>} keys @param {number} size @returns {Groups} */
function grouped(keys, size) {
  const first = new Int32Array(size + 1),
    places = new Int32Array(keys.length);
  for (let at = 0; at < keys.length; at++) if (keys[at] >= 0) first[keys[at] + 1]++;
  for (let key = 0; key < size; key++) first[key + 1] += first[key];
  const next = first.slice();
  for (let at = 0; at < keys.length; at++) if (keys[at] >= 0) places[next[keys[at]]++] = at;
  return { first, places };
}

/** @param {Groups} groups @param {number} key */
function ofGroup(groups, key) {
  return groups.places.subarray(groups.first[key], groups.first[key + 1]);
}

/** Place of the first of the sorted `values` that is above `value`. */
function above(values, value, low = 0, high = values.length) {
  while (low < high) {
    const middle = (low + high) >> 1;
    if (values[middle] > value) high = middle;
    else low = middle + 1;
  }
  return low;
}

/** Numbers of a record as a typed array each; what is no array of numbers stays. @returns {any} */
function typed(columns) {
  const found = {};
  for (const [name, values] of Object.entries(columns)) {
    const numbers = Array.isArray(values) && typeof values[0] === "number";
    found[name] = numbers ? Float64Array.from(values) : values;
  }
  return found;
}

/** The record of one schedule (`spmopt.report.picture.picture_record`), ready to be drawn. */
class Schedule {
  /** @param {any} record @param {string} mark @param {string} own what tells it from another */
  constructor(record, mark, own) {
    const { steps, tensors, residencies, commands, dram } = record;
    this.mark = mark;
    this.own = own;
    this.said = record.said;
    this.banks = record.banks;
    this.figures = record.figures;
    this.remarks = record.remarks;
    this.worth = record.worth;
    this.kinds = record.kinds;
    this.causes = record.causes;
    this.clock_hz = record.clock_hz;
    this.dram_bytes_per_s = record.dram_bytes_per_s;
    this.spm_bytes = record.spm_bytes;
    this.spm_pages = record.spm_pages;
    this.page_bytes = record.page_bytes;
    this.cycles = record.cycles;
    this.steps = typed(steps);
    this.steps.occupied = steps.occupied.map((row) => Float64Array.from(row));
    this.steps.stall_by_cause = steps.stall_by_cause.map((row) => Float64Array.from(row));
    this.tensors = typed(tensors);
    this.rects = typed(residencies);
    this.commands = typed(commands);
    this.dram = typed(dram);
    this.count = steps.name.length;
    this.edges = Float64Array.from([...steps.start, record.cycles]);
    this.stepPlace = new Map(steps.name.map((name, place) => [name, place]));
    this.tensorPlace = new Map(tensors.name.map((name, place) => [name, place]));
    this.index(tensors.name.length);
  }

  /** @param {number} tensors */
  index(tensors) {
    this.rectsOf = grouped(this.rects.tensor, tensors);
    this.commandsOf = grouped(this.commands.tensor, tensors);
    this.copiesOf = grouped(this.dram.tensor, tensors);
    this.usesIn = grouped(this.tensors.uses_step, this.count);
    this.commandsIn = grouped(this.commands.step, this.count);
    this.tensorOfUse = new Int32Array(this.tensors.uses_step.length);
    for (let tensor = 0; tensor < tensors; tensor++) {
      this.tensorOfUse.fill(
        tensor,
        this.tensors.uses_first[tensor],
        this.tensors.uses_first[tensor + 1],
      );
    }
  }

  /** How to tell it from another: nothing if there is none. */
  get heading() {
    return this.mark && `${this.mark}: ${shortened(this.own, 100)}`;
  }

  /** Seconds. @param {number} cycles */
  seconds(cycles) {
    return cycles / this.clock_hz;
  }

  /** @param {number} cycles */
  time(cycles) {
    return si(this.seconds(cycles), "s");
  }

  /** The step that a time lies in. @param {number} cycles */
  stepAt(cycles) {
    return Math.min(this.count - 1, Math.max(0, above(this.edges, cycles) - 1));
  }

  /** `step 12, conv1`, counted from 0 as in schedules. @param {number} step */
  stepName(step) {
    return `step ${step}, ${shortened(this.steps.name[step])}`;
  }

  /** The first step from `step` on that uses a tensor, or -1. */
  nextUse(tensor, step) {
    const first = this.tensors.uses_first[tensor],
      end = this.tensors.uses_first[tensor + 1];
    const place = above(this.tensors.uses_step, step - 1, first, end);
    return place < end ? this.tensors.uses_step[place] : -1;
  }

  /** The rectangle at a time and page, or -1. A scan is quick enough: 0.1 ms for 60,000. */
  rectAt(cycles, page) {
    const { start, stop, page: low, pages } = this.rects;
    for (let rect = 0; rect < start.length; rect++) {
      const there = start[rect] <= cycles && cycles < stop[rect];
      if (there && low[rect] <= page && page < low[rect] + pages[rect]) return rect;
    }
    return -1;
  }
}
