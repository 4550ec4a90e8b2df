// The front of a search among all trials, by any two figures.

const EXCLUDED = "excluded by proof",
  SOLVED = ["solved", "as before"];

/** So many pixels members of the front are found before others. */
const MEMBER_LEAD = 5;

/** Members whose numbers find room. */
const NAMED = 20;

/** Kinds of marks, in the order in which they are drawn: how they look, and in words. */
const TRIAL_MARKS = {
  excluded: "excluded by proof: any schedule is here at best",
  broken: "solved, breaks a constraint",
  solved: "solved",
  front: "front",
};

class Front {
  /** @param {any} record of `spmopt.report.fronts.front_record` @param {string[]} colours @param {(trial: any) => void} pick */
  constructor(record, colours, pick) {
    Object.assign(this, { record, colours, pick, isLog: false, chosen: -1 });
    this.axes = new Map(record.axes.map((axis) => [axis.key, axis]));
    [this.x, this.y] = record.begin.map((key) => this.axes.get(key));
    this.rank = new Map(record.members.map((number, rank) => [number, rank]));
  }

  /** Where a trial is: by its figures, else by what any schedule takes at least; or null. */
  place(trial) {
    const at = ({ key }) => trial.figures[key] ?? trial.least[key];
    const [x, y] = [at(this.x), at(this.y)];
    return x === undefined || y === undefined ? null : [x, y];
  }

  kind(trial) {
    if (this.rank.has(trial.number)) return "front";
    if (trial.state === EXCLUDED) return "excluded";
    if (!SOLVED.includes(trial.state)) return null;
    return trial.is_feasible ? "solved" : "broken";
  }

  /** What a trial is, in lines. */
  words(trial) {
    const listed = (texts) =>
      Object.entries(texts)
        .map(([key, text]) => `${key} ${text}`)
        .join(", ");
    const others = Object.entries(trial.machine || {}).filter(([key]) => !(key in trial.fields));
    return [
      `trial ${trial.number}: ${this.rank.has(trial.number) ? `${this.named()}, ` : ""}${trial.state}`,
      listed(trial.fields),
      listed(trial.texts),
      ...(trial.gap === null ? [] : [`gap of its schedule ${percent(trial.gap)}`]),
      ...trial.networks,
      ...trial.said.map((text) => shortened(text, 300)),
      ...(others.length ? [listed(Object.fromEntries(others))] : []),
    ];
  }

  /** How members are called. */
  named() {
    const { top, bounds_only: bounds } = this.record;
    return `${top === null ? "on the front" : `of the best ${top}`}${bounds ? " of lower bounds" : ""}`;
  }

  label({ label, of_schedules: made }) {
    return this.record.bounds_only && made ? `${label} ≥` : label;
  }

  draw() {
    const { record, x, y } = this,
      known = record.trials.map((trial) => ({
        trial,
        at: this.place(trial),
        kind: this.kind(trial),
      }));
    this.shown = known.filter(({ at, kind }) => at && kind);
    const values = (side, axis) => [
      ...this.shown.flatMap(({ trial, at, kind }) => [
        at[side],
        ...(kind === "front" ? [trial.least[axis.key] ?? at[side]] : []),
      ]),
      ...axis.limits.map(({ value }) => value),
    ];
    const how = { isLog: this.isLog };
    this.chart = new Chart({
      label: `${this.label(y)} over ${this.label(x)} of ${counted(this.shown.length, "trial")}; the table of trials has the same figures`,
      height: 440,
      x: new NumberAxis({ ...x, label: this.label(x) }, values(0, x), how),
      y: new NumberAxis(y, values(1, y), how),
      points: this.shown.map(({ trial, at, kind }) => ({
        x: at[0],
        y: at[1],
        words: this.words(trial),
        lead: kind === "front" ? MEMBER_LEAD : 0,
        act: () => this.pick(trial),
      })),
      paint: (chart) => this.paint(chart),
    });
    byId("front").replaceChildren(element("p", { class: "key" }, this.label(y)), this.chart.root);
    this.chart.fit();
    this.tellMissing(known.filter(({ at, kind }) => !at && kind));
    this.drawMarks();
  }

  paint(chart) {
    const of = (kind) => this.shown.filter((each) => each.kind === kind);
    const [front, trial] = [this.colours[1], this.colours[0]];
    const marks = (kind, draw, classes, colour) =>
      coloured(
        drawn("path", {
          class: classes,
          d: of(kind)
            .map(({ at: [x, y] }) => draw(chart.across(x), chart.up(y)))
            .join(""),
        }),
        colour,
      );
    const members = of("front");
    return [
      ...this.limits(chart),
      marks("excluded", crossPath, "excluded", front),
      marks("broken", dotPath, "hollow faint", trial),
      marks("solved", dotPath, "marks faint", trial),
      ...(this.isPlane()
        ? [coloured(drawn("path", { class: "series", d: this.steps(chart, members) }), front)]
        : []),
      ...members.flatMap((each) => this.gap(chart, each, front)),
      marks("front", (x, y) => markPath(0, x, y, 6), "marks", front),
      ...members
        .slice(0, NAMED)
        .map(({ trial: { number }, at: [x, y] }) =>
          drawn("text", { x: chart.across(x) + 8, y: chart.up(y) - 6 }, String(number)),
        ),
      ...this.shown
        .filter(({ trial: { number } }) => number === this.chosen)
        .map(({ at: [x, y] }) =>
          drawn("circle", { class: "chosen", r: 10, cx: chart.across(x), cy: chart.up(y) }),
        ),
    ];
  }

  /** Whether both axes are all objectives, so that the front is a line of steps. */
  isPlane() {
    const objectives = this.record.axes.filter(({ is_objective: is }) => is);
    return (
      this.record.top === null &&
      objectives.length === 2 &&
      this.x !== this.y &&
      this.x.is_objective &&
      this.y.is_objective
    );
  }

  steps(chart, members) {
    const points = members
      .map(({ at: [x, y] }) => [chart.across(x), chart.up(y)])
      .sort((a, b) => a[0] - b[0]);
    return points
      .map(([x, y], place) =>
        place ? `H${x.toFixed(1)}V${y.toFixed(1)}` : `M${x.toFixed(1)} ${y.toFixed(1)}`,
      )
      .join("");
  }

  /** Lines from a member to the least that any schedule on its machine takes. */
  gap(chart, { trial, at: [x, y] }, colour) {
    const [left, foot] = [trial.least[this.x.key] ?? x, trial.least[this.y.key] ?? y];
    const line = (x1, y1) =>
      coloured(
        drawn("line", {
          class: "gaps",
          x1: chart.across(x1),
          y1: chart.up(y1),
          x2: chart.across(x),
          y2: chart.up(y),
        }),
        colour,
      );
    return [...(left < x ? [line(left, y)] : []), ...(foot < y ? [line(x, foot)] : [])];
  }

  /** Constraints on the figures of the axes. */
  limits(chart) {
    const { width, height } = chart,
      foot = height - CHART.foot,
      right = width - CHART.right;
    const words = (text, at) => drawn("text", at, text);
    return [
      ...this.x.limits.flatMap(({ value, text }) => {
        const x = chart.across(value);
        return [
          drawn("line", { class: "limit", x1: x, x2: x, y1: CHART.top, y2: foot }),
          words(text, { x: x - 4, y: CHART.top + 12, "text-anchor": "end" }),
        ];
      }),
      ...this.y.limits.flatMap(({ value, text }) => {
        const y = chart.up(value);
        return [
          drawn("line", { class: "limit", x1: CHART.left, x2: right, y1: y, y2: y }),
          words(text, { x: right, y: y - 4, "text-anchor": "end" }),
        ];
      }),
    ];
  }

  drawMarks() {
    const [front, trial] = [this.colours[1], this.colours[0]],
      there = new Set(this.shown.map(({ kind }) => kind));
    const samples = {
      excluded: [crossPath, "excluded", front],
      broken: [dotPath, "hollow faint", trial],
      solved: [dotPath, "marks faint", trial],
      front: [(x, y) => markPath(0, x, y, 6), "marks", front],
    };
    const entry = (sample, text) =>
      element(
        "li",
        {},
        drawn("svg", { width: 20, height: 16, "aria-hidden": "true" }, sample),
        text,
      );
    const entries = Object.entries(TRIAL_MARKS)
      .filter(([kind]) => there.has(kind))
      .map(([kind, text]) => {
        const [draw, classes, colour] = samples[kind];
        return entry(
          coloured(drawn("path", { class: classes, d: draw(10, 8) }), colour),
          kind === "front" ? this.named() : text,
        );
      });
    const gap = coloured(drawn("line", { class: "gaps", x1: 0, x2: 20, y1: 8, y2: 8 }), front);
    if (!this.record.bounds_only)
      entries.push(entry(gap, "down to what any schedule on the machine takes"));
    byId("marks").replaceChildren(...entries);
  }

  tellMissing(missing) {
    const [without, never] = [
      missing.length,
      this.record.trials.filter((trial) => !this.kind(trial)).length,
    ];
    byId("missing").replaceChildren(
      ...(without
        ? [
            element(
              "li",
              {},
              `${counted(without, "trial")} without both figures not drawn: a proof or constraint on others excluded ${without === 1 ? "it" : "them"}.`,
            ),
          ]
        : []),
      ...(never
        ? [element("li", {}, `${counted(never, "trial")} came to nothing: see the table.`)]
        : []),
    );
  }

  /** Marks a trial. @param {number} number */
  choose(number) {
    this.chosen = number;
    this.chart.draw();
  }
}

function crossPath(x, y) {
  return `M${(x - 4).toFixed(1)} ${(y - 4).toFixed(1)}l8 8m0 -8l-8 8`;
}

function dotPath(x, y) {
  return `M${(x - 4).toFixed(1)} ${y.toFixed(1)}a4 4 0 1 0 8 0a4 4 0 1 0 -8 0`;
}
