// Tables of schedules and of their differences; rooflines: what layers attain against what the
// machine allows.

const PER = ["layer", "tensor", "operation", "cause"];

/** What a click on a row does, in tables per layer, tensor and operation. */
function pickersOf(schedule, board) {
  const { steps, tensors } = schedule;
  return {
    layer: ([name, pass]) => board.showLayer(schedule, name, pass),
    tensor: ([name]) => board.follow(tensors.name.indexOf(name), true),
    operation: ([name]) => board.showStep(schedule, steps.name.indexOf(name)),
  };
}

/** What one schedule keeps that the other evicts, and where the time went. @param {Board} board */
function drawContrast([a], { gaps, tables }, board) {
  const { layer, tensor, operation } = pickersOf(a, board);
  const pickers = {
    "kept between uses": (_, at) => {
      board.follow(gaps.tensor[at]);
      const { edges } = board.shown(a);
      board.axis.focus(edges[gaps.from_step[at]], edges[gaps.to_step[at] + 1]);
      board.reveal();
    },
    layers: ([name]) => layer([name]),
    operations: operation,
    tensors: tensor,
  };
  const make = (name) => new DataTable({ ...tables[name], pick: pickers[name] });
  byId("contrast").append(...tablesOf([["Differences in", Object.keys(tables)]], make));
  byId("contrast").hidden = false;
}

/**
 * Tables and rooflines of one or two schedules.
 * @param {Schedule[]} schedules @param {any[]} parts of each @param {Board} board
 */
function drawDetails(schedules, parts, board, look) {
  const marks = schedules.map(({ mark }) => mark);
  const choices = [["Figures per", PER], ...(marks.length > 1 ? [["Schedule", marks]] : [])];
  const make = (per, mark = "") => {
    const place = Math.max(0, marks.indexOf(mark));
    const whose = mark && ` of ${mark}`;
    return new DataTable({
      caption: per === "cause" ? `Causes of stalls${whose}` : `Figures per ${per}${whose}`,
      file: `${per}${mark && `-${mark}`}.csv`,
      ...parts[place].tables[per],
      pick: pickersOf(schedules[place], board)[per],
    });
  };
  fill("tables", tablesOf(choices, make));
  const all = parts.flatMap((part) => part.roofline.points);
  parts.forEach((part, place) => {
    const heading = marks.length > 1 ? [dom`<h3>${schedules[place].heading}</h3>`] : [];
    byId("roofline").append(...heading, roofline(part.roofline, all, look.bounds));
  });
}

const ROOF_HEIGHT = 360;

/** Marks of compute-bound and memory-bound layers. */
const ROOF_MARKS = [dotPath, (x, y) => markPath(1, x, y, 3.6)];

/**
 * @param {any} record @param {any[]} beside points of all rooflines of the page: they share axes
 * @param {string[]} colors of compute-bound and memory-bound layers
 */
function roofline(record, beside, colors) {
  const { points: all, ridge, peak_ops_per_s: peak, bytes_per_s: rate } = record;
  const isDrawn = (point) => point.operational_intensity > 0 && point.attained > 0;
  const points = all.filter(isDrawn);
  const axis = (label, unit, name, own) => {
    const values = [...beside.filter(isDrawn).map((point) => point[name]), own];
    return new NumberAxis({ label, unit }, values, { isLog: true, isRound: true });
  };
  const chart = new Chart({
    label:
      "Roofline: attained operations per second over operational intensity; the table of layers has the same figures",
    height: ROOF_HEIGHT,
    x: axis("operational intensity, FLOP per byte of operands", "", "operational_intensity", ridge),
    y: axis("attained", "FLOP/s", "attained", peak),
    points: points.map((point) => ({
      x: point.operational_intensity,
      y: point.attained,
      words: () => roofWords(point),
    })),
    paint: (made) => [
      ...["compute", "memory"].map((bound, kind) => {
        const chosen = points.filter((point) => point.bound === bound);
        const mark = ROOF_MARKS[kind];
        const dots = chosen.map((p) => mark(...made.place(p.operational_intensity, p.attained)));
        return path(points.length > 2000 ? "marks faint" : "marks", dots.join(""), colors[kind]);
      }),
      roofPath(made, rate, ridge),
    ],
  });
  const left = all.length - points.length;
  const without = left ? `; ${counted(left, "layer")} without arithmetic or traffic left out` : "";
  const figures = `ridge at ${si(ridge, "FLOP/B")}, peak ${si(peak, "FLOP/s")}, DRAM ${si(rate, "B/s")}`;
  return dom`<div>
    <p class="key">attained FLOP/s</p>
    ${chart.root}
    <p class="key">
      ${sample(16, path("marks", dotPath(8, 10), colors[0]))}${"compute-bound "}
      ${sample(16, path("marks", ROOF_MARKS[1](8, 10), colors[1]))}${"memory-bound"}
      ${` · one point for each layer and pass${without}; above the roof are those that find operands on chip · ${figures}`}
    </p>
  </div>`;
}

/** The roof within the axes: the slope of the bandwidth, then the peak. @param {Chart} chart */
function roofPath(chart, rate, ridge) {
  const { x, y } = chart;
  const corners = [Math.max(x.low, y.low / rate), ridge, x.high];
  const roof = corners.map((at) => chart.place(at, Math.min(at, ridge) * rate));
  return path("roof", pathThrough(roof));
}

function roofWords({ name, pass, operational_intensity: frequency, attained, attainable, bound }) {
  return [
    `${shortened(name)}${pass ? `, ${pass}` : ""}`,
    `operational intensity ${si(frequency, "FLOP/B")}`,
    `attains ${si(attained, "FLOP/s")}; ${si(attainable, "FLOP/s")} attainable if every operand came from DRAM`,
    `${bound}-bound`,
  ];
}
