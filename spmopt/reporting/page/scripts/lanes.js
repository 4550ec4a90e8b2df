// Lanes over time: layers, computing, DMA, stalls, fused groups, duals and the lead.

const LANE_GAP = 8;
const LANE_MARK = 5;
/** Pixels of lanes, of the gap between two, and of lanes with a curve: of one schedule, of two. */
const WIDE_LANES = { lane: 23, gap: 5, curve: 36 };
const NARROW_LANES = { lane: 17, gap: 4, curve: 30 };
const RUN_WIDTH = 58; // pixels that a layer has on average, at least
const TILE_WIDTH = 4;

/** Returns the part of each column of pixels, 0 to 1, that spans {start, cycles, part?} take. */
function coverage({ start, cycles, part }, from, to, columns) {
  const covered = new Float32Array(columns);
  const scale = columns / (to - from);
  for (let span = 0; span < start.length; span++) {
    const end = start[span] + cycles[span];
    if (end <= from || start[span] >= to) continue;
    const left = Math.max(0, (start[span] - from) * scale);
    const right = Math.min(columns, (end - from) * scale);
    const weight = part ? part[span] : 1;
    for (let x = Math.floor(left); x < right; x++)
      covered[x] += weight * (Math.min(x + 1, right) - Math.max(x, left));
  }
  return covered;
}

/** Returns steps that follow each other and are alike: {begin, end, name}. */
function runsOf(names) {
  const runs = [];
  names.forEach((name, step) => {
    if (runs.at(-1)?.name === name) runs.at(-1).end = step + 1;
    else runs.push({ begin: step, end: step + 1, name, labels: [name, name.split(".").at(-1)] });
  });
  return runs;
}

/** Returns runs of layers by how many parts of their names count, the coarsest first. */
function layerRuns(layers) {
  const parts = layers.map((layer) => layer.split(/[./]/).filter(Boolean));
  const most = Math.min(6, Math.max(1, ...parts.map(({ length }) => length)));
  const levels = [];
  for (let depth = 1; depth <= most; depth++) {
    const runs = runsOf(parts.map((some, at) => some.slice(0, depth).join(".") || layers[at]));
    if (runs.length > (levels.at(-1)?.length ?? 1)) levels.push(runs);
  }
  return levels;
}

/** Where the engine waits, before and after each computation, by cause. */
function stallSpans({ edges, steps, count: length }, colors) {
  const spans = colors.map((color) => ({ color, start: [], cycles: [], part: [] }));
  for (let step = 0; step < length; step++) {
    const begin = steps.compute_start[step];
    const end = begin + steps.compute_cycles[step];
    const causes = steps.stall_by_cause.map((row) => row[step]);
    const sum = causes.reduce((total, cycles) => total + cycles, 0);
    const whole = Math.max(sum, steps.stall_cycles[step]);
    causes[0] += whole - sum;
    for (const [from, to] of [[edges[step], begin], [end, edges[step] + steps.cycles[step]]])
      causes.forEach((waited, cause) => {
        if (to <= from || waited <= 0) return;
        const { start, cycles, part } = spans[cause];
        start.push(from);
        cycles.push(to - from);
        part.push(waited / whole);
      });
  }
  return spans;
}

class Lanes {
  /** @param {Schedule} schedule @param {any} look @param {number[]|null} gained by which B is ahead after each step */
  constructor(schedule, look, gained = null) {
    const { steps, causes, fused_groups } = schedule;
    Object.assign(this, { schedule, gained, sizes: schedule.mark ? NARROW_LANES : WIDE_LANES, marked: [] });
    const moves = (name, ...kinds) => {
      const spans = kinds.map((kind) => {
        const own = schedule.commands.filter((command) => command.kind === kind);
        const columns = { start: own.map(({ start }) => start), cycles: own.map(({ cycles }) => cycles) };
        return { color: look.causes[causes.indexOf(COMMANDS[kind])], ...columns };
      });
      return { name, kinds, spans };
    };
    const phases = runsOf(steps.phase.map((number) => schedule.phases[number]));
    const layers = layerRuns(steps.layer);
    const groups = fused_groups.map((fused_group) => ({ ...fused_group, name: fused_group.labels[0], tiles: fused_group.blocks }));
    this.lanes = [
      phases.length > 1 && { name: "phase", levels: [phases] },
      layers.length && { name: "layers", levels: layers },
      { name: "compute", spans: [{ start: steps.compute_start, cycles: steps.compute_cycles }] },
      moves("DMA in", LOAD, STREAM_IN),
      moves("DMA out", STORE, STREAM_OUT),
      { name: "stalls", spans: stallSpans(schedule, look.causes) },
      groups.length && { name: "groups", levels: [groups] },
      steps.dual?.some((dual) => dual > 0) && { name: "dual", curve: steps.dual },
      gained && { name: "B ahead", curve: gained.slice(1) },
    ].filter(Boolean);
    let top = LANE_GAP;
    for (const lane of this.lanes) {
      Object.assign(lane, { top, height: lane.curve ? this.sizes.curve : this.sizes.lane });
      top += lane.height + this.sizes.gap;
    }
    this.height = top;
  }

  draw(sheet, axis) {
    const context = sheet.begin();
    const { left, width } = sheet.plot;
    for (const lane of this.lanes) {
      const box = { left, width, top: lane.top, height: lane.height };
      context.fillStyle = theme.card;
      context.fillRect(left, lane.top, width, lane.height);
      if (lane.curve) this.drawCurve(sheet, box, axis, lane);
      else sheet.label(lane.name, lane.top + lane.height / 2, theme.ink);
      if (lane.spans) this.drawSpans(context, box, axis, lane.spans);
      if (lane.levels) this.drawRuns(context, box, axis, this.runs(lane, axis, width));
      if (lane.name === "compute") this.nameSteps(context, box, axis);
    }
  }

  /** Stacks spans by column of pixels, each in its color. */
  drawSpans(context, { left, top, width, height }, axis, spans) {
    const base = new Float32Array(Math.max(1, Math.round(width)));
    for (const each of spans) {
      const parts = coverage(each, axis.from, axis.to, base.length);
      context.beginPath();
      for (let x = 0; x < base.length; x++) {
        if (parts[x] < 1e-4) continue;
        const high = Math.min(1, base[x] + parts[x]);
        context.rect(left + x, top + height * (1 - high), 1, height * (high - base[x]));
        base[x] = high;
      }
      context.fillStyle = each.color ?? theme.muted;
      context.fill();
    }
  }

  /** Runs of a lane: layers as fine as the stretch in view has room for. */
  runs({ levels }, axis, width) {
    const { edges } = this.schedule;
    const isSeen = ({ begin, end }) => edges[end] > axis.from && edges[begin] < axis.to;
    const most = Math.max(3, width / RUN_WIDTH);
    return levels.findLast((runs) => runs.filter(isSeen).length <= most) ?? levels[0];
  }

  /** Draws runs in turn of two shades, lines where tiles begin, and the first label that fits. */
  drawRuns(context, { left, top, width, height }, axis, runs) {
    const { edges } = this.schedule;
    const place = (cycles) => Math.min(1, Math.max(0, (cycles - axis.from) / axis.span)) * width;
    const wide = (text) => context.measureText(text).width;
    context.textAlign = "left";
    let drawn = -1;
    runs.forEach(({ begin, end, labels, tiles = [] }, at) => {
      const [from, to] = [place(edges[begin]), place(edges[end])];
      if (to <= from || to - drawn < 0.5) return;
      drawn = to;
      const fill = at % 2 ? theme.line : theme.muted;
      context.fillStyle = fill;
      context.fillRect(left + from, top, Math.max(0.7, to - from - (to - from > 3)), height - 1);
      context.fillStyle = theme.card;
      if ((to - from) / tiles.length >= TILE_WIDTH)
        for (const tile of tiles) context.fillRect(left + place(tile), top, 1, height - 1);
      const text = labels.find((each) => wide(each) <= to - from - 8);
      if (!text) return;
      context.fillStyle = fill; // over the lines of tiles
      context.fillRect(left + from + 2, top + 2, wide(text) + 4, height - 5);
      context.fillStyle = inkOn(fill);
      context.fillText(text, left + from + 4, top + height / 2);
    });
  }

  /** Names computations that are wide enough, and marks steps. */
  nameSteps(context, { left, top, width, height }, axis) {
    const { schedule, marked } = this;
    const { edges, steps } = schedule;
    const place = (cycles) => Math.min(1, Math.max(0, (cycles - axis.from) / axis.span)) * width;
    const last = schedule.stepAt(axis.to);
    Object.assign(context, { textAlign: "left", fillStyle: inkOn(theme.muted) });
    for (let step = schedule.stepAt(axis.from); step <= last; step++) {
      const start = steps.compute_start[step];
      const [from, end] = [place(start), place(start + steps.compute_cycles[step])];
      const text = end - from > 32 ? fitted(context, steps.name[step], end - from - 8) : "";
      if (text) context.fillText(text, left + from + 4, top + height / 2);
    }
    context.fillStyle = theme.accent;
    for (const step of marked) {
      const [from, to] = [place(edges[step]), place(edges[step + 1])];
      if (from < width && to > 0)
        context.fillRect(left + from, top - LANE_MARK, Math.max(1.5, to - from), LANE_MARK);
    }
  }

  /** Draws a value of each step; of many in a column of pixels the highest. */
  drawCurve(sheet, { left, top, width, height }, axis, { name, curve }) {
    const { context } = sheet;
    const columns = Math.max(1, Math.round(width));
    const stepAt = (x) => this.schedule.stepAt(axis.from + (x / columns) * axis.span);
    const highest = Array.from({ length: columns }, (_, x) => Math.max(...curve.slice(stepAt(x), stepAt(x + 1) + 1)));
    const [low, high] = [Math.min(0, ...highest), Math.max(0, ...highest)];
    const y = (value) => top + height - 2 - ((value - low) / (high - low || 1)) * (height - 4);
    context.beginPath();
    highest.forEach((value, x) => context.lineTo(left + x, y(value)));
    Object.assign(context, { strokeStyle: theme.accent, lineWidth: 1.5 });
    context.stroke();
    const [words, value] = this.curveWords(name, low < 0 && -low > high ? low : high);
    sheet.label(words, top + 0.3 * height, theme.ink);
    sheet.label(value, top + 0.72 * height, theme.muted);
  }

  /** The name of a curve and its value of largest magnitude. */
  curveWords(name, value) {
    if (name !== "dual") return [name, this.schedule.time(Math.round(value))];
    const { words, saved } = savedBySpm(this.schedule, value);
    return [`${words} more`, `≤ ${si(saved, this.schedule.shadow_prices.unit, 2)}`];
  }

  /** The lane at a height of the sheet, if any. */
  hit(y) {
    return this.lanes.find(({ top, height }) => top <= y && y < top + height) ?? null;
  }
}
