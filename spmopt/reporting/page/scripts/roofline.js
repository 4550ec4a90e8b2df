// Layers under the roof of the machine: FLOP/s attained over FLOP per byte of DRAM traffic.

const NAMED_POINTS = 5;
const MOVED_POINTS = 12;
const FARTHEST = 100; // times the ridge: what moves still less for its work stands there
const [LEAST_RADIUS, MOST_RADIUS] = [3, 13];
const BOUNDS = ["compute", "memory"];

/** Points of a record of `roofline_record`; those without DRAM traffic at the right edge. */
function roofPoints({ points, roof }) {
  const longest = Math.max(...points.time_s);
  return rowsOf(points).map((point) => ({
    ...point,
    x: Math.min(point.intensity ?? Infinity, FARTHEST * roof.ridge),
    radius: Math.max(LEAST_RADIUS, MOST_RADIUS * Math.sqrt(point.time_s / longest)),
  }));
}

/**
 * @param {any} record of `roofline_record` @param {any[]} all records of the page: they share axes
 * @param {string[]} colors of compute-bound and memory-bound layers
 * @param {any} [before] record whose points are where layers were at the start
 * @returns {any[]} the chart with its key
 */
function rooflineChart(record, all, colors, before = null) {
  const { roof } = record;
  const everyPoint = all.flatMap(roofPoints);
  const peak = Math.max(...roof.peaks.map(({ flop_per_s: each }) => each));
  const axis = (label, unit, values) => new NumberAxis({ label, unit }, values, { isLog: true });
  const points = roofPoints(record).sort((a, b) => b.time_s - a.time_s);
  const plot = new Plot({
    label: "Roofline: attained FLOP/s over operational intensity; the table of layers has the same figures",
    height: 372,
    x: axis("operational intensity: FLOP per byte of DRAM traffic", "", [...everyPoint.map(({ x }) => x), roof.ridge]),
    y: axis("attained", "FLOP/s", [...everyPoint.map(({ attained }) => attained), 2.2 * peak]),
    points: points.map((point) => ({ x: point.x, y: point.attained, words: () => roofWords(point) })),
    paint: (made) => {
      drawRoof(made, roof, peak);
      if (before) drawMoves(made, points.slice(0, MOVED_POINTS), roofPoints(before));
      for (const { x, attained, radius, bound } of points)
        made.path(dotPath(...made.place(x, attained), radius), { fill: colors[BOUNDS.indexOf(bound)], opacity: 0.6 });
      const names = points.map(({ name, x, attained, radius }) => [shortened(name, 22), made.place(x, attained), radius]);
      made.nameAll(names, NAMED_POINTS);
    },
  });
  const key = BOUNDS.map((bound, at) => dom`<li>${sample(14, [dotPath(7, 8, 5), { fill: colors[at], opacity: 0.6 }])}${`${bound}-bound`}</li>`);
  const moved = [dotPath(4, 8, 3), { stroke: theme.muted }];
  if (before)
    key.push(dom`<li>${sample(26, ["M4 8H24", { stroke: theme.muted }], moved)}with the first schedule</li>`);
  const left = record.without_flop;
  key.push(dom`<li>${`area: time; ridge at ${si(roof.ridge, "FLOP/B")}`}</li>`);
  if (left) key.push(dom`<li>${`${counted(left, "layer")} without arithmetic left out`}</li>`);
  return [dom`<p class="key">attained FLOP/s</p>`, plot.root, dom`<ul class="entries">${key}</ul>`];
}

/** The peaks as level lines, the DRAM as a slope, and the edge where there is no DRAM traffic. */
function drawRoof(plot, { peaks, dram, bytes_per_s: rate, ridge }, peak) {
  const { x, y } = plot;
  const look = { stroke: theme.ink, width: 2 };
  const { right } = plot.box;
  for (const { label, flop_per_s: level } of peaks) {
    const [from, to] = [plot.place(Math.max(x.low, level / rate), level), plot.place(x.high, level)];
    plot.fused_group(from, to, look);
    plot.write(label, right - 4, to[1] - 22, { align: "right" });
  }
  const low = Math.max(x.low, y.low / rate);
  const [from, to] = [plot.place(low, low * rate), plot.place(peak / rate, peak)];
  plot.fused_group(from, to, look);
  const turn = (Math.atan2(to[1] - from[1], to[0] - from[0]) * 180) / Math.PI;
  plot.write(dram, (from[0] + to[0]) / 2 - 8, (from[1] + to[1]) / 2 - 10, { align: "center", turn });
  const beyond = FARTHEST * ridge;
  if (x.values.at(-1) < beyond) return;
  const [edge, foot] = plot.place(beyond, y.low);
  plot.fused_group([edge, foot], plot.place(beyond, y.high), { stroke: theme.ink, dash: [6, 4], width: 1.2 });
  plot.write("hardly any DRAM traffic ▸", edge - 6, foot - 12, { align: "right" });
}

/** Lines from where layers were to where they are. */
function drawMoves(plot, points, before) {
  const starts = new Map(before.map((point) => [`${point.name}/${point.pass}`, point]));
  for (const point of points) {
    const from = starts.get(`${point.name}/${point.pass}`);
    if (!from) continue;
    const [start, end] = [plot.place(from.x, from.attained), plot.place(point.x, point.attained)];
    if (Math.hypot(end[0] - start[0], end[1] - start[1]) < 6) continue;
    plot.fused_group(start, end, { stroke: theme.muted, width: 1.2 });
    plot.path(dotPath(...start, 3), { stroke: theme.muted });
  }
}

function roofWords({ name, pass, intensity, attained, bound, time_s: time, stall_s: stall, traffic_bytes: bytes }) {
  const traffic = `${si(bytes, "B")} cross the DRAM boundary meanwhile, ${si(intensity, "FLOP/B")}`;
  return [
    `${shortened(name)}, ${pass}`,
    `${bound}-bound; attains ${si(attained, "FLOP/s")}`,
    intensity === null ? "no DRAM traffic meanwhile" : traffic,
    `takes ${si(time, "s")}, stalls for ${si(stall, "s")} of it`,
  ];
}
