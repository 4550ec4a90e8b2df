// Pan and zoom by pointer, wheel and keys.

const DRAG_PIXELS = 4;
const WHEEL_ZOOM = 0.0016;
const KEY_PAN = 0.15;
const KEY_ZOOM = 1.5;

/** What keys do to the axis. @type {Object<string, (axis: TimeAxis) => void>} */
const KEYS = {
  ArrowLeft: (axis) => axis.pan(-KEY_PAN),
  ArrowRight: (axis) => axis.pan(KEY_PAN),
  "+": (axis) => axis.zoom(KEY_ZOOM),
  "=": (axis) => axis.zoom(KEY_ZOOM),
  "-": (axis) => axis.zoom(1 / KEY_ZOOM),
  0: (axis) => axis.show(0, axis.total),
  Home: (axis) => axis.show(0, axis.span),
  End: (axis) => axis.show(axis.total - axis.span, axis.total),
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
  const isSideways = event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY);
  if (!isSideways && !event.ctrlKey && document.activeElement !== sheet.canvas) return;
  event.preventDefault();
  const unit = event.deltaMode === 1 ? 16 : 1;
  if (isSideways) axis.pan(((event.deltaX || event.deltaY) * unit) / sheet.plot.width);
  else axis.zoom(Math.exp(-event.deltaY * unit * WHEEL_ZOOM), sheet.partAt(event.clientX));
}

/** Drags: pan, with two fingers zoom, with Shift a stretch to zoom into; a click is none. */
class Drag {
  /** @param {Sheet} sheet @param {TimeAxis} axis @param {(event: PointerEvent) => void} clicked */
  constructor(sheet, axis, clicked) {
    Object.assign(this, { sheet, axis, clicked, moved: false, start: null });
    /** @type {number[]|null} the stretch chosen so far, in parts of the plot */
    this.chosen = null;
    /** @type {Map<number, PointerEvent>} */
    this.pointers = new Map();
    filled(sheet.canvas, {
      pointerdown: (event) => this.down(event),
      pointermove: (event) => this.move(event),
      pointerup: (event) => this.up(event, true),
      pointercancel: (event) => this.up(event, false),
    });
  }

  down(event) {
    if (event.button !== 0) return;
    this.sheet.canvas.setPointerCapture(event.pointerId);
    this.pointers.set(event.pointerId, event);
    this.moved = this.pointers.size > 1;
    this.start = event;
    const part = this.sheet.partAt(event.clientX);
    this.chosen = event.shiftKey ? [part, part] : null;
  }

  move(event) {
    const before = this.pointers.get(event.pointerId);
    if (!before) return;
    const { start, sheet, axis } = this;
    const far = Math.hypot(event.clientX - start.clientX, event.clientY - start.clientY);
    this.moved ||= far > DRAG_PIXELS;
    if (!this.moved) return;
    const apart = this.apart();
    this.pointers.set(event.pointerId, event);
    if (this.chosen) {
      this.chosen[1] = sheet.partAt(event.clientX);
      axis.changed();
    } else if (this.pointers.size === 1) {
      axis.pan((before.clientX - event.clientX) / sheet.plot.width);
    } else if (apart > 8 && this.apart() > 8) {
      const [one, two] = this.pointers.values();
      axis.zoom(this.apart() / apart, sheet.partAt((one.clientX + two.clientX) / 2));
    }
  }

  /** How far the first two fingers are apart, in pixels. */
  apart() {
    const [one, two] = this.pointers.values();
    return two ? Math.abs(one.clientX - two.clientX) : 0;
  }

  up(event, isDone) {
    if (!this.pointers.delete(event.pointerId)) return;
    const { axis, chosen } = this;
    this.chosen = null;
    if (isDone && !this.moved) this.clicked(event);
    else if (isDone && chosen) {
      const [low, high] = [Math.min(...chosen), Math.max(...chosen)];
      axis.show(axis.from + low * axis.span, axis.from + high * axis.span);
    }
    this.moved &&= this.pointers.size > 0;
  }
}
