// Each whole schedule in one strip, with the stretch in view marked.

const STRIP = 36;
const STRIP_OF_TWO = 22;
const STRIP_EDGE = 2;

class Overview {
  /** @param {ByteStack[]} stacks @param {TimeAxis} axis @param {Theme} theme */
  constructor(stacks, axis, theme) {
    Object.assign(this, { stacks, axis, theme });
    this.strip = stacks.length > 1 ? STRIP_OF_TWO : STRIP;
    const label = "Overview: bytes in the scratchpad over the whole time, and the stretch in view";
    const height = stacks.length * (this.strip + 2 * STRIP_EDGE);
    this.sheet = new Sheet({ label, height }, () => this.draw());
    this.root = this.sheet.canvas;
    this.root.classList.add("overview");
    this.root.addEventListener("pointerdown", (event) => {
      this.root.setPointerCapture(event.pointerId);
      this.center(event);
    });
    this.root.addEventListener("pointermove", (event) => event.buttons === 1 && this.center(event));
  }

  center(event) {
    const { axis } = this;
    const at = this.sheet.partAt(event.clientX) * axis.total;
    axis.show(at - axis.span / 2, at + axis.span / 2);
  }

  draw() {
    const { sheet, axis, theme } = this;
    if (!sheet.width && !sheet.fit()) return;
    const context = sheet.begin();
    const { left, width } = sheet.plot;
    const height = sheet.height - 2 * STRIP_EDGE;
    this.stacks.forEach((stack, place) => {
      const { schedule } = stack;
      const top = STRIP_EDGE + place * (this.strip + 2 * STRIP_EDGE);
      const box = { left, top, width: (width * schedule.cycles) / axis.total, height: this.strip };
      stack.paint(context, box, 0, schedule.cycles, theme);
      sheet.label(`overview ${schedule.mark}`.trim(), top + this.strip / 2, theme.muted);
    });
    const [from, to] = [axis.from, axis.to].map((time) => left + (time / axis.total) * width);
    context.fillStyle = theme.paper;
    context.globalAlpha = 0.65;
    context.fillRect(left, STRIP_EDGE, from - left, height);
    context.fillRect(to, STRIP_EDGE, left + width - to, height);
    context.globalAlpha = 1;
    context.strokeStyle = theme.accent;
    context.lineWidth = 2;
    context.strokeRect(from, STRIP_EDGE, Math.max(2, to - from), height);
  }
}
