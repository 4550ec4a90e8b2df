// The scratchpad: bytes by kind of tensor over time, stacked.

class ByteStack {
  /** @param {Schedule} schedule @param {{kinds: string[]}} look */
  constructor(schedule, look) {
    this.schedule = schedule;
    this.look = look;
    const { cycles, occupied } = schedule.steps;
    /** Byte-cycles of each kind up to each step. */
    this.upto = occupied.map((bytes) => {
      const sums = new Float64Array(bytes.length + 1);
      for (let step = 0; step < bytes.length; step++)
        sums[step + 1] = sums[step] + bytes[step] * cycles[step];
      return sums;
    });
  }

  /** Byte-cycles of a kind up to a time. */
  heldUpTo(kind, cycles, step) {
    const { edges, steps, cycles: end } = this.schedule;
    return (
      this.upto[kind][step] + steps.occupied[kind][step] * (Math.min(cycles, end) - edges[step])
    );
  }

  /** (kinds, columns) Mean bytes in each column of pixels. */
  means(from, to, columns) {
    const { schedule, upto } = this,
      per = (to - from) / columns;
    const steps = Int32Array.from({ length: columns + 1 }, (_, at) =>
      schedule.stepAt(from + at * per),
    );
    return upto.map((_, kind) => {
      const held = steps.reduce(
        (found, step, at) => {
          found[at] = this.heldUpTo(kind, from + at * per, step);
          return found;
        },
        new Float64Array(columns + 1),
      );
      return Float64Array.from({ length: columns }, (_, at) => (held[at + 1] - held[at]) / per);
    });
  }

  /** @param {Sheet} sheet @param {TimeAxis} axis @param {Theme} theme */
  draw(sheet, axis, theme) {
    const context = sheet.begin(),
      { left, width } = sheet.plot;
    const top = MAP_HEAD,
      height = sheet.height - MAP_HEAD - MAP_FOOT;
    this.paint(context, { left, top, width, height }, axis.from, axis.to, theme);
    drawTicks(context, sheet, axis, theme, top);
    drawBytes(context, sheet, this.schedule, theme, { top, height });
  }

  /** Paints [from, to) of all kinds into a box. */
  paint(context, { left, top, width, height }, from, to, theme) {
    const columns = Math.max(1, Math.round(width)),
      { look, schedule } = this;
    const most = schedule.spm_pages * schedule.page_bytes,
      base = new Float64Array(columns);
    context.fillStyle = theme.card;
    context.fillRect(left, top, width, height);
    this.means(from, to, columns).forEach((bytes, kind) => {
      context.beginPath();
      for (let x = 0; x < columns; x++) {
        if (bytes[x] <= 0) continue;
        const low = top + height * (1 - base[x] / most),
          high = (height * bytes[x]) / most;
        context.rect(left + x, low - high, 1, high);
        base[x] += bytes[x];
      }
      const isScratch = kind === look.kinds.length - 1;
      context.fillStyle = isScratch ? hatching(context, look.kinds[kind]) : look.kinds[kind];
      context.fill();
    });
  }

  /** The kind at a point of the sheet, or -1. */
  hit(sheet, y, cycles) {
    const { schedule } = this,
      height = sheet.height - MAP_HEAD - MAP_FOOT;
    let bytes = ((MAP_HEAD + height - y) / height) * schedule.spm_pages * schedule.page_bytes;
    const step = schedule.stepAt(cycles);
    return schedule.steps.occupied.findIndex((held) => (bytes -= held[step]) < 0);
  }
}

/** @type {Map<string, CanvasPattern>} */
const HATCHINGS = new Map();

/** Stripes of a colour, for scratch. */
function hatching(context, colour) {
  const found = HATCHINGS.get(colour);
  if (found) return found;
  const tile = Object.assign(document.createElement("canvas"), { width: 8, height: 8 });
  const stripes = tile.getContext("2d");
  stripes.strokeStyle = colour;
  stripes.lineWidth = 3;
  for (const shift of [-8, 0, 8]) {
    stripes.moveTo(shift - 1, 9);
    stripes.lineTo(shift + 9, -1);
  }
  stripes.stroke();
  const made = context.createPattern(tile, "repeat");
  HATCHINGS.set(colour, made);
  return made;
}
