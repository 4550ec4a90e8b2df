// The pictures of one schedule, below each other: map, lanes, and the life of a tensor.

const MAP_HEIGHT = 340,
  MAP_HEIGHT_OF_TWO = 250;
const SLOW_MS = 12,
  REST_MS = 140;

class Stage {
  /**
   * @param {Schedule} schedule @param {TimeAxis} axis @param {Theme} theme @param {any} look
   * @param {{pick: (stage: Stage, tensor: number, step: number) => void, two: boolean}} options
   */
  constructor(schedule, axis, theme, look, options) {
    this.schedule = schedule;
    this.axis = axis;
    this.theme = theme;
    this.options = options;
    this.mode = "address";
    this.sharpness = 1;
    this.map = new AddressMap(schedule, look);
    this.stack = new ByteStack(schedule, look);
    this.lanes = new Lanes(schedule, look);
    this.life = new LifeLine(schedule, look);
    const whose = options.two ? ` of ${schedule.mark}` : "";
    const sheet = (label, height, focusable) =>
      new Sheet(
        { label: label + whose, height, focusable, describedBy: focusable ? "keys" : undefined },
        () => this.draw(),
      );
    this.mapSheet = sheet(
      "Scratchpad over time",
      options.two ? MAP_HEIGHT_OF_TWO : MAP_HEIGHT,
      true,
    );
    this.laneSheet = sheet(
      "Lanes over time: compute, DMA in, DMA out, stalls",
      this.lanes.height,
      true,
    );
    this.lifeSheet = sheet("Life of the tensor followed", this.life.height, false);
    this.lifeSheet.canvas.hidden = true;
    this.drags = [this.mapSheet, this.laneSheet].map((one) => this.listen(one));
    this.sharpen = settled(() => this.draw(), REST_MS);
    const { mapSheet, laneSheet, lifeSheet } = this;
    const heading = options.two ? [element("h3", {}, schedule.heading)] : [];
    this.root = element(
      "div",
      { class: "stage" },
      ...heading,
      mapSheet.canvas,
      laneSheet.canvas,
      lifeSheet.canvas,
    );
  }

  listen(sheet) {
    const { canvas } = sheet,
      drag = new Drag(sheet, this.axis, (event) => this.click(sheet, event));
    canvas.addEventListener("wheel", (event) => onWheel(event, sheet, this.axis), {
      passive: false,
    });
    canvas.addEventListener("keydown", (event) => onKey(event, this.axis));
    canvas.addEventListener("dblclick", (event) => this.axis.zoom(4, partAt(sheet, event.clientX)));
    canvas.addEventListener("pointermove", (event) => this.hover(sheet, event));
    canvas.addEventListener("pointerleave", hideTip);
    return drag;
  }

  /** Draws at once, but coarser while the view moves if sharp takes too long. */
  move() {
    const begin = performance.now();
    this.draw(this.sharpness);
    const took = performance.now() - begin;
    if (took > SLOW_MS) this.sharpness = Math.max(0.25, this.sharpness / 2);
    else if (took < SLOW_MS / 5) this.sharpness = Math.min(1, this.sharpness * 2);
    this.sharpen();
  }

  draw(sharpness = 1) {
    if (!this.mapSheet.width && !this.mapSheet.fit()) return;
    for (const sheet of [this.laneSheet, this.lifeSheet]) sheet.fit();
    const { axis, theme } = this;
    if (this.mode === "address") this.map.draw(this.mapSheet, axis, theme, sharpness);
    else this.stack.draw(this.mapSheet, axis, theme);
    this.lanes.draw(this.laneSheet, axis, theme);
    if (!this.lifeSheet.canvas.hidden) this.life.draw(this.lifeSheet, axis, theme);
    this.clearEnded();
    this.drawChosen();
  }

  /** Leaves nothing, not even ground, after the end of a schedule that the other outlasts. */
  clearEnded() {
    const { axis, schedule, theme } = this,
      part = (schedule.cycles - axis.from) / axis.span;
    if (part >= 1) return;
    for (const sheet of [this.mapSheet, this.laneSheet, this.lifeSheet]) {
      const { left, width } = sheet.plot,
        { context } = sheet,
        top = sheet === this.mapSheet ? MAP_HEAD - 1 : 0;
      const end = left + Math.max(0, part) * width;
      context.clearRect(end, top, left + width - end, sheet.height - top);
      context.fillStyle = theme.muted;
      if (part >= 0) context.fillRect(end, top, 1, sheet.height - top);
    }
  }

  /** The stretch that a drag with Shift has chosen so far. */
  drawChosen() {
    this.drags.forEach(({ chosen, sheet }) => {
      if (!chosen) return;
      const { left, width } = sheet.plot,
        { context } = sheet;
      context.globalAlpha = 0.25;
      context.fillStyle = this.theme.accent;
      context.fillRect(left + chosen[0] * width, 0, (chosen[1] - chosen[0]) * width, sheet.height);
      context.globalAlpha = 1;
    });
  }

  /** Follows a tensor (-1: none): its rectangles alone have their full colour. */
  follow(tensor) {
    this.life.tensor = tensor;
    this.lifeSheet.canvas.hidden = tensor < 0;
    this.light(tensor < 0 ? null : (rect) => this.schedule.rects.tensor[rect] === tensor);
  }

  /** Marks steps above the lane of the engine. @param {number[]} steps */
  markSteps(steps) {
    this.lanes.marked = steps;
    this.draw();
  }

  /** Shows rectangles that are cut otherwise; null: all as they are. */
  mark(rects) {
    if (!rects) return this.light(null);
    this.map.cut(rects);
    this.draw();
  }

  /** @param {((rect: number) => boolean)|null} chosen which rectangles have their full colour */
  light(chosen) {
    this.map.light(
      chosen && Uint8Array.from(this.schedule.rects.tensor, (_, rect) => Number(chosen(rect))),
    );
    this.draw();
  }

  /** What is below a pointer: its words, and the tensor and step that it stands for. */
  at(sheet, event) {
    const { schedule, axis } = this,
      part = partAt(sheet, event.clientX);
    if (part < 0 || part >= 1) return null;
    const cycles = axis.from + part * axis.span,
      step = schedule.stepAt(cycles);
    if (cycles >= schedule.cycles) {
      const words = [`${schedule.mark} has ended`, `it takes ${schedule.time(schedule.cycles)}`];
      return { words, tensor: -1, step: -1 };
    }
    const y = event.clientY - sheet.canvas.getBoundingClientRect().top;
    if (sheet === this.laneSheet) return this.inLanes(sheet, y, cycles);
    if (this.mode === "stack") return this.inStack(sheet, y, cycles);
    const rect = this.map.hit(sheet, y, cycles);
    if (rect < 0)
      return {
        words: [
          `free in ${schedule.stepName(step)}`,
          ...bankWords(schedule, this.map.pageAt(sheet, y)),
          schedule.time(cycles),
        ],
        tensor: -1,
        step: -1,
      };
    return { words: rectWords(schedule, rect, cycles), tensor: schedule.rects.tensor[rect], step };
  }

  inStack(sheet, y, cycles) {
    const { schedule } = this,
      step = schedule.stepAt(cycles),
      kind = this.stack.hit(sheet, y, cycles);
    const rows = schedule.kinds.map((name, place) => [name, schedule.steps.occupied[place][step]]);
    const words = rows
      .filter(([, bytes]) => bytes > 0)
      .map(([name, bytes]) => `${name}: ${si(bytes, "B")}`);
    const head = kind < 0 ? "free" : schedule.kinds[kind];
    return {
      words: [`${head} in ${schedule.stepName(step)}`, ...words, schedule.time(cycles)],
      tensor: -1,
      step,
    };
  }

  inLanes(sheet, y, cycles) {
    const { schedule, axis } = this,
      hit = this.lanes.hit(sheet, y, cycles);
    if (!hit) return null;
    const column = axis.span / sheet.plot.width,
      step = schedule.stepAt(cycles);
    const many = schedule.stepAt(cycles + column / 2) - schedule.stepAt(cycles - column / 2) >= 2;
    if (many)
      return {
        words: manyWords(schedule, cycles - column / 2, cycles + column / 2),
        tensor: -1,
        step,
      };
    if (hit.lane.startsWith("DMA")) {
      if (!hit.found)
        return { words: [`${hit.lane}: idle`, schedule.time(cycles)], tensor: -1, step: -1 };
      const command = hit.found.owner;
      return {
        words: commandWords(schedule, command),
        tensor: schedule.commands.tensor[command],
        step,
      };
    }
    return { words: stepWords(schedule, step), tensor: -1, step };
  }

  hover(sheet, event) {
    if (this.drags.some((drag) => drag.active && drag.moved)) return hideTip();
    const found = this.at(sheet, event);
    showTip(found ? found.words : [], event.clientX, event.clientY);
  }

  click(sheet, event) {
    sheet.canvas.focus({ preventScroll: true });
    const found = this.at(sheet, event);
    if (found) this.options.pick(this, found.tensor, found.step);
  }
}
