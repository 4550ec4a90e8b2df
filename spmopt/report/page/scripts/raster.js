// Rectangles in pixels: each pixel gets the mean of what lies in it, however small that is.

/**
 * Rectangles of time and pages, not overlapping, painted as mean colours.
 * @typedef {{start: Float64Array, stop: Float64Array, page: Float64Array, pages: Float64Array, tensor: Float64Array,
 *   colour: Uint8Array, lit: Uint8Array|null}} Boxes
 */

/** Sums of colours, weighted by the part of each pixel that they cover. */
class Raster {
  constructor() {
    this.sums = new Float32Array(0);
    this.surface = document.createElement("canvas");
  }

  /**
   * Paints the part of `boxes` that is in view.
   * @param {Boxes} boxes @param {{from: number, to: number, pages: number}} view
   * @param {{width: number, height: number}} size in pixels
   * @param {{colours: number[][], faded: number[][], hatched: number, paper: number[]}} look
   */
  paint(boxes, view, size, look) {
    const { width, height } = size;
    if (this.sums.length !== 4 * width * height) this.sums = new Float32Array(4 * width * height);
    else this.sums.fill(0);
    const across = width / (view.to - view.from),
      up = height / view.pages;
    for (let box = 0; box < boxes.start.length; box++) {
      if (boxes.stop[box] <= view.from || boxes.start[box] >= view.to) continue;
      const left = Math.max(0, (boxes.start[box] - view.from) * across);
      const right = Math.min(width, (boxes.stop[box] - view.from) * across);
      const bottom = height - boxes.page[box] * up;
      const top = bottom - boxes.pages[box] * up;
      const kind = boxes.colour[box];
      const colours = boxes.lit && !boxes.lit[box] ? look.faded : look.colours;
      const seamX = seam(right - left),
        seamY = seam(bottom - top);
      const colour = colours[kind],
        hatched = kind === look.hatched;
      this.add(left, right - seamX, top + seamY, bottom, size, colour, hatched);
    }
    return this.finished(size, look.paper);
  }

  /** Adds one rectangle; edges cover their pixels in part. */
  add(left, right, top, bottom, size, colour, hatched) {
    const { sums } = this,
      [red, green, blue] = colour;
    const firstX = Math.floor(left),
      lastX = Math.min(size.width, Math.ceil(right));
    const firstY = Math.max(0, Math.floor(top)),
      lastY = Math.min(size.height, Math.ceil(bottom));
    for (let y = firstY; y < lastY; y++) {
      const high = Math.min(y + 1, bottom) - Math.max(y, top);
      let at = 4 * (y * size.width + firstX);
      for (let x = firstX; x < lastX; x++, at += 4) {
        let part = high * (Math.min(x + 1, right) - Math.max(x, left));
        if (hatched && ((x + y) & 7) > 3) part *= 0.35;
        sums[at] += part * red;
        sums[at + 1] += part * green;
        sums[at + 2] += part * blue;
        sums[at + 3] += part;
      }
    }
  }

  /** The picture on `paper`, as a canvas of its own. */
  finished({ width, height }, paper) {
    const image = new ImageData(width, height),
      { data } = image,
      { sums } = this;
    const [red, green, blue] = paper;
    for (let at = 0; at < sums.length; at += 4) {
      const rest = Math.max(0, 1 - sums[at + 3]);
      data[at] = sums[at] + rest * red;
      data[at + 1] = sums[at + 1] + rest * green;
      data[at + 2] = sums[at + 2] + rest * blue;
      data[at + 3] = 255;
    }
    this.surface.width = width;
    this.surface.height = height;
    this.surface.getContext("2d").putImageData(image, 0, 0);
    return this.surface;
  }
}

/** What is left open between rectangles that are large enough to be seen apart. */
function seam(length) {
  return length > 6 ? 1 : length > 3 ? 0.5 : 0;
}

/** `part` of a colour, and paper for the rest. */
function mixed(colour, paper, part) {
  return colour.map((channel, at) => part * channel + (1 - part) * paper[at]);
}
