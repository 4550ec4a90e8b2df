// By how much one schedule is ahead of the other, over time.

const GAIN_HEIGHT = 62;
const GAIN_TOP = 4;

class GainCurve {
  /**
   * @param {number[]} gained cycles that B is ahead by after so many steps of A
   * @param {TimeAxis} axis @param {Theme} theme
   * @param {(step: number) => void} pick
   */
  constructor(gained, axis, theme, pick) {
    Object.assign(this, { gained, axis, theme, edges: [] });
    const label = "Time gained: by how much B is ahead when A has come so far";
    this.sheet = new Sheet({ label, height: GAIN_HEIGHT, isFocusable: true }, () => this.draw());
    this.root = this.sheet.canvas;
    filled(this.root, {
      wheel: (event) => onWheel(event, this.sheet, axis),
      keydown: (event) => onKey(event, axis),
      pointermove: (event) => this.hover(event),
      pointerleave: hideTip,
    });
    this.drag = new Drag(this.sheet, axis, (event) => {
      const step = this.stepAt(event.clientX);
      if (step >= 0) pick(step);
    });
  }

  /** @param {Schedule} schedule A, as it is drawn @param {Schedule[]} own both in their own times */
  show(schedule, own) {
    this.edges = schedule.edges;
    [this.a, this.b] = own;
  }

  /** The step of A below the pointer, or -1. */
  stepAt(clientX) {
    const cycles = this.axis.from + this.sheet.partAt(clientX) * this.axis.span;
    if (cycles < 0 || cycles >= this.edges.at(-1)) return -1;
    return above(this.edges, cycles) - 1;
  }

  /** Least and most in view. */
  range() {
    const { gained, edges, axis } = this;
    const first = Math.max(0, above(edges, axis.from) - 1);
    const last = Math.min(gained.length - 1, above(edges, axis.to));
    let [low, high] = [Infinity, -Infinity];
    for (let step = first; step <= last; step++) {
      low = Math.min(low, gained[step]);
      high = Math.max(high, gained[step]);
    }
    const room = 0.05 * (high - low) || 1;
    return { first, last, low: low - room, high: high + room };
  }

  draw() {
    const { sheet, theme, axis, gained, edges } = this;
    if (!sheet.width && !sheet.fit()) return;
    const context = sheet.begin();
    const { left, width } = sheet.plot;
    const height = GAIN_HEIGHT - 2 * GAIN_TOP;
    context.fillStyle = theme.card;
    context.fillRect(left, GAIN_TOP, width, height);
    const { first, last, low, high } = this.range();
    const x = (cycles) => left + ((cycles - axis.from) / axis.span) * width;
    const y = (cycles) => GAIN_TOP + height * (1 - (cycles - low) / (high - low));
    context.save();
    context.beginPath();
    context.rect(left, GAIN_TOP, width, height);
    context.clip();
    if (low <= 0 && 0 <= high) {
      context.fillStyle = theme.muted;
      context.fillRect(left, Math.round(y(0)), width, 1);
    }
    context.beginPath();
    for (let step = first; step <= last; step++) context.lineTo(x(edges[step]), y(gained[step]));
    context.strokeStyle = theme.accent;
    context.lineWidth = 2;
    context.stroke();
    const foot = y(Math.max(low, Math.min(0, high)));
    context.lineTo(x(edges[last]), foot);
    context.lineTo(x(edges[first]), foot);
    context.globalAlpha = 0.18;
    context.fillStyle = theme.accent;
    context.fill();
    context.restore();
    this.name(low, high, last);
  }

  /** The ends of the range, what the curve is, and what it comes to. */
  name(low, high, last) {
    const { sheet, theme, gained, a } = this;
    const { context } = sheet;
    const room = (high - low) / 22;
    sheet.label(a.time(Math.round(high - room)), GAIN_TOP + 6, theme.muted);
    sheet.label("B ahead", GAIN_HEIGHT / 2, theme.ink);
    sheet.label(a.time(Math.round(low + room)), GAIN_HEIGHT - GAIN_TOP - 6, theme.muted);
    if (last < gained.length - 1) return;
    context.textAlign = "left";
    context.fillStyle = theme.ink;
    const total = gained.at(-1);
    const said = `B is ${a.time(Math.abs(total))} ${total < 0 ? "behind" : "ahead"}`;
    const words = sheet.plot.width < 480 ? said : `time gained: ${said} at the end`;
    // Where the curve is not: it begins at nothing, at the foot or at the top.
    const y = total < 0 ? GAIN_HEIGHT - GAIN_TOP - 8 : GAIN_TOP + 9;
    context.fillText(words, sheet.plot.left + 6, y);
  }

  hover(event) {
    if (this.drag.moved) return hideTip();
    const step = this.stepAt(event.clientX);
    return showTip(step < 0 ? [] : this.words(step), event.clientX, event.clientY);
  }

  /** Lines on a step of A. */
  words(step) {
    const { a, b, gained } = this;
    const [one, gain] = [a.steps.cycles[step], gained[step + 1] - gained[step]];
    const now = gained[step + 1];
    return [
      a.stepName(step),
      `A takes ${a.time(one)}, B ${b.time(one - gain)}`,
      `here B ${gain < 0 ? "loses" : "gains"} ${a.time(Math.abs(gain))}; then it is ${a.time(Math.abs(now))} ${now < 0 ? "behind" : "ahead"}`,
    ];
  }
}
