// The front of a search among all trials, by any two figures.

const MEMBER_LEAD = 5; // pixels by which members of the front are found before others
const NAMED = 20; // members that have their number beside them, at most

/** Marks by kind of trial, in the order of drawing: path, rank of the color, how, words. */
const TRIAL_MARKS = {
  excluded: [crossPath, null, "stroke", "excluded by proof: any schedule is here at best"],
  broken: [dotPath, 0, "stroke", "solved, breaks a constraint"],
  solved: [dotPath, 0, "fill", "solved"],
  front: [(x, y) => markPath(0, x, y, 6), 1, "fill", ""],
};

function listed(texts) {
  return Object.entries(texts)
    .map(([key, text]) => `${key} ${text}`)
    .join(", ");
}

class Front {
  /** @param {any} record of `front_record` @param {string[]} colors @param {(trial: any) => void} pick */
  constructor(record, colors, pick) {
    Object.assign(this, { record, colors, pick, chosen: -1 });
    [this.x, this.y] = record.begin.map((key) => record.axes.find((axis) => axis.key === key));
    this.members = record.members.map((number) => record.trials.find((t) => t.number === number));
  }

  /** The place of a trial: its figures, else what any schedule takes at least; or null. */
  place(trial) {
    const at = ({ key }) => trial.figures[key] ?? trial.least[key];
    const [x, y] = [at(this.x), at(this.y)];
    return x === undefined || y === undefined ? null : [x, y];
  }

  kind(trial) {
    if (this.members.includes(trial)) return "front";
    if (trial.state === "excluded by proof") return "excluded";
    if (trial.state !== "solved" && trial.state !== "as before") return null;
    return trial.is_feasible ? "solved" : "broken";
  }

  look(kind) {
    const [, rank, how] = TRIAL_MARKS[kind];
    const color = rank === null ? theme.muted : this.colors[rank];
    return { [how]: color, opacity: kind === "solved" || kind === "broken" ? 0.6 : 1 };
  }

  /** Settings of a trial's machine that were not chosen. */
  rest({ machine, fields }) {
    return Object.fromEntries(Object.entries(machine || {}).filter(([key]) => !(key in fields)));
  }

  words(trial) {
    return [
      `trial ${trial.number}: ${this.members.includes(trial) ? `${this.title()}, ` : ""}${trial.state}`,
      listed(trial.fields),
      listed(this.labelled(trial.texts)),
      ...(trial.gap === null ? [] : [`gap of its schedule ${percent(trial.gap)}`]),
      ...trial.networks,
      ...trial.said,
      listed(this.rest(trial)),
    ].filter(Boolean);
  }

  /** Figures by the labels of their axes. */
  labelled(texts) {
    const label = (key) => this.record.axes.find((axis) => axis.key === key)?.label ?? key;
    return Object.fromEntries(Object.entries(texts).map(([key, text]) => [label(key), text]));
  }

  /** The name of the members. */
  title() {
    const { top, bounds_only: bounds } = this.record;
    return `${top === null ? "on the front" : `of the best ${top}`}${bounds ? " of lower bounds" : ""}`;
  }

  label({ label, of_schedules: made }) {
    return this.record.bounds_only && made ? `${label} ≥` : label;
  }

  draw() {
    const { record, x, y } = this;
    const known = record.trials
      .map((trial) => ({ trial, at: this.place(trial), kind: this.kind(trial) }))
      .filter(({ kind }) => kind);
    this.shown = known.filter(({ at }) => at);
    const members = this.shown.filter(({ kind }) => kind === "front").sort((a, b) => a.at[0] - b.at[0]);
    const axis = (side, of) => {
      const values = this.shown.flatMap(({ trial, at, kind }) =>
        kind === "front" ? [at[side], trial.least[of.key] ?? at[side]] : [at[side]],
      );
      return new NumberAxis({ ...of, label: this.label(of) }, values, { isLog: this.isLogarithmic(of, values) });
    };
    const trials = counted(this.shown.length, "trial");
    const [across, up] = [0, 1].map((side) => members.map(({ at }) => at[side]));
    this.plot = new Plot({
      label: `${this.label(y)} over ${this.label(x)} of ${trials}; the table of trials has the same figures`,
      height: 440,
      x: axis(0, x),
      y: axis(1, y),
      points: this.shown.map(({ trial, at, kind }) => ({
        x: at[0],
        y: at[1],
        words: () => this.words(trial),
        lead: kind === "front" ? MEMBER_LEAD : 0,
        act: () => this.pick(trial),
      })),
      lines: this.isPlane() ? [{ x: across, y: up, look: { stroke: this.colors[1] }, isStepped: true }] : [],
      paint: (plot) => this.paint(plot),
    });
    fill("front", dom`<p class="key">${this.label(y)}</p>`, this.plot.root);
    this.plot.fit();
    this.drawMissing(known.length - this.shown.length, record.trials.length - known.length);
    this.drawMarks();
  }

  /** Whether the values of an axis are far apart. */
  isLogarithmic({ key }, values) {
    const [low, high] = [Math.min(...values), Math.max(...values)];
    return key !== "trial" && low > 0 && high > LOG_SPAN * low;
  }

  /** Whether both axes are all objectives, so that the front is a line of steps. */
  isPlane() {
    const objectives = this.record.axes.filter(({ is_objective: is }) => is);
    const isBoth = [this.x, this.y].every((axis) => objectives.includes(axis));
    return this.record.top === null && objectives.length === 2 && this.x !== this.y && isBoth;
  }

  paint(plot) {
    const members = this.shown.filter(({ kind }) => kind === "front");
    this.paintLimits(plot);
    for (const { trial, at } of members) this.paintGap(plot, trial, at);
    for (const [kind, [draw]] of Object.entries(TRIAL_MARKS))
      for (const { at } of this.shown.filter((each) => each.kind === kind))
        plot.path(draw(...plot.place(...at)), this.look(kind));
    plot.nameAll(members.map(({ trial, at }) => [`${trial.number}`, plot.place(...at)]), NAMED);
    const chosen = this.shown.find(({ trial }) => trial.number === this.chosen);
    if (chosen) plot.path(dotPath(...plot.place(...chosen.at), 10), { stroke: theme.accent, width: 2.5 });
  }

  /** Lines from a member to the least that any schedule on its machine takes. */
  paintGap(plot, { least }, [x, y]) {
    const look = { stroke: this.colors[1], width: 4, opacity: 0.4 };
    const [left, foot] = [least[this.x.key] ?? x, least[this.y.key] ?? y];
    if (left < x) plot.fused_group(plot.place(left, y), plot.place(x, y), look);
    if (foot < y) plot.fused_group(plot.place(x, foot), plot.place(x, y), look);
  }

  /** Constraints on the figures of the axes: lines, or names with an arrow at the edge. */
  paintLimits(plot) {
    const { left, right, top, foot } = plot.box;
    const look = { stroke: theme.ink, dash: [6, 4], width: 1.2 };
    const write = (text, x, y, align = "right") => plot.write(text, x, y, { align, name: "limit-name" });
    this.x.limits.forEach(({ value, text }, place) => {
      const [x, y] = [plot.place(value, plot.y.low)[0], top + 10 + 18 * place];
      if (x < left) write(`◂ ${text}`, left + 4, y, "left");
      else if (x > right) write(`${text} ▸`, right - 4, y);
      else {
        plot.fused_group([x, top], [x, foot], look);
        write(text, x - 4, y);
      }
    });
    this.y.limits.forEach(({ value, text }, place) => {
      const y = plot.place(plot.x.low, value)[1];
      if (y < top) write(`${text} ▴`, right - 4, top + 10 + 18 * place);
      else if (y > foot) write(`${text} ▾`, right - 4, foot - 10 - 18 * place);
      else {
        plot.fused_group([left, y], [right, y], look);
        write(text, right - 4, y - 9);
      }
    });
  }

  drawMarks() {
    const entries = Object.entries(TRIAL_MARKS)
      .filter(([kind]) => this.shown.some((each) => each.kind === kind))
      .map(([kind, [draw, , , text]]) => dom`<li>${sample(20, [draw(10, 8), this.look(kind)])}${text || this.title()}</li>`);
    const gap = ["M0 8H20", { stroke: this.colors[1], width: 4, opacity: 0.4 }];
    if (!this.record.bounds_only)
      entries.push(dom`<li>${sample(20, gap)}down to the bound of any schedule on the machine</li>`);
    fill("marks", entries);
  }

  drawMissing(without, never) {
    const both = "lack one of the two figures (excluded by a proof or constraint on another)";
    const lines = [
      without && `${counted(without, "trial")} not drawn: ${both}.`,
      never && `${counted(never, "trial")} without a result: see the table.`,
    ];
    fill("missing", items(lines.filter(Boolean)));
  }

  /** @param {number} number of the trial to mark */
  choose(number) {
    this.chosen = number;
    this.plot.chart.redraw();
  }
}
