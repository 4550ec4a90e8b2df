// Quantities stacked over time: bytes by kind, and what engine and channel do, by column of pixels.

const LANE = 30;
const LANE_GAP = 8;
const LANE_MARK = 5;
const PRICE_LANE = 44;

/**
 * Stretches that do not overlap, each with the part of the height that it takes.
 * @typedef {{color: string, start: Float64Array, cycles: Float64Array, part: Float64Array|null,
 *   owner: Int32Array}} Spans
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

/** Stacks layers in a box: parts of its height in each column of pixels, and their colors. */
function paintStack(context, { left, top, width, height }, layers) {
  const base = new Float32Array(Math.max(1, Math.round(width)));
  for (const [parts, fill] of layers) {
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

/** The span of some classes at a time, or -1. @param {Spans[]} classes */
function ownerAt(classes, cycles) {
  for (const { start, cycles: lasts, owner } of classes) {
    const span = start.findIndex((begin, at) => begin <= cycles && cycles < begin + lasts[at]);
    if (span >= 0) return owner[span];
  }
  return -1;
}

/** Commands of a kind. @param {Schedule} schedule @param {string[]} colors by cause */
function commandSpans({ commands, causes }, kind, colors) {
  const owner = Int32Array.from(commands.kind.keys()).filter((at) => commands.kind[at] === kind);
  return {
    color: colors[causes.indexOf(COMMANDS[kind])],
    start: Float64Array.from(owner, (at) => commands.start[at]),
    cycles: Float64Array.from(owner, (at) => commands.cycles[at]),
    part: null,
    owner,
  };
}

/** Where the engine waits, before and after each computation, by cause. @param {string[]} colors */
function stallSpans({ edges, steps, count: length }, colors) {
  const rows = steps.stall_by_cause.map(() => []);
  for (let step = 0; step < length; step++) {
    const begin = steps.compute_start[step];
    const end = begin + steps.compute_cycles[step];
    const causes = steps.stall_by_cause.map((row) => row[step]);
    const sum = causes.reduce((total, cycles) => total + cycles, 0);
    const whole = Math.max(sum, steps.stall_cycles[step]);
    causes[0] += whole - sum;
    for (const [from, to] of [
      [edges[step], begin],
      [end, edges[step + 1]],
    ]) {
      if (to <= from) continue;
      causes.forEach((cycles, cause) => {
        if (cycles > 0) rows[cause].push([from, to - from, cycles / whole, step]);
      });
    }
  }
  return rows.map((found, cause) => ({
    color: colors[cause],
    start: Float64Array.from(found, (row) => row[0]),
    cycles: Float64Array.from(found, (row) => row[1]),
    part: Float64Array.from(found, (row) => row[2]),
    owner: Int32Array.from(found, (row) => row[3]),
  }));
}

/** Bytes in the scratchpad by kind of tensor. */
class ByteStack {
  /** @param {Schedule} schedule @param {{kinds: string[]}} look */
  constructor(schedule, look) {
    Object.assign(this, { schedule, look });
    const { start, cycles, occupied } = schedule.steps;
    const full = schedule.spm_pages * schedule.page_bytes;
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
    const columns = Math.max(1, Math.round(box.width));
    const layers = kinds.map((color, kind) => [
      coverage(this.spans[kind], from, to, columns),
      kind === kinds.length - 1 ? hatching(context, color) : color,
    ]);
    paintStack(context, box, layers);
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
  /** @param {Schedule} schedule @param {{causes: string[]}} look */
  constructor(schedule, look) {
    this.schedule = schedule;
    const { compute_start: start, compute_cycles: cycles } = schedule.steps;
    const compute = { color: "", start, cycles, part: null, owner: Int32Array.from(start.keys()) };
    const commands = (...kinds) => kinds.map((kind) => commandSpans(schedule, kind, look.causes));
    this.lanes = [
      { name: "compute", classes: [compute] },
      { name: "DMA in", classes: commands(LOAD, STREAM_IN) },
      { name: "DMA out", classes: commands(STORE, STREAM_OUT) },
      { name: "stalls", classes: stallSpans(schedule, look.causes) },
    ];
    /** @type {number[]} steps that are marked above the engine's lane */
    this.marked = [];
    this.hasPrice = schedule.steps.price !== null;
  }

  get height() {
    const price = this.hasPrice ? PRICE_LANE + LANE_GAP : 0;
    return this.lanes.length * (LANE + LANE_GAP) + price + LANE_GAP;
  }

  /** Where a lane is; the price comes after the others. */
  box(sheet, place) {
    const height = place < this.lanes.length ? LANE : PRICE_LANE;
    return { ...sheet.plot, top: LANE_GAP + place * (LANE + LANE_GAP), height };
  }

  /** @param {Sheet} sheet @param {TimeAxis} axis @param {Theme} theme */
  draw(sheet, axis, theme) {
    const context = sheet.begin();
    this.lanes.forEach(({ name, classes }, place) => {
      const box = this.box(sheet, place);
      frame(sheet, box, theme, name);
      const columns = Math.max(1, Math.round(box.width));
      const layers = classes.map((spans) => [
        coverage(spans, axis.from, axis.to, columns),
        spans.color || theme.muted,
      ]);
      paintStack(context, box, layers);
    });
    this.nameSteps(context, this.box(sheet, 0), axis, theme);
    this.markSteps(context, this.box(sheet, 0), axis, theme);
    if (this.hasPrice) this.drawPrice(sheet, axis, theme);
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
  nameSteps(context, { left, top, width }, axis, theme) {
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
      if (text) context.fillText(text, left + from + 4, top + LANE / 2);
    }
  }

  /** The price of the scratchpad in each step; the highest of a column of pixels. */
  drawPrice(sheet, axis, theme) {
    const box = this.box(sheet, this.lanes.length);
    const { context } = sheet;
    frame(sheet, box, theme);
    const highest = this.highestPrices(axis, Math.max(1, Math.round(box.width)));
    const most = highest.reduce((a, b) => Math.max(a, b), 0);
    context.beginPath();
    highest.forEach((price, x) => {
      const y = box.top + box.height - 1 - (most > 0 ? price / most : 0) * (box.height - 4);
      context.lineTo(box.left + x, y);
      context.lineTo(box.left + x + 1, y);
    });
    context.strokeStyle = theme.accent;
    context.lineWidth = 1.5;
    context.stroke();
    const { words, saved } = savedBySpm(this.schedule, most);
    sheet.label(`${words} more`, box.top + 14, theme.ink);
    sheet.label(`≤ ${si(saved, this.schedule.worth.unit, 2)}`, box.top + 30, theme.muted);
  }

  highestPrices(axis, columns) {
    const { schedule } = this;
    const found = new Float64Array(columns);
    const last = schedule.stepAt(axis.to);
    for (let step = schedule.stepAt(axis.from); step <= last; step++) {
      const from = Math.floor(((schedule.edges[step] - axis.from) / axis.span) * columns);
      const to = Math.ceil(((schedule.edges[step + 1] - axis.from) / axis.span) * columns);
      for (let x = Math.max(0, from); x < Math.min(columns, Math.max(to, from + 1)); x++)
        found[x] = Math.max(found[x], schedule.steps.price[step]);
    }
    return found;
  }

  /** What is at a point of the sheet: a lane's name and its command or step (-1: none), or null. */
  hit(sheet, y, cycles) {
    const place = Math.floor((y - LANE_GAP) / (LANE + LANE_GAP));
    if (place < 0 || place > this.lanes.length - Number(!this.hasPrice)) return null;
    const { top, height } = this.box(sheet, place);
    if (y >= top + height) return null;
    const { name, classes } = this.lanes[place] || { name: "price", classes: [] };
    return { lane: name, owner: ownerAt(classes, cycles) };
  }
}
