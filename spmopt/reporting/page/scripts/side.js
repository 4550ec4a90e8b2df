// Beside the pictures: the legend, and the tensor or operation that is followed.

function swatch(color, isHatched = false) {
  const made = dom`<span class=${isHatched ? "swatch hatched" : "swatch"} aria-hidden="true" />`;
  made.style.setProperty("--swatch", color);
  return made;
}

/** Fills the legend for schedules that share kinds and causes. */
function drawLegend({ kinds, causes }, look) {
  const group = (title, names, colors, hatched) => dom`<div>
    <h3>${title}</h3>
    <ul>${names.map((name, at) => name && dom`<li>${swatch(colors[at], at === hatched)}${name}</li>`)}</ul>
  </div>`;
  fill(
    "legend",
    group("Scratchpad: kind of tensor", kinds, look.kinds, kinds.length - 1),
    group("DMA and stalls: transfer", [null, ...causes.slice(1)], look.causes, -1),
    dom`<h3>How to move</h3>`,
    dom`<p id="keys">${
      "Drag to pan; Ctrl and wheel (or wheel after a click) to zoom. " +
      "Keys: arrows pan, + and - zoom, 0 shows all, Escape ends following."
    }</p>`,
  );
}

/** Lines on a tensor in one schedule. */
function tensorWords(schedule, tensor) {
  const { tensors, kinds, mark } = schedule;
  const size = (name) => si(tensors[name][tensor], "B");
  const moved = ["loaded", "streamed_in", "stored", "streamed_out"];
  const start = tensors.in_dram[tensor] ? "in DRAM at the start" : "produced by the network";
  const end = tensors.keep[tensor] ? "in DRAM at the end" : "not kept at the end";
  const uses = schedule.usesOf(tensor).map(({ step, access }) => `${access} in ${schedule.stepName(step)}`);
  return [
    `${kinds[tensors.kind[tensor]]}, ${size("bytes")}; ${start}, ${end}`,
    `${mark && `${mark}: `}${moved.map((name) => `${name.replace("_", " ")} ${size(name)}`).join(", ")}`,
    `${mark && `${mark}: `}${uses.slice(0, 12).join("; ")}${uses.length > 12 ? `; ${uses.length - 12} more` : ""}`,
  ];
}

/** A name in full, and lines on it. */
function panel(name, lines) {
  return [dom`<h3 class="name" tabindex="0">${name}</h3>`, ...lines.map((line) => dom`<p>${line}</p>`)];
}

/** An operation: its figures, the command that explains its stall, and its operands. */
function stepPanel(schedule, step, board) {
  const [, ...lines] = stepWords(schedule, step);
  const { tensors, kinds, steps } = schedule;
  const operands = schedule.usesIn(step).map(({ tensor, access }) => {
    const follow = link(shortened(tensors.name[tensor], 120), () => board.follow(tensor));
    return dom`<li>${`${access} ${si(tensors.bytes[tensor], "B")}, ${kinds[tensors.kind[tensor]]}: `}${follow}</li>`;
  });
  if (steps.stall_cycles[step]) lines.push(`what is in its way: spmopt explain FILE --step ${step}`);
  if (schedule.mark) lines.unshift(`step ${step} of ${schedule.heading}`);
  return [...panel(steps.name[step], lines), dom`<h4>Operands</h4>`, dom`<ul class="operands">${operands}</ul>`];
}
