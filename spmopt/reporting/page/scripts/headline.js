// Figures of one or two schedules, and their tables.

const PER = ["layer", "tensor", "operation"];

function figureCard({ label, text, note, key }) {
  return dom`<div class="card" data-key=${key}><dt>${label}</dt><dd class="value">${text}</dd>
    ${note && dom`<dd class="note">${note}</dd>`}</div>`;
}

/** Figures of two schedules beside each other. */
function figureTable(schedules, figures, caption) {
  const heads = [
    ...schedules.map(({ heading }) => [heading, `${caption} of ${heading}`]),
    ["B against A", "How much more B is than A, relative to A; a dash where that says nothing."],
  ].map(([text, help]) => helped(dom`<th scope="col" class="number" tabindex="0">${text}</th>`, text, help));
  const rows = figures.map(({ label, text_a: one, text_b: other, change }) => {
    const cells = [one, other, changeText(change)].map((text) => dom`<td class="number">${text}</td>`);
    return dom`<tr><th scope="row">${label}</th>${cells}</tr>`;
  });
  return scrolled(caption, "figures", dom`<thead><tr><td />${heads}</tr></thead>`, dom`<tbody>${rows}</tbody>`);
}

/** A change; less than a hundredth of a percent is none. */
function changeText(change) {
  if (change === null) return "–";
  return Math.abs(change) < 1e-4 ? "0 %" : percent(change);
}

function drawHeadline(schedules, contrast) {
  const remarks = schedules.flatMap(({ mark, remarks: lines }) => lines.map((line) => (mark ? `${mark}: ${line}` : line)));
  const list = remarks.length ? [dom`<ul class="remarks">${items(remarks)}</ul>`] : [];
  const more = (title, ...content) => dom`<details id="all-figures"><summary>${title}</summary>${content}</details>`;
  const { figures, reasons = [] } = contrast ?? schedules[0];
  const main = figures.filter(({ is_main: isMain }) => isMain);
  if (!contrast) {
    const cards = (some) => dom`<dl class="cards">${some.map(figureCard)}</dl>`;
    const others = figures.filter((figure) => !main.includes(figure));
    fill("figures", cards(main), more("More figures", cards(others)), list);
    return;
  }
  fill("figures", dom`<div class="comparison">
    ${reasons.length ? dom`<ul class="reasons">${items(reasons.map(unbroken))}</ul>` : null}
    <div>
      ${figureTable(schedules, main, "Main figures")}
      ${more(`All figures${remarks.length ? " and remarks" : ""}`, figureTable(schedules, figures, "All figures"), list)}
    </div>
  </div>`);
}

/** What a click on a row does, in tables per layer, tensor and operation. */
function pickersOf(schedule, board) {
  const { steps, tensors } = schedule;
  return {
    layer: ([name, pass]) => board.showLayer(schedule, name, pass),
    tensor: ([name]) => board.follow(tensors.name.indexOf(name), true),
    operation: ([name]) => board.showStep(schedule, steps.name.indexOf(name)),
  };
}

/** Tables of what one schedule keeps that the other evicts, and of where the time goes. */
function drawContrast([a], { gaps, tables }, board) {
  const { layer } = pickersOf(a, board);
  const pickers = {
    "kept between uses": (_, at) => {
      board.follow(gaps.tensor[at]);
      const { edges } = a;
      board.axis.focus(edges[gaps.from_step[at]], edges[gaps.to_step[at] + 1]);
      board.reveal();
    },
    layers: ([name]) => layer([name]),
  };
  const make = (name) => new DataTable({ ...tables[name], pick: pickers[name] });
  byId("contrast").append(...tablesOf([["Differences in", Object.keys(tables)]], make));
  byId("contrast").hidden = false;
}

/** Tables of one or two schedules. */
function drawDetails(schedules, parts, board) {
  const marks = schedules.map(({ mark }) => mark);
  const choices = [["Figures per", PER], ...(marks.length > 1 ? [["Schedule", marks]] : [])];
  const make = (per, mark = "") => {
    const place = Math.max(0, marks.indexOf(mark));
    const whose = mark && ` of ${mark}`;
    return new DataTable({
      caption: `Figures per ${per}${whose}`,
      file: `${per}${mark && `-${mark}`}.csv`,
      ...parts[place].tables[per],
      pick: pickersOf(schedules[place], board)[per],
    });
  };
  fill("tables", tablesOf(choices, make));
}
