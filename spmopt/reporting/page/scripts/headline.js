// What a schedule costs and how good that is known to be.

/** Figures that say most of one schedule; the others are a click away. */
const MAIN_CARDS = (
  "makespan traffic energy gap cover_gap status compute_busy spm_peak"
).split(" ");

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
function figureTable(schedules, figures, caption) {
  const heads = [
    ...schedules.map(({ heading }) => [heading, `${caption} of ${heading}`]),
    ["B against A", "How much more B is than A, relative to A; a dash where that says nothing."],
  ];
  const rows = figures.map(({ label, text_a: one, text_b: other, change }) => {
    const cells = [one, other, changeText(change)];
    const shown = cells.map((text) => dom`<td class="number">${text}</td>`);
    return dom`<tr><th scope="row">${label}</th>${shown}</tr>`;
  });
  const head = heads.map(([text, help]) =>
    helped(dom`<th scope="col" class="number" tabindex="0">${text}</th>`, text, help),
  );
  return scrolled(
    caption,
    "figures",
    dom`<thead><tr><td />${head}</tr></thead>`,
    dom`<tbody>${rows}</tbody>`,
  );
}

/** A change; what is less than a hundredth of a percent is none. */
function changeText(change) {
  if (change === null) return "–";
  return Math.abs(change) < 1e-4 ? "0 %" : percent(change);
}

/** Why one schedule is faster, and its figures beside the other's. @param {Schedule[]} schedules */
function comparison(schedules, { reasons = [], figures }, remarks) {
  const main = figures.filter(({ is_main: isMain }) => isMain);
  return dom`<div class="comparison">
    ${reasons.length ? dom`<ul class="reasons">${items(reasons.map(unbroken))}</ul>` : null}
    <div>
      ${figureTable(schedules, main, "Main figures")}
      <details id="all-figures">
        <summary>All figures${remarks.length ? " and remarks" : ""}</summary>
        ${figureTable(schedules, figures, "All figures")}
        ${remarks}
      </details>
    </div>
  </div>`;
}

/** Figures of one schedule: the main ones, and those that are a click away. @param {any[]} figures */
function cards(figures) {
  const goal = figures.find(({ key }) => key === "objective")?.text ?? "";
  const isMain = ({ key }) =>
    MAIN_CARDS.includes(key) || (key === "replay" && goal.startsWith("replay"));
  const list = (some) => dom`<dl class="cards">${some.map(figureCard)}</dl>`;
  return [
    list(figures.filter(isMain)),
    dom`<details id="all-figures">
      <summary>More figures</summary>
      ${list(figures.filter((figure) => !isMain(figure)))}
    </details>`,
  ];
}

/** @param {Schedule[]} schedules */
function drawHeadline(schedules, contrast) {
  const [first] = schedules;
  const remarks = schedules.flatMap(({ mark, remarks: lines }) =>
    lines.map((line) => (mark ? `${mark}: ${line}` : line)),
  );
  const list = remarks.length ? [dom`<ul class="remarks">${items(remarks)}</ul>`] : [];
  if (contrast) fill("figures", comparison(schedules, contrast, list));
  else fill("figures", cards(first.figures), list);
}
