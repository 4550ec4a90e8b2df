// What stretches of time are of: phases (forward, backward, update), and layers.

const BAND = 15;
const BAND_GAP = 2;
const BAND_WIDTH = 58; // pixels that a band of layers has on average, at least

/** Steps that follow each other and are alike: {begin, end, name}. @param {string[]} names */
function runsOf(names) {
  const found = [];
  names.forEach((name, step) => {
    if (found.at(-1)?.name === name) found.at(-1).end = step + 1;
    else found.push({ begin: step, end: step + 1, name });
  });
  return found;
}

/** Runs of layers by how many parts of their names count, the coarsest first. */
function layerRuns(layers) {
  const parts = layers.map((layer) => layer.split(/[./]/).filter(Boolean));
  const most = Math.min(6, Math.max(1, ...parts.map(({ length }) => length)));
  const found = [];
  for (let depth = 1; depth <= most; depth++) {
    const names = parts.map((some, at) => some.slice(0, depth).join(".") || layers[at]);
    const runs = runsOf(names);
    if (runs.length > (found.at(-1)?.length ?? 1)) found.push(runs);
  }
  return found;
}

class Bands {
  /** @param {Schedule} schedule */
  constructor(schedule) {
    this.schedule = schedule;
    const { phase, layer } = schedule.steps;
    this.phases = runsOf(phase.map((number) => schedule.phases[number]));
    this.layers = layerRuns(layer);
    this.rows = [];
    if (this.phases.length > 1) this.rows.push("phase");
    if (this.layers.length) this.rows.push("layers");
  }

  get height() {
    return this.rows.length * (BAND + BAND_GAP);
  }

  /** Runs of a row: layers as fine as the stretch in view has room for. */
  runs(row, axis, width) {
    if (row === "phase") return this.phases;
    const { edges } = this.schedule;
    const seen = (runs) =>
      runs.filter(({ begin, end }) => edges[end] > axis.from && edges[begin] < axis.to).length;
    const most = Math.max(3, width / BAND_WIDTH);
    return this.layers.findLast((runs) => seen(runs) <= most) ?? this.layers[0];
  }

  /** @param {Sheet} sheet @param {TimeAxis} axis @param {Theme} theme */
  draw(sheet, axis, theme) {
    const context = sheet.begin();
    const { left, width } = sheet.plot;
    const { edges } = this.schedule;
    this.rows.forEach((row, place) => {
      const top = place * (BAND + BAND_GAP);
      sheet.label(row, top + BAND / 2, theme.muted);
      let drawn = -1;
      this.runs(row, axis, width).forEach(({ begin, end, name }, at) => {
        const part = (cycles) => Math.min(1, Math.max(0, (cycles - axis.from) / axis.span)) * width;
        const [from, to] = [part(edges[begin]), part(edges[end])];
        if (to <= from || to - drawn < 0.5) return;
        drawn = to;
        const fill = this.fill(row, name, at, theme);
        context.fillStyle = fill;
        context.fillRect(left + from, top, Math.max(0.7, to - from - (to - from > 3)), BAND);
        context.fillStyle = inkOn(fill);
        context.textAlign = "left";
        const text = to - from > 18 ? wholeOrTail(context, name, to - from - 6) : "";
        if (text) context.fillText(text, left + from + 3, top + BAND / 2 + 0.5);
      });
    });
  }

  /** Phases have a shade each, layers two in turn. */
  fill(row, name, at, theme) {
    if (row === "layers") return at % 2 ? theme.line : theme.card;
    return [theme.line, theme.muted, theme.accent][this.schedule.phases.indexOf(name)];
  }

  /** The run at a point, if any: {row, begin, end, name}. */
  hit(sheet, axis, y, cycles) {
    const row = this.rows[Math.floor(y / (BAND + BAND_GAP))];
    const step = this.schedule.stepAt(cycles);
    const runs = row ? this.runs(row, axis, sheet.plot.width) : [];
    const run = runs.find(({ begin, end }) => begin <= step && step < end);
    return run ? { row, ...run } : null;
  }
}

/** A name that fits, or its last part that tells it from its neighbors, or nothing. */
function wholeOrTail(context, name, width) {
  const tail = name.split(".").at(-1);
  const short = tail.length > 1 ? [name, tail] : [name, name.split(".").slice(-2).join(".")];
  return short.find((text) => context.measureText(text).width <= width) ?? "";
}


/** Lines on a run. @param {Schedule} schedule in its own times */
function runWords(schedule, { row, begin, end, name }) {
  const { edges, steps } = schedule;
  const time = edges[end] - edges[begin];
  const waits = steps.stall_cycles.slice(begin, end).reduce((a, b) => a + b, 0);
  return [
    row === "phase" ? `${name} ${name === "update" ? "of weights" : "pass"}` : shortened(name),
    `${counted(end - begin, "step")}: ${begin} to ${end - 1}`,
    `${schedule.time(time)}, waits ${schedule.time(waits)} of it`,
    "click to zoom in",
  ];
}
