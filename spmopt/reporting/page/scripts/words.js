// What things are, in words: for hover, lists and screen readers.

const CAME = ["loaded from DRAM", "written by its operation", "", "moved from another address"];
const LEFT = [
  "no longer needed",
  "evicted",
  "end of the schedule",
  "needed in DRAM only from then on",
  "moved to another address",
];
const NEEDED_AGAIN = [1, 3];

/** What a little more scratchpad saves, by a price per MB. @param {Schedule} schedule */
function savedBySpm({ shadow_prices: prices }, perMb) {
  return { words: si(prices.little, "B"), saved: (perMb * prices.little) / 1e6 };
}

/** The bank that a page is in; nothing where there is but one memory. @param {Schedule} schedule */
function bankWords({ banks }, page) {
  let end = 0;
  const place = banks.findIndex((bank) => page < (end += bank.pages));
  return place < 0 ? [] : [`bank ${place}: ${banks[place].name}`];
}

/** Lines on a rectangle of the map, at a time. @param {Schedule} schedule */
function rectWords(schedule, rect, cycles) {
  const { tensors, kinds, page_bytes: page } = schedule;
  const { tensor, page: first, pages, begin, end } = rect;
  const [size, whole] = [si(pages * page, "B"), tensors.bytes[tensor]];
  const place = [
    `pages ${first} to ${first + pages - 1} (${si(first * page, "B")} to ${si((first + pages) * page, "B")})`,
    ...bankWords(schedule, first),
    `steps ${begin} to ${end - 1}, ${schedule.time(rect.stop - rect.start)}`,
  ];
  if (tensor === SCRATCH)
    return [`scratch of ${shortened(schedule.steps.name[begin])}`, size, ...place];
  const next = schedule.nextUse(tensor, end);
  const isNeeded = next >= 0 && NEEDED_AGAIN.includes(rect.left);
  const again = isNeeded ? `; needed again in ${schedule.stepName(next)}` : "";
  return [
    shortened(tensors.name[tensor], 160),
    `${kinds[tensors.kind[tensor]]}, ${pages * page < whole ? `${size} here of ` : ""}${si(whole, "B")}`,
    ...place,
    `came: ${CAME[rect.came]} in ${schedule.stepName(begin)}`,
    useWords(schedule, rect, cycles),
    `left: ${LEFT[rect.left]}${again}`,
  ];
}

/** Why a rectangle is there at a time. */
function useWords(schedule, { tensor, end }, cycles) {
  const now = schedule.stepAt(cycles);
  const next = schedule.nextUse(tensor, now);
  if (next === now) return `here for: ${schedule.stepName(now)}, which uses it`;
  if (next < 0) return "here for: no later use";
  const use = `next use in ${schedule.stepName(next)}, in ${schedule.time(Math.max(0, schedule.edges[next] - cycles))}`;
  return next < end ? `here for: ${use}` : `${use}, after it has left`;
}

/** Lines on the segment that a step is of, and on its piece. @param {Schedule} schedule */
function segmentWords(schedule, step) {
  const { segments } = schedule;
  const place = segments.findIndex(({ end }) => step < end);
  const { labels, begin, end, pieces, blocks, start, stop } = segments[place];
  const block = Math.floor(((step - begin) * blocks.length) / (end - begin));
  const bands = blocks.length / pieces;
  const piece = `piece ${Math.floor(block / bands) + 1} of ${pieces}`;
  return [
    `segment ${place}: ${shortened(labels[0], 120)}`,
    bands > 1 ? `${piece}, band ${(block % bands) + 1} of ${bands}` : piece,
    `steps ${begin} to ${end - 1}, ${schedule.time(stop - start)}`,
  ];
}

/** Lines on a step. @param {Schedule} schedule */
function stepWords(schedule, step) {
  const { steps, causes } = schedule;
  const layer =
    steps.layer[step] === steps.name[step] ? "" : `, layer ${shortened(steps.layer[step])}`;
  const all = schedule.time(schedule.edges[step + 1] - schedule.edges[step]);
  const { words, saved } = savedBySpm(schedule, steps.price?.[step] ?? 0);
  return [
    schedule.stepName(step),
    `${steps.kind[step]}${layer}`,
    `${all}: computes ${schedule.time(steps.compute_cycles[step])}, waits ${schedule.time(steps.stall_cycles[step])}`,
    ...causes
      .map((name, cause) => [name, steps.stall_by_cause[cause][step]])
      .filter(([, cycles]) => cycles > 0)
      .map(([name, cycles]) => `waits for ${name}: ${schedule.time(cycles)}`),
    saved > 0 &&
      `${words} more SPM in this step lowers the bound by ${si(saved, schedule.shadow_prices.unit, 3)}`,
  ].filter(Boolean);
}

/** Lines on a DMA command. @param {Schedule} schedule */
function commandWords(schedule, command) {
  const { tensors, kinds, causes } = schedule;
  const { kind, tensor, bytes, cycles, step, cause, stall_cycles: stall } = command;
  return [
    `${COMMANDS[kind]}: ${shortened(tensors.name[tensor], 160)}`,
    `${kinds[tensors.kind[tensor]]}, ${si(bytes, "B")} in ${schedule.time(cycles)}`,
    `in ${schedule.stepName(step)}`,
    stall > 0 && `the engine waits ${schedule.time(stall)} for it (${causes[cause]})`,
  ].filter(Boolean);
}

/** Lines on a column of pixels that holds many steps. */
function manyWords(schedule, first, last) {
  const { steps, edges } = schedule;
  const all = edges[last + 1] - edges[first];
  const computed = steps.compute_cycles.slice(first, last + 1).reduce((a, b) => a + b, 0) / all;
  return [
    `${counted(last - first + 1, "step")} in this column: ${first} to ${last}`,
    `from ${shortened(steps.name[first])} to ${shortened(steps.name[last])}`,
    `${schedule.time(all)}: computes ${share(computed)}, waits ${share(1 - computed)}`,
    "zoom in to see each",
  ];
}
