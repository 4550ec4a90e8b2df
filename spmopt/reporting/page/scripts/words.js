// Texts for hover, lists and screen readers.

const CAME = ["loaded from DRAM", "written by its operation", "", "moved from another address"];
const LEFT = [
  "no longer needed",
  "evicted",
  "end of the schedule",
  "needed in DRAM only from then on",
  "moved to another address",
];
const NEEDED_AGAIN = [1, 3];

/** How much a little more scratchpad saves, at a dual value per MB. */
function savedBySpm({ shadow_prices: duals }, perMb) {
  return { words: si(duals.little, "B"), saved: (perMb * duals.little) / 1e6 };
}

/** The bank that a page is in; nothing where there is but one memory. */
function bankWords({ banks }, page) {
  let end = 0;
  const place = banks.findIndex((bank) => page < (end += bank.pages));
  return place < 0 ? [] : [`bank ${place}: ${banks[place].name}`];
}

/** Lines on a rectangle of the map, at a time. */
function rectWords(schedule, rect, cycles) {
  const { tensors, kinds, page_bytes: page, spm_unit: unit } = schedule;
  const { tensor, page: first, pages, begin, end } = rect;
  const [size, whole] = [si(pages * page, "B"), tensors.bytes[tensor]];
  const place = [
    `pages ${first} to ${first + pages - 1} (${capacity(first * page, unit)} to ${capacity((first + pages) * page, unit)})`,
    ...bankWords(schedule, first),
    `steps ${begin} to ${end - 1}, ${schedule.time(rect.stop - rect.start)}`,
  ];
  if (tensor === SCRATCH) return [`scratch of ${shortened(schedule.steps.name[begin])}`, size, ...place];
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

/** The reason why a rectangle is there at a time. */
function useWords(schedule, { tensor, end }, cycles) {
  const now = schedule.stepAt(cycles);
  const next = schedule.nextUse(tensor, now);
  if (next === now) return `here for: ${schedule.stepName(now)}, which uses it`;
  if (next < 0) return "here for: no later use";
  const use = `next use in ${schedule.stepName(next)}, in ${schedule.time(Math.max(0, schedule.edges[next] - cycles))}`;
  return next < end ? `here for: ${use}` : `${use}, after it has left`;
}

/** Lines on a phase, a layer or a fused group, and on the fusion tile of a step. */
function runWords(schedule, lane, { begin, end, name, tiles, micro_batches }, step) {
  const { edges, steps } = schedule;
  const stalls = steps.stall_cycles.slice(begin, end).reduce((a, b) => a + b, 0);
  const stripes = tiles && tiles.length / micro_batches;
  const tile = tiles && Math.floor(((step - begin) * tiles.length) / (end - begin));
  const part = (noun, at, of) => of > 1 && `${noun} ${at + 1} of ${of}`;
  return [
    `${lane === "groups" ? "fused group: " : ""}${shortened(name, 120)}`,
    tiles && part("micro-batch", Math.floor(tile / stripes), micro_batches),
    tiles && part("stripe", tile % stripes, stripes),
    `${counted(end - begin, "step")}: ${begin} to ${end - 1}`,
    `${schedule.time(edges[end] - edges[begin])}, stalls ${schedule.time(stalls)} of it`,
    "click to zoom in",
  ].filter(Boolean);
}

/** Lines on a step. */
function stepWords(schedule, step) {
  const { steps, causes } = schedule;
  const layer = steps.layer[step] === steps.name[step] ? "" : `, layer ${shortened(steps.layer[step])}`;
  const all = schedule.time(schedule.edges[step + 1] - schedule.edges[step]);
  const { words, saved } = savedBySpm(schedule, steps.dual?.[step] ?? 0);
  return [
    schedule.stepName(step),
    `${steps.kind[step]}${layer}`,
    `${all}: computes ${schedule.time(steps.compute_cycles[step])}, stalls ${schedule.time(steps.stall_cycles[step])}`,
    ...causes
      .map((name, cause) => [name, steps.stall_by_cause[cause][step]])
      .filter(([, cycles]) => cycles > 0)
      .map(([name, cycles]) => `stalls for ${name}: ${schedule.time(cycles)}`),
    saved > 0 && `${words} more SPM in this step lowers the bound by ${si(saved, schedule.shadow_prices.unit, 3)}`,
  ].filter(Boolean);
}

/** Lines on a DMA command. */
function commandWords(schedule, { kind, tensor, bytes, cycles, step, cause, stall_cycles: stall }) {
  const { tensors, kinds, causes } = schedule;
  return [
    `${COMMANDS[kind]}: ${shortened(tensors.name[tensor], 160)}`,
    `${kinds[tensors.kind[tensor]]}, ${si(bytes, "B")} in ${schedule.time(cycles)}`,
    `in ${schedule.stepName(step)}`,
    stall > 0 && `the engine stalls ${schedule.time(stall)} for it (${causes[cause]})`,
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
    `computes ${share(computed)} of ${schedule.time(all)}; click: the longest stall`,
  ];
}

/** Lines on a step of A: how much B gains in it, and by how much it is ahead after it. */
function leadWords(a, gained, step) {
  const [gain, now] = [gained[step + 1] - gained[step], gained[step + 1]];
  return [
    a.stepName(step),
    `A takes ${a.time(a.steps.cycles[step])}, B ${a.time(a.steps.cycles[step] - gain)}`,
    `here B ${gain < 0 ? "loses" : "gains"} ${a.time(Math.abs(gain))}; then it is ${a.time(Math.abs(now))} ${now < 0 ? "behind" : "ahead"}`,
  ];
}
