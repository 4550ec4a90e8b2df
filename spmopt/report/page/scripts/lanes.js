// What engine and channel do over time, what the engine waits for, and what more room is worth.

const LANE = 30,
  LANE_GAP = 8,
  LANE_MARK = 5,
  PRICE_LANE = 44;

class Lanes {
  /** @param {Schedule} schedule @param {{causes: string[], compute: string, price: string}} look */
  constructor(schedule, look) {
    this.schedule = schedule;
    this.look = look;
    const lane = (name, classes) => ({ name, classes, height: LANE });
    this.lanes = [
      lane("compute", [computeSpans(schedule, look.compute)]),
      lane("DMA in", commandSpans(schedule, [LOAD, STREAM_IN], look.causes)),
      lane("DMA out", commandSpans(schedule, [STORE, STREAM_OUT], look.causes)),
      lane("stalls", stallSpans(schedule, look.causes)),
    ];
    /** @type {number[]} steps that are marked above the engine's lane */
    this.marked = [];
    this.hasPrice = schedule.steps.price !== null;
  }

  get height() {
    const price = this.hasPrice ? PRICE_LANE + LANE_GAP : 0;
    return this.lanes.length * (LANE + LANE_GAP) + price + LANE_GAP;
  }

  /** Lanes and where they are, from top to bottom. */
  boxes(sheet) {
    const { left, width } = sheet.plot;
    return this.lanes.map((lane, place) => {
      return { lane, left, width, top: LANE_GAP + place * (LANE + LANE_GAP), height: LANE };
    });
  }

  priceBox(sheet) {
    const top = LANE_GAP + this.lanes.length * (LANE + LANE_GAP);
    return { ...sheet.plot, top, height: PRICE_LANE };
  }

  /** @param {Sheet} sheet @param {TimeAxis} axis @param {Theme} theme */
  draw(sheet, axis, theme) {
    const context = sheet.begin();
    for (const box of this.boxes(sheet)) {
      frame(context, box, theme);
      const ours =
        box.lane.name === "compute"
          ? [{ ...box.lane.classes[0], colour: theme.muted }]
          : box.lane.classes;
      paintSpans(context, ours, box, axis.from, axis.to);
      nameLane(context, box.lane.name, box, theme);
    }
    this.nameSteps(context, sheet, axis, theme);
    this.markSteps(context, sheet, axis, theme);
    if (this.hasPrice) this.drawPrice(context, sheet, axis, theme);
  }

  markSteps(context, sheet, axis, theme) {
    const [{ left, top, width }] = this.boxes(sheet),
      { edges } = this.schedule;
    context.fillStyle = theme.accent;
    for (const step of this.marked) {
      const from = Math.max(0, (edges[step] - axis.from) / axis.span) * width;
      const to = Math.min(1, (edges[step + 1] - axis.from) / axis.span) * width;
      if (to >= from && from < width)
        context.fillRect(left + from, top - LANE_MARK, Math.max(1.5, to - from), LANE_MARK);
    }
  }

  /** Names of operations on computations that have room for them. */
  nameSteps(context, sheet, axis, theme) {
    const { schedule } = this,
      [box] = this.boxes(sheet),
      across = box.width / axis.span;
    const { compute_start: start, compute_cycles: cycles, name } = schedule.steps;
    const first = schedule.stepAt(axis.from),
      last = schedule.stepAt(axis.to);
    context.textAlign = "left";
    context.fillStyle = inkOn(theme.muted);
    for (let step = first; step <= last; step++) {
      const from = Math.max(0, (start[step] - axis.from) * across);
      const room =
        Math.min(box.width, (start[step] + cycles[step] - axis.from) * across) - from - 8;
      if (room > 24)
        context.fillText(
          fitted(context, name[step], room),
          box.left + from + 4,
          box.top + LANE / 2,
        );
    }
  }

  /** The price of the scratchpad in each step; the highest of a column of pixels. */
  drawPrice(context, sheet, axis, theme) {
    const box = this.priceBox(sheet),
      columns = Math.max(1, Math.round(box.width));
    frame(context, box, theme);
    const highest = this.highestPrices(axis, columns),
      most = highest.reduce((a, b) => Math.max(a, b), 0);
    context.beginPath();
    for (let x = 0; x < columns && most > 0; x++) {
      const y = box.top + box.height - 1 - (highest[x] / most) * (box.height - 4);
      context.lineTo(box.left + x, y);
      context.lineTo(box.left + x + 1, y);
    }
    context.strokeStyle = theme.accent;
    context.lineWidth = 1.5;
    context.stroke();
    context.textAlign = "right";
    context.fillStyle = theme.ink;
    const { words, saved } = roomWorth(this.schedule, most);
    context.fillText(`${words} more`, box.left - 6, box.top + 14);
    context.fillStyle = theme.muted;
    context.fillText(`≤ ${si(saved, this.schedule.worth.unit, 2)}`, box.left - 6, box.top + 30);
  }

  highestPrices(axis, columns) {
    const { schedule } = this,
      { price } = schedule.steps,
      found = new Float64Array(columns);
    const first = schedule.stepAt(axis.from),
      last = schedule.stepAt(axis.to);
    for (let step = first; step <= last; step++) {
      const from = Math.floor(((schedule.edges[step] - axis.from) / axis.span) * columns);
      const to = Math.ceil(((schedule.edges[step + 1] - axis.from) / axis.span) * columns);
      for (let x = Math.max(0, from); x < Math.min(columns, Math.max(to, from + 1)); x++) {
        found[x] = Math.max(found[x], price[step]);
      }
    }
    return found;
  }

  /** What is at a point of the sheet: a lane's name and its command or step, or null. */
  hit(sheet, y, cycles) {
    const box = this.boxes(sheet).find(({ top, height }) => top <= y && y < top + height);
    if (box) return { lane: box.lane.name, found: spanAt(box.lane.classes, cycles) };
    const price = this.priceBox(sheet);
    return this.hasPrice && price.top <= y && y < price.top + price.height
      ? { lane: "price", found: null }
      : null;
  }
}

/** The ground of a lane. */
function frame(context, { left, top, width, height }, theme) {
  context.fillStyle = theme.card;
  context.fillRect(left, top, width, height);
  context.fillStyle = theme.line;
  context.fillRect(left, top + height - 1, width, 1);
}

/** The name of a lane, on its left. */
function nameLane(context, name, { left, top, height }, theme) {
  context.textAlign = "right";
  context.fillStyle = theme.ink;
  context.fillText(name, left - 6, top + height / 2);
}
