// Curves of a sweep: a line for each scheduler, and a band that the optimum lies in.

const FEW_POINTS = 20;
const PANELS_AT_ONCE = 12;
const DASHES = ["", "7 4", "2 3", "9 3 2 3"];

class Curves {
  /** @param {any} record of `curves_record` @param {string[]} colors */
  constructor(record, colors) {
    Object.assign(this, { record, colors, hidden: new Set(), isLog: {}, most: PANELS_AT_ONCE });
    this.view = record.views[record.opens];
  }

  xText(value) {
    const { categories, x } = this.view;
    return `${x.label} ${categories.length ? categories[value] : valueText(value, x.unit)}`;
  }

  /** What a row says at a point. */
  words(line, place) {
    const { rows } = this.record;
    const row = line.rows[place];
    const { y } = this.view;
    const isBound = rows.verified[row] === null && rows.bound[row] !== null;
    return [
      line.label,
      this.xText(line.x[place]),
      `${y.label} ${valueText(line.y[place], y.unit)}`,
      rows.bound[row] === null
        ? "no bound"
        : `gap to bound ${valueText(rows.gap?.[row], "part")}, of ${rows.objective[row]}`,
      isBound ? "bound" : `${rows.status[row]}${rows.verified[row] ? ", verified" : ""}`,
      ...(rows.note[row] ? [shortened(rows.note[row], 200)] : []),
    ];
  }

  /** What a bound says at a point. */
  boundWords(band, place) {
    const { scheduler, bound_from: from } = this.record.rows;
    const row = band.low_rows[place];
    const [low, high] = [band.low[place], band.high[place]];
    const { unit } = this.view.y;
    return [
      `certified bound, ${band.order} order`,
      this.xText(band.x[place]),
      `no schedule is below ${valueText(low, unit)}`,
      high === null
        ? "no schedule here"
        : `best schedule ${valueText(high, unit)}, ${scheduler[band.high_rows[place]]}, ${percent(high / low - 1)} above`,
      `proved by ${scheduler[row]}${from[row] ? `, ${from[row]}` : ""}`,
    ];
  }

  /** Whether an axis is: as chosen, else x where its values are far apart. */
  isLogarithmic(side) {
    const { is_log: isWide, is_high: isHigh } = this.view;
    return this.isLog[this.view[side].key] ?? (side === "x" ? isWide : isHigh);
  }

  /** A choice of the scale of an axis, unless it has names of places. */
  logChoice(side) {
    const { key, label } = this.view[side];
    if (side === "x" && this.view.categories.length) return [];
    return checkbox(`${label} logarithmic`, this.isLogarithmic(side), (checked) => {
      this.isLog[key] = checked;
      this.draw();
    });
  }

  chart(panel) {
    const { view } = this;
    const { band } = panel;
    const lines = panel.lines.filter(({ label }) => !this.hidden.has(label));
    const all = band ? [...lines, { ...band, y: band.low, isBand: true }] : lines;
    const axis = (side, how) =>
      new NumberAxis(
        { ...view[side], categories: side === "x" ? view.categories : [] },
        all.flatMap((line) => line[side]),
        { isLog: this.isLogarithmic(side), ...how },
      );
    const title = panel.title && `: ${panel.title}`;
    return new Chart({
      label: `${view.y.label} over ${view.x.label}${title}; the table of rows has the same figures`,
      height: 300,
      x: axis("x", {}),
      y: axis("y", { zero: true, cut: band !== null }),
      points: all.flatMap((line) =>
        line.x.map((x, place) => ({
          x,
          y: line.y[place],
          words: () => (line.isBand ? this.boundWords(band, place) : this.words(line, place)),
        })),
      ),
      paint: (chart) => [
        ...(band ? this.paintBand(chart, band) : []),
        ...lines.map((line) => this.paintLine(chart, line)),
      ],
    });
  }

  /** Circles where bounds are few, as nothing is certified between two of them; else an area. */
  paintBand(chart, band) {
    const low = band.x.map((x, place) => chart.place(x, band.low[place]));
    const both = [...band.x.keys()].filter((place) => band.high[place] !== null);
    const high = both.map((place) => chart.place(band.x[place], band.high[place]));
    const foot = both.map((place) => low[place]);
    if (low.length > FEW_POINTS)
      return [
        path("band", `${pathThrough([...foot, ...high.reverse()])}Z`),
        path("bound", pathThrough(low)),
      ];
    const rings = low.map(([cx, cy]) => drawn("circle", { class: "rings", r: 6, cx, cy }));
    return [...foot.map((point, place) => segment("bars", high[place], point)), ...rings];
  }

  paintLine(chart, line) {
    const points = line.x.map((x, place) => chart.place(x, line.y[place]));
    const every = Math.ceil(points.length / FEW_POINTS);
    const marks = points.filter((_, place) => place % every === line.rank % every);
    return this.series(line.rank, this.view.categories.length ? "" : pathThrough(points), marks);
  }

  /** A line, if it has a path, with marks; schedulers beyond the last color have it dashed. */
  series(rank, d, marks) {
    const turn = Math.floor(rank / this.colors.length);
    const dashes = DASHES[turn % DASHES.length] || null;
    const line = d && drawn("path", { class: "series", d, "stroke-dasharray": dashes });
    const shapes = marks.map(([x, y]) => markPath(rank + turn, x, y, 4.5)).join("");
    const color = this.colors[rank % this.colors.length];
    return colored(drawn("g", {}, line || null, path("marks", shapes)), color);
  }

  draw() {
    const { label } = this.view.y;
    const panels = this.view.panels.slice(0, this.most);
    const left = this.view.panels.length - panels.length;
    const more = button(`Show ${counted(left, "more panel")}`, () => {
      this.most = Infinity;
      this.draw();
    });
    const charts = panels.map((panel) => this.chart(panel));
    const figures = charts.map(
      ({ y, root }, place) => dom`<figure>
        <figcaption>
          ${panels[place].title && dom`<h3>${shortened(panels[place].title, 160)}</h3>`}
          <p class="key">${label}${y.isCut ? "; the axis does not begin at 0" : y.isLog ? ", logarithmic" : ""}</p>
        </figcaption>
        ${root}
      </figure>`,
    );
    const name = panels.length === 1 ? "panels one" : "panels";
    fill("panels", dom`<div class=${name}>${figures}</div>`, left ? more : []);
    for (const chart of charts) chart.fit();
  }

  /** Schedulers to show or hide, and what the band is. */
  drawLegend() {
    const { panels } = this.view;
    const lines = panels.flatMap((panel) => panel.lines.map(({ label, rank }) => [label, rank]));
    const entries = [...new Map(lines)].map(([label, rank]) => {
      const look = sample(30, this.series(rank, "M0 7H30", [[15, 7]]));
      const entry = checkbox([look, shortened(label, 60)], !this.hidden.has(label), (checked) => {
        this.hidden[checked ? "delete" : "add"](label);
        this.draw();
      });
      return dom`<li>${entry}</li>`;
    });
    const band = sample(
      30,
      segment("bars", [8, 0], [8, 12]),
      drawn("circle", { class: "rings", cx: 8, cy: 9, r: 4 }),
      drawn("rect", { class: "band", x: 16, y: 0, width: 14, height: 11 }),
      path("bound", "M16 11H30"),
    );
    if (panels.some((panel) => panel.band))
      entries.push(dom`<li>${band}certified bound, and up to the best schedule</li>`);
    fill("legend", dom`<ul class="entries">${entries}</ul>`);
  }

  /** Which quantity over which. */
  drawControls() {
    const names = (side) => [...new Set(this.record.views.map((view) => view[side].label))];
    const choose = (side) => (label) => {
      const other = side === "x" ? "y" : "x";
      const fits = this.record.views.filter((view) => view[side].label === label);
      this.view = fits.find((view) => view[other].label === this.view[other].label) || fits[0];
      this.most = PANELS_AT_ONCE;
      this.drawAll();
      const name = side === "y" ? "Show" : "over";
      byId("controls").querySelector(`input[name="choice-${name}"]:checked`)?.focus();
    };
    fill(
      "controls",
      choiceOf("Show", names("y"), this.view.y.label, choose("y")),
      choiceOf("over", names("x"), this.view.x.label, choose("x")),
      this.logChoice("y"),
      this.logChoice("x"),
    );
  }

  drawAll() {
    this.drawControls();
    this.drawLegend();
    this.draw();
  }
}

async function curvesPage() {
  const [record, look] = await Promise.all(["curves", "look"].map(block));
  new Theme();
  fill("remarks", items(record.remarks));
  new Curves(record, look.series).drawAll();
  const { accounts, rows } = record.tables;
  fill("accounts", new DataTable(accounts).root);
  fill("rows", new DataTable(rows).root);
  document.documentElement.dataset.drawn = "all";
}

curvesPage().catch(showError);
