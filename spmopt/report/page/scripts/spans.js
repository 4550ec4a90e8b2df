// Stretches of time by class, and how much of each column of pixels they take.

/**
 * Stretches that do not overlap, each with the part of the lane's height that it takes.
 * @typedef {{label: string, colour: string, start: Float64Array, cycles: Float64Array,
 *   part: Float64Array|null, owner: Int32Array}} Spans
 */

/** @param {Spans} spans @returns {Float32Array} part of each column between 0 and 1 */
function coverage(spans, from, to, columns) {
  const found = new Float32Array(columns),
    scale = columns / (to - from);
  const { start, cycles, part } = spans;
  for (let span = 0; span < start.length; span++) {
    const begin = start[span],
      end = begin + cycles[span];
    if (end <= from || begin >= to) continue;
    const left = Math.max(0, (begin - from) * scale),
      right = Math.min(columns, (end - from) * scale);
    const weight = part ? part[span] : 1;
    for (let x = Math.floor(left); x < right; x++) {
      found[x] += weight * (Math.min(x + 1, right) - Math.max(x, left));
    }
  }
  return found;
}

/** Stacks classes of spans in a lane; a column is as high as the part of its time that they take. */
function paintSpans(context, classes, box, from, to) {
  const columns = Math.max(1, Math.round(box.width)),
    base = new Float32Array(columns);
  for (const spans of classes) {
    const parts = coverage(spans, from, to, columns);
    context.fillStyle = spans.colour;
    for (let x = 0; x < columns; x++) {
      if (parts[x] < 1e-4) continue;
      let end = x + 1;
      while (end < columns && parts[end] === parts[x] && base[end] === base[x]) end++;
      const high = Math.min(1, base[x] + parts[x]) * box.height,
        low = base[x] * box.height;
      context.fillRect(box.left + x, box.top + box.height - high, end - x, high - low);
      base.fill(base[x] + parts[x], x, end);
      x = end - 1;
    }
  }
}

/** The span of some classes at a time: its class and place, or null. */
function spanAt(classes, cycles) {
  for (const spans of classes) {
    for (let span = 0; span < spans.start.length; span++) {
      const begin = spans.start[span];
      if (begin <= cycles && cycles < begin + spans.cycles[span])
        return { spans, owner: spans.owner[span] };
    }
  }
  return null;
}

/** @param {Schedule} schedule @param {number[]} kinds @param {string[]} colours by cause */
function commandSpans(schedule, kinds, colours) {
  const { commands } = schedule;
  return kinds.map((kind) => {
    const owner = Int32Array.from(commands.kind.keys()).filter((at) => commands.kind[at] === kind);
    return {
      label: COMMANDS[kind],
      colour: colours[schedule.causes.indexOf(COMMANDS[kind])],
      start: Float64Array.from(owner, (at) => commands.start[at]),
      cycles: Float64Array.from(owner, (at) => commands.cycles[at]),
      part: null,
      owner,
    };
  });
}

/** @param {Schedule} schedule @param {string} colour @returns {Spans} */
function computeSpans(schedule, colour) {
  const { compute_start: start, compute_cycles: cycles } = schedule.steps;
  const owner = Int32Array.from(start.keys());
  return { label: "compute", colour, start, cycles, part: null, owner };
}

/** (causes, n) The part of the time that the engine waits in each step, by cause. */
function stallParts(schedule) {
  const causes = schedule.steps.stall_by_cause.map((row) => row.slice());
  const stall = schedule.steps.stall_cycles;
  for (let step = 0; step < stall.length; step++) {
    const sum = causes.reduce((total, cycles) => total + cycles[step], 0);
    const whole = Math.max(sum, stall[step]);
    causes[0][step] += whole - sum;
    for (const cycles of causes) cycles[step] = whole > 0 ? cycles[step] / whole : 0;
  }
  return causes;
}

/**
 * Where the engine waits, before and after the computation of each step; a class for each cause.
 * @param {Schedule} schedule @param {string[]} colours by cause
 */
function stallSpans(schedule, colours) {
  const { edges, steps, count: length } = schedule,
    parts = stallParts(schedule);
  const made = schedule.causes.map((label, cause) => ({ label, colour: colours[cause], rows: [] }));
  for (let step = 0; step < length; step++) {
    const begin = steps.compute_start[step],
      end = begin + steps.compute_cycles[step];
    const idle = [
      [edges[step], begin],
      [end, edges[step + 1]],
    ];
    for (const [from, to] of idle) {
      if (to <= from) continue;
      made.forEach(
        ({ rows }, cause) =>
          parts[cause][step] > 0 && rows.push([from, to - from, parts[cause][step], step]),
      );
    }
  }
  return made
    .filter(({ rows }) => rows.length)
    .map(({ label, colour, rows }) => ({
      label,
      colour,
      start: Float64Array.from(rows, (row) => row[0]),
      cycles: Float64Array.from(rows, (row) => row[1]),
      part: Float64Array.from(rows, (row) => row[2]),
      owner: Int32Array.from(rows, (row) => row[3]),
    }));
}
