// The page of a network's story: sentences, waterfall, rooflines, figures.

const ROOFS_HEIGHT = 372;
const NAMED_POINTS = 5;
const MOVED = 12;
/** Of the ridge: what moves still less for its work stands there. */
const FARTHEST = 100;
const [LEAST_RADIUS, MOST_RADIUS] = [3, 15];

/** Operations of one schedule under the ceilings, and where they were at the start. */
class Roofs {
  /** @param {any} record of `page_record` @param {string[]} colors */
  constructor(record, colors) {
    Object.assign(this, { ceilings: record.ceilings, colors: [colors[0], colors[1]] });
    this.schedules = record.rooflines.map(({ name, points }) => ({ name, points: rowsOfPoints(points), left: points.left_out }));
    const all = this.schedules.flatMap(({ points }) => points);
    const [rate] = this.ceilings.rates, [slope] = this.ceilings.slopes;
    const ridge = rate.ops_per_s / slope.bytes_per_s;
    const beyond = FARTHEST * ridge;
    for (const point of all) point.x = Math.min(point.intensity ?? beyond, beyond);
    const most = Math.max(...this.ceilings.rates.map(({ ops_per_s: each }) => each));
    this.axes = [
      ["operations per byte of DRAM traffic meanwhile", "FLOP/B", [...all.map(({ x }) => x), ridge]],
      ["attained", "FLOP/s", [...all.map(({ attained }) => attained), most * 2.2]],
    ].map(([label, unit, values]) => new NumberAxis({ label, unit }, values, { isLog: true, isRound: true }));
    this.beyond = all.some(({ x }) => x === beyond) ? beyond : null;
    this.shown = this.schedules.length - 1;
  }

  color(point) {
    return this.colors[Number(point.waits_s > 0.01 * point.time_s)];
  }

  draw() {
    const { points, left } = this.schedules[this.shown];
    const names = this.schedules.map(({ name }) => name);
    const longest = Math.max(...points.map(({ time_s: time }) => time));
    for (const point of points)
      point.radius = Math.max(LEAST_RADIUS, MOST_RADIUS * Math.sqrt(point.time_s / longest));
    const chart = new Chart({
      label: `Roofline of ${names[this.shown]}: operations per second over operations per byte of DRAM traffic`,
      height: ROOFS_HEIGHT,
      x: this.axes[0],
      y: this.axes[1],
      points: points.map((point) => ({ x: point.x, y: point.attained, words: () => pointWords(point) })),
      paint: (made) => this.paint(made, points),
    });
    const choice = choiceOf("Schedule", names, names[this.shown], (name) => {
      this.shown = names.indexOf(name);
      this.draw();
      byId("schedules").querySelector("input:checked")?.focus();
    });
    fill("schedules", choice);
    fill("roofs", dom`<p class="key">attained FLOP/s</p>`, chart.root);
    chart.fit();
    this.drawMarks(left);
  }

  paint(chart, points) {
    const order = [...points].sort((a, b) => b.time_s - a.time_s);
    const dots = order.map((point) => {
      const [cx, cy] = chart.place(point.x, point.attained);
      return colored(drawn("circle", { class: "marks faint", cx, cy, r: point.radius }), this.color(point));
    });
    return [...this.roofs(chart), ...this.moved(chart, order), ...dots, ...this.named(chart, order)];
  }

  /** What was moved most, from where it was at the start. */
  moved(chart, order) {
    if (this.shown === 0) return [];
    const before = new Map(this.schedules[0].points.map((point) => [point.name, point]));
    return order.slice(0, MOVED).flatMap((point) => {
      const from = before.get(point.name);
      if (!from) return [];
      const [start, end] = [chart.place(from.x, from.attained), chart.place(point.x, point.attained)];
      if (Math.hypot(end[0] - start[0], end[1] - start[1]) < 6) return [];
      const ring = drawn("circle", { class: "rings was", cx: start[0], cy: start[1], r: 3 });
      return [segment("was", start, end), ring];
    });
  }

  /** Ceilings with their names: of computing as level lines, of DRAM as slopes. */
  roofs(chart) {
    const { x, y } = chart;
    const { rates, slopes } = this.ceilings;
    const peak = Math.max(...rates.map(({ ops_per_s: rate }) => rate));
    const widest = Math.max(...slopes.map(({ bytes_per_s: rate }) => rate));
    const level = rates.flatMap(({ label, ops_per_s: rate }) => {
      const from = chart.place(Math.max(x.low, rate / widest), rate);
      const to = chart.place(x.high, rate);
      const end = this.beyond === null ? to[0] : chart.across(this.beyond) - 5;
      return [
        segment("roof", from, to),
        drawn("text", { class: "name", x: end, y: to[1] - MOST_RADIUS - 4, "text-anchor": "end" }, label),
      ];
    });
    const steep = slopes.flatMap(({ label, bytes_per_s: rate }, place) => {
      const low = Math.max(x.low, y.low / rate);
      const [from, to] = [chart.place(low, low * rate), chart.place(peak / rate, peak)];
      const turn = (Math.atan2(to[1] - from[1], to[0] - from[0]) * 180) / Math.PI;
      const [tx, ty] = [0.55 * from[0] + 0.45 * to[0], 0.55 * from[1] + 0.45 * to[1]];
      const at = `translate(${tx.toFixed(1)} ${(ty - 6 - 12 * place).toFixed(1)}) rotate(${turn.toFixed(1)})`;
      return [
        segment("roof", from, to),
        drawn("text", { class: "name", transform: at, "text-anchor": "middle" }, label),
      ];
    });
    const { beyond } = this;
    const edge = beyond === null ? [] : [
      segment("limit", chart.place(beyond, y.low), chart.place(beyond, y.high)),
      drawn("text", { x: chart.across(beyond) - 5, y: chart.height - CHART.foot - 6, "text-anchor": "end" }, "hardly any DRAM traffic ▸"),
    ];
    return [...level, ...steep, ...edge];
  }

  /** Names of what takes longest, where they do not meet. */
  named(chart, order) {
    const boxes = [];
    for (const point of order) {
      if (boxes.length === NAMED_POINTS) break;
      const [cx, cy] = chart.place(point.x, point.attained);
      const text = shortened(point.name, 22);
      const width = 6.6 * text.length;
      const x = Math.min(Math.max(cx, CHART.left + width / 2), chart.width - CHART.right - width / 2);
      const box = { text, x, y: cy + point.radius + 12, width };
      if (box.y > chart.height - CHART.foot - 2) continue;
      if (boxes.every((other) => Math.abs(other.x - x) > (other.width + width) / 2 + 4 || Math.abs(other.y - box.y) > 14))
        boxes.push(box);
    }
    return boxes.map(({ text, x, y }) => drawn("text", { class: "name haloed", x, y, "text-anchor": "middle" }, text));
  }

  drawMarks(left) {
    const dot = (color) => sample(14, colored(drawn("circle", { class: "marks faint", cx: 7, cy: 8, r: 5 }), color));
    const ring = sample(26, segment("was", [4, 8], [24, 8]), drawn("circle", { class: "rings was", cx: 4, cy: 8, r: 3 }));
    const shown = [
      [dot(this.colors[0]), "computes all of its time"],
      [dot(this.colors[1]), "waits for DRAM"],
    ];
    if (this.shown > 0) shown.push([ring, `where it was with ${this.schedules[0].name}`]);
    const entries = shown.map(([look, text]) => dom`<li>${look}${text}</li>`);
    entries.push(dom`<li>area: time</li>`);
    if (left) entries.push(dom`<li>${`${counted(left, "operation")} without arithmetic left out`}</li>`);
    fill("marks", entries);
  }
}

/** Rows of columns. */
function rowsOfPoints(columns) {
  const names = Object.keys(columns).filter((name) => Array.isArray(columns[name]));
  return columns.name.map((_, place) => Object.fromEntries(names.map((name) => [name, columns[name][place]])));
}

function pointWords(point) {
  const { name, pass, kind, intensity, attained, time_s: time, waits_s: waits, bytes } = point;
  return [
    `${shortened(name)}, ${pass}`,
    `${kind}; attains ${si(attained, "FLOP/s")}`,
    intensity === null ? "nothing crosses the DRAM boundary meanwhile" : `${si(bytes, "B")} cross the DRAM boundary meanwhile, ${si(intensity, "FLOP/B")}`,
    `takes ${si(time, "s")}, waits for ${si(waits, "s")} of it`,
  ];
}

async function storyPage() {
  const [record, look] = await Promise.all(["story", "look"].map(block));
  new Theme();
  fill("said", items(record.sentences));
  new Waterfall(record, look.series).draw();
  new Roofs(record, look.series).draw();
  fill("decisions", new DataTable(record.table).root);
  fill("remarks", items(record.remarks));
  document.documentElement.dataset.drawn = "all";
}

storyPage().catch(showError);
