// The scratchpad: address over time, a rectangle for each residency interval of a tensor.

const MAP_HEAD = 20;
const MAP_FOOT = 4;
const FADED = 0.16;

/** Where address 0 and the end of the scratchpad are on a sheet. @param {Sheet} sheet */
function mapBox(sheet) {
  return { ...sheet.plot, top: MAP_HEAD, height: sheet.height - MAP_HEAD - MAP_FOOT };
}

/** Sums of colors, weighted by the part of each pixel that rectangles fusion_plan, however small. */
class Raster {
  constructor() {
    this.sums = new Float32Array(0);
    this.surface = document.createElement("canvas");
  }

  /**
   * Paints the part of rectangles that is in view, on nothing.
   * @param {any[]} boxes rectangles
   * @param {{from: number, to: number, pages: number}} view
   * @param {{width: number, height: number}} size in pixels
   * @param {(box: any) => number} kindOf the number of the color of each
   * @param {number[][]} colors the last one is hatched
   */
  paint(boxes, view, size, kindOf, colors) {
    const { width, height } = size;
    if (this.sums.length !== 4 * width * height) this.sums = new Float32Array(4 * width * height);
    else this.sums.fill(0);
    const across = width / (view.to - view.from);
    const up = height / view.pages;
    for (const box of boxes) {
      if (box.stop <= view.from || box.start >= view.to) continue;
      const left = Math.max(0, (box.start - view.from) * across);
      const right = Math.min(width, (box.stop - view.from) * across);
      const bottom = height - box.page * up;
      const top = bottom - box.pages * up;
      const edges = [left, right - seam(right - left), top + seam(bottom - top), bottom];
      const color = kindOf(box);
      this.add(edges, size, colors[color], color === colors.length - 1);
    }
    return this.finished(size);
  }

  /** Adds one rectangle; edges fusion_plan their pixels in part. */
  add([left, right, top, bottom], size, [red, green, blue], isHatched) {
    const { sums } = this;
    const lastX = Math.min(size.width, Math.ceil(right));
    const lastY = Math.min(size.height, Math.ceil(bottom));
    for (let y = Math.max(0, Math.floor(top)); y < lastY; y++) {
      const high = Math.min(y + 1, bottom) - Math.max(y, top);
      let at = 4 * (y * size.width + Math.floor(left));
      for (let x = Math.floor(left); x < lastX; x++, at += 4) {
        let part = high * (Math.min(x + 1, right) - Math.max(x, left));
        if (isHatched && ((x + y) & 7) > 3) part *= 0.35;
        sums[at] += part * red;
        sums[at + 1] += part * green;
        sums[at + 2] += part * blue;
        sums[at + 3] += part;
      }
    }
  }

  /** The picture, as opaque as pixels are covered, on a canvas of its own. */
  finished(size) {
    const image = new ImageData(size.width, size.height);
    const { data } = image;
    const { sums } = this;
    for (let at = 0; at < sums.length; at += 4) {
      const covered = sums[at + 3];
      if (covered <= 0) continue;
      data[at] = sums[at] / covered;
      data[at + 1] = sums[at + 1] / covered;
      data[at + 2] = sums[at + 2] / covered;
      data[at + 3] = 255 * Math.min(1, covered);
    }
    Object.assign(this.surface, size);
    this.surface.getContext("2d").putImageData(image, 0, 0);
    return this.surface;
  }
}

/** What is left open between rectangles that are large enough to be seen apart. */
function seam(length) {
  return length > 6 ? 1 : length > 3 ? 0.5 : 0;
}

class AddressMap {
  /** @param {Schedule} schedule @param {{kinds: string[]}} look */
  constructor(schedule, look) {
    Object.assign(this, { schedule, look, raster: new Raster() });
    /** @type {any[]|null} rectangles that alone have their full color; null: all have */
    this.strong = null;
  }

  /** @param {Sheet} sheet @param {TimeAxis} axis @param {number} sharpness */
  draw(sheet, axis, sharpness) {
    const context = sheet.begin();
    const box = mapBox(sheet);
    const { left, top, width, height } = box;
    const scale = sheet.ratio * sharpness;
    const size = { width: Math.ceil(width * scale), height: Math.ceil(height * scale) };
    const view = { from: axis.from, to: axis.to, pages: this.schedule.spm_pages };
    const colors = this.look.kinds.map(channels);
    const kindOf = (box) => this.schedule.kindOf(box);
    const paint = (boxes, inks) => {
      const picture = this.raster.paint(boxes, view, size, kindOf, inks);
      context.drawImage(picture, left, top, width, height);
    };
    context.fillStyle = theme.card;
    context.fillRect(left, top, width, height);
    if (this.strong) {
      const paper = channels(theme.card);
      const faded = (ink, at) => FADED * ink + (1 - FADED) * paper[at];
      const pale = colors.map((color) => color.map(faded));
      paint(this.schedule.rects, pale);
    }
    paint(this.strong || this.schedule.rects, colors);
    if (sharpness === 1) this.label(context, box, axis);
    sheet.drawTicks(axis, top);
    drawBytes(sheet, this.schedule);
    this.drawBanks(context, box);
  }

  /** A line at the border of two banks. */
  drawBanks(context, { left, top, width, height }) {
    const { banks, spm_pages: pages } = this.schedule;
    let page = 0;
    context.fillStyle = theme.ink;
    for (const bank of banks.slice(0, -1)) {
      page += bank.pages;
      context.fillRect(left, Math.round(top + height * (1 - page / pages)) - 1, width, 2);
    }
  }

  /** Names on rectangles that are large enough for them. */
  label(context, { left, top, width, height }, axis) {
    const { schedule, look } = this;
    const across = width / axis.span;
    const up = height / schedule.spm_pages;
    context.textAlign = "left";
    for (const box of this.strong || schedule.rects) {
      if (box.stop <= axis.from || box.start >= axis.to) continue;
      const from = Math.max(0, (box.start - axis.from) * across);
      const wide = Math.min(width, (box.stop - axis.from) * across) - from - 8;
      if (wide < 30 || box.pages * up < 14) continue;
      const name = box.tensor === SCRATCH ? "scratch" : schedule.tensors.name[box.tensor];
      context.fillStyle = inkOn(look.kinds[schedule.kindOf(box)]);
      const y = top + height - (box.page + box.pages / 2) * up;
      context.fillText(fitted(context, name, wide), left + from + 4, y);
    }
  }

  /** The page at a height of the sheet. */
  pageAt(sheet, y) {
    const { top, height } = mapBox(sheet);
    return Math.floor(((top + height - y) / height) * this.schedule.spm_pages);
  }
}

/** The axis of bytes on the left, and the line at which the scratchpad is full. */
function drawBytes(sheet, schedule) {
  const { left, top, width, height } = mapBox(sheet);
  const most = schedule.spm_pages * schedule.page_bytes;
  const { spm_unit: unit } = schedule;
  const least = most / Math.max(2, height / 56);
  const step = unit === "B" ? roundStep(least) : 2 ** Math.ceil(Math.log2(least));
  for (const bytes of multiples(step, 0, most)) {
    const y = top + height * (1 - bytes / most);
    if (y - top >= 14) sheet.label(capacity(bytes, unit, 3), Math.min(y, top + height - 6), theme.muted);
  }
  sheet.label(capacity(schedule.spm_bytes, unit), top, theme.ink);
  sheet.context.fillRect(left, top - 0.75, width, 1.5);
}
