// One trial beside the front, and its schedule below.

/** Pairs of names and texts. */
function facts(texts) {
  return element(
    "dl",
    { class: "facts" },
    ...Object.entries(texts).flatMap(([key, text]) => [
      element("dt", {}, key),
      element("dd", {}, text),
    ]),
  );
}

/** Fills the side panel. @param {Front} front @param {any[]} opened schedules of trials */
function drawTrial(front, trial, opened, open) {
  const own = opened.filter((each) => each.trial === trial.number);
  const more = Object.fromEntries(
    Object.entries(trial.machine || {}).filter(([key]) => !(key in trial.fields)),
  );
  const lines = [...trial.networks, ...trial.said].map((text) => element("p", {}, text));
  const gap = trial.gap === null ? {} : { "largest gap": percent(trial.gap) };
  const parts = [
    element(
      "h3",
      {},
      `Trial ${trial.number}: ${front.rank.has(trial.number) ? front.named() : trial.state}`,
    ),
    facts({ ...trial.fields, ...trial.texts, ...gap }),
    ...lines,
    ...own.map((each) => scheduleLink(each, own.length > 1, open)),
  ];
  if (Object.keys(more).length)
    parts.push(element("h4", {}, "The rest of its machine"), facts(more));
  byId("trial").replaceChildren(...parts);
}

/** Opens a schedule that the page holds; of others the commands that show them. */
function scheduleLink(each, several, open) {
  const of = several ? ` of ${shortened(each.network, 60)}` : "";
  if (each.block === null) {
    return element(
      "div",
      {},
      element("p", {}, `Its schedule${of} is not in this page; these commands show it:`),
      ...each.commands.map((text) => element("code", { class: "command" }, text)),
    );
  }
  return element(
    "p",
    {},
    element("button", { type: "button", click: () => open(each) }, `Open its schedule${of}`),
  );
}

/** Brings a schedule into the page, in place of the one before. */
class Opened {
  /** @param {any} look @param {Theme} theme */
  constructor(look, theme) {
    Object.assign(this, { look, theme, drawn: [] });
  }

  async open({ block: name, trial, network }) {
    const [record, parts] = await Promise.all([block(`${name}-view`), block(`${name}-tables`)]);
    const schedule = new Schedule(record, ""),
      place = byId("schedule");
    place.replaceChildren(document.importNode(byId("spare").content, true));
    byId("opened").hidden = false;
    byId("opened-head").textContent = `Schedule of trial ${trial}: ${shortened(network, 80)}`;
    byId("opened-about").textContent = `${record.title}; ${record.subtitle}`;
    drawHeadline([schedule], null);
    drawLegend(schedule, this.look);
    const board = new Board([schedule], null, this.look, this.theme);
    board.draw();
    drawFind(schedule, board);
    drawTables([schedule], [parts], board);
    this.drawn = [board, ...drawRooflines([schedule], [parts], this.look, this.theme)];
    byId("opened-head").focus();
    byId("opened-head").scrollIntoView();
    document.documentElement.dataset.opened = String(trial);
  }

  /** Colours have changed. */
  draw() {
    for (const each of this.drawn) each.draw();
  }
}
