// The life of one tensor over time: where it is, what moves it, who uses it.

const LIFE_ROW = 20;
const LIFE_ROWS = ["in SPM", "in DRAM", "moved in", "moved out", "used"];

class LifeLine {
  /** @param {Schedule} schedule @param {{kinds: string[], causes: string[]}} look */
  constructor(schedule, look) {
    this.schedule = schedule;
    this.look = look;
    this.tensor = -1;
  }

  get height() {
    return LIFE_ROWS.length * LIFE_ROW + LANE_GAP;
  }

  /** @param {Sheet} sheet @param {TimeAxis} axis @param {Theme} theme */
  draw(sheet, axis, theme) {
    const context = sheet.begin(),
      { left, width } = sheet.plot;
    LIFE_ROWS.forEach((name, row) => {
      const box = { left, width, top: row * LIFE_ROW + 2, height: LIFE_ROW - 4 };
      frame(context, box, theme);
      nameLane(context, name, box, theme);
      context.save();
      context.beginPath();
      context.rect(left, box.top, width, box.height);
      context.clip();
      this.drawRow(context, row, box, axis, theme);
      context.restore();
    });
  }

  drawRow(context, row, box, axis, theme) {
    const at = (cycles) => box.left + ((cycles - axis.from) / axis.span) * box.width;
    const bar = (from, to, colour, part = 1) => {
      context.fillStyle = colour;
      const high = Math.max(2, part * box.height);
      context.fillRect(
        at(from),
        box.top + box.height - high,
        Math.max(1.5, at(to) - at(from)),
        high,
      );
    };
    const { schedule, tensor, look } = this,
      colour = look.kinds[schedule.tensors.kind[tensor]];
    if (row === 0) for (const [from, to, part] of this.stays()) bar(from, to, colour, part);
    if (row === 1) {
      for (const copy of ofGroup(schedule.copiesOf, tensor)) {
        const { begin, end } = schedule.dram;
        bar(
          schedule.edges[begin[copy]],
          schedule.edges[Math.min(end[copy], schedule.count)],
          theme.muted,
        );
      }
    }
    if (row === 2 || row === 3) this.drawMoves(bar, row === 2);
    if (row === 4) this.drawUses(context, at, box, theme);
  }

  /** Stretches in which a part of the tensor is on chip: [from, to, part]. */
  stays() {
    const { rects, tensors, page_bytes: page } = this.schedule,
      changes = new Map();
    const add = (cycles, pages) => changes.set(cycles, (changes.get(cycles) || 0) + pages);
    for (const rect of ofGroup(this.schedule.rectsOf, this.tensor)) {
      add(rects.start[rect], rects.pages[rect]);
      add(rects.stop[rect], -rects.pages[rect]);
    }
    const times = [...changes.keys()].sort((a, b) => a - b),
      found = [];
    const whole = Math.max(1, Math.ceil(tensors.bytes[this.tensor] / page));
    let pages = 0;
    times.forEach((cycles, place) => {
      pages += changes.get(cycles);
      if (pages > 0) found.push([cycles, times[place + 1], Math.min(1, pages / whole)]);
    });
    return found;
  }

  drawMoves(bar, inward) {
    const { schedule, look } = this,
      { kind, start, cycles } = schedule.commands;
    for (const command of ofGroup(schedule.commandsOf, this.tensor)) {
      const isInward = kind[command] === LOAD || kind[command] === STREAM_IN;
      const colour = look.causes[schedule.causes.indexOf(COMMANDS[kind[command]])];
      if (isInward === inward) bar(start[command], start[command] + cycles[command], colour);
    }
  }

  drawUses(context, at, box, theme) {
    const { schedule, tensor } = this,
      { uses_first: first, uses_step: step, uses_access: access } = schedule.tensors;
    const middle = box.top + box.height / 2;
    for (let use = first[tensor]; use < first[tensor + 1]; use++) {
      const { compute_start: start, compute_cycles: cycles } = schedule.steps;
      const x = at(start[step[use]] + cycles[step[use]] / 2);
      context.beginPath();
      context.arc(x, middle, 4.5, 0, 2 * Math.PI);
      context.fillStyle = context.strokeStyle = theme.ink;
      context.lineWidth = 1.5;
      context.stroke();
      if (access[use] > 0) context.fill();
    }
  }
}
