// The life of one tensor over time: where it is, what moves it, who uses it.

const LIFE_ROW = 20;
const LIFE_ROWS = ["in SPM", "in DRAM", "moved in", "moved out", "used"];

class LifeLine {
  /** @param {Schedule} schedule @param {{kinds: string[], causes: string[]}} look */
  constructor(schedule, look) {
    Object.assign(this, { schedule, look, tensor: -1 });
    this.height = LIFE_ROWS.length * LIFE_ROW + LANE_GAP;
  }

  /** @param {Sheet} sheet @param {TimeAxis} axis @param {Theme} theme */
  draw(sheet, axis, theme) {
    const context = sheet.begin();
    const { edges, dram, copiesOf, tensors } = this.schedule;
    const copies = Array.from(ofGroup(copiesOf, this.tensor), (copy) => [
      edges[dram.begin[copy]],
      edges[Math.min(dram.end[copy], this.schedule.count)],
      1,
      theme.muted,
    ]);
    const color = this.look.kinds[tensors.kind[this.tensor]];
    const held = this.intervals().map((interval) => [...interval, color]);
    const rows = [held, copies, this.moves(LOAD, STREAM_IN), this.moves(STORE, STREAM_OUT), []];
    rows.forEach((bars, row) => {
      const box = { ...sheet.plot, top: row * LIFE_ROW + 2, height: LIFE_ROW - 4 };
      frame(sheet, box, theme, LIFE_ROWS[row]);
      context.save();
      context.beginPath();
      context.rect(box.left, box.top, box.width, box.height);
      context.clip();
      const at = (cycles) => box.left + ((cycles - axis.from) / axis.span) * box.width;
      for (const [from, to, part, ink] of bars) {
        const high = Math.max(2, part * box.height);
        context.fillStyle = ink;
        const width = Math.max(1.5, at(to) - at(from));
        context.fillRect(at(from), box.top + box.height - high, width, high);
      }
      if (row === rows.length - 1) this.drawUses(context, at, box.top + box.height / 2, theme);
      context.restore();
    });
  }

  /** Stretches in which a part of the tensor is on chip: [from, to, part]. */
  intervals() {
    const { rects, tensors, page_bytes: page } = this.schedule;
    const changes = new Map();
    const add = (cycles, pages) => changes.set(cycles, (changes.get(cycles) || 0) + pages);
    for (const rect of ofGroup(this.schedule.rectsOf, this.tensor)) {
      add(rects.start[rect], rects.pages[rect]);
      add(rects.stop[rect], -rects.pages[rect]);
    }
    const times = [...changes.keys()].sort((a, b) => a - b);
    const whole = Math.max(1, Math.ceil(tensors.bytes[this.tensor] / page));
    let pages = 0;
    return times
      .map((cycles, place) => {
        pages += changes.get(cycles);
        return [cycles, times[place + 1], Math.min(1, pages / whole)];
      })
      .filter(([, , part]) => part > 0);
  }

  /** Commands of these kinds: [from, to, part, color]. */
  moves(...kinds) {
    const { schedule, look } = this;
    const { kind, start, cycles } = schedule.commands;
    return Array.from(ofGroup(schedule.commandsOf, this.tensor))
      .filter((at) => kinds.includes(kind[at]))
      .map((at) => {
        const color = look.causes[schedule.causes.indexOf(COMMANDS[kind[at]])];
        return [start[at], start[at] + cycles[at], 1, color];
      });
  }

  drawUses(context, at, middle, theme) {
    const { steps, tensors } = this.schedule;
    for (const use of this.schedule.usesOf(this.tensor)) {
      const step = tensors.uses_step[use];
      const x = at(steps.compute_start[step] + steps.compute_cycles[step] / 2);
      context.beginPath();
      context.arc(x, middle, 4.5, 0, 2 * Math.PI);
      context.fillStyle = context.strokeStyle = theme.ink;
      context.lineWidth = 1.5;
      context.stroke();
      if (tensors.uses_access[use] > 0) context.fill();
    }
  }
}
