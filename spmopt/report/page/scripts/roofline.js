// What layers attain against what reuse frequency and machine allow, on logarithmic axes.

const ROOF_HEIGHT = 360,
  ROOF_TOP = 14,
  ROOF_FOOT = 40;

class Roofline {
  /** @param {any} record @param {Theme} theme @param {string[]} colours of compute and memory bound */
  constructor(record, theme, colours) {
    this.record = record;
    this.theme = theme;
    this.colours = colours;
    this.points = record.points.filter((point) => point.reuse_frequency > 0 && point.attained > 0);
    this.sheet = new Sheet(
      {
        label:
          "Roofline: attained operations per second over reuse frequency; the table of layers has the same figures",
        height: ROOF_HEIGHT,
      },
      () => this.draw(),
    );
    const { canvas } = this.sheet;
    canvas.addEventListener("pointermove", (event) => this.hover(event));
    canvas.addEventListener("pointerleave", hideTip);
    this.root = element("div", {}, canvas, this.caption());
    this.measure();
  }

  caption() {
    const { record, points, colours } = this,
      left = record.points.length - points.length;
    const without = left
      ? `; ${counted(left, "layer")} without arithmetic or traffic left out`
      : "";
    return element(
      "p",
      { class: "key" },
      swatch(colours[0]),
      "compute bound ",
      swatch(colours[1]),
      "memory bound",
      ` · one point for each layer and pass${without}; above the roof are those that find operands on chip · ridge at ${si(record.ridge, "FLOP/B")}, peak ${si(record.peak_ops_per_s, "FLOP/s")}, DRAM ${si(record.bytes_per_s, "B/s")}`,
    );
  }

  /** Whole decades around all points and the ridge. */
  measure() {
    const { record, points } = this;
    const decades = (values) => {
      let [low, high] = [Infinity, -Infinity];
      for (const value of values) [low, high] = [Math.min(low, value), Math.max(high, value)];
      return [Math.floor(Math.log10(low)), Math.ceil(Math.log10(high * 1.2))];
    };
    this.across = decades([record.ridge, ...points.map((point) => point.reuse_frequency)]);
    this.up = decades([record.peak_ops_per_s, ...points.map((point) => point.attained)]);
  }

  x(frequency) {
    const { left, width } = this.sheet.plot,
      [low, high] = this.across;
    return left + ((Math.log10(frequency) - low) / (high - low)) * width;
  }

  y(rate) {
    const [low, high] = this.up,
      height = ROOF_HEIGHT - ROOF_TOP - ROOF_FOOT;
    return ROOF_TOP + (1 - (Math.log10(rate) - low) / (high - low)) * height;
  }

  draw() {
    if (!this.sheet.width && !this.sheet.fit()) return;
    const context = this.sheet.begin();
    this.drawGrid(context);
    this.drawRoof(context);
    context.globalAlpha = this.points.length > 2000 ? 0.35 : 0.75;
    for (const point of this.points) {
      context.fillStyle = this.colours[point.bound === "compute" ? 0 : 1];
      context.beginPath();
      context.arc(this.x(point.reuse_frequency), this.y(point.attained), 4, 0, 2 * Math.PI);
      context.fill();
    }
    context.globalAlpha = 1;
  }

  drawGrid(context) {
    const { theme, sheet } = this,
      { left, width } = sheet.plot,
      foot = ROOF_HEIGHT - ROOF_FOOT;
    context.strokeStyle = theme.line;
    context.fillStyle = theme.muted;
    context.lineWidth = 1;
    context.beginPath();
    context.textAlign = "center";
    const every = Math.ceil((this.across[1] - this.across[0]) / Math.max(1, width / 60));
    for (let power = this.across[0]; power <= this.across[1]; power++) {
      context.moveTo(this.x(10 ** power), ROOF_TOP);
      context.lineTo(this.x(10 ** power), foot);
      if ((power - this.across[0]) % every === 0) {
        const plain = Math.abs(power) <= 3;
        const text = plain ? String(Number((10 ** power).toPrecision(1))) : si(10 ** power, "", 1);
        const half = context.measureText(text).width / 2;
        context.fillText(text, Math.min(this.x(10 ** power), sheet.width - half), foot + 12);
      }
    }
    context.fillText("reuse frequency, FLOP per byte of operands", left + width / 2, foot + 30);
    context.textAlign = "left";
    context.fillText("attained FLOP/s", left + 6, ROOF_TOP + 10);
    context.textAlign = "right";
    for (let power = this.up[0]; power <= this.up[1]; power++) {
      context.moveTo(left, this.y(10 ** power));
      context.lineTo(left + width, this.y(10 ** power));
      context.fillText(si(10 ** power, "", 1), left - 6, this.y(10 ** power));
    }
    context.stroke();
  }

  drawRoof(context) {
    const { record, theme } = this,
      [low, high] = this.across,
      peak = record.peak_ops_per_s;
    const { left, width } = this.sheet.plot;
    context.save();
    context.beginPath();
    context.rect(left, ROOF_TOP, width, ROOF_HEIGHT - ROOF_TOP - ROOF_FOOT);
    context.clip();
    context.beginPath();
    context.moveTo(this.x(10 ** low), this.y(record.bytes_per_s * 10 ** low));
    context.lineTo(this.x(peak / record.bytes_per_s), this.y(peak));
    context.lineTo(this.x(10 ** high), this.y(peak));
    context.strokeStyle = theme.ink;
    context.lineWidth = 2;
    context.stroke();
    context.restore();
  }

  hover(event) {
    const box = this.sheet.canvas.getBoundingClientRect();
    const [x, y] = [event.clientX - box.left, event.clientY - box.top];
    let [nearest, least] = [null, 12];
    for (const point of this.points) {
      const far = Math.hypot(this.x(point.reuse_frequency) - x, this.y(point.attained) - y);
      if (far < least) [nearest, least] = [point, far];
    }
    showTip(nearest ? this.words(nearest) : [], event.clientX, event.clientY);
  }

  words({ name, pass, reuse_frequency: frequency, attained, attainable, bound }) {
    return [
      `${shortened(name)}${pass ? `, ${pass}` : ""}`,
      `reuse frequency ${si(frequency, "FLOP/B")}`,
      `attains ${si(attained, "FLOP/s")}; ${si(attainable, "FLOP/s")} attainable if every operand came from DRAM`,
      `${bound} bound`,
    ];
  }
}

/** Rooflines of one or two schedules, below each other. @param {Schedule[]} schedules */
function drawRooflines(schedules, parts, look, theme) {
  return parts.map(({ roofline }, place) => {
    const roof = new Roofline(roofline, theme, look.bounds);
    const heading = schedules.length > 1 ? [element("h3", {}, schedules[place].heading)] : [];
    byId("roofline").append(...heading, roof.root);
    return roof;
  });
}
