// What a schedule costs and how good that is known to be.

/** @param {any} figure */
function figureCard({ label, text, note, key }, schedule) {
  const card = element(
    "div",
    { class: "card", "data-key": key },
    element("dt", {}, label),
    element("dd", { class: "value" }, text),
  );
  if (key === "gap") card.append(...gapBar(schedule));
  if (note) card.append(element("dd", { class: "note" }, note));
  return card;
}

/** The bound as the full part of a bar, the gap as the rest of it. @param {Schedule} schedule */
function gapBar(schedule) {
  const gap = schedule.figures.find(({ key }) => key === "gap").value;
  if (gap === null) return [];
  const full = element("span", {});
  full.style.width = `${100 / (1 + gap)}%`;
  const label = `The bound is ${share(1 / (1 + gap))} of the objective`;
  return [
    element("dd", {}, element("span", { class: "gauge", role: "img", "aria-label": label }, full)),
  ];
}

/** What more scratchpad and bandwidth are worth. @param {Schedule} schedule */
function worthLine(schedule) {
  const { per_mb: mb, per_gbps: gbps, unit } = schedule.worth;
  if (mb === null) return [];
  const room = roomWorth(schedule, mb),
    rate = littleOf(schedule.dram_bytes_per_s, "B/s", 1e9);
  const saved = si((gbps * rate.amount) / 1e9, unit);
  const text = `By the prices that prove the bound, ${room.words} more of scratchpad lowers it by ${si(room.saved, unit)} at most, and ${rate.words} more of DRAM bandwidth by ${saved} at first.`;
  return [element("p", { class: "worth" }, text)];
}

/** Figures of one schedule. @param {Schedule} schedule */
function figureCards(schedule) {
  const cards = schedule.figures.map((figure) => figureCard(figure, schedule));
  const remarks = schedule.remarks.map((remark) => element("li", {}, remark));
  return [
    element("dl", { class: "cards" }, ...cards),
    ...worthLine(schedule),
    ...(remarks.length ? [element("ul", { class: "remarks" }, ...remarks)] : []),
  ];
}

/** Figures of two schedules beside each other. */
function figureTable(schedules, contrast) {
  const [a, b] = schedules;
  const head = ["", ...schedules.map(({ heading }) => heading), "B against A"];
  const rows = contrast.figures.map(({ label, text_a: one, text_b: other, change }) => {
    const cells = [one, other, change === null ? "–" : percent(change)];
    return element(
      "tr",
      {},
      element("th", { scope: "row" }, label),
      ...cells.map((text) => element("td", { class: "number" }, text)),
    );
  });
  const heads = head.map((text, place) =>
    place ? element("th", { scope: "col", class: "number" }, text) : element("td"),
  );
  const remarks = [a, b].flatMap(({ mark, remarks: lines }) =>
    lines.map((line) => element("li", {}, `${mark}: ${line}`)),
  );
  return [
    element(
      "div",
      { class: "scroll", tabindex: 0, role: "region", "aria-label": "Figures of both schedules" },
      element(
        "table",
        { class: "figures" },
        element("caption", { class: "unseen" }, "Figures of both schedules"),
        element("thead", {}, element("tr", {}, ...heads)),
        element("tbody", {}, ...rows),
      ),
    ),
    ...(remarks.length ? [element("ul", { class: "remarks" }, ...remarks)] : []),
  ];
}

/** @param {Schedule[]} schedules */
function drawHeadline(schedules, contrast) {
  const content = contrast ? figureTable(schedules, contrast) : figureCards(schedules[0]);
  byId("figures").replaceChildren(...content);
}
