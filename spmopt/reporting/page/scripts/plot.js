// Charts: axes, lines and areas by uPlot; marks, names and points to find by pointer or keys.

const NEAR = 28; // pixels within which the pointer finds a point
const TEXT_FONT = "12px system-ui, sans-serif";

/** Corners of marks, that tell series apart where colors do not: x and y in turn. */
const MARKS = [
  "-1 0 0 -1 1 0 0 1",
  "-.85 -.85 .85 -.85 .85 .85 -.85 .85",
  "-1 .8 0 -1 1 .8",
  "-1 -.8 0 1 1 -.8",
  "-1 -.35 -.35 -.35 -.35 -1 .35 -1 .35 -.35 1 -.35 1 .35 .35 .35 .35 1 -.35 1 -.35 .35 -1 .35",
].map((corners) => corners.split(" ").map(Number));

/** SVG path of a mark, of a dot, of a cross. */
function markPath(rank, x, y, size) {
  const corners = MARKS[rank % MARKS.length];
  const pairs = corners.flatMap((dx, at) => (at % 2 ? [] : [`${x + dx * size} ${y + corners[at + 1] * size}`]));
  return `M${pairs.join("L")}Z`;
}

function dotPath(x, y, radius = 4) {
  return `M${x - radius} ${y}a${radius} ${radius} 0 1 0 ${2 * radius} 0a${radius} ${radius} 0 1 0 ${-2 * radius} 0`;
}

function crossPath(x, y) {
  return `M${x - 4} ${y - 4}l8 8m0 -8l-8 8`;
}

/** A path for a legend. @param {Look} look */
function sample(width, ...shapes) {
  const paths = shapes.map(([d, { fill = "none", stroke = "none", width: wide = 1.5, dash, opacity = 1 }]) =>
    drawn("path", { d, fill, stroke, "stroke-width": wide, "stroke-dasharray": dash?.join(" ") ?? null, opacity }),
  );
  return drawn("svg", { width, height: 16, "aria-hidden": "true" }, paths);
}

/** Black is the color of text, which is legible on any ground. */
function seriesColor(color) {
  return color === "#000000" ? theme.ink : color;
}

/**
 * @typedef {{fill?: string, stroke?: string, width?: number, dash?: number[], opacity?: number}} Look
 * @typedef {{x: number[], y: number[], look: Look, isStepped?: boolean, isBar?: boolean, isHidden?: boolean}} Line
 * @typedef {{x: number, y: number, words: () => string[], lead?: number, act?: () => void}} Point
 */
class Plot {
  /**
   * @param {{label: string, height: number, x: NumberAxis, y: NumberAxis, points: Point[], lines?: Line[],
   *   area?: number[]|null, fill?: string, paint?: (plot: Plot) => void}} content `area`: numbers of two lines;
   *   a point has the words that it says, the pixels by which it is found before others, and what a click does
   */
  constructor(content) {
    Object.assign(this, { lines: [], area: null, paint: () => {}, width: 0, at: -1 }, content);
    this.points = [...content.points].sort((a, b) => a.x - b.x || a.y - b.y);
    const opens = this.points.some(({ act }) => act) ? ", Enter opens one" : "";
    this.ring = dom`<span class="ring" hidden />`;
    this.names = dom`<div class="plot-names" aria-hidden="true" />`;
    this.root = dom`<div class="plot" role="application" tabindex="0"
      aria-label=${`${this.label}. Arrow keys go from point to point${opens}.`}
      pointermove=${(event) => this.hover(event)} pointerleave=${() => this.show(-1)}
      blur=${() => this.show(-1)} keydown=${(event) => this.key(event)}
      click=${(event) => {
        this.hover(event);
        this.points[this.at]?.act?.();
      }} />`;
    this.root.plot = this; // for tests and the console
    new ResizeObserver(() => this.fit()).observe(this.root);
  }

  /** Draws as wide as the page allows. */
  fit() {
    const width = this.root.clientWidth;
    if (!width || width === this.width) return;
    this.width = width;
    if (this.chart) this.chart.setSize({ width, height: this.height });
    else {
      this.chart = new uPlot(this.options(), this.data(), this.root);
      this.root.append(this.names, this.ring);
    }
  }

  /** Columns over the x of all lines together. */
  data() {
    const x = [...new Set(this.lines.flatMap((line) => line.x))].sort((a, b) => a - b);
    const columns = this.lines.map((line) => {
      const known = new Map(line.x.map((value, place) => [value, line.y[place]]));
      return x.map((value) => known.get(value) ?? null);
    });
    return x.length ? [x, ...columns] : [[this.x.low, this.x.high]];
  }

  options() {
    const { x, y, area } = this;
    const scale = (axis) => ({
      time: false,
      distr: axis.isLog ? 3 : 1,
      range: () => [axis.low, axis.high],
    });
    return {
      width: this.width,
      height: this.height,
      padding: [10, 24, 0, 0],
      legend: { show: false },
      cursor: { show: false },
      scales: { x: scale(x), y: scale(y) },
      axes: [this.axis(x, { space: 84, size: 34, label: shortened(x.quantity.label, 60) }), this.axis(y, { space: 44, size: 80 })],
      series: [{}, ...this.lines.map((line) => this.series(line))],
      bands: area ? [{ series: area.map((place) => place + 1), fill: this.fill }] : [],
      hooks: { draw: [() => this.drawOver()] },
    };
  }

  axis(axis, { space, size, label = null }) {
    const most = (chart, side) => Math.max(2, (side ? chart.bbox.height : chart.bbox.width) / devicePixelRatio / space);
    const letters = (chart) => Math.floor(chart.bbox.width / devicePixelRatio / axis.categories.length / 7);
    const texts = (chart, ticks) =>
      ticks.map((tick) => (axis.categories.length ? wrapped(axis.text(tick), letters(chart)) : axis.text(tick)));
    return {
      space,
      size: axis.categories.length ? 2 * size : size,
      stroke: theme.muted,
      font: TEXT_FONT,
      labelFont: TEXT_FONT,
      grid: { stroke: theme.line, width: 1 },
      ticks: { show: false },
      values: texts,
      filter: (_, ticks) => ticks,
      ...(label ? { label, labelSize: 20 } : {}),
      ...(axis.isLog || axis.isNamed || axis.categories.length ? { splits: (chart, side) => axis.ticks(most(chart, side)) } : {}),
    };
  }

  series({ look, isStepped = false, isBar = false, isHidden = false }) {
    const paths = isStepped
      ? uPlot.paths.stepped({ align: 1 })
      : uPlot.paths.bars({ size: [0.6, 90] });
    return {
      stroke: look.stroke,
      fill: look.fill,
      width: isHidden ? 0 : (look.width ?? 1.8),
      dash: look.dash,
      spanGaps: true,
      points: { show: false },
      ...(isBar ? { fillTo: () => this.y.low } : {}),
      ...(isStepped || isBar ? { paths } : {}),
    };
  }

  /** Pixels of a point, from the corner of the plot. */
  place(x, y) {
    const { bbox } = this.chart;
    const [left, top] = [bbox.left / devicePixelRatio, bbox.top / devicePixelRatio];
    return [left + this.chart.valToPos(x, "x"), top + this.chart.valToPos(y, "y")];
  }

  /** The edges of the axes in pixels. */
  get box() {
    const { left, top, width, height } = this.chart.bbox;
    const [x, y, wide, high] = [left, top, width, height].map((each) => each / devicePixelRatio);
    return { left: x, top: y, right: x + wide, foot: y + high };
  }

  /** What uPlot has no series for. */
  drawOver() {
    this.names.replaceChildren();
    const { ctx } = this.chart;
    ctx.save();
    ctx.scale(devicePixelRatio, devicePixelRatio);
    this.paint(this);
    ctx.restore();
  }

  /** Draws an SVG path. @param {string} d @param {Look} look */
  path(d, { fill, stroke, width = 1.5, dash = [], opacity = 1 }) {
    const { ctx } = this.chart;
    const shape = new Path2D(d);
    Object.assign(ctx, { globalAlpha: opacity, lineWidth: width });
    ctx.setLineDash(dash);
    if (fill) {
      ctx.fillStyle = fill;
      ctx.fill(shape);
    }
    if (stroke) {
      ctx.strokeStyle = stroke;
      ctx.stroke(shape);
    }
    ctx.globalAlpha = 1;
  }

  fused_group([x1, y1], [x2, y2], look) {
    this.path(`M${x1} ${y1}L${x2} ${y2}`, look);
  }

  /** Writes text; `align`: what of it is at x: left, center, right. */
  write(text, x, y, { align = "left", name = "", turn = 0 } = {}) {
    const made = dom`<span class=${`plot-name ${name}`}>${text}</span>`;
    const shift = { left: "0", center: "-50%", right: "-100%" }[align];
    Object.assign(made.style, { left: `${x}px`, top: `${y}px`, transform: `translate(${shift}, -50%) rotate(${turn}deg)` });
    this.names.append(made);
  }

  /** Writes names beside points, the first ones first, where they meet no other name or mark. */
  nameAll(names, most = Infinity, name = "point-name") {
    const { left, right, top, foot } = this.box;
    const marks = names.map(([, [x, y]]) => [x - 5, y - 5, x + 5, y + 5]);
    const taken = [...marks];
    const meet = (a, b) => a[0] < b[2] && b[0] < a[2] && a[1] < b[3] && b[1] < a[3];
    for (const [text, [x, y], far = 4] of names) {
      if (taken.length - marks.length >= most) return;
      const wide = 7.2 * text.length;
      const sides = [x + far + 4, x - far - 4 - wide, x - wide / 2];
      const box = [-far - 7, far + 7, 0]
        .flatMap((dy) => sides.map((start) => [start, y + dy - 5, start + wide, y + dy + 5]))
        .find((one) => one[0] >= left && one[2] <= right && one[1] >= top && one[3] <= foot && !taken.some((other) => meet(one, other)));
      if (!box) continue;
      taken.push(box);
      this.write(text, box[0], (box[1] + box[3]) / 2, { name });
    }
  }

  hover(event) {
    const corner = this.root.getBoundingClientRect();
    let [nearest, least] = [-1, NEAR];
    this.points.forEach((point, place) => {
      const [x, y] = this.place(point.x, point.y);
      const far = Math.hypot(x + corner.left - event.clientX, y + corner.top - event.clientY) - (point.lead || 0);
      if (far < least) [nearest, least] = [place, far];
    });
    this.show(nearest, event.clientX, event.clientY);
  }

  /** Marks a point and shows its words; -1: none. */
  show(place, clientX, clientY) {
    this.at = place;
    const point = this.points[place];
    this.ring.hidden = !point;
    this.root.classList.toggle("over", Boolean(point?.act));
    if (!point) return hideTip();
    const [x, y] = this.place(point.x, point.y);
    Object.assign(this.ring.style, { left: `${x}px`, top: `${y}px` });
    return showTip(point.words(), clientX, clientY);
  }

  key(event) {
    const last = this.points.length - 1;
    const next = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1 }[event.key];
    const place = { Home: 0, End: last }[event.key] ?? this.at + next;
    if (event.key === "Escape") this.show(-1);
    else if (event.key === "Enter" || event.key === " ") this.points[this.at]?.act?.();
    else if (Number.isNaN(place) || last < 0) return;
    else {
      const at = Math.min(last, Math.max(0, place));
      const corner = this.root.getBoundingClientRect();
      const [x, y] = this.place(this.points[at].x, this.points[at].y);
      this.show(at, corner.left + x, corner.top + y);
      announce(this.points[at].words().join(", "));
    }
    event.preventDefault();
  }
}
