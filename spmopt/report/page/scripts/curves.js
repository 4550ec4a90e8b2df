// Curves of a sweep: a line for each scheduler, and a band that the optimum lies in.

const FEW_POINTS = 20,
  PANELS_AT_ONCE = 12;
const DASHES = ["", "7 4", "2 3", "9 3 2 3"];

/** Path through points; a new start after each gap. */
function pathThrough(points) {
  return points
    .map(([x, y], place) => `${place ? "L" : "M"}${x.toFixed(1)} ${y.toFixed(1)}`)
    .join("");
}

class Curves {
  /** @param {any} record of `spmopt.report.curves.curves_record` @param {string[]} colours */
  constructor(record, colours) {
    Object.assign(this, { record, colours, hidden: new Set(), isLog: {}, most: PANELS_AT_ONCE });
    this.view = record.views[0];
  }

  /** What a row says at a point. */
  words(line, place) {
    const { rows } = this.record,
      row = line.rows[place],
      { x, y } = this.view;
    const known = (name, unit) => (rows[name] ? valueText(rows[name][row], unit) : "–");
    return [
      line.label,
      `${x.label} ${this.xText(line.x[place])}`,
      `${y.label} ${valueText(line.y[place], y.unit)}`,
      ...(rows.bound[row] === null
        ? ["no bound"]
        : [`gap to bound ${known("gap", "part")}, of ${rows.objective[row]}`]),
      this.statusWords(row),
      ...(rows.note[row] ? [shortened(rows.note[row], 200)] : []),
    ];
  }

  /** The status of a row; one that has a bound and no schedule is a bound. */
  statusWords(row) {
    const { rows } = this.record;
    if (rows.verified[row] === null && rows.bound[row] !== null) return "bound";
    return `${rows.status[row]}${rows.verified[row] ? ", verified" : ""}`;
  }

  /** What a bound says at a point. */
  boundWords(band, place) {
    const { rows } = this.record,
      row = band.low_rows[place],
      { x, y } = this.view,
      high = band.high[place];
    return [
      `certified bound, ${band.order} order`,
      `${x.label} ${this.xText(band.x[place])}`,
      `no schedule is below ${valueText(band.low[place], y.unit)}`,
      high === null
        ? "no schedule here"
        : `best schedule ${valueText(high, y.unit)}, ${rows.scheduler[band.high_rows[place]]}, ${percent(high / band.low[place] - 1)} above`,
      `proved by ${rows.scheduler[row]}${rows.bound_from[row] ? `, ${rows.bound_from[row]}` : ""}`,
    ];
  }

  /** Whether an axis is: as chosen, else x where its values are far apart. */
  isLogarithmic(side) {
    const { x, y, is_log: isWide } = this.view;
    return this.isLog[{ x, y }[side].key] ?? (side === "x" && isWide);
  }

  /** A choice of the scale of an axis, unless it has names of places. */
  logChoice(side) {
    const { key, label } = this.view[side];
    if (side === "x" && this.view.categories.length) return [];
    const log = element("input", {
      type: "checkbox",
      checked: this.isLogarithmic(side),
      change: () => {
        this.isLog[key] = log.checked;
        this.draw();
      },
    });
    return [element("label", { class: "check" }, log, `${label} logarithmic`)];
  }

  xText(value) {
    const { categories, x } = this.view;
    return categories.length ? categories[value] : valueText(value, x.unit);
  }

  shownLines(panel) {
    return panel.lines.filter(({ label }) => !this.hidden.has(label));
  }

  chart(panel) {
    const { view } = this,
      lines = this.shownLines(panel),
      { band } = panel;
    const across = [...lines.flatMap((line) => line.x), ...(band ? band.x : [])];
    const up = [...lines.flatMap((line) => line.y), ...(band ? band.low : [])];
    const points = lines.flatMap((line) =>
      line.x.map((x, place) => ({ x, y: line.y[place], words: this.words(line, place) })),
    );
    if (band)
      points.push(
        ...band.x.map((x, place) => ({
          x,
          y: band.low[place],
          words: this.boundWords(band, place),
        })),
      );
    return new Chart({
      label: `${view.y.label} over ${view.x.label}${panel.title ? `: ${panel.title}` : ""}; the table of rows has the same figures`,
      height: 300,
      x: new NumberAxis({ ...view.x, categories: view.categories }, across, {
        isLog: this.isLogarithmic("x"),
      }),
      y: new NumberAxis(view.y, up, {
        zero: true,
        isLog: this.isLogarithmic("y"),
        cut: band !== null,
      }),
      points,
      paint: (chart) => [
        ...(band ? this.paintBand(chart, band) : []),
        ...lines.map((line) => this.paintLine(chart, line)),
      ],
    });
  }

  paintBand(chart, band) {
    const at = (place) => chart.across(band.x[place]),
      places = [...band.x.keys()];
    const both = places.filter((place) => band.high[place] !== null);
    const low = places.map((place) => [at(place), chart.up(band.low[place])]);
    if (places.length > FEW_POINTS) {
      const ends = [
        ...both.map((place) => low[place]),
        ...[...both].reverse().map((place) => [at(place), chart.up(band.high[place])]),
      ];
      return [
        drawn("path", { class: "band", d: `${pathThrough(ends)}Z` }),
        drawn("path", { class: "bound", d: pathThrough(low) }),
      ];
    }
    const bars = both.map((place) =>
      drawn("line", {
        class: "bars",
        x1: at(place),
        x2: at(place),
        y1: chart.up(band.high[place]),
        y2: low[place][1],
      }),
    );
    return [...bars, ...low.map(([cx, cy]) => drawn("circle", { class: "rings", r: 6, cx, cy }))];
  }

  paintLine(chart, line) {
    const points = line.x.map((x, place) => [chart.across(x), chart.up(line.y[place])]),
      { colours } = this;
    const joined = !this.view.categories.length,
      turn = Math.floor(line.rank / colours.length);
    const made = coloured(drawn("g"), colours[line.rank % colours.length]);
    if (joined)
      made.append(
        drawn("path", {
          class: "series",
          d: pathThrough(points),
          "stroke-dasharray": DASHES[turn % DASHES.length] || null,
        }),
      );
    const every = Math.ceil(points.length / FEW_POINTS);
    const marks = points.filter((_, place) => place % every === line.rank % every);
    made.append(
      drawn("path", {
        class: "marks",
        d: marks.map(([x, y]) => markPath(line.rank + turn, x, y, 4.5)).join(""),
      }),
    );
    return made;
  }

  /** One panel: its title, what is upwards, and the chart. */
  figure(panel, chart) {
    const title = panel.title ? [element("h3", {}, shortened(panel.title, 160))] : [],
      upwards = chart.y.isCut
        ? `${this.view.y.label}; the axis does not begin at 0`
        : this.view.y.label;
    return element(
      "figure",
      {},
      element("figcaption", {}, ...title, element("p", { class: "key" }, upwards)),
      chart.root,
    );
  }

  draw() {
    const { view, most } = this,
      panels = view.panels.slice(0, most),
      charts = panels.map((panel) => this.chart(panel)),
      left = view.panels.length - panels.length;
    const showAll = () => {
      this.most = Infinity;
      this.draw();
    };
    const more = element(
      "button",
      { type: "button", click: showAll },
      `Show ${counted(left, "more panel")}`,
    );
    const grid = element(
      "div",
      { class: panels.length === 1 ? "panels one" : "panels" },
      ...panels.map((panel, place) => this.figure(panel, charts[place])),
    );
    byId("panels").replaceChildren(grid, ...(left ? [more] : []));
    for (const chart of charts) chart.fit();
  }

  /** Schedulers to show or hide, and what the band is. */
  drawLegend() {
    const labels = new Map(
      this.view.panels.flatMap((panel) => panel.lines.map((line) => [line.label, line.rank])),
    );
    const entries = [...labels].map(([label, rank]) => {
      const box = element("input", {
        type: "checkbox",
        checked: !this.hidden.has(label),
        change: () => {
          this.hidden[box.checked ? "delete" : "add"](label);
          this.draw();
        },
      });
      return element("li", {}, element("label", {}, box, this.sample(rank), shortened(label, 60)));
    });
    const isBand = this.view.panels.some(({ band }) => band);
    const band = drawn(
      "svg",
      { width: 30, height: 14, "aria-hidden": "true" },
      drawn("line", { class: "bars", x1: 8, x2: 8, y1: 0, y2: 12 }),
      drawn("circle", { class: "rings", cx: 8, cy: 9, r: 4 }),
      drawn("rect", { class: "band", x: 16, y: 0, width: 14, height: 11 }),
      drawn("path", { class: "bound", d: "M16 11H30" }),
    );
    if (isBand)
      entries.push(element("li", {}, band, "certified bound, and up to the best schedule"));
    byId("legend").replaceChildren(element("ul", { class: "entries" }, ...entries));
  }

  sample(rank) {
    const { colours } = this,
      turn = Math.floor(rank / colours.length);
    return coloured(
      drawn(
        "svg",
        { width: 30, height: 14, "aria-hidden": "true" },
        drawn("path", {
          class: "series",
          d: "M0 7H30",
          "stroke-dasharray": DASHES[turn % DASHES.length] || null,
        }),
        drawn("path", { class: "marks", d: markPath(rank + turn, 15, 7, 5) }),
      ),
      colours[rank % colours.length],
    );
  }

  /** Which quantity over which. */
  drawControls() {
    const names = (side) => [...new Set(this.record.views.map((view) => view[side].label))];
    const choose = (side, label) => {
      const wanted = { x: this.view.x.label, y: this.view.y.label, [side]: label };
      const fits = (view) => view.x.label === wanted.x && view.y.label === wanted.y;
      this.view =
        this.record.views.find(fits) ||
        this.record.views.find((view) => view[side].label === label);
      this.most = PANELS_AT_ONCE;
      this.drawControls();
      this.drawLegend();
      this.draw();
      byId("controls")
        .querySelector(`input[name="choice-${side === "y" ? "Show" : "over"}"]:checked`)
        ?.focus();
    };
    byId("controls").replaceChildren(
      choiceOf("Show", names("y"), this.view.y.label, (label) => choose("y", label)),
      choiceOf("over", names("x"), this.view.x.label, (label) => choose("x", label)),
      ...this.logChoice("y"),
      ...this.logChoice("x"),
    );
  }
}
