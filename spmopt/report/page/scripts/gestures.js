// Pan and zoom by pointer, wheel and keys.

const DRAG_PIXELS = 4,
  WHEEL_ZOOM = 0.0016,
  KEY_PAN = 0.15,
  KEY_ZOOM = 1.5;

/** The part of the plot that a point of the window is at. */
function partAt(sheet, clientX) {
  const { left, width } = sheet.plot;
  return (clientX - sheet.canvas.getBoundingClientRect().left - left) / width;
}

/** What keys do to the axis. @type {Object<string, (axis: TimeAxis) => void>} */
const KEYS = {
  ArrowLeft: (axis) => axis.pan(-KEY_PAN),
  ArrowRight: (axis) => axis.pan(KEY_PAN),
  "+": (axis) => axis.zoom(KEY_ZOOM),
  "=": (axis) => axis.zoom(KEY_ZOOM),
  "-": (axis) => axis.zoom(1 / KEY_ZOOM),
  0: (axis) => axis.show(0, axis.total),
  Home: (axis) => axis.pan(-Infinity),
  End: (axis) => axis.pan(Infinity),
};

/** @param {KeyboardEvent} event @param {TimeAxis} axis */
function onKey(event, axis) {
  const act = event.ctrlKey || event.altKey || event.metaKey ? undefined : KEYS[event.key];
  if (!act) return;
  event.preventDefault();
  act(axis);
}

/** Wheel: zoom where the pointer is, with Shift: pan. Without focus or Ctrl the page scrolls. */
function onWheel(event, sheet, axis) {
  const sideways = event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY);
  if (!sideways && !event.ctrlKey && document.activeElement !== sheet.canvas) return;
  event.preventDefault();
  const pixels = (event.deltaX || event.deltaY) * (event.deltaMode === 1 ? 16 : 1);
  if (sideways) axis.pan(pixels / sheet.plot.width);
  else
    axis.zoom(
      Math.exp(-event.deltaY * (event.deltaMode === 1 ? 16 : 1) * WHEEL_ZOOM),
      partAt(sheet, event.clientX),
    );
}

/** Drags: pan, with two fingers zoom, with Shift a stretch to zoom into; a click is none. */
class Drag {
  /** @param {Sheet} sheet @param {TimeAxis} axis @param {(event: PointerEvent) => void} clicked */
  constructor(sheet, axis, clicked) {
    this.sheet = sheet;
    this.axis = axis;
    this.clicked = clicked;
    this.moved = false;
    /** @type {number[]|null} the stretch chosen so far, in parts of the plot */
    this.chosen = null;
    /** @type {PointerEvent|null} */
    this.start = null;
    /** @type {Map<number, PointerEvent>} */
    this.pointers = new Map();
    const { canvas } = sheet;
    canvas.addEventListener("pointerdown", (event) => this.down(event));
    canvas.addEventListener("pointermove", (event) => this.move(event));
    canvas.addEventListener("pointerup", (event) => this.up(event, true));
    canvas.addEventListener("pointercancel", (event) => this.up(event, false));
  }

  get active() {
    return this.pointers.size > 0;
  }

  down(event) {
    if (event.button !== 0) return;
    this.sheet.canvas.setPointerCapture(event.pointerId);
    this.pointers.set(event.pointerId, event);
    this.moved = this.pointers.size > 1;
    this.start = event;
    const part = partAt(this.sheet, event.clientX);
    this.chosen = event.shiftKey ? [part, part] : null;
  }

  move(event) {
    const before = this.pointers.get(event.pointerId);
    if (!before) return;
    this.moved ||=
      Math.hypot(event.clientX - this.start.clientX, event.clientY - this.start.clientY) >
      DRAG_PIXELS;
    if (!this.moved) return;
    const [first, second] = this.pointers.values();
    this.pointers.set(event.pointerId, event);
    if (this.chosen) this.choose(event);
    else if (second) this.pinch(first, second);
    else this.axis.pan((before.clientX - event.clientX) / this.sheet.plot.width);
  }

  choose(event) {
    this.chosen[1] = partAt(this.sheet, event.clientX);
    this.axis.changed();
  }

  pinch(first, second) {
    const [one, two] = this.pointers.values();
    const before = Math.abs(first.clientX - second.clientX),
      now = Math.abs(one.clientX - two.clientX);
    if (before > 8 && now > 8)
      this.axis.zoom(now / before, partAt(this.sheet, (one.clientX + two.clientX) / 2));
  }

  up(event, done) {
    if (!this.pointers.delete(event.pointerId)) return;
    const { axis, chosen } = this;
    this.chosen = null;
    if (done && !this.moved) this.clicked(event);
    else if (done && chosen) {
      const [low, high] = [Math.min(...chosen), Math.max(...chosen)];
      axis.show(axis.from + low * axis.span, axis.from + high * axis.span);
    }
  }
}
