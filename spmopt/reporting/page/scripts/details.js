// Tables of schedules, and rooflines: what layers attain against what the machine allows.

const PER = ["layer", "tensor", "operation", "cause"];

/**
 * Tables and rooflines of one or two schedules.
 * @param {Schedule[]} schedules @param {any[]} parts of each @param {Board} board
 */
function drawDetails(schedules, parts, board, look) {
  const marks = schedules.map(({ mark }) => mark);
  const choices = [["Figures per", PER], ...(marks.length > 1 ? [["Schedule", marks]] : [])];
  const make = (per, mark = "") => {
    const place = Math.max(0, marks.indexOf(mark));
    const schedule = schedules[place];
    const whose = mark && ` of ${mark}`;
    const pickers = {
      tensor: ([name]) => board.follow(schedule.tensorPlace.get(name), true),
      operation: ([name]) => board.showStep(schedule, schedule.stepPlace.get(name)),
      layer: ([name, pass]) => board.showLayer(schedule, name, pass),
    };
    return new DataTable({
      caption: per === "cause" ? `Causes of stalls${whose}` : `Figures per ${per}${whose}`,
      file: `${per}${mark && `-${mark}`}.csv`,
      ...parts[place].tables[per],
      pick: pickers[per],
    });
  };
  fill("tables", tablesOf(choices, make));
  parts.forEach((part, place) => {
    const heading = marks.length > 1 ? [dom`<h3>${schedules[place].heading}</h3>`] : [];
    byId("roofline").append(...heading, roofline(part.roofline, look.bounds));
  });
}

const ROOF_HEIGHT = 360;

/** @param {any} record @param {string[]} colors of compute-bound and memory-bound layers */
function roofline(record, colors) {
  const { points: all, ridge, peak_ops_per_s: peak, bytes_per_s: rate } = record;
  const points = all.filter((point) => point.reuse_frequency > 0 && point.attained > 0);
  const across = points.map((point) => point.reuse_frequency);
  const up = points.map((point) => point.attained);
  const axis = (label, unit, values) =>
    new NumberAxis({ label, unit }, values, { isLog: true, isRound: true });
  const chart = new Chart({
    label:
      "Roofline: attained operations per second over reuse frequency; the table of layers has the same figures",
    height: ROOF_HEIGHT,
    x: axis("reuse frequency, FLOP per byte of operands", "", [...across, ridge]),
    y: axis("attained", "FLOP/s", [...up, peak]),
    points: points.map((point, at) => ({
      x: across[at],
      y: up[at],
      words: () => roofWords(point),
    })),
    paint: (made) => [
      ...["compute", "memory"].map((bound, kind) => {
        const chosen = points.filter((point) => point.bound === bound);
        const dots = chosen.map((p) => dotPath(...made.place(p.reuse_frequency, p.attained)));
        return path(points.length > 2000 ? "marks faint" : "marks", dots.join(""), colors[kind]);
      }),
      roofPath(made, rate, peak),
    ],
  });
  const left = all.length - points.length;
  const without = left ? `; ${counted(left, "layer")} without arithmetic or traffic left out` : "";
  const figures = `ridge at ${si(ridge, "FLOP/B")}, peak ${si(peak, "FLOP/s")}, DRAM ${si(rate, "B/s")}`;
  return dom`<div>
    <p class="key">attained FLOP/s</p>
    ${chart.root}
    <p class="key">
      ${swatch(colors[0])}${"compute-bound "}${swatch(colors[1])}${"memory-bound"}
      ${` · one point for each layer and pass${without}; above the roof are those that find operands on chip · ${figures}`}
    </p>
  </div>`;
}

/** The roof within the axes: the slope of the bandwidth, then the peak. @param {Chart} chart */
function roofPath(chart, rate, peak) {
  const { x, y } = chart;
  const start = Math.max(x.low, y.low / rate);
  const corners = [
    [start, Math.min(peak, start * rate)],
    [Math.max(start, Math.min(x.high, peak / rate)), Math.min(peak, x.high * rate)],
    [x.high, Math.min(peak, x.high * rate)],
  ];
  return path("roof", pathThrough(corners.map((corner) => chart.place(...corner))));
}

function roofWords({ name, pass, reuse_frequency: frequency, attained, attainable, bound }) {
  return [
    `${shortened(name)}${pass ? `, ${pass}` : ""}`,
    `reuse frequency ${si(frequency, "FLOP/B")}`,
    `attains ${si(attained, "FLOP/s")}; ${si(attainable, "FLOP/s")} attainable if every operand came from DRAM`,
    `${bound}-bound`,
  ];
}
