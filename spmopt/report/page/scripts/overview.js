// Each whole schedule in one strip, with the stretch in view marked.

const STRIP = 36,
  STRIP_OF_TWO = 22,
  STRIP_EDGE = 2;

class Overview {
  /** @param {Schedule[]} schedules @param {TimeAxis} axis @param {Theme} theme @param {any} look */
  constructor(schedules, axis, theme, look) {
    this.axis = axis;
    this.theme = theme;
    /** @type {HTMLCanvasElement|null} all strips, drawn once */
    this.whole = null;
    this.stacks = schedules.map((schedule) => new ByteStack(schedule, look));
    this.strip = schedules.length > 1 ? STRIP_OF_TWO : STRIP;
    this.sheet = new Sheet(
      {
        label: "Overview: bytes in the scratchpad over the whole time, and the stretch in view",
        height: schedules.length * (this.strip + 2 * STRIP_EDGE),
      },
      () => this.redraw(),
    );
    this.root = this.sheet.canvas;
    this.root.classList.add("overview");
    this.root.addEventListener("pointerdown", (event) => {
      this.root.setPointerCapture(event.pointerId);
      this.centre(event);
    });
    this.root.addEventListener("pointermove", (event) => event.buttons === 1 && this.centre(event));
  }

  centre(event) {
    const { axis } = this,
      at = partAt(this.sheet, event.clientX) * axis.total;
    axis.show(at - axis.span / 2, at + axis.span / 2);
  }

  /** Draws the strips anew: their size or their colours have changed. */
  redraw() {
    this.whole = null;
    this.draw();
  }

  draw() {
    const { sheet, axis, theme } = this;
    if (!sheet.width && !sheet.fit()) return;
    const context = sheet.begin(),
      { left, width } = sheet.plot,
      top = STRIP_EDGE,
      height = sheet.height - 2 * STRIP_EDGE;
    this.whole ||= this.rendered();
    context.drawImage(this.whole, 0, 0, sheet.width, sheet.height);
    const from = left + (axis.from / axis.total) * width,
      to = left + (axis.to / axis.total) * width;
    context.fillStyle = theme.paper;
    context.globalAlpha = 0.65;
    context.fillRect(left, top, from - left, height);
    context.fillRect(to, top, left + width - to, height);
    context.globalAlpha = 1;
    context.strokeStyle = theme.accent;
    context.lineWidth = 2;
    context.strokeRect(from, top, Math.max(2, to - from), height);
    context.fillStyle = theme.muted;
    context.textAlign = "right";
    this.stacks.forEach(({ schedule }, place) => {
      const middle = this.top(place) + this.strip / 2;
      context.fillText(`overview ${schedule.mark}`.trim(), left - 6, middle);
    });
  }

  /** Where a strip begins. @param {number} place */
  top(place) {
    return STRIP_EDGE + place * (this.strip + 2 * STRIP_EDGE);
  }

  rendered() {
    const { sheet, axis } = this,
      surface = document.createElement("canvas");
    surface.width = sheet.width * sheet.ratio;
    surface.height = sheet.height * sheet.ratio;
    const context = surface.getContext("2d"),
      { left, width } = sheet.plot;
    context.scale(sheet.ratio, sheet.ratio);
    this.stacks.forEach((stack, place) => {
      const { cycles } = stack.schedule;
      const box = { left, top: this.top(place), width: (width * cycles) / axis.total };
      stack.paint(context, { ...box, height: this.strip }, 0, cycles, this.theme);
    });
    return surface;
  }
}
