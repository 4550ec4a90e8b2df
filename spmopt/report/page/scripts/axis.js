// Time from left to right, shared by all pictures.

const LEAST_CYCLES = 20;

/** The stretch of time that is in view, in cycles. */
class TimeAxis {
  /** @param {number} total @param {number} clockHz */
  constructor(total, clockHz) {
    this.total = Math.max(1, total);
    this.clockHz = clockHz;
    this.from = 0;
    this.to = this.total;
    /** @type {Array<() => void>} */
    this.listeners = [];
  }

  get span() {
    return this.to - this.from;
  }

  get whole() {
    return this.from === 0 && this.to === this.total;
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

  /** Brings [start, stop) into view with some room around it. */
  focus(start, stop) {
    const room = Math.max(stop - start, this.total / 1e4) * 1.5;
    this.show(start - room, stop + room);
  }

  /** @param {number} part of the span, to the right */
  pan(part) {
    const by = Math.max(-this.from, Math.min(this.total - this.to, part * this.span));
    this.show(this.from + by, this.to + by);
  }

  /** Zooms by `factor` > 1 in; what is at `part` of the span stays there. */
  zoom(factor, part = 0.5) {
    const at = this.from + part * this.span;
    const span = Math.min(this.total, Math.max(LEAST_CYCLES, this.span / factor));
    this.show(at - part * span, at + (1 - part) * span);
  }

  /** Round times in view, at most `most` of them, and the step between them. */
  ticks(most) {
    const [from, to] = [this.from / this.clockHz, this.to / this.clockHz];
    const step = roundStep((to - from) / Math.max(1, most));
    const found = [];
    for (let tick = Math.ceil(from / step); tick * step <= to; tick++) found.push(tick * step);
    return { step, seconds: found };
  }
}

/** 1, 2 or 5 times a power of ten, not below `least`. @param {number} least */
function roundStep(least) {
  const power = 10 ** Math.floor(Math.log10(least));
  return (
    [1, 2, 5, 10].map((digit) => digit * power).find((step) => step >= least * (1 - 1e-9)) ||
    10 * power
  );
}

/** Digits that tell ticks `step` apart, of values up to `most`. */
function tickDigits(step, most) {
  return Math.max(2, Math.min(12, Math.ceil(Math.log10(Math.max(most, step) / step)) + 1));
}
