// Points and lines over two axes of numbers, as SVG: sharp, coloured by the style sheet.

const CHART = { left: 74, right: 14, top: 10, foot: 44 },
  NEAR = 28;

/** An element of a picture; as {@link element}, nothing is parsed. */
function drawn(tag, attributes = {}, ...children) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== null && value !== false) made.setAttribute(name, String(value));
  }
  made.append(...children);
  return made;
}

/** The colour of a series, for the style sheet; black is that of text, which is seen on any ground. */
function coloured(made, colour) {
  made.style.setProperty("--series", colour === "#000000" ? "var(--ink)" : colour);
  return made;
}

/**
 * A point to find by pointer or keys: what it says, by how many pixels it is found before others,
 * and what a click does.
 * @typedef {{x: number, y: number, words: string[], lead?: number, act?: () => void}} Point
 */
class Chart {
  /**
   * @param {{label: string, height: number, x: NumberAxis, y: NumberAxis, points: Point[],
   *   paint: (chart: Chart) => SVGElement[]}} content `paint` gives what is drawn, in pixels of the chart
   */
  constructor(content) {
    Object.assign(this, content, { width: 0, at: -1 });
    this.points = [...content.points].sort((a, b) => a.x - b.x || a.y - b.y);
    this.svg = drawn("svg", {
      class: "chart",
      role: "application",
      tabindex: 0,
      height: this.height,
    });
    this.svg.setAttribute(
      "aria-label",
      `${this.label}. Arrow keys go from point to point${this.points.some(({ act }) => act) ? ", Enter opens one" : ""}.`,
    );
    this.root = element("div", { class: "plot" }, this.svg);
    this.listen();
    new ResizeObserver(() => this.fit()).observe(this.root);
  }

  listen() {
    const { svg } = this;
    svg.addEventListener("pointermove", (event) => this.hover(event));
    svg.addEventListener("pointerleave", () => this.leave());
    svg.addEventListener("click", (event) => {
      this.hover(event);
      this.points[this.at]?.act?.();
    });
    svg.addEventListener("keydown", (event) => this.key(event));
    svg.addEventListener("blur", () => this.leave());
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

  draw() {
    this.ring = drawn("circle", { class: "ring", r: 7, visibility: "hidden" });
    this.svg.setAttribute("width", String(this.width));
    this.svg.replaceChildren(this.grid(), ...this.paint(this), this.ring);
  }

  /** Ticks, their names, and those of the axes. */
  grid() {
    const { width, height, x, y } = this,
      made = drawn("g", { class: "grid" });
    const [left, right, foot] = [CHART.left, width - CHART.right, height - CHART.foot];
    const text = (words, at, anchor) => drawn("text", { ...at, "text-anchor": anchor }, words);
    const room = Math.max(2, Math.floor((right - left) / 84));
    const names = x.ticks(room),
      each = Math.max(1, Math.ceil(names.length / room));
    for (const [place, tick] of names.entries()) {
      const at = this.across(tick);
      made.append(drawn("line", { x1: at, x2: at, y1: CHART.top, y2: foot }));
      if (place % each === 0)
        made.append(text(shortened(x.text(tick), 14), { x: at, y: foot + 16 }, "middle"));
    }
    for (const tick of y.ticks(Math.max(2, (foot - CHART.top) / 44))) {
      const at = this.up(tick);
      made.append(
        drawn("line", { x1: left, x2: right, y1: at, y2: at }),
        text(y.text(tick), { x: left - 6, y: at + 4 }, "end"),
      );
    }
    made.append(
      text(
        shortened(x.quantity.label, 60),
        { x: (left + right) / 2, y: height - 8, class: "name" },
        "middle",
      ),
    );
    return made;
  }

  hover(event) {
    const box = this.svg.getBoundingClientRect(),
      [x, y] = [event.clientX - box.left, event.clientY - box.top];
    let [nearest, least] = [-1, NEAR];
    this.points.forEach((point, place) => {
      const far = Math.hypot(this.across(point.x) - x, this.up(point.y) - y) - (point.lead || 0);
      if (far < least) [nearest, least] = [place, far];
    });
    this.show(nearest, event.clientX, event.clientY);
  }

  /** Marks a point and says what it is; -1: none. */
  show(place, clientX, clientY) {
    this.at = place;
    const point = this.points[place];
    this.ring.setAttribute("visibility", point ? "visible" : "hidden");
    this.svg.classList.toggle("over", Boolean(point?.act));
    if (!point) return hideTip();
    this.ring.setAttribute("cx", String(this.across(point.x)));
    this.ring.setAttribute("cy", String(this.up(point.y)));
    showTip(point.words, clientX, clientY);
    return undefined;
  }

  leave() {
    this.show(-1, 0, 0);
  }

  key(event) {
    const moves = {
      ArrowRight: this.at + 1,
      ArrowUp: this.at + 1,
      ArrowLeft: this.at - 1,
      ArrowDown: this.at - 1,
      Home: 0,
      End: this.points.length - 1,
    };
    if (event.key === "Escape") this.leave();
    else if (event.key === "Enter" || event.key === " ") this.points[this.at]?.act?.();
    else if (!(event.key in moves) || !this.points.length) return;
    else {
      const place = Math.min(this.points.length - 1, Math.max(0, moves[event.key])),
        point = this.points[place];
      const box = this.svg.getBoundingClientRect();
      this.show(place, box.left + this.across(point.x), box.top + this.up(point.y));
      say(point.words.join(", "));
    }
    event.preventDefault();
  }
}

/** Marks of series: shapes that differ where colours do not. @param {number} rank */
function markPath(rank, x, y, size) {
  const at = (dx, dy) => `${(x + dx * size).toFixed(1)} ${(y + dy * size).toFixed(1)}`;
  const corners = [
    [
      [-1, 0],
      [0, -1],
      [1, 0],
      [0, 1],
    ],
    [
      [-0.85, -0.85],
      [0.85, -0.85],
      [0.85, 0.85],
      [-0.85, 0.85],
    ],
    [
      [-1, 0.8],
      [0, -1],
      [1, 0.8],
    ],
    [
      [-1, -0.8],
      [0, 1],
      [1, -0.8],
    ],
    [
      [-1, -0.35],
      [-0.35, -0.35],
      [-0.35, -1],
      [0.35, -1],
      [0.35, -0.35],
      [1, -0.35],
      [1, 0.35],
      [0.35, 0.35],
      [0.35, 1],
      [-0.35, 1],
      [-0.35, 0.35],
      [-1, 0.35],
    ],
  ][rank % 5];
  return `M${corners.map(([dx, dy]) => at(dx, dy)).join("L")}Z`;
}
