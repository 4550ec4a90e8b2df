// What things are, in words: for hover, lists and screen readers.

const CAME = [
  "loaded from DRAM",
  "written by its operation",
  "room that its operation needs",
  "moved from another address",
];

/**
 * An amount that is little beside a whole, of which prices are told: 1 MB of 24 MB, 1 kB of 64 kB.
 * @param {number} whole @param {string} unit @param {number} most the largest amount
 */
function littleOf(whole, unit, most) {
  let amount = most;
  while (amount > 1 && amount > whole / 10) amount /= 1000;
  return { amount, words: si(amount, unit) };
}

/** What one more amount of scratchpad is worth, of a price per MB. @param {Schedule} schedule */
function roomWorth(schedule, perMb) {
  const { amount, words } = littleOf(schedule.spm_bytes, "B", 1e6);
  return { words, saved: (perMb * amount) / 1e6 };
}

/** The bank that a page is in; nothing where there is but one memory. @param {Schedule} schedule */
function bankWords({ banks }, page) {
  let end = 0;
  const place = banks.findIndex((bank) => page < (end += bank.pages));
  return place < 0 ? [] : [`bank ${place}: ${banks[place].name}`];
}

/** Lines on a rectangle of the map, at a time. @param {Schedule} schedule */
function rectWords(schedule, rect, cycles) {
  const { rects, tensors, kinds, page_bytes: page } = schedule,
    tensor = rects.tensor[rect];
  const [first, pages] = [rects.page[rect], rects.pages[rect]];
  const place = `pages ${first} to ${first + pages - 1} (${si(first * page, "B")} to ${si((first + pages) * page, "B")})`;
  const stay = `steps ${rects.begin[rect]} to ${rects.end[rect] - 1}, ${schedule.time(rects.stop[rect] - rects.start[rect])}`;
  if (tensor === SCRATCH) {
    return [
      `scratch of ${shortened(schedule.steps.name[rects.begin[rect]])}`,
      `${si(pages * page, "B")}, ${place}`,
      ...bankWords(schedule, first),
      stay,
    ];
  }
  const part =
    pages * page < tensors.bytes[tensor]
      ? `${si(pages * page, "B")} here of ${si(tensors.bytes[tensor], "B")}`
      : si(tensors.bytes[tensor], "B");
  return [
    shortened(tensors.name[tensor], 160),
    `${kinds[tensors.kind[tensor]]}, ${part}`,
    place,
    ...bankWords(schedule, first),
    stay,
    `came: ${CAME[rects.came[rect]]} in ${schedule.stepName(rects.begin[rect])}`,
    stayWords(schedule, tensor, rect, cycles),
    leftWords(schedule, tensor, rect),
  ];
}

/** Why a rectangle is there at a time. */
function stayWords(schedule, tensor, rect, cycles) {
  const now = schedule.stepAt(cycles),
    next = schedule.nextUse(tensor, now);
  if (next === now) return `here for: ${schedule.stepName(now)}, which uses it`;
  if (next < 0) return "here for: no later use";
  const wait = schedule.time(Math.max(0, schedule.edges[next] - cycles));
  return next < schedule.rects.end[rect]
    ? `here for: next use in ${schedule.stepName(next)}, in ${wait}`
    : `next use in ${schedule.stepName(next)}, in ${wait}, after it has left`;
}

/** Why a rectangle ends. */
function leftWords(schedule, tensor, rect) {
  const end = schedule.rects.end[rect],
    next = schedule.nextUse(tensor, end);
  const again = next < 0 ? "" : `; needed again in ${schedule.stepName(next)}`;
  return [
    "left: nobody needs it any more",
    `left: evicted${again}`,
    "left: end of the schedule",
    `left: from then on it is in DRAM only${again}`,
    "left: moved to another address",
  ][schedule.rects.left[rect]];
}

/** Lines on a step. @param {Schedule} schedule */
function stepWords(schedule, step) {
  const { steps } = schedule,
    cycles = schedule.edges[step + 1] - schedule.edges[step];
  const stall = steps.stall_cycles[step],
    more = steps.price && roomWorth(schedule, steps.price[step]);
  return [
    schedule.stepName(step),
    `${steps.kind[step]}${steps.layer[step] === steps.name[step] ? "" : `, layer ${shortened(steps.layer[step])}`}`,
    `${schedule.time(cycles)}: computes ${schedule.time(steps.compute_cycles[step])}, waits ${schedule.time(stall)}`,
    ...causesOf(schedule, step),
    ...(more && more.saved > 0
      ? [`${more.words} more in this step: ${si(more.saved, schedule.worth.unit, 3)} saved at most`]
      : []),
  ];
}

/** What a step waits for, a line for each cause. */
function causesOf(schedule, step) {
  return schedule.causes.flatMap((name, cause) => {
    const cycles = schedule.steps.stall_by_cause[cause][step];
    return cycles > 0 ? [`waits for ${name}: ${schedule.time(cycles)}`] : [];
  });
}

/** Lines on a DMA command. @param {Schedule} schedule */
function commandWords(schedule, command) {
  const { commands, tensors, kinds, causes } = schedule,
    tensor = commands.tensor[command];
  const stall = commands.stall_cycles[command];
  return [
    `${COMMANDS[commands.kind[command]]}: ${shortened(tensors.name[tensor], 160)}`,
    `${kinds[tensors.kind[tensor]]}, ${si(commands.bytes[command], "B")} in ${schedule.time(commands.cycles[command])}`,
    `in ${schedule.stepName(commands.step[command])}`,
    ...(stall > 0
      ? [`the engine waits ${schedule.time(stall)} for it (${causes[commands.cause[command]]})`]
      : []),
  ];
}

/** Lines on a column of pixels that holds many steps. */
function manyWords(schedule, from, to) {
  const first = schedule.stepAt(from),
    last = schedule.stepAt(to);
  const { steps, edges } = schedule;
  let computed = 0;
  for (let step = first; step <= last; step++) computed += steps.compute_cycles[step];
  const all = edges[last + 1] - edges[first];
  return [
    `${counted(last - first + 1, "step")} in this column: ${first} to ${last}`,
    `from ${shortened(steps.name[first])} to ${shortened(steps.name[last])}`,
    `${schedule.time(all)}: computes ${share(computed / all)}, waits ${share(1 - computed / all)}`,
    "zoom in to see each",
  ];
}
