// A canvas that is as wide as its place, sharp on every screen.

const FONT = "12px system-ui, sans-serif";
const LEAST_LETTERS = 12; // of a name that is cut

class Sheet {
  /**
   * @param {{label: string, height: number, isFocusable?: boolean}} options
   * @param {() => void} resized
   */
  constructor({ label, height, isFocusable = false }, resized) {
    this.canvas = element("canvas", {
      role: isFocusable ? "application" : "img",
      "aria-label": label,
      "aria-describedby": isFocusable ? "keys" : null,
      tabindex: isFocusable ? 0 : null,
    });
    this.width = 0;
    this.ratio = 1;
    this.setHeight(height);
    this.context = this.canvas.getContext("2d");
    const resize = () => this.fit() && resized();
    new ResizeObserver(() => requestAnimationFrame(resize)).observe(this.canvas);
  }

  /** @param {number} height in pixels of the page */
  setHeight(height) {
    this.height = height;
    this.canvas.style.height = `${height}px`;
  }

  /** Takes the size that the page gives; says whether it has changed. */
  fit() {
    const width = this.canvas.clientWidth;
    const ratio = devicePixelRatio || 1;
    if (width === this.width && ratio === this.ratio) return false;
    Object.assign(this, { width, ratio });
    return true;
  }

  /** Left end and width of the plot; of all sheets alike, so that their times are below each other. */
  get plot() {
    const [left, right] = this.width < 560 ? [72, 8] : [84, 12];
    return { left, width: Math.max(1, this.width - left - right) };
  }

  /** The part of the plot's width that a point of the window is at. */
  partAt(clientX) {
    const { left, width } = this.plot;
    return (clientX - this.canvas.getBoundingClientRect().left - left) / width;
  }

  /** Empties the canvas and returns what draws on it, in pixels of the page. */
  begin() {
    const { canvas, context, ratio } = this;
    const [width, height] = [Math.round(this.width * ratio), Math.round(this.height * ratio)];
    if (canvas.width !== width || canvas.height !== height)
      Object.assign(canvas, { width, height });
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, this.width, this.height);
    context.font = FONT;
    context.textBaseline = "middle";
    return context;
  }

  /** Text beside the plot, on its left. */
  label(text, y, color) {
    const { context, plot } = this;
    context.textAlign = "right";
    context.fillStyle = color;
    context.fillText(text, plot.left - 6, y);
  }

  /** Ticks of time above a plot. @param {TimeAxis} axis @param {Theme} theme */
  drawTicks(axis, theme, top) {
    const { context } = this;
    const { left, width } = this.plot;
    context.textAlign = "center";
    context.fillStyle = theme.muted;
    let end = -Infinity; // of the last name: the next one is beside it, or left out
    for (const [cycles, text] of axis.ticks(width / 110)) {
      const x = left + ((cycles - axis.from) / axis.span) * width;
      if (x < left - 1) continue;
      context.fillRect(Math.round(x), top - 4, 1, 4);
      const half = context.measureText(text).width / 2;
      const middle = Math.min(Math.max(x, half), this.width - half);
      if (middle - half < end + 8) continue;
      end = middle + half;
      context.fillText(text, middle, top - 11);
    }
  }
}

/** Text that ends before `width` is over, or none. */
function fitted(context, text, width) {
  if (width < 18) return "";
  const letters = shortened(text, Math.max(LEAST_LETTERS, Math.floor(width / 5)));
  const wide = context.measureText(letters).width;
  if (wide <= width) return letters;
  const most = Math.floor((width / wide) * letters.length);
  return most < LEAST_LETTERS ? "" : shortened(letters, most - 1);
}
