// A schedule as typed arrays, with indices to look things up.

const [LOAD, STORE, STREAM_IN, STREAM_OUT] = [0, 1, 2, 3];
const COMMANDS = ["load", "store", "stream in", "stream out"];
const ACCESSES = ["reads", "writes", "updates"];
const SCRATCH = -1;

/**
 * Places of each key, key after key: those of `k` are `places[first[k]:first[k + 1]]`.
 * @typedef {{first: Int32Array, places: Int32Array}} Groups
 */

/** @param {ArrayLike<number>} keys @param {number} size @returns {Groups} */
function grouped(keys, size) {
  const first = new Int32Array(size + 1);
  const places = new Int32Array(keys.length);
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

/** Columns with a typed array for numbers, also by rows; what is no number stays. @returns {any} */
function typed(values) {
  if (!Array.isArray(values)) {
    const entries = Object.entries(values || {}).map(([name, column]) => [name, typed(column)]);
    return values && typeof values === "object" ? Object.fromEntries(entries) : values;
  }
  if (Array.isArray(values[0])) return values.map(typed);
  return typeof values[0] === "number" ? Float64Array.from(values) : values;
}

/** The record of one schedule (`schedule_record`), ready to be drawn. */
class Schedule {
  /** @param {any} record @param {string} mark @param {string} own what tells it from another */
  constructor(record, mark = "", own = "") {
    Object.assign(this, record, { mark, own });
    for (const name of ["steps", "tensors", "residencies", "commands", "dram"])
      this[name] = typed(record[name]);
    const { steps, tensors } = this;
    this.rects = this.residencies;
    this.count = steps.name.length;
    this.edges = Float64Array.from([...steps.start, this.cycles]);
    this.stepPlace = new Map(steps.name.map((name, place) => [name, place]));
    this.tensorPlace = new Map(tensors.name.map((name, place) => [name, place]));
    this.index(tensors.name.length);
  }

  /** @param {number} tensors */
  index(tensors) {
    const { uses_step: step, uses_first: first } = this.tensors;
    this.rectsOf = grouped(this.rects.tensor, tensors);
    this.commandsOf = grouped(this.commands.tensor, tensors);
    this.copiesOf = grouped(this.dram.tensor, tensors);
    this.usesIn = grouped(step, this.count);
    this.tensorOfUse = new Int32Array(step.length);
    for (let tensor = 0; tensor < tensors; tensor++)
      this.tensorOfUse.fill(tensor, first[tensor], first[tensor + 1]);
  }

  /** How to tell it from another: nothing if there is none. */
  get heading() {
    return this.mark && `${this.mark}: ${shortened(this.own, 100)}`;
  }

  /** @param {number} cycles */
  time(cycles) {
    return si(cycles / this.clock_hz, "s");
  }

  /** The step that a time lies in. @param {number} cycles */
  stepAt(cycles) {
    return Math.min(this.count - 1, Math.max(0, above(this.edges, cycles) - 1));
  }

  /** `step 12, conv1`, counted from 0 as in schedules. @param {number} step */
  stepName(step) {
    return `step ${step}, ${shortened(this.steps.name[step])}`;
  }

  /** Uses of a tensor, as places of `tensors.uses_step`. @param {number} tensor */
  usesOf(tensor) {
    const { uses_first: first } = this.tensors;
    return Array.from({ length: first[tensor + 1] - first[tensor] }, (_, k) => first[tensor] + k);
  }

  /** The first step from `step` on that uses a tensor, or -1. */
  nextUse(tensor, step) {
    const { uses_first: first, uses_step: steps } = this.tensors;
    const place = above(steps, step - 1, first[tensor], first[tensor + 1]);
    return place < first[tensor + 1] ? steps[place] : -1;
  }

  /** The rectangle at a time and page, or -1. A scan is quick enough: 0.1 ms for 60,000. */
  rectAt(cycles, page) {
    const { start, stop, page: low, pages } = this.rects;
    for (let rect = 0; rect < start.length; rect++) {
      const isThen = start[rect] <= cycles && cycles < stop[rect];
      if (isThen && low[rect] <= page && page < low[rect] + pages[rect]) return rect;
    }
    return -1;
  }
}
