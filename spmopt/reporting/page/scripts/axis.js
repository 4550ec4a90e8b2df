// The time that is in view, shared by all pictures of schedules, and canvases that show it.

const LEAST_CYCLES = 20;
const FONT = "12px system-ui, sans-serif";
const LEAST_LETTERS = 12; // of a name that is cut

class TimeAxis {
  constructor(total, clockHz) {
    Object.assign(this, { clockHz, total: Math.max(1, total), from: 0, listeners: [] });
    this.to = this.total;
  }

  get span() {
    return this.to - this.from;
  }

  /** Brings [from, to) into view, as far as the axis goes. */
  show(from, to) {
    const span = Math.min(this.total, Math.max(LEAST_CYCLES, to - from));
    this.from = Math.min(this.total - span, Math.max(0, (from + to - span) / 2));
    this.to = Math.min(this.total, this.from + span);
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

  /** Zooms in by `factor`; the time at `part` of the span stays there. */
  zoom(factor, part = 0.5) {
    const at = this.from + part * this.span;
    const span = Math.min(this.total, Math.max(LEAST_CYCLES, this.span / factor));
    this.show(at - part * span, at + (1 - part) * span);
  }

  /** About `most` round times to name: [cycles, text]. */
  ticks(most) {
    const [from, to] = [this.from / this.clockHz, this.to / this.clockHz];
    const step = roundStep((to - from) / Math.max(1, most));
    const digits = tickDigits(step, to);
    return multiples(step, from, to).map((tick) => [tick * this.clockHz, si(tick, "s", digits)]);
  }

  /** The stretch in view as text. */
  words() {
    const { from, to, clockHz } = this;
    const digits = tickDigits((to - from) / 100 / clockHz, to / clockHz);
    const [start, end] = [from, to].map((cycles) => si(cycles / clockHz, "s", digits));
    return `${start} to ${end}, ${si((to - from) / clockHz, "s", 3)} in view`;
  }
}

/** Returns the place of the first of the sorted `values` that is above `value`. */
function above(values, value) {
  let [low, high] = [0, values.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (values[middle] > value) high = middle;
    else low = middle + 1;
  }
  return low;
}

/** Returns 1, 2 or 5 times a power of ten, not below `least`. */
function roundStep(least) {
  const power = 10 ** Math.floor(Math.log10(least));
  return [1, 2, 5, 10].find((digit) => digit * power >= least * (1 - 1e-9)) * power;
}

/** Returns the multiples of `step` in [from, to]. */
function multiples(step, from, to) {
  const first = Math.ceil(from / step);
  const length = Math.max(0, Math.floor(to / step) - first + 1);
  return Array.from({ length }, (_, at) => Number(((first + at) * step).toPrecision(12)));
}

/** Returns how many digits tell ticks `step` apart, of values up to `most`. */
function tickDigits(step, most) {
  return Math.max(2, Math.min(12, Math.ceil(Math.log10(Math.max(most, step) / step)) + 1));
}

/** A canvas as wide as its place, sharp on every screen. */
class Sheet {
  constructor(label, resized) {
    const about = { role: "application", "aria-label": label, "aria-describedby": "keys", tabindex: 0 };
    this.canvas = element("canvas", about);
    Object.assign(this, { width: 0, ratio: 1, context: this.canvas.getContext("2d") });
    new ResizeObserver(() => requestAnimationFrame(() => this.fit() && resized())).observe(this.canvas);
  }

  setHeight(height) {
    this.height = height;
    this.canvas.style.height = `${height}px`;
  }

  /** Takes the size that the page gives; returns whether it has changed. */
  fit() {
    const [width, ratio] = [this.canvas.clientWidth, devicePixelRatio || 1];
    if (width === this.width && ratio === this.ratio) return false;
    Object.assign(this, { width, ratio });
    return true;
  }

  /** Left end and width of the plot; alike on all sheets, so that their times align. */
  get plot() {
    const [left, right] = this.width < 560 ? [72, 8] : [84, 12];
    return { left, width: Math.max(1, this.width - left - right) };
  }

  /** The part of the plot's width at a point of the window. */
  partAt(clientX) {
    const { left, width } = this.plot;
    return (clientX - this.canvas.getBoundingClientRect().left - left) / width;
  }

  /** Empties the canvas and returns its context, in pixels of the page. */
  begin() {
    const { canvas, context, ratio } = this;
    const [width, height] = [Math.round(this.width * ratio), Math.round(this.height * ratio)];
    if (canvas.width !== width || canvas.height !== height) Object.assign(canvas, { width, height });
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, this.width, this.height);
    Object.assign(context, { font: FONT, textBaseline: "middle" });
    return context;
  }

  /** Writes text on the left of the plot. */
  label(text, y, color) {
    Object.assign(this.context, { textAlign: "right", fillStyle: color });
    this.context.fillText(text, this.plot.left - 6, y);
  }

  /** Draws ticks of time above a plot. */
  drawTicks(axis, top) {
    const { context } = this;
    const { left, width } = this.plot;
    Object.assign(context, { textAlign: "center", fillStyle: theme.muted });
    let end = -Infinity; // of the last name: the next one is beside it, or left out
    for (const [cycles, text] of axis.ticks(width / 110)) {
      const x = left + ((cycles - axis.from) / axis.span) * width;
      if (x < left - 1) continue;
      context.fillRect(Math.round(x), top - 4, 1, 4);
      const half = context.measureText(text).width / 2;
      const middle = Math.min(Math.max(x, half), this.width - half);
      if (middle - half < end + 8) continue;
      end = middle + half;
      context.fillText(text, middle, top - 11);
    }
  }
}

/** Returns text that ends before `width` is over, or none. */
function fitted(context, text, width) {
  if (width < 18) return "";
  const letters = shortened(text, Math.max(LEAST_LETTERS, Math.floor(width / 5)));
  const wide = context.measureText(letters).width;
  if (wide <= width) return letters;
  const most = Math.floor((width / wide) * letters.length);
  return most < LEAST_LETTERS ? "" : shortened(letters, most - 1);
}
