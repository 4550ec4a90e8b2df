// A canvas that is as wide as its place, sharp on every screen.

const FONT = "12px system-ui, sans-serif";
const LEAST_LETTERS = 8; // of a name that is cut

/** Room beside the plots of all sheets, so that their times are below each other. */
function gutters(width) {
  return width < 560 ? { left: 72, right: 8 } : { left: 84, right: 12 };
}

class Sheet {
  /**
   * @param {{label: string, height: number, focusable?: boolean, describedBy?: string}} options
   * @param {() => void} resized
   */
  constructor(options, resized) {
    this.canvas = /** @type {HTMLCanvasElement} */ (
      element("canvas", {
        role: options.focusable ? "application" : "img",
        "aria-label": options.label,
        "aria-describedby": options.describedBy || null,
        tabindex: options.focusable ? 0 : null,
      })
    );
    this.height = options.height;
    this.width = 0;
    this.ratio = 1;
    this.canvas.style.height = `${options.height}px`;
    this.context = this.canvas.getContext("2d");
    new ResizeObserver(() =>
      requestAnimationFrame(() => {
        if (this.fit()) resized();
      }),
    ).observe(this.canvas);
  }

  /** Takes the size that the page gives; says whether it has changed. */
  fit() {
    const width = this.canvas.clientWidth,
      ratio = devicePixelRatio || 1;
    if (width === this.width && ratio === this.ratio) return false;
    this.width = width;
    this.ratio = ratio;
    return true;
  }

  /** Left end and width of the plot. */
  get plot() {
    const { left, right } = gutters(this.width);
    return { left, width: Math.max(1, this.width - left - right) };
  }

  /** Empties the canvas and returns what draws on it, in pixels of the page. */
  begin() {
    const { canvas, context, ratio } = this;
    const [width, height] = [Math.round(this.width * ratio), Math.round(this.height * ratio)];
    if (canvas.width !== width || canvas.height !== height) {
      canvas.width = width;
      canvas.height = height;
    }
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, this.width, this.height);
    context.font = FONT;
    context.textBaseline = "middle";
    return context;
  }
}

/** Text that ends before `room` is over, or none. */
function fitted(context, text, room) {
  if (room < 18) return "";
  const letters = shortened(text, Math.max(LEAST_LETTERS, Math.floor(room / 5)));
  if (context.measureText(letters).width <= room) return letters;
  const per = context.measureText(letters).width / letters.length;
  const most = Math.floor(room / per);
  return most < LEAST_LETTERS ? "" : shortened(text, most - 1);
}

/** Ticks of time above a plot. */
function drawTicks(context, sheet, axis, theme, top) {
  const { left, width } = sheet.plot;
  const { step, seconds } = axis.ticks(width / 110);
  const digits = tickDigits(step, axis.to / axis.clockHz);
  context.textAlign = "center";
  context.strokeStyle = context.fillStyle = theme.muted;
  context.lineWidth = 1;
  for (const tick of seconds) {
    const x = left + ((tick * axis.clockHz - axis.from) / axis.span) * width;
    context.beginPath();
    context.moveTo(Math.round(x) + 0.5, top - 4);
    context.lineTo(Math.round(x) + 0.5, top);
    context.stroke();
    const text = si(tick, "s", digits),
      half = context.measureText(text).width / 2;
    context.fillText(text, Math.min(Math.max(x, half), sheet.width - half), top - 11);
  }
}
