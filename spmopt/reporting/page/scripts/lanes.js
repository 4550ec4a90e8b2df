// Quantities stacked over time: bytes by kind, and what engine and channel do, by column of pixels.

const LANE_GAP = 8;
const LANE_MARK = 5;
/** Pixels of lanes, of the gap between two, and of the lane of prices: of one schedule, of two. */
const WIDE_LANES = { lane: 23, gap: 5, price: 36 };
const NARROW_LANES = { lane: 17, gap: 4, price: 30 };
const PIECE_WIDTH = 4;

/**
 * Stretches that do not overlap, each with the part of the height that it takes.
 * @typedef {{color: string, start: number[], cycles: number[], part?: number[]}} Spans
 */

/** Part of each column of pixels, 0 to 1, that spans take. @param {Spans} spans */
function coverage({ start, cycles, part }, from, to, columns) {
  const found = new Float32Array(columns);
  const scale = columns / (to - from);
  for (let span = 0; span < start.length; span++) {
    const end = start[span] + cycles[span];
    if (end <= from || start[span] >= to) continue;
    const left = Math.max(0, (start[span] - from) * scale);
    const right = Math.min(columns, (end - from) * scale);
    const weight = part ? part[span] : 1;
    for (let x = Math.floor(left); x < right; x++)
      found[x] += weight * (Math.min(x + 1, right) - Math.max(x, left));
  }
  return found;
}

/** Stacks what spans take of [from, to) in a box, by column of pixels, each in its color. */
function paintStack(context, { left, top, width, height }, from, to, layers) {
  const base = new Float32Array(Math.max(1, Math.round(width)));
  for (const [spans, fill] of layers) {
    const parts = coverage(spans, from, to, base.length);
    context.beginPath();
    for (let x = 0; x < base.length; x++) {
      if (parts[x] < 1e-4) continue;
      const high = Math.min(1, base[x] + parts[x]);
      context.rect(left + x, top + height * (1 - high), 1, height * (high - base[x]));
      base[x] = high;
    }
    context.fillStyle = fill;
    context.fill();
  }
}

/** The ground of a lane, with its name on the left. */
function frame(sheet, { left, top, width, height }, theme, name = "") {
  sheet.context.fillStyle = theme.card;
  sheet.context.fillRect(left, top, width, height);
  sheet.context.fillStyle = theme.line;
  sheet.context.fillRect(left, top + height - 1, width, 1);
  sheet.label(name, top + height / 2, theme.ink);
}

/** Commands of a kind. @param {Schedule} schedule @param {string[]} colors by cause */
function commandSpans({ commands, causes }, kind, colors) {
  const own = commands.filter((command) => command.kind === kind);
  return {
    color: colors[causes.indexOf(COMMANDS[kind])],
    start: own.map(({ start }) => start),
    cycles: own.map(({ cycles }) => cycles),
  };
}

/** Where the engine waits, before and after each computation, by cause. @param {string[]} colors */
function stallSpans({ edges, steps, count: length }, colors) {
  const spans = colors.map((color) => ({ color, start: [], cycles: [], part: [] }));
  for (let step = 0; step < length; step++) {
    const begin = steps.compute_start[step];
    const end = begin + steps.compute_cycles[step];
    const causes = steps.stall_by_cause.map((row) => row[step]);
    const sum = causes.reduce((total, cycles) => total + cycles, 0);
    const whole = Math.max(sum, steps.stall_cycles[step]);
    causes[0] += whole - sum;
    for (const [from, to] of [
      [edges[step], begin],
      [end, edges[step] + steps.cycles[step]],
    ]) {
      causes.forEach((waited, cause) => {
        if (to <= from || waited <= 0) return;
        const { start, cycles, part } = spans[cause];
        start.push(from);
        cycles.push(to - from);
        part.push(waited / whole);
      });
    }
  }
  return spans;
}

/** Bytes in the scratchpad by kind of tensor. */
class ByteStack {
  /** @param {Schedule} schedule @param {{kinds: string[]}} look */
  constructor(schedule, look) {
    Object.assign(this, { schedule, look });
    const { start, occupied } = schedule.steps;
    const { edges, spm_pages: pages, page_bytes: page } = schedule;
    const cycles = start.map((begin, step) => edges[step + 1] - begin);
    const full = pages * page;
    /** Of each kind the part of the scratchpad that it takes in each step. */
    this.spans = occupied.map((bytes) => ({
      start,
      cycles,
      part: bytes.map((held) => held / full),
    }));
  }

  /** @param {Sheet} sheet @param {TimeAxis} axis @param {Theme} theme */
  draw(sheet, axis, theme) {
    sheet.begin();
    this.paint(sheet.context, mapBox(sheet), axis.from, axis.to, theme);
    sheet.drawTicks(axis, theme, MAP_HEAD);
    drawBytes(sheet, this.schedule, theme);
  }

  /** Paints [from, to) of all kinds into a box. */
  paint(context, box, from, to, theme) {
    const { kinds } = this.look;
    context.fillStyle = theme.card;
    context.fillRect(box.left, box.top, box.width, box.height);
    const layers = kinds.map((color, kind) => [
      this.spans[kind],
      kind === kinds.length - 1 ? hatching(context, color) : color,
    ]);
    paintStack(context, box, from, to, layers);
  }

  /** The kind at a point of the sheet, or -1. */
  hit(sheet, y, cycles) {
    const { schedule } = this;
    const { top, height } = mapBox(sheet);
    let bytes = ((top + height - y) / height) * schedule.spm_pages * schedule.page_bytes;
    const step = schedule.stepAt(cycles);
    return schedule.steps.occupied.findIndex((held) => (bytes -= held[step]) < 0);
  }
}

/** Stripes of a color, for scratch. */
function hatching(context, color) {
  const tile = Object.assign(document.createElement("canvas"), { width: 8, height: 8 });
  const stripes = tile.getContext("2d");
  stripes.strokeStyle = color;
  stripes.lineWidth = 3;
  for (const shift of [-8, 0, 8]) {
    stripes.moveTo(shift - 1, 9);
    stripes.lineTo(shift + 9, -1);
  }
  stripes.stroke();
  return context.createPattern(tile, "repeat");
}

/** Lanes of engine and channel, stalls, and the price of the scratchpad. */
class Lanes {
  /** @param {Schedule} schedule @param {{causes: string[]}} look @param {typeof WIDE_LANES} sizes */
  constructor(schedule, look, sizes = WIDE_LANES) {
    this.schedule = schedule;
    this.sizes = sizes;
    const { compute_start: start, compute_cycles: cycles } = schedule.steps;
    const moves = (name, ...kinds) => {
      const classes = kinds.map((kind) => commandSpans(schedule, kind, look.causes));
      return { name, kinds, classes };
    };
    this.lanes = [
      { name: "compute", classes: [{ color: "", start, cycles }] },
      moves("DMA in", LOAD, STREAM_IN),
      moves("DMA out", STORE, STREAM_OUT),
      { name: "stalls", classes: stallSpans(schedule, look.causes) },
    ];
    if (schedule.segments.length) this.lanes.push({ name: "segments", classes: [], isCover: true });
    /** @type {number[]} steps that are marked above the engine's lane */
    this.marked = [];
    this.hasPrice = (schedule.steps.price || []).some((price) => price > 0);
  }

  get height() {
    const { lane, gap, price } = this.sizes;
    return this.lanes.length * (lane + gap) + (this.hasPrice ? price + gap : 0) + LANE_GAP;
  }

  /** Where a lane is; the price comes after the others. */
  box(sheet, place) {
    const { lane, gap, price } = this.sizes;
    const height = place < this.lanes.length ? lane : price;
    return { ...sheet.plot, top: LANE_GAP + place * (lane + gap), height };
  }

  /** @param {Sheet} sheet @param {TimeAxis} axis @param {Theme} theme */
  draw(sheet, axis, theme) {
    const context = sheet.begin();
    this.lanes.forEach(({ name, classes }, place) => {
      const box = this.box(sheet, place);
      frame(sheet, box, theme, name);
      const layers = classes.map((spans) => [spans, spans.color || theme.muted]);
      paintStack(context, box, axis.from, axis.to, layers);
    });
    const cover = this.lanes.findIndex(({ isCover }) => isCover);
    if (cover >= 0) this.drawSegments(context, this.box(sheet, cover), axis, theme);
    this.nameSteps(context, this.box(sheet, 0), axis, theme);
    this.markSteps(context, this.box(sheet, 0), axis, theme);
    if (this.hasPrice) this.drawPrice(sheet, axis, theme);
  }

  /** Segments in turn of two shades, a line where a piece begins, and what of a label fits. */
  drawSegments(context, { left, top, width, height }, axis, theme) {
    const across = width / axis.span;
    const place = (cycles) => Math.min(width, Math.max(0, (cycles - axis.from) * across));
    context.textAlign = "left";
    this.schedule.segments.forEach(({ labels, start, stop, blocks }, at) => {
      const [from, to] = [place(start), place(stop)];
      if (to <= from) return;
      const fill = at % 2 ? theme.line : theme.muted;
      context.fillStyle = fill;
      context.fillRect(left + from, top, Math.max(1, to - from), height - 1);
      context.fillStyle = theme.card;
      if (((stop - start) * across) / blocks.length >= PIECE_WIDTH)
        for (const block of blocks) context.fillRect(left + place(block), top, 1, height - 1);
      const wide = (each) => context.measureText(each).width;
      const text = labels.find((each) => wide(each) <= to - from - 8);
      if (!text) return;
      context.fillStyle = fill; // over the lines of pieces
      context.fillRect(left + from + 2, top + 2, wide(text) + 4, height - 5);
      context.fillStyle = inkOn(fill);
      context.fillText(text, left + from + 4, top + height / 2);
    });
  }

  markSteps(context, { left, top, width }, axis, theme) {
    const { edges } = this.schedule;
    context.fillStyle = theme.accent;
    for (const step of this.marked) {
      const from = Math.max(0, (edges[step] - axis.from) / axis.span) * width;
      const to = Math.min(1, (edges[step + 1] - axis.from) / axis.span) * width;
      if (to >= from && from < width)
        context.fillRect(left + from, top - LANE_MARK, Math.max(1.5, to - from), LANE_MARK);
    }
  }

  /** Names of operations on computations that are wide enough for them. */
  nameSteps(context, { left, top, width, height }, axis, theme) {
    const { schedule } = this;
    const { compute_start: start, compute_cycles: cycles, name } = schedule.steps;
    const across = width / axis.span;
    const last = schedule.stepAt(axis.to);
    context.textAlign = "left";
    context.fillStyle = inkOn(theme.muted);
    for (let step = schedule.stepAt(axis.from); step <= last; step++) {
      const from = Math.max(0, (start[step] - axis.from) * across);
      const end = Math.min(width, (start[step] + cycles[step] - axis.from) * across);
      const text = end - from > 32 ? fitted(context, name[step], end - from - 8) : "";
      if (text) context.fillText(text, left + from + 4, top + height / 2);
    }
  }

  /** The price of the scratchpad in each step; the highest of a column of pixels. */
  drawPrice(sheet, axis, theme) {
    const box = this.box(sheet, this.lanes.length);
    const { context } = sheet;
    const { schedule } = this;
    frame(sheet, box, theme);
    const columns = Math.max(1, Math.round(box.width));
    const highest = Array.from({ length: columns }, (_, x) => {
      const at = (edge) => above(schedule.edges, axis.from + (edge / columns) * axis.span) - 1;
      return Math.max(0, ...schedule.steps.price.slice(at(x), at(x + 1) + 1));
    });
    const most = Math.max(...highest);
    context.beginPath();
    highest.forEach((price, x) => {
      const y = box.top + box.height - 1 - (most > 0 ? price / most : 0) * (box.height - 4);
      context.lineTo(box.left + x, y);
      context.lineTo(box.left + x + 1, y);
    });
    context.strokeStyle = theme.accent;
    context.lineWidth = 1.5;
    context.stroke();
    const { words, saved } = savedBySpm(schedule, most);
    sheet.label(`${words} more`, box.top + 0.3 * box.height, theme.ink);
    const mostSaved = `≤ ${si(saved, schedule.shadow_prices.unit, 2)}`;
    sheet.label(mostSaved, box.top + 0.72 * box.height, theme.muted);
  }

  /** The lane at a point of the sheet, if any. */
  hit(sheet, y) {
    const place = Math.floor((y - LANE_GAP) / (this.sizes.lane + this.sizes.gap));
    if (place < 0 || place > this.lanes.length - Number(!this.hasPrice)) return null;
    const { top, height } = this.box(sheet, place);
    return y < top + height ? this.lanes[place] || { name: "price" } : null;
  }
}
