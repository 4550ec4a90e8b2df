// The pictures of one schedule, map and lanes, and how pointer, wheel and keys move them.

const [LEAST_MAP, MOST_MAP] = [120, 420];
const [SLOW_MS, REST_MS] = [12, 140];
const DRAG_PIXELS = 4;
const WHEEL_ZOOM = 0.0016;

/** What keys do to the axis. */
const KEYS = {
  ArrowLeft: (axis) => axis.pan(-0.15),
  ArrowRight: (axis) => axis.pan(0.15),
  "+": (axis) => axis.zoom(1.5),
  "=": (axis) => axis.zoom(1.5),
  "-": (axis) => axis.zoom(1 / 1.5),
  0: (axis) => axis.show(0, axis.total),
  Home: (axis) => axis.show(0, axis.span),
  End: (axis) => axis.show(axis.total - axis.span, axis.total),
};

/** Lets keys, wheel and drags move the axis. */
class Gestures {
  /** @param {Sheet} sheet @param {TimeAxis} axis @param {(event: PointerEvent) => void} clicked */
  constructor(sheet, axis, clicked) {
    Object.assign(this, { sheet, axis, clicked, moved: false, start: null, last: 0 });
    filled(sheet.canvas, {
      wheel: (event) => this.wheel(event),
      keydown: (event) => this.key(event),
      pointerdown: (event) => this.down(event),
      pointermove: (event) => this.move(event),
      pointerup: (event) => this.up(event),
      pointercancel: () => Object.assign(this, { start: null, moved: false }),
    });
  }

  key(event) {
    const act = event.ctrlKey || event.altKey || event.metaKey ? null : KEYS[event.key];
    if (!act) return;
    event.preventDefault();
    act(this.axis);
  }

  /** Zooms where the pointer is, with Shift pans. Without focus or Ctrl the page scrolls. */
  wheel(event) {
    const { sheet, axis } = this;
    const isSideways = event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY);
    if (!isSideways && !event.ctrlKey && document.activeElement !== sheet.canvas) return;
    event.preventDefault();
    if (isSideways) axis.pan((event.deltaX || event.deltaY) / sheet.plot.width);
    else axis.zoom(Math.exp(-event.deltaY * WHEEL_ZOOM), sheet.partAt(event.clientX));
  }

  down(event) {
    if (event.button !== 0) return;
    this.sheet.canvas.setPointerCapture(event.pointerId);
    Object.assign(this, { start: event, last: event.clientX, moved: false });
  }

  move(event) {
    const { start, last, sheet } = this;
    if (!start) return;
    this.moved ||= Math.hypot(event.clientX - start.clientX, event.clientY - start.clientY) > DRAG_PIXELS;
    if (!this.moved) return;
    this.axis.pan((last - event.clientX) / sheet.plot.width);
    this.last = event.clientX;
  }

  up(event) {
    if (this.start && !this.moved) this.clicked(event);
    Object.assign(this, { start: null, moved: false });
  }
}

class Stage {
  /**
   * @param {Schedule} schedule @param {TimeAxis} axis @param {any} look @param {number[]|null} gained
   * @param {(stage: Stage, found: any) => void} pick
   */
  constructor(schedule, axis, look, gained, pick) {
    Object.assign(this, { axis, gained, pick, sharpness: 1 });
    Object.assign(this, { schedule, map: new AddressMap(schedule, look), lanes: new Lanes(schedule, look, gained) });
    const whose = schedule.mark ? ` of ${schedule.mark}` : "";
    const names = this.lanes.lanes.map(({ name }) => name).join(", ");
    this.mapSheet = new Sheet(`Scratchpad over time${whose}`, () => this.draw());
    this.laneSheet = new Sheet(`Lanes over time${whose}: ${names}`, () => this.draw());
    this.mapSheet.setHeight(LEAST_MAP);
    this.laneSheet.setHeight(this.lanes.height);
    this.sheets = [this.mapSheet, this.laneSheet];
    this.gestures = this.sheets.map((sheet) => this.listen(sheet));
    this.sharpen = debounced(() => this.draw(), REST_MS);
    const heading = schedule.mark ? dom`<h3>${schedule.heading}</h3>` : null;
    this.root = dom`<div class="stage">${heading}${this.sheets.map(({ canvas }) => canvas)}</div>`;
    this.root.stage = this; // for tests and the console
  }

  listen(sheet) {
    filled(sheet.canvas, { pointermove: (event) => this.hover(sheet, event), pointerleave: hideTip });
    return new Gestures(sheet, this.axis, (event) => {
      sheet.canvas.focus({ preventScroll: true });
      const found = this.at(sheet, event);
      if (found) this.pick(this, found);
    });
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
    this.laneSheet.fit();
    this.map.draw(this.mapSheet, this.axis, sharpness);
    this.lanes.draw(this.laneSheet, this.axis);
    this.clearEnded();
  }

  /** Leaves nothing, not even ground, after the end of a schedule that the other outlasts. */
  clearEnded() {
    const { axis, schedule } = this;
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

  /** Shows only these rectangles in full color; null: all. */
  emphasize(rects) {
    this.map.strong = rects;
    this.draw();
  }

  /** What is below a pointer: its words, and the tensor, step and lane, if any. */
  at(sheet, event) {
    const { schedule, axis } = this;
    const part = sheet.partAt(event.clientX);
    if (part < 0 || part >= 1) return null;
    const cycles = axis.from + part * axis.span;
    if (cycles >= schedule.cycles)
      return { words: [`${schedule.mark} has ended`, `it takes ${schedule.time(schedule.cycles)}`] };
    const y = event.clientY - sheet.canvas.getBoundingClientRect().top;
    const step = schedule.stepAt(cycles);
    if (sheet === this.laneSheet) return this.inLanes(y, cycles, step);
    const page = this.map.pageAt(sheet, y);
    const rect = schedule.rectAt(cycles, page);
    if (rect) return { words: rectWords(schedule, rect, cycles), tensor: rect.tensor, step };
    return { words: [`free in ${schedule.stepName(step)}`, ...bankWords(schedule, page), schedule.time(cycles)] };
  }

  inLanes(y, cycles, step) {
    const { schedule, axis, laneSheet } = this;
    const lane = this.lanes.hit(y);
    if (!lane) return null;
    const { width } = laneSheet.plot;
    if (lane.levels) {
      const run = this.lanes.runs(lane, axis, width).find(({ begin, end }) => begin <= step && step < end);
      return { words: runWords(schedule, lane.name, run, step), run };
    }
    const [first, last] = [-1, 1].map((side) => schedule.stepAt(cycles + (side * axis.span) / width / 2));
    const picked = lane.name === "stalls" ? schedule.longestStall(first, last) : step;
    if (lane.name === "B ahead") return { words: leadWords(schedule, this.gained, step), step };
    if (last - first >= 2) return { words: manyWords(schedule, first, last), step: picked };
    if (!lane.kinds) return { words: stepWords(schedule, picked), step: picked };
    const command = schedule.commands.find(
      ({ kind, start, cycles: lasts }) => lane.kinds.includes(kind) && start <= cycles && cycles < start + lasts,
    );
    if (!command) return { words: [`${lane.name}: idle`, schedule.time(cycles)] };
    return { words: commandWords(schedule, command), tensor: command.tensor, step };
  }

  hover(sheet, event) {
    if (this.gestures.some(({ moved }) => moved)) return hideTip();
    return showTip(this.at(sheet, event)?.words || [], event.clientX, event.clientY);
  }
}
