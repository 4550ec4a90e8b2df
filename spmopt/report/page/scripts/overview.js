// The whole schedule in one strip, with the stretch in view marked.

const OVERVIEW_HEIGHT = 40;

class Overview {
  /** @param {Schedule} schedule @param {TimeAxis} axis @param {Theme} theme @param {any} look */
  constructor(schedule, axis, theme, look) {
    this.axis = axis;
    this.theme = theme;
    /** @type {HTMLCanvasElement|null} the whole strip, drawn once */
    this.whole = null;
    this.name = `overview ${schedule.mark}`.trim();
    this.stack = new ByteStack(schedule, look);
    this.total = schedule.cycles;
    this.sheet = new Sheet(
      {
        label: "Overview: bytes in the scratchpad over the whole time, and the stretch in view",
        height: OVERVIEW_HEIGHT,
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

  /** Draws the strip anew: its size or its colours have changed. */
  redraw() {
    this.whole = null;
    this.draw();
  }

  draw() {
    const { sheet, axis, theme } = this;
    if (!sheet.width && !sheet.fit()) return;
    const context = sheet.begin(),
      { left, width } = sheet.plot,
      height = sheet.height - 4;
    const box = { left, top: 2, width: (width * this.total) / axis.total, height };
    this.whole ||= this.rendered(box);
    context.drawImage(this.whole, 0, 0, sheet.width, sheet.height);
    const from = left + (axis.from / axis.total) * width,
      to = left + (axis.to / axis.total) * width;
    context.fillStyle = theme.paper;
    context.globalAlpha = 0.65;
    context.fillRect(left, 2, from - left, height);
    context.fillRect(to, 2, left + width - to, height);
    context.globalAlpha = 1;
    context.strokeStyle = theme.accent;
    context.lineWidth = 2;
    context.strokeRect(from, 2, Math.max(2, to - from), height);
    context.fillStyle = theme.muted;
    context.textAlign = "right";
    context.fillText(this.name, left - 6, sheet.height / 2);
  }

  rendered(box) {
    const { sheet } = this,
      surface = document.createElement("canvas");
    surface.width = sheet.width * sheet.ratio;
    surface.height = sheet.height * sheet.ratio;
    const context = surface.getContext("2d");
    context.scale(sheet.ratio, sheet.ratio);
    this.stack.paint(context, box, 0, this.total, this.theme);
    return surface;
  }
}
