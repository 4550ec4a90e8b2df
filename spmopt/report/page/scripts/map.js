// The scratchpad: address over time, a rectangle for each stay of a tensor.

const MAP_HEAD = 20,
  MAP_FOOT = 4;
const FADED = 0.16;

class AddressMap {
  /** @param {Schedule} schedule @param {{kinds: string[]}} look */
  constructor(schedule, look) {
    this.schedule = schedule;
    this.look = look;
    this.raster = new Raster();
    this.own = this.coloured(schedule.rects);
    this.boxes = this.own;
  }

  /** Rectangles with the numbers of their colours. @returns {Boxes} */
  coloured(rects) {
    const { tensors, kinds } = this.schedule;
    const colour = Uint8Array.from(rects.tensor, (tensor) =>
      tensor === SCRATCH ? kinds.length - 1 : tensors.kind[tensor],
    );
    return { lit: null, ...rects, colour };
  }

  /** Shows only some rectangles in full colour; null: all. @param {Uint8Array|null} lit */
  light(lit) {
    this.boxes = { ...this.own, lit };
  }

  /** Shows rectangles that are cut otherwise, some of them lit. */
  cut(rects) {
    this.boxes = this.coloured(rects);
  }

  /** Where address 0 and the end of the scratchpad are. */
  scale(sheet) {
    return { top: MAP_HEAD, height: sheet.height - MAP_HEAD - MAP_FOOT };
  }

  /** @param {Sheet} sheet @param {TimeAxis} axis @param {Theme} theme @param {number} sharpness */
  draw(sheet, axis, theme, sharpness) {
    const context = sheet.begin(),
      { top, height } = this.scale(sheet),
      { left, width } = sheet.plot;
    const pages = this.schedule.spm_pages,
      paper = channels(theme.card);
    const scale = sheet.ratio * sharpness;
    const size = { width: Math.ceil(width * scale), height: Math.ceil(height * scale) };
    const colours = this.look.kinds.map(channels);
    const faded = colours.map((colour) => mixed(colour, paper, FADED));
    const look = { colours, faded, hatched: colours.length - 1, paper };
    const view = { from: axis.from, to: axis.to, pages };
    const image = this.raster.paint(this.boxes, view, size, look);
    context.drawImage(image, left, top, width, height);
    if (sharpness === 1) this.label(context, sheet, axis);
    drawTicks(context, sheet, axis, theme, top);
    drawBytes(context, sheet, this.schedule, theme, { top, height });
    this.drawBanks(context, sheet, theme);
  }

  /** A line at the border of two banks. */
  drawBanks(context, sheet, theme) {
    const { top, height } = this.scale(sheet),
      { left, width } = sheet.plot,
      { banks, spm_pages: pages } = this.schedule;
    let page = 0;
    context.fillStyle = theme.ink;
    for (const bank of banks.slice(0, -1)) {
      page += bank.pages;
      context.fillRect(left, Math.round(top + height * (1 - page / pages)) - 1, width, 2);
    }
  }

  /** Names on rectangles that have room for them. */
  label(context, sheet, axis) {
    const { schedule, boxes, look } = this,
      { top, height } = this.scale(sheet);
    const { left, width } = sheet.plot,
      across = width / axis.span,
      up = height / schedule.spm_pages;
    context.textAlign = "left";
    for (let box = 0; box < boxes.start.length; box++) {
      if (boxes.stop[box] <= axis.from || boxes.start[box] >= axis.to) continue;
      if (boxes.pages[box] * up < 14 || (boxes.lit && !boxes.lit[box])) continue;
      const from = Math.max(0, (boxes.start[box] - axis.from) * across);
      const room = Math.min(width, (boxes.stop[box] - axis.from) * across) - from - 8;
      if (room < 30) continue;
      const tensor = boxes.tensor[box];
      const name = tensor === SCRATCH ? "scratch" : schedule.tensors.name[tensor];
      context.fillStyle = inkOn(look.kinds[boxes.colour[box]]);
      const y = top + height - (boxes.page[box] + boxes.pages[box] / 2) * up;
      context.fillText(fitted(context, name, room), left + from + 4, y);
    }
  }

  /** The rectangle at a point of the sheet, or -1. */
  hit(sheet, y, cycles) {
    return this.schedule.rectAt(cycles, this.pageAt(sheet, y));
  }

  /** The page at a height of the sheet. */
  pageAt(sheet, y) {
    const { top, height } = this.scale(sheet);
    return Math.floor(((top + height - y) / height) * this.schedule.spm_pages);
  }
}

/** The axis of bytes on the left, and the line at which the scratchpad is full. */
function drawBytes(context, sheet, schedule, theme, { top, height }) {
  const { left, width } = sheet.plot;
  const most = schedule.spm_pages * schedule.page_bytes;
  context.textAlign = "right";
  context.fillStyle = theme.muted;
  const step = roundStep(most / Math.max(2, height / 56));
  for (let bytes = 0; bytes <= most; bytes += step) {
    const y = top + height * (1 - bytes / most);
    if (y - top < 14) continue;
    context.fillText(si(bytes, "B", 3), left - 6, Math.min(y, top + height - 6));
  }
  context.strokeStyle = context.fillStyle = theme.ink;
  context.lineWidth = 1.5;
  context.beginPath();
  context.moveTo(left, top);
  context.lineTo(left + width, top);
  context.stroke();
  context.fillText(si(schedule.spm_bytes, "B", 4), left - 6, top);
}
