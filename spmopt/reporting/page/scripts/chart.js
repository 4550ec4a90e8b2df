// Points and lines over two axes of numbers, as SVG: sharp, colored by the style sheet.

const CHART = { left: 84, right: 14, top: 10, foot: 44 };
const NEAR = 28;

/** Corners of marks, that tell series apart where colors do not: x and y in turn. */
const MARKS = [
  "-1 0 0 -1 1 0 0 1",
  "-.85 -.85 .85 -.85 .85 .85 -.85 .85",
  "-1 .8 0 -1 1 .8",
  "-1 -.8 0 1 1 -.8",
  "-1 -.35 -.35 -.35 -.35 -1 .35 -1 .35 -.35 1 -.35 1 .35 .35 .35 .35 1 -.35 1 -.35 .35 -1 .35",
].map((corners) => corners.split(" ").map(Number));

/** The path of a mark. @param {number} rank */
function markPath(rank, x, y, size) {
  const corners = MARKS[rank % MARKS.length];
  return `${pathThrough(corners.flatMap((dx, at) => (at % 2 ? [] : [[x + dx * size, y + corners[at + 1] * size]])))}Z`;
}

function crossPath(x, y) {
  return `M${(x - 4).toFixed(1)} ${(y - 4).toFixed(1)}l8 8m0 -8l-8 8`;
}

function dotPath(x, y) {
  return `M${(x - 4).toFixed(1)} ${y.toFixed(1)}a4 4 0 1 0 8 0a4 4 0 1 0 -8 0`;
}

/** Path through points. @param {number[][]} points */
function pathThrough(points) {
  return `M${points.map(([x, y]) => `${x.toFixed(1)} ${y.toFixed(1)}`).join("L")}`;
}

/** The color of a series, for the style sheet; black is that of text, which is seen on any ground. */
function colored(made, color) {
  made.style.setProperty("--series", color === "#000000" ? "var(--ink)" : color);
  return made;
}

/** A path of a class of the style sheet, and of a color where it is a series. */
function path(name, d, color = null) {
  const made = drawn("path", { class: name, d });
  return color === null ? made : colored(made, color);
}

/** A line of a class of the style sheet. */
function segment(name, [x1, y1], [x2, y2]) {
  return drawn("line", { class: name, x1, y1, x2, y2 });
}

/** An arrow to a point at an edge, in a direction: what lies beyond. */
function arrow([x, y], [dx, dy]) {
  const back = (along, aside) => [x - along * dx - aside * dy, y - along * dy - aside * dx];
  const corners = [back(7, 4), [x, y], back(7, -4)];
  return path("limit-arrow", `${pathThrough([back(13, 0), [x, y]])}${pathThrough(corners)}`);
}

/**
 * Names beside points where neither another name nor a mark is; what finds no place is left out.
 * @param {Chart} chart @param {Array<[string, number[]]>} names texts and points
 * @param {number[][]} marks points that are not written over
 */
function placedLabels({ width, height }, names, marks) {
  const boxes = marks.map(([x, y]) => [x - 6, y - 6, x + 6, y + 6]);
  const meet = (a, b) => a[0] < b[2] && b[0] < a[2] && a[1] < b[3] && b[1] < a[3];
  const inside = ([left, top, right, foot]) =>
    left >= CHART.left && right <= width && top >= 0 && foot <= height - CHART.foot + 2;
  return names.flatMap(([text, [x, y]]) => {
    const wide = 7.2 * text.length;
    const places = [
      [x + 8, y - 7],
      [x + 8, y + 15],
      [x - 8 - wide, y - 7],
      [x - 8 - wide, y + 15],
      [x - wide / 2, y - 11],
      [x - wide / 2, y + 20],
      [x + 11, y + 4],
      [x - 11 - wide, y + 4],
    ];
    const box = ([left, foot]) => [left, foot - 10, left + wide, foot + 1];
    const place = places.find((at) => {
      const own = box(at);
      return inside(own) && !boxes.some((other) => meet(own, other));
    });
    if (!place) return [];
    boxes.push(box(place));
    return [drawn("text", { x: place[0], y: place[1], class: "point-name" }, text)];
  });
}

/** A sample for a legend. */
function sample(width, ...parts) {
  return drawn("svg", { width, height: 16, "aria-hidden": "true" }, ...parts);
}

/**
 * A point to find by pointer or keys: what it says, by how many pixels it is found before others,
 * and what a click does.
 * @typedef {{x: number, y: number, words: () => string[], lead?: number, act?: () => void}} Point
 */
class Chart {
  /**
   * @param {{label: string, height: number, x: NumberAxis, y: NumberAxis, points: Point[],
   *   paint: (chart: Chart) => SVGElement[]}} content `paint` gives what is drawn, in pixels of the chart
   */
  constructor(content) {
    Object.assign(this, content, { width: 0, at: -1 });
    this.points = [...content.points].sort((a, b) => a.x - b.x || a.y - b.y);
    const opens = this.points.some(({ act }) => act) ? ", Enter opens one" : "";
    this.svg = drawn("svg", {
      class: "chart",
      role: "application",
      tabindex: 0,
      height: this.height,
      "aria-label": `${this.label}. Arrow keys go from point to point${opens}.`,
      pointermove: (event) => this.hover(event),
      pointerleave: () => this.show(-1),
      blur: () => this.show(-1),
      keydown: (event) => this.key(event),
      click: (event) => {
        this.hover(event);
        this.points[this.at]?.act?.();
      },
    });
    this.root = dom`<div class="plot">${this.svg}</div>`;
    new ResizeObserver(() => this.fit()).observe(this.root);
  }

  fit() {
    const width = this.root.clientWidth;
    if (!width || width === this.width) return;
    this.width = width;
    this.draw();
  }

  across(value) {
    return CHART.left + this.x.part(value) * (this.width - CHART.left - CHART.right);
  }

  up(value) {
    return this.height - CHART.foot - this.y.part(value) * (this.height - CHART.top - CHART.foot);
  }

  /** Pixels of a point. */
  place(x, y) {
    return [this.across(x), this.up(y)];
  }

  draw() {
    this.ring = drawn("circle", { class: "ring", r: 7, visibility: "hidden" });
    this.svg.setAttribute("width", String(this.width));
    this.svg.replaceChildren(this.grid(), ...this.paint(this), this.ring);
  }

  /** Ticks, their names, and that of the axis across. */
  grid() {
    const { width, height, x, y } = this;
    const [left, right, foot] = [CHART.left, width - CHART.right, height - CHART.foot];
    const made = drawn("g", { class: "grid" });
    const text = (words, at, anchor) => drawn("text", { ...at, "text-anchor": anchor }, words);
    const most = Math.max(2, Math.floor((right - left) / 84));
    const names = x.ticks(most);
    const every = Math.max(1, Math.ceil(names.length / most));
    for (const [place, tick] of names.entries()) {
      const at = this.across(tick);
      made.append(segment("", [at, CHART.top], [at, foot]));
      if (place % every) continue;
      // What would be cut off at the edge ends there.
      const where = at > width - 40 ? { x: width - 1, anchor: "end" } : { x: at, anchor: "middle" };
      made.append(text(shortened(x.text(tick), 14), { x: where.x, y: foot + 16 }, where.anchor));
    }
    for (const tick of y.ticks(Math.max(2, (foot - CHART.top) / 44))) {
      const at = this.up(tick);
      made.append(segment("", [left, at], [right, at]));
      made.append(text(y.text(tick), { x: left - 6, y: at + 4 }, "end"));
    }
    const middle = { x: (left + right) / 2, y: height - 8, class: "name" };
    made.append(text(shortened(x.quantity.label, 60), middle, "middle"));
    return made;
  }

  hover(event) {
    const box = this.svg.getBoundingClientRect();
    let [nearest, least] = [-1, NEAR];
    this.points.forEach((point, place) => {
      const [x, y] = this.place(point.x, point.y);
      const far = Math.hypot(x + box.left - event.clientX, y + box.top - event.clientY);
      if (far - (point.lead || 0) < least) [nearest, least] = [place, far - (point.lead || 0)];
    });
    this.show(nearest, event.clientX, event.clientY);
  }

  /** Marks a point and says what it is; -1: none. */
  show(place, clientX, clientY) {
    this.at = place;
    const point = this.points[place];
    this.ring?.setAttribute("visibility", point ? "visible" : "hidden");
    this.svg.classList.toggle("over", Boolean(point?.act));
    if (!point) return hideTip();
    this.ring.setAttribute("cx", String(this.across(point.x)));
    this.ring.setAttribute("cy", String(this.up(point.y)));
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
      const point = this.points[Math.min(last, Math.max(0, place))];
      const box = this.svg.getBoundingClientRect();
      const [x, y] = this.place(point.x, point.y);
      this.show(this.points.indexOf(point), box.left + x, box.top + y);
      announce(point.words().join(", "));
    }
    event.preventDefault();
  }
}
