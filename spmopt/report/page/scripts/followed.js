// The tensor or operation that the reader follows, as text.

const EVENTS_AT_ONCE = 60;

const MOVED = 3; // how bytes came
const LEFT = [
  "no longer needed",
  "evicted, needed again",
  "",
  "needed in DRAM only",
  "moved from here",
];

/** Everything that happens to a tensor: [cycles, step, text], in order. @param {Schedule} schedule */
function eventsOf(schedule, tensor) {
  const { commands, tensors, dram, edges } = schedule,
    found = stayEvents(schedule, tensor);
  for (const command of ofGroup(schedule.commandsOf, tensor)) {
    const text = `${COMMANDS[commands.kind[command]]} of ${si(commands.bytes[command], "B")}`;
    found.push([commands.start[command], commands.step[command], text]);
  }
  for (let use = tensors.uses_first[tensor]; use < tensors.uses_first[tensor + 1]; use++) {
    const step = tensors.uses_step[use];
    found.push([
      schedule.steps.compute_start[step],
      step,
      `${schedule.steps.name[step]} ${ACCESSES[tensors.uses_access[use]]} it`,
    ]);
  }
  for (const copy of ofGroup(schedule.copiesOf, tensor)) {
    const begin = dram.begin[copy];
    found.push([
      edges[begin],
      begin,
      begin ? "DRAM has a whole copy from now on" : "DRAM has a whole copy at the start",
    ]);
    if (dram.end[copy] <= schedule.count)
      found.push([edges[dram.end[copy]], dram.end[copy], "the copy in DRAM is out of date"]);
  }
  return found.sort((a, b) => a[0] - b[0] || a[1] - b[1]);
}

/** When bytes of a tensor get a place on chip and when they lose it; one event for all of a step. */
function stayEvents(schedule, tensor) {
  const { rects, page_bytes: page } = schedule,
    events = new Map();
  const add = (cycles, step, what, rect) => {
    const key = `${step} ${what}`,
      event = events.get(key) || { cycles, step, what, pages: 0, rects: [] };
    events.set(key, event);
    event.pages += rects.pages[rect];
    event.rects.push(rect);
  };
  for (const rect of ofGroup(schedule.rectsOf, tensor)) {
    const came = rects.came[rect] === MOVED ? "moved here, on chip" : "on chip";
    add(rects.start[rect], rects.begin[rect], came, rect);
    const why = LEFT[rects.left[rect]];
    if (why) add(rects.stop[rect], rects.end[rect], why, rect);
  }
  return [...events.values()].map(({ cycles, step, what, pages, rects: held }) => {
    const [first] = held,
      from = rects.page[first];
    const place =
      held.length > 1
        ? `${held.length} runs of pages`
        : [`pages ${from} to ${from + rects.pages[first] - 1}`, ...bankWords(schedule, from)].join(
            ", ",
          );
    return [cycles, step, `${si(pages * page, "B")} ${what}, ${place}`];
  });
}

/** The list of events; more come when asked for. */
function eventList(schedule, events, show) {
  const list = element("ol", { class: "events" });
  const more = button("", () => add());
  let shown = 0;
  const add = () => {
    for (const [cycles, step, text] of events.slice(shown, shown + EVENTS_AT_ONCE)) {
      const go = link(`step ${Math.min(step, schedule.count - 1)}`, () => show(step));
      list.append(
        element(
          "li",
          {},
          element("span", { class: "time" }, schedule.time(cycles)),
          go,
          element("span", {}, shortened(text, 120)),
        ),
      );
    }
    shown = Math.min(events.length, shown + EVENTS_AT_ONCE);
    more.hidden = shown === events.length;
    more.textContent = `${count(events.length - shown)} more`;
  };
  add();
  return element("div", {}, list, more);
}

/** @param {Schedule} schedule */
function tensorFacts(schedule, tensor) {
  const { tensors, kinds } = schedule,
    bytes = (name) => tensors[name][tensor];
  const from = [
    bytes("in_dram") ? "in DRAM at the start" : "made on the way",
    bytes("keep") ? "in DRAM at the end" : "not kept at the end",
  ];
  const moved = [
    ["loaded", "loaded"],
    ["streamed_in", "streamed in"],
    ["stored", "stored"],
    ["streamed_out", "streamed out"],
  ];
  return [
    `${kinds[tensors.kind[tensor]]}, ${si(bytes("bytes"), "B")}; ${from.join(", ")}`,
    `over the whole schedule ${moved.map(([name, words]) => `${words} ${si(bytes(name), "B")}`).join(", ")}`,
  ];
}

/** A name in full, in a box that scrolls if it is very long. @param {string} name */
function nameOf(name) {
  const long = name.length > 300;
  return element("h3", long ? { class: "name long", tabindex: 0 } : { class: "name" }, name);
}

/** A tensor followed in one or two schedules. */
function tensorPanel(stages, tensor, board) {
  const [first] = stages,
    name = first.schedule.tensors.name[tensor];
  const parts = stages.map(({ schedule }) => {
    const events = eventsOf(schedule, tensor);
    return element(
      "div",
      {},
      ...(stages.length > 1 ? [element("h4", {}, `In ${schedule.mark}`)] : []),
      ...tensorFacts(schedule, tensor).map((line) => element("p", {}, line)),
      eventList(schedule, events, (step) => board.showStep(schedule, step)),
    );
  });
  return [nameOf(name), ...parts];
}

/** An operation: its figures and its operands. */
function stepPanel({ schedule }, step, board) {
  const [, ...lines] = stepWords(schedule, step),
    { tensors } = schedule;
  const operands = Array.from(ofGroup(schedule.usesIn, step), (use) => {
    const tensor = schedule.tensorOfUse[use];
    const follow = link(shortened(tensors.name[tensor], 120), () => board.follow(tensor));
    const words = `${ACCESSES[tensors.uses_access[use]]} ${si(tensors.bytes[tensor], "B")}, ${schedule.kinds[tensors.kind[tensor]]}: `;
    return element("li", {}, words, follow);
  });
  return [
    nameOf(schedule.steps.name[step]),
    ...lines.map((line) => element("p", {}, line)),
    element("ul", { class: "operands" }, ...operands),
  ];
}

/** Shows a panel below the legend; none if there is nothing to follow. */
function showFollowed(content, board) {
  const place = byId("followed");
  const close = button("End following (Escape)", () => board.clear());
  place.replaceChildren(...(content ? [...content, close] : []));
}
