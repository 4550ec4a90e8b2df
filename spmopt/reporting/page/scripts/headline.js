// What a schedule costs and how good that is known to be.

/** One figure; a gap has the bound as the full part of a bar, and itself as the rest. */
function figureCard({ label, text, note, key, value }) {
  const made = dom`<div class="card" data-key=${key}><dt>${label}</dt><dd class="value">${text}</dd></div>`;
  if (key === "gap" && value !== null) {
    const full = dom`<span />`;
    full.style.width = `${100 / (1 + value)}%`;
    const words = `The bound is ${share(1 / (1 + value))} of the objective`;
    made.append(dom`<dd><span class="gauge" role="img" aria-label=${words}>${full}</span></dd>`);
  }
  if (note) made.append(dom`<dd class="note">${note}</dd>`);
  return made;
}

/** Figures of two schedules beside each other. */
function figureTable(schedules, { figures }) {
  const heads = [...schedules.map(({ heading }) => heading), "B against A"];
  const rows = figures.map(({ label, text_a: one, text_b: other, change }) => {
    const cells = [one, other, change === null ? "–" : percent(change)];
    const shown = cells.map((text) => dom`<td class="number">${text}</td>`);
    return dom`<tr><th scope="row">${label}</th>${shown}</tr>`;
  });
  const head = heads.map((text) => dom`<th scope="col" class="number">${text}</th>`);
  return scrolled(
    "Figures of both schedules",
    "figures",
    dom`<thead><tr><td />${head}</tr></thead>`,
    dom`<tbody>${rows}</tbody>`,
  );
}

/** @param {Schedule[]} schedules */
function drawHeadline(schedules, contrast) {
  const [first] = schedules;
  const remarks = schedules.flatMap(({ mark, remarks: lines }) =>
    lines.map((line) => (mark ? `${mark}: ${line}` : line)),
  );
  const reasons = contrast?.reasons ?? [];
  fill(
    "figures",
    reasons.length ? dom`<ul class="reasons">${items(reasons)}</ul>` : [],
    contrast
      ? figureTable(schedules, contrast)
      : dom`<dl class="cards">${first.figures.map(figureCard)}</dl>`,
    remarks.length ? dom`<ul class="remarks">${items(remarks)}</ul>` : [],
  );
}
