// The pictures of one schedule, below each other: bands, map, lanes, and the life of a tensor.

const LEAST_MAP = 120;
const MOST_MAP = 420;
const SLOW_MS = 12;
const REST_MS = 140;

class Stage {
  /**
   * @param {Schedule} schedule @param {TimeAxis} axis @param {Theme} theme @param {any} look
   * @param {(stage: Stage, tensor: number, step: number) => void} pick
   */
  constructor(schedule, axis, theme, look, pick) {
    Object.assign(this, { axis, theme, look, pick, mode: "address", sharpness: 1 });
    /** The schedule in its own times; `schedule` is what is drawn. */
    this.natural = schedule;
    this.isOfTwo = Boolean(schedule.mark);
    this.build(schedule);
    this.drawSheets();
    this.drags = this.sheets.slice(0, 2).map((one) => this.listen(one));
    this.listenToBands();
    this.sharpen = debounced(() => this.draw(), REST_MS);
    const heading = this.isOfTwo ? dom`<h3>${schedule.heading}</h3>` : null;
    const canvases = [this.bandSheet, ...this.sheets].map(({ canvas }) => canvas);
    this.root = dom`<div class="stage">${heading}${canvases}</div>`;
  }

  /** Makes the pictures of a schedule: as it is, or aligned. @param {Schedule} schedule */
  build(schedule) {
    const { look, life } = this;
    this.schedule = schedule;
    this.bands = new Bands(schedule);
    this.map = new AddressMap(schedule, look);
    this.stack = new ByteStack(schedule, look);
    this.lanes = new Lanes(schedule, look, this.isOfTwo ? NARROW_LANES : WIDE_LANES);
    this.life = new LifeLine(schedule, look);
    if (life) this.life.tensor = life.tensor;
  }

  drawSheets() {
    const { schedule, isOfTwo } = this;
    const whose = isOfTwo ? ` of ${schedule.mark}` : "";
    const sheet = (label, height, isFocusable) =>
      new Sheet({ label: label + whose, height, isFocusable }, () => this.draw());
    this.bandSheet = sheet("Phases and layers over time", this.bands.height, false);
    this.bandSheet.canvas.hidden = !this.bands.height;
    this.bandSheet.canvas.classList.add("bands");
    this.mapSheet = sheet("Scratchpad over time", LEAST_MAP, true);
    const cover = schedule.segments.length ? ", segments" : "";
    const named = `Lanes over time: compute, DMA in, DMA out, stalls${cover}`;
    this.laneSheet = sheet(named, this.lanes.height, true);
    this.lifeSheet = sheet("Life of the tensor followed", this.life.height, false);
    this.lifeSheet.canvas.hidden = true;
    this.sheets = [this.mapSheet, this.laneSheet, this.lifeSheet];
  }

  /** A click on a band brings its stretch into view. */
  listenToBands() {
    const { axis, bandSheet: sheet } = this;
    const under = (event) => {
      const part = sheet.partAt(event.clientX);
      const cycles = axis.from + part * axis.span;
      const y = event.clientY - sheet.canvas.getBoundingClientRect().top;
      const isInside = part >= 0 && part < 1 && cycles < this.schedule.cycles;
      return isInside ? this.bands.hit(sheet, axis, y, cycles) : null;
    };
    filled(sheet.canvas, {
      pointermove: (event) => {
        const run = under(event);
        showTip(run ? runWords(this.natural, run) : [], event.clientX, event.clientY);
      },
      pointerleave: hideTip,
      click: (event) => {
        const run = under(event);
        if (run) axis.show(this.schedule.edges[run.begin], this.schedule.edges[run.end]);
      },
    });
  }

  listen(sheet) {
    const { axis } = this;
    filled(sheet.canvas, {
      wheel: (event) => onWheel(event, sheet, axis),
      keydown: (event) => onKey(event, axis),
      dblclick: (event) => axis.zoom(4, sheet.partAt(event.clientX)),
      pointermove: (event) => this.hover(sheet, event),
      pointerleave: hideTip,
    });
    return new Drag(sheet, axis, (event) => this.click(sheet, event));
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
    for (const sheet of [this.bandSheet, this.laneSheet, this.lifeSheet]) sheet.fit();
    const { axis, theme } = this;
    if (!this.bandSheet.canvas.hidden) this.bands.draw(this.bandSheet, axis, theme);
    const above = this.mode === "address" ? this.map : this.stack;
    above.draw(this.mapSheet, axis, theme, sharpness);
    this.lanes.draw(this.laneSheet, axis, theme);
    if (!this.lifeSheet.canvas.hidden) this.life.draw(this.lifeSheet, axis, theme);
    this.clearEnded();
    this.drawChosen();
  }

  /** Leaves nothing, not even ground, after the end of a schedule that the other outlasts. */
  clearEnded() {
    const { axis, schedule, theme } = this;
    const part = (schedule.cycles - axis.from) / axis.span;
    if (part >= 1) return;
    for (const sheet of this.sheets) {
      const { context, plot, height } = sheet;
      const top = sheet === this.mapSheet ? MAP_HEAD - 1 : 0;
      const end = plot.left + Math.max(0, part) * plot.width;
      context.clearRect(end, top, plot.left + plot.width - end, height - top);
      context.fillStyle = theme.muted;
      if (part >= 0) context.fillRect(end, top, 1, height - top);
    }
  }

  /** The stretch that a drag with Shift has chosen so far. */
  drawChosen() {
    for (const { chosen, sheet } of this.drags) {
      if (!chosen) continue;
      const { context, plot, height } = sheet;
      context.globalAlpha = 0.25;
      context.fillStyle = this.theme.accent;
      const width = (chosen[1] - chosen[0]) * plot.width;
      context.fillRect(plot.left + chosen[0] * plot.width, 0, width, height);
      context.globalAlpha = 1;
    }
  }

  /** Follows a tensor (-1: none): its rectangles alone have their full color. */
  follow(tensor) {
    this.life.tensor = tensor;
    this.lifeSheet.canvas.hidden = tensor < 0;
    this.emphasize(tensor < 0 ? null : this.schedule.rectsOf(tensor));
  }

  /** Shows only these rectangles in full color; null: all. */
  emphasize(rects) {
    this.map.strong = rects;
    this.draw();
  }

  /** What is below a pointer: its words, and the tensor and step that it stands for, or -1. */
  at(sheet, event) {
    const { schedule, natural, axis } = this;
    const part = sheet.partAt(event.clientX);
    if (part < 0 || part >= 1) return null;
    const cycles = axis.from + part * axis.span;
    const found = (words, tensor = -1, step = -1) => ({ words, tensor, step });
    if (cycles >= schedule.cycles)
      return found([`${schedule.mark} has ended`, `it takes ${natural.time(natural.cycles)}`]);
    const y = event.clientY - sheet.canvas.getBoundingClientRect().top;
    const step = schedule.stepAt(cycles);
    if (sheet === this.laneSheet) return this.inLanes(y, cycles, step, found);
    const own = this.ownTime(cycles);
    const when = schedule.time(own);
    if (this.mode === "stack") {
      const kind = schedule.kinds[this.stack.hit(sheet, y, cycles)] ?? "free";
      const held = schedule.steps.occupied.map((bytes) => bytes[step]);
      const words = schedule.kinds
        .map((name, place) => held[place] > 0 && `${name}: ${si(held[place], "B")}`)
        .filter(Boolean);
      return found([`${kind} in ${schedule.stepName(step)}`, ...words, when], -1, step);
    }
    const page = this.map.pageAt(sheet, y);
    const rect = schedule.rectAt(cycles, page);
    if (rect) return found(rectWords(natural, rect.natural ?? rect, own), rect.tensor, step);
    return found([`free in ${schedule.stepName(step)}`, ...bankWords(schedule, page), when]);
  }

  /** The schedule's own time at a place of the axis. */
  ownTime(cycles) {
    const { schedule, natural } = this;
    return schedule === natural ? cycles : naturalTime(natural, schedule.edges, cycles);
  }

  inLanes(y, cycles, step, found) {
    const { schedule, natural, axis, laneSheet } = this;
    const lane = this.lanes.hit(laneSheet, y);
    if (!lane) return null;
    const half = axis.span / laneSheet.plot.width / 2;
    const [first, last] = [cycles - half, cycles + half].map((time) => schedule.stepAt(time));
    const picked = lane.name === "stalls" ? natural.longestStall(first, last) : step;
    const click = lane.name === "stalls" ? ["click for the longest stall, and why"] : [];
    if (last - first >= 2) return found([...manyWords(natural, first, last), ...click], -1, picked);
    if (lane.isCover) return found(segmentWords(natural, step), -1, step);
    if (!lane.kinds) return found(stepWords(natural, picked), -1, picked);
    const command = schedule.commands.find(
      ({ kind, start, cycles: lasts }) =>
        lane.kinds.includes(kind) && start <= cycles && cycles < start + lasts,
    );
    if (!command) return found([`${lane.name}: idle`, schedule.time(this.ownTime(cycles))]);
    return found(commandWords(natural, command.natural ?? command), command.tensor, step);
  }

  hover(sheet, event) {
    if (this.drags.some((drag) => drag.moved)) return hideTip();
    return showTip(this.at(sheet, event)?.words || [], event.clientX, event.clientY);
  }

  click(sheet, event) {
    sheet.canvas.focus({ preventScroll: true });
    const found = this.at(sheet, event);
    if (found) this.pick(this, found.tensor, found.step);
  }
}
