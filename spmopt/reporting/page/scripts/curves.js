// The page of a sweep: a line for each scheduler, and where the optimum lies.

const FEW_POINTS = 20;
const DASHES = [undefined, [7, 4], [2, 3], [9, 3, 2, 3]];

class Curves {
  /** @param {any} record of `curves_record` @param {string[]} colors */
  constructor(record, colors) {
    Object.assign(this, { record, colors, hidden: new Set() });
    this.view = record.views[record.opens];
  }

  /** Color, dash and mark of a scheduler; those beyond the last color have dashed lines. */
  look(rank) {
    const turn = Math.floor(rank / this.colors.length);
    const color = seriesColor(this.colors[rank % this.colors.length]);
    return { line: { stroke: color, dash: DASHES[turn % DASHES.length] }, mark: rank + turn, color };
  }

  xText(value) {
    const { categories, x } = this.view;
    return `${x.label} ${categories.length ? categories[value] : valueText(value, x.unit)}`;
  }

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
      ...(rows.note[row] ? [rows.note[row]] : []),
    ];
  }

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

  plot({ band, title, lines: every }) {
    const { view } = this;
    const lines = every.filter(({ label }) => !this.hidden.has(label));
    const all = band ? [...lines, { ...band, y: band.low, isBand: true }] : lines;
    const axis = (side, how) => {
      const quantity = { ...view[side], categories: side === "x" ? view.categories : [] };
      const values = all.flatMap((line) => line[side]);
      return new NumberAxis(quantity, values, { isLog: side === "x" ? view.is_log : view.is_high, ...how });
    };
    const isArea = band !== null && band.x.length > FEW_POINTS;
    const edge = (y, width) => ({ x: band.x, y, look: { stroke: theme.muted, width }, isHidden: !width });
    return new Plot({
      label: `${view.y.label} over ${view.x.label}${title && `: ${title}`}; the table of rows has the same figures`,
      height: 300,
      x: axis("x", { isNamed: true }),
      y: axis("y", { zero: true, cut: band !== null }),
      points: all.flatMap((line) =>
        line.x.map((x, place) => ({
          x,
          y: line.y[place],
          words: () => (line.isBand ? this.boundWords(band, place) : this.words(line, place)),
        })),
      ),
      lines: [
        ...(isArea ? [edge(band.high, 0), edge(band.low, 3)] : []),
        ...(view.categories.length ? [] : lines.map((line) => ({ ...line, look: this.look(line.rank).line }))),
      ],
      area: isArea ? [0, 1] : null,
      fill: `color-mix(in srgb, ${theme.muted} 28%, transparent)`,
      paint: (made) => {
        if (band && !isArea) paintBand(made, band);
        for (const line of lines) this.paintMarks(made, line);
      },
    });
  }

  /** Marks of a line: all of them, or every so many, each line's at points of its own. */
  paintMarks(plot, line) {
    const { mark, color } = this.look(line.rank);
    const every = Math.ceil(line.x.length / FEW_POINTS);
    line.x.forEach((x, at) => {
      if (at % every === line.rank % every)
        plot.path(markPath(mark, ...plot.place(x, line.y[at]), 4.5), { fill: color });
    });
  }

  draw() {
    const { panels } = this.view;
    const figures = panels.map((panel) => {
      const plot = this.plot(panel);
      const { isCut, isLog } = plot.y;
      const how = isCut ? "; the axis does not begin at 0" : isLog ? ", logarithmic" : "";
      return dom`<figure>
        <figcaption>
          ${panel.title && dom`<h3>${shortened(panel.title, 160)}</h3>`}
          <p class="key">${this.view.y.label}${how}</p>
        </figcaption>
        ${plot.root}
      </figure>`;
    });
    const name = panels.length === 1 ? "panels one" : "panels";
    fill("panels", dom`<div class=${name}>${figures}</div>`);
    for (const { plot } of document.querySelectorAll("#panels .plot")) plot.fit();
  }

  /** Schedulers to show or hide, and the sign of bounds. */
  drawLegend() {
    const { panels } = this.view;
    const lines = panels.flatMap((panel) => panel.lines.map(({ label, rank }) => [label, rank]));
    const entries = [...new Map(lines)].map(([label, rank]) => {
      const { line, mark, color } = this.look(rank);
      const look = sample(30, ["M0 7H30", line], [markPath(mark, 15, 7, 4.5), { fill: color }]);
      const entry = checkbox([look, shortened(label, 60)], !this.hidden.has(label), (checked) => {
        this.hidden[checked ? "delete" : "add"](label);
        this.draw();
      });
      return dom`<li>${entry}</li>`;
    });
    const bound = [["M8 0V12", bandLook()], [dotPath(8, 9), { stroke: theme.muted, width: 1.8 }]];
    const area = [["M16 0H30V11H16Z", { fill: theme.muted, opacity: 0.28 }], ["M16 11H30", { stroke: theme.muted, width: 3 }]];
    if (panels.some((panel) => panel.band))
      entries.push(dom`<li>${sample(30, ...bound, ...area)}certified bound, and up to the best schedule</li>`);
    fill("legend", dom`<ul class="entries">${entries}</ul>`);
  }

  /** Which quantity over which. */
  drawControls() {
    const names = (side) => [...new Set(this.record.views.map((view) => view[side].label))];
    const choose = (side) => (label) => {
      const other = side === "x" ? "y" : "x";
      const fits = this.record.views.filter((view) => view[side].label === label);
      this.view = fits.find((view) => view[other].label === this.view[other].label) || fits[0];
      this.drawAll();
      const name = side === "y" ? "Show" : "over";
      byId("controls").querySelector(`input[name="choice-${name}"]:checked`)?.focus();
    };
    fill(
      "controls",
      choiceOf("Show", names("y"), this.view.y.label, choose("y")),
      choiceOf("over", names("x"), this.view.x.label, choose("x")),
    );
  }

  drawAll() {
    this.drawControls();
    this.drawLegend();
    this.draw();
  }
}

function bandLook() {
  return { stroke: theme.muted, width: 7, opacity: 0.45 };
}

/** A ring at each bound, a bar up to the best schedule: between few points nothing is certified. */
function paintBand(plot, { x, low, high }) {
  x.forEach((at, place) => {
    const foot = plot.place(at, low[place]);
    if (high[place] !== null) plot.fused_group(foot, plot.place(at, high[place]), bandLook());
    plot.path(dotPath(...foot, 6), { stroke: theme.muted, width: 1.8 });
  });
}

async function curvesPage() {
  const [record, look] = await Promise.all(["curves", "look"].map(block));
  fill("remarks", items(record.remarks));
  const curves = new Curves(record, look.series);
  theme.changed = () => curves.drawAll();
  curves.drawAll();
  const { accounts, rows } = record.tables;
  fill("accounts", new DataTable(accounts).root);
  fill("rows", new DataTable(rows).root);
  document.documentElement.dataset.drawn = "all";
}

curvesPage().catch(showError);
