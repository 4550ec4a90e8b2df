// A schedule as columns and rows, with indices to look things up.

const [LOAD, STORE, STREAM_IN, STREAM_OUT] = [0, 1, 2, 3];
const COMMANDS = ["load", "store", "stream in", "stream out"];
const ACCESSES = ["reads", "writes", "updates"];
const SCRATCH = -1;

/** Rows by the value of a column: a function from that to its rows. */
function grouped(rows, name) {
  const groups = Map.groupBy(rows, (row) => row[name]);
  return (value) => groups.get(value) ?? [];
}

/** The record of one schedule (`schedule_record`), ready to be drawn. */
class Schedule {
  /** @param {any} record @param {string} mark A or B @param {string} own its name among two */
  constructor(record, mark = "", own = "") {
    Object.assign(this, record, { mark, own });
    const { uses_first: first, uses_step: steps, uses_access: accesses } = this.tensors;
    const uses = steps.map((step, at) => ({ tensor: above(first, at) - 1, step, access: ACCESSES[accesses[at]] }));
    this.rects = rowsOf(record.residencies);
    this.commands = rowsOf(record.commands);
    this.usesOf = grouped(uses, "tensor");
    this.usesIn = grouped(uses, "step");
    this.count = this.steps.name.length;
    this.edges = [...this.steps.start, this.cycles];
    this.rectsOf = grouped(this.rects, "tensor");
    this.commandsOf = grouped(this.commands, "tensor");
  }

  /** Its name among two. */
  get heading() {
    return this.mark && `${this.mark}: ${shortened(this.own, 100)}`;
  }

  time(cycles) {
    return si(cycles / this.clock_hz, "s");
  }

  stepAt(cycles) {
    return Math.min(this.count - 1, Math.max(0, above(this.edges, cycles) - 1));
  }

  /** `step 12, conv1`, counted from 0 as in schedules. */
  stepName(step) {
    return `step ${step}, ${shortened(this.steps.name[step])}`;
  }

  /** The kind of a rectangle; the last one is scratch. */
  kindOf({ tensor }) {
    return tensor === SCRATCH ? this.kinds.length - 1 : this.tensors.kind[tensor];
  }

  /** The first step from `step` on that uses a tensor, or -1. */
  nextUse(tensor, step) {
    return this.usesOf(tensor).find((use) => use.step >= step)?.step ?? -1;
  }

  /** The step of [first, last] in which the engine stalls longest. */
  longestStall(first, last) {
    const { stall_cycles: stalls } = this.steps;
    let longest = first;
    for (let step = first; step <= last; step++) if (stalls[step] > stalls[longest]) longest = step;
    return longest;
  }

  /** The rectangle at a time and page, if any. A scan is quick enough: 0.1 ms for 60,000. */
  rectAt(cycles, page) {
    return this.rects.find(
      ({ start, stop, page: low, pages }) => start <= cycles && cycles < stop && low <= page && page < low + pages,
    );
  }
}
