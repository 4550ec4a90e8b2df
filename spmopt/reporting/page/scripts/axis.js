// Axes: time from left to right, shared by all pictures; and numbers of charts.

const LEAST_CYCLES = 20;

/** The stretch of time that is in view, in cycles. */
class TimeAxis {
  /** @param {number} total @param {number} clockHz */
  constructor(total, clockHz) {
    this.clockHz = clockHz;
    /** @type {Array<() => void>} */
    this.listeners = [];
    this.take(total);
  }

  /**
   * Shows all of `total` cycles.
   * @param {number} total @param {number[]|null} edges where steps begin, if they are what is named
   */
  take(total, edges = null) {
    this.total = Math.max(1, total);
    this.edges = edges;
    this.from = 0;
    this.to = this.total;
    this.changed();
  }

  get span() {
    return this.to - this.from;
  }

  /** Brings [from, to) into view, as far as there is any. */
  show(from, to) {
    const span = Math.min(this.total, Math.max(LEAST_CYCLES, to - from));
    const start = Math.min(this.total - span, Math.max(0, (from + to - span) / 2));
    const end = Math.min(this.total, start + span);
    if (start === this.from && end === this.to) return;
    this.from = start;
    this.to = end;
    this.changed();
  }

  /** Tells all who draw. */
  changed() {
    for (const listener of this.listeners) listener();
  }

  /** Brings [start, stop) into view with some space around it. */
  focus(start, stop) {
    const around = Math.max(stop - start, this.total / 1e4) * 1.5;
    this.show(start - around, stop + around);
  }

  /** @param {number} part of the span, to the right */
  pan(part) {
    this.show(this.from + part * this.span, this.to + part * this.span);
  }

  /** Zooms by `factor` > 1 in; what is at `part` of the span stays there. */
  zoom(factor, part = 0.5) {
    const at = this.from + part * this.span;
    const span = Math.min(this.total, Math.max(LEAST_CYCLES, this.span / factor));
    this.show(at - part * span, at + (1 - part) * span);
  }

  /** Places to name, about `most` of them: [cycles, text] of round times, or of steps. */
  ticks(most) {
    if (this.edges) {
      const [first, last] = this.steps();
      const stride = Math.max(1, roundStep((last - first) / Math.max(1, most)));
      const places = multiples(stride, first, last);
      return places.map((step) => [this.edges[step], `step ${count(step)}`]);
    }
    const [from, to] = [this.from / this.clockHz, this.to / this.clockHz];
    const step = roundStep((to - from) / Math.max(1, most));
    const digits = tickDigits(step, to);
    const seconds = multiples(step, from, to);
    return seconds.map((tick) => [tick * this.clockHz, si(tick, "s", digits)]);
  }

  /** First and last step in view. */
  steps() {
    const place = (cycles) => above(this.edges, cycles) - 1;
    return [Math.max(0, place(this.from)), Math.min(this.edges.length - 2, place(this.to))];
  }

  /** What is in view, in words. */
  words() {
    const { from, to, clockHz, edges } = this;
    if (edges) {
      const [first, last] = this.steps();
      return `steps ${count(first)} to ${count(last)}`;
    }
    const digits = tickDigits((to - from) / 100 / clockHz, to / clockHz);
    const [start, end] = [from, to].map((cycles) => si(cycles / clockHz, "s", digits));
    return `${start} to ${end}, ${si((to - from) / clockHz, "s", 3)} in view`;
  }
}

/** One axis of numbers, or of names of places: values to parts of its length, and ticks. */
class NumberAxis {
  /**
   * @param {{label: string, unit: string, categories?: string[]}} quantity
   * @param {number[]} values that are shown
   * @param {{isLog?: boolean, isRound?: boolean, zero?: boolean, cut?: boolean}} how a cut axis may
   *   begin above nothing, a round one has round ticks
   */
  constructor(quantity, values, { isLog = false, isRound = false, zero = false, cut = false }) {
    this.isRound = isRound;
    this.quantity = quantity;
    this.categories = quantity.categories || [];
    this.values = [...new Set(values)].sort((a, b) => a - b);
    let [low, high] = [this.values[0] ?? 0, this.values.at(-1) ?? 1];
    this.isLog = isLog && low > 0;
    this.isCut = zero && cut && !this.isLog && low < high && low > 0.06 * (high - low);
    const margin = this.isLog
      ? (high / low) ** 0.04 * (low === high ? 1.6 : 1)
      : (high - low) * 0.06 || Math.abs(high) * 0.1 || 0.5;
    if (this.categories.length) [low, high] = [-0.5, this.categories.length - 0.5];
    else if (this.isLog) [low, high] = [low / margin, high * margin];
    else if (zero && !this.isCut && low >= 0) [low, high] = [0, high + margin || 1];
    else [low, high] = [low - margin, high + margin];
    Object.assign(this, { low, high });
  }

  /** Where a value is, from 0 to 1. */
  part(value) {
    const { low, high } = this;
    return this.isLog ? Math.log(value / low) / Math.log(high / low) : (value - low) / (high - low);
  }

  text(value) {
    if (this.categories.length) return shortened(this.categories[value] ?? "", 40);
    if (this.quantity.unit === "part") return `${Number((100 * value).toPrecision(4))} %`;
    return valueText(value, this.quantity.unit);
  }

  /** Values to name, about `most` of them. */
  ticks(most) {
    if (this.categories.length) return this.values;
    if (!this.isLog)
      return multiples(roundStep((this.high - this.low) / Math.max(1, most)), this.low, this.high);
    // Of the values, or round ones if there are many, those far enough from the one before.
    const all = this.isRound || this.values.length > 40 ? this.roundValues() : this.values;
    const found = [];
    for (const value of all) {
      if (!found.length || this.part(value) - this.part(found.at(-1)) >= 1 / most)
        found.push(value);
    }
    return found;
  }

  /** 1, 2 and 5 times powers of ten within the axis. */
  roundValues() {
    const { low, high } = this;
    const round = [];
    for (let power = Math.floor(Math.log10(low)); power <= Math.log10(high); power++)
      round.push(...[1, 2, 5].map((digit) => digit * 10 ** power));
    return round.filter((value) => low <= value && value <= high);
  }
}

/** 1, 2 or 5 times a power of ten, not below `least`. @param {number} least */
function roundStep(least) {
  const power = 10 ** Math.floor(Math.log10(least));
  return [1, 2, 5, 10].find((digit) => digit * power >= least * (1 - 1e-9)) * power;
}

/** Multiples of `step` in [from, to]. */
function multiples(step, from, to) {
  const found = [];
  for (let tick = Math.ceil(from / step); tick * step <= to; tick++)
    found.push(Number((tick * step).toPrecision(12)));
  return found;
}

/** Digits that tell ticks `step` apart, of values up to `most`. */
function tickDigits(step, most) {
  return Math.max(2, Math.min(12, Math.ceil(Math.log10(Math.max(most, step) / step)) + 1));
}
