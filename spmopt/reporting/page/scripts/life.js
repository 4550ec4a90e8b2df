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
    const { edges, count, steps, tensors } = this.schedule;
    const copies = this.schedule
      .copiesOf(this.tensor)
      .map(({ begin, end }) => [edges[begin], edges[Math.min(end, count)], 1, theme.muted]);
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
      const uses = row === rows.length - 1 ? this.schedule.usesOf(this.tensor) : [];
      context.fillStyle = context.strokeStyle = theme.ink;
      context.lineWidth = 1.5;
      for (const { step, access } of uses) {
        const x = at(steps.compute_start[step] + steps.compute_cycles[step] / 2);
        context.beginPath();
        context.arc(x, box.top + box.height / 2, 4.5, 0, 2 * Math.PI);
        context.stroke();
        if (access !== "reads") context.fill();
      }
      context.restore();
    });
  }

  /** Stretches in which a part of the tensor is on chip: [from, to, part]. */
  intervals() {
    const { tensors, page_bytes: page } = this.schedule;
    const changes = this.schedule
      .rectsOf(this.tensor)
      .flatMap(({ start, stop, pages }) => [
        [start, pages],
        [stop, -pages],
      ])
      .sort((a, b) => a[0] - b[0]);
    const whole = Math.max(1, Math.ceil(tensors.bytes[this.tensor] / page));
    let held = 0;
    return changes
      .map(([cycles, pages], place) => {
        held += pages;
        return [cycles, changes[place + 1]?.[0], Math.min(1, held / whole)];
      })
      .filter(([from, to, part]) => part > 0 && from < to);
  }

  /** Commands of these kinds: [from, to, part, color]. */
  moves(...kinds) {
    const { schedule, look } = this;
    const color = (kind) => look.causes[schedule.causes.indexOf(COMMANDS[kind])];
    return schedule
      .commandsOf(this.tensor)
      .filter(({ kind }) => kinds.includes(kind))
      .map(({ start, cycles, kind }) => [start, start + cycles, 1, color(kind)]);
  }
}
