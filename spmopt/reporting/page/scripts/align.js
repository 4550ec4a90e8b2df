// Two schedules on one axis: by time, or step by step, each of which begins in both at once.

const ALIGNMENTS = { time: "time", step: "step" };

/** Where steps begin on the common axis: each is as wide as the slower schedule takes for it. */
function commonEdges(schedules) {
  const edges = [0];
  for (let step = 0; step < schedules[0].count; step++) {
    const widest = Math.max(...schedules.map(({ steps }) => steps.cycles[step]));
    edges.push(edges[step] + Math.max(1, widest));
  }
  return edges;
}

/**
 * Rectangles on an axis whose steps begin at `edges`; what stays beyond a step fills all of it.
 * @param {Schedule} schedule in its own times
 */
function alignedRects(schedule, edges, rects) {
  return rects.map((rect) => ({
    ...rect,
    start: alignedTime(schedule, edges, rect.start),
    stop: alignedTime(schedule, edges, rect.stop),
    natural: rect,
  }));
}

/** A time on the common axis. At the end of one step and the start of the next it is the latter. */
function alignedTime(schedule, edges, cycles) {
  if (cycles >= schedule.cycles) return edges.at(-1);
  const step = schedule.stepAt(cycles);
  return edges[step] + cycles - schedule.edges[step];
}

/** The same for what ends: at the end of a step it is of that. */
function alignedEnd(schedule, edges, cycles) {
  const step = schedule.stepAt(Math.max(0, cycles - 1));
  return edges[step] + cycles - schedule.edges[step];
}

/** The own time of a schedule at a place of the common axis. */
function naturalTime(schedule, edges, cycles) {
  const step = Math.min(schedule.count - 1, Math.max(0, above(edges, cycles) - 1));
  return schedule.edges[step] + Math.min(cycles - edges[step], schedule.steps.cycles[step]);
}

/** A schedule with its steps at `edges`. @param {Schedule} schedule in its own times */
function aligned(schedule, edges) {
  const { steps } = schedule;
  const made = Object.assign(Object.create(Schedule.prototype), schedule);
  made.edges = edges;
  made.cycles = edges.at(-1);
  made.rects = alignedRects(schedule, edges, schedule.rects);
  made.commands = schedule.commands.map((command) => {
    const start = alignedTime(schedule, edges, command.start);
    const end = alignedEnd(schedule, edges, command.start + command.cycles);
    return { ...command, start, cycles: Math.max(0, end - start), natural: command };
  });
  made.steps = {
    ...steps,
    start: edges.slice(0, -1),
    compute_start: steps.compute_start.map(
      (start, step) => edges[step] + start - schedule.edges[step],
    ),
  };
  made.segments = schedule.segments.map((segment) => ({
    ...segment,
    start: edges[segment.begin],
    stop: edges[segment.end],
    blocks: segment.blocks.map((block) => alignedTime(schedule, edges, block)),
  }));
  made.rectsOf = grouped(made.rects, "tensor");
  made.commandsOf = grouped(made.commands, "tensor");
  return made;
}
