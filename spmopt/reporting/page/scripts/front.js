// The front of a search among all trials, by any two figures.

/** By how many pixels members of the front are found before others, and how many are numbered. */
const MEMBER_LEAD = 5;
const NAMED = 20;
const FAR = 10; // how many times the ends of an axis are apart that is logarithmic unless asked

/** Kinds of marks, in the order in which they are drawn: style, series of the color, path, words. */
const TRIAL_MARKS = {
  excluded: ["excluded", 1, crossPath, "excluded by proof: any schedule is here at best"],
  broken: ["hollow faint", 0, dotPath, "solved, breaks a constraint"],
  solved: ["marks faint", 0, dotPath, "solved"],
  front: ["marks", 1, (x, y) => markPath(0, x, y, 6), ""],
};

/** Names and texts, in a line. */
function listed(texts) {
  const entries = Object.entries(texts).map(([key, text]) => `${key} ${text}`);
  return entries.join(", ");
}

class Front {
  /** @param {any} record of `front_record` @param {string[]} colors @param {(trial: any) => void} pick */
  constructor(record, colors, pick) {
    Object.assign(this, { record, colors, pick, isLog: {}, chosen: -1 });
    [this.x, this.y] = record.begin.map((key) => record.axes.find((axis) => axis.key === key));
    this.members = record.members.map((number) => record.trials.find((t) => t.number === number));
  }

  /** Where a trial is: by its figures, else by what any schedule takes at least; or null. */
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

  /** Settings of a trial's machine beside what was chosen. */
  rest({ machine, fields }) {
    return Object.fromEntries(Object.entries(machine || {}).filter(([key]) => !(key in fields)));
  }

  /** What a trial is, in lines. */
  words(trial) {
    return [
      `trial ${trial.number}: ${this.members.includes(trial) ? `${this.named()}, ` : ""}${trial.state}`,
      listed(trial.fields),
      listed(trial.texts),
      ...(trial.gap === null ? [] : [`gap of its schedule ${percent(trial.gap)}`]),
      ...trial.networks,
      ...trial.said.map((text) => shortened(text, 300)),
      listed(this.rest(trial)),
    ].filter(Boolean);
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
    const { record, x, y } = this;
    const known = record.trials
      .map((trial) => ({ trial, at: this.place(trial), kind: this.kind(trial) }))
      .filter(({ kind }) => kind);
    this.shown = known.filter(({ at }) => at);
    const axis = (side, of) => {
      const own = this.shown.flatMap(({ trial, at, kind }) =>
        kind === "front" ? [at[side], trial.least[of.key] ?? at[side]] : [at[side]],
      );
      const isLog = this.isLogarithmic(of, own);
      return new NumberAxis({ ...of, label: this.label(of) }, own, { isLog, isRound: true });
    };
    const trials = counted(this.shown.length, "trial");
    this.chart = new Chart({
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
      paint: (chart) => this.paint(chart),
    });
    fill("front", dom`<p class="key">${this.label(y)}</p>`, this.chart.root);
    this.chart.fit();
    this.drawMissing(known.length - this.shown.length, record.trials.length - known.length);
    this.drawMarks();
  }

  /** Whether an axis is: as chosen, else where its values are far apart. */
  isLogarithmic({ key }, values) {
    const [low, high] = [Math.min(...values), Math.max(...values)];
    return this.isLog[key] ?? (key !== "trial" && low > 0 && high > FAR * low);
  }

  paint(chart) {
    const at = (kind) => this.shown.filter((each) => each.kind === kind);
    const front = this.colors[1];
    const members = at("front").map((each) => ({ ...each, pixel: chart.place(...each.at) }));
    const marks = Object.entries(TRIAL_MARKS).map(([kind, [name, series, draw]]) => {
      const d = at(kind).map((each) => draw(...chart.place(...each.at)));
      return path(name, d.join(""), this.colors[series]);
    });
    const [chosen] = this.shown.filter(({ trial }) => trial.number === this.chosen);
    const [cx, cy] = chosen ? chart.place(...chosen.at) : [];
    return [
      ...this.limits(chart),
      ...marks.slice(0, -1),
      ...(this.isPlane() ? [path("series", this.steps(members), front)] : []),
      ...members.flatMap((each) => this.gap(chart, each, front)),
      ...marks.slice(-1),
      ...placedLabels(
        chart,
        members.slice(0, NAMED).map(({ trial, pixel }) => [`${trial.number}`, pixel]),
        members.map(({ pixel }) => pixel),
      ),
      ...(chosen ? [drawn("circle", { class: "chosen", r: 10, cx, cy })] : []),
    ];
  }

  /** Whether both axes are all objectives, so that the front is a line of steps. */
  isPlane() {
    const objectives = this.record.axes.filter(({ is_objective: is }) => is);
    const isBoth = [this.x, this.y].every((axis) => objectives.includes(axis));
    return this.record.top === null && objectives.length === 2 && this.x !== this.y && isBoth;
  }

  steps(members) {
    const points = members.map(({ pixel }) => pixel).sort((a, b) => a[0] - b[0]);
    const corners = points.map(([x, y], at) => `${at ? "H" : "M"}${x} ${at ? "V" : ""}${y}`);
    return corners.join("");
  }

  /** Lines from a member to the least that any schedule on its machine takes. */
  gap(chart, { trial, at: [x, y], pixel }, color) {
    const [left, foot] = [trial.least[this.x.key] ?? x, trial.least[this.y.key] ?? y];
    return [
      ...(left < x ? [colored(segment("gaps", chart.place(left, y), pixel), color)] : []),
      ...(foot < y ? [colored(segment("gaps", chart.place(x, foot), pixel), color)] : []),
    ];
  }

  /** Constraints on the figures of the axes: lines, or arrows at the edge that they are beyond. */
  limits(chart) {
    const [foot, right] = [chart.height - CHART.foot, chart.width - CHART.right];
    const words = (text, x, y) =>
      drawn("text", { x, y, "text-anchor": "end", class: "limit-name" }, text);
    const made = [];
    const beyond = { low: 0, high: 0 }; // how many names stand at an edge already
    for (const { value, text } of this.x.limits) {
      const part = chart.x.part(value);
      if (part >= 0 && part <= 1) {
        const x = chart.across(value);
        made.push(segment("limit", [x, CHART.top], [x, foot]), words(text, x - 4, CHART.top + 12));
        continue;
      }
      const y = CHART.top + 26 + 18 * beyond[part > 1 ? "high" : "low"]++;
      const [x, to] = part > 1 ? [right, 1] : [CHART.left, -1];
      made.push(arrow([x - 2 * to, y], [to, 0]));
      const at = { x: x - 18 * to, y: y + 4, "text-anchor": to > 0 ? "end" : "start" };
      made.push(drawn("text", { ...at, class: "limit-name" }, text));
    }
    for (const { value, text } of this.y.limits) {
      const part = chart.y.part(value);
      const y = chart.up(value);
      if (part >= 0 && part <= 1)
        made.push(segment("limit", [CHART.left, y], [right, y]), words(text, right, y - 4));
      else {
        const [edge, to] = part > 1 ? [CHART.top, -1] : [foot, 1];
        made.push(arrow([right - 8, edge - 2 * to], [0, to]));
        made.push(words(text, right - 18, part > 1 ? edge + 11 : edge - 4));
      }
    }
    return made;
  }

  drawMarks() {
    const entries = Object.entries(TRIAL_MARKS)
      .filter(([kind]) => this.shown.some((each) => each.kind === kind))
      .map(([, [name, series, draw, text]]) => {
        const look = sample(20, path(name, draw(10, 8), this.colors[series]));
        return dom`<li>${look}${text || this.named()}</li>`;
      });
    const gap = colored(segment("gaps", [0, 8], [20, 8]), this.colors[1]);
    if (!this.record.bounds_only)
      entries.push(dom`<li>${sample(20, gap)}down to what any schedule on the machine takes</li>`);
    fill("marks", entries);
  }

  drawMissing(without, never) {
    const both = "lack one of the two figures (excluded by a proof or constraint on another)";
    const lines = [
      without && `${counted(without, "trial")} not drawn: ${both}.`,
      never && `${counted(never, "trial")} came to nothing: see the table.`,
    ];
    fill("missing", items(lines.filter(Boolean)));
  }

  /** Marks a trial. @param {number} number */
  choose(number) {
    this.chosen = number;
    this.chart.draw();
  }
}
