// Beside the pictures: the legend, a search by name, and the tensor or operation that is followed.

const EVENTS_AT_ONCE = 60;
const MOST_FOUND = 8;
const MOVED = 3; // how bytes came
const GONE = ["no longer needed", "evicted, needed again", "", "needed in DRAM only", "moved from here"];

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
      "Drag to pan; Ctrl and wheel (or wheel after a click) or a double click to zoom. " +
      "Keys: arrows pan, + and - zoom, 0 shows all, Escape ends following."
    }</p>`,
  );
}

/** Builds the search box: names that contain the text, those that begin with it first. */
function drawFind(schedule, board) {
  const { tensors, steps } = schedule;
  const input = dom`<input type="search" id="find-name" autocomplete="off" spellcheck="false" />`;
  const list = dom`<ul class="found" hidden aria-label="Tensors and operations found" />`;
  const names = [
    ...tensors.name.map((name, place) => ({ name, kind: "tensor", go: () => board.follow(place, true) })),
    ...steps.name.map((name, place) => ({ name, kind: "operation", go: () => board.showStep(schedule, place) })),
  ];
  const refresh = () => {
    const text = input.value.trim().toLowerCase();
    const found = text ? names.filter(({ name }) => name.toLowerCase().includes(text)) : [];
    const isLater = ({ name }) => Number(!name.toLowerCase().startsWith(text));
    found.sort((a, b) => isLater(a) - isLater(b) || a.name.length - b.name.length);
    const entries = found.slice(0, MOST_FOUND).map(({ name, kind, go }) => link(`${kind} ${shortened(name)}`, go));
    list.replaceChildren(...entries.map((entry) => dom`<li>${entry}</li>`));
    list.hidden = found.length === 0;
    announce(text && `${counted(found.length, "name")} found`);
    return found;
  };
  input.addEventListener("input", debounced(refresh, 120));
  byId("find").append(dom`<label for="find-name">Find a tensor or operation</label>`, input, list);
  byId("find").addEventListener("submit", (event) => {
    event.preventDefault();
    refresh()[0]?.go();
  });
}

/** Everything that happens to a tensor: [cycles, step, text], in order. */
function eventsOf(schedule, tensor) {
  const { edges, steps } = schedule;
  const commands = schedule.commandsOf(tensor);
  const moved = commands.map(({ start, step, kind, bytes }) => [start, step, `${COMMANDS[kind]} of ${si(bytes, "B")}`]);
  const uses = schedule.usesOf(tensor);
  const used = uses.map(({ step, access }) => [steps.compute_start[step], step, `${steps.name[step]} ${access} it`]);
  const all = [...residencyEvents(schedule, tensor), ...moved, ...used];
  return all.sort((a, b) => a[0] - b[0] || a[1] - b[1]);
}

/** When bytes of a tensor get a place on chip and when they lose it; one event for all of a step. */
function residencyEvents(schedule, tensor) {
  const events = schedule.rectsOf(tensor).flatMap((rect) => {
    const came = rect.came === MOVED ? "moved here, on chip" : "on chip";
    const began = { cycles: rect.start, step: rect.begin, text: came, rect };
    const ended = { cycles: rect.stop, step: rect.end, text: GONE[rect.left], rect };
    return ended.text ? [began, ended] : [began];
  });
  const together = Map.groupBy(events, ({ step, text }) => `${step} ${text}`);
  return [...together.values()].map((alike) => {
    const [{ cycles, step, text, rect }] = alike;
    const range = [`pages ${rect.page} to ${rect.page + rect.pages - 1}`, ...bankWords(schedule, rect.page)];
    const place = alike.length > 1 ? `${alike.length} runs of pages` : range.join(", ");
    const pages = alike.reduce((sum, event) => sum + event.rect.pages, 0);
    return [cycles, step, `${si(pages * schedule.page_bytes, "B")} ${text}, ${place}`];
  });
}

/** The list of events; more come when asked for. */
function eventList(schedule, events, show) {
  const list = dom`<ol class="events" />`;
  const more = button("", () => add());
  const add = () => {
    const shown = list.childElementCount;
    for (const [cycles, step, text] of events.slice(shown, shown + EVENTS_AT_ONCE)) {
      const go = link(`step ${Math.min(step, schedule.count - 1)}`, () => show(step));
      const time = dom`<span class="time">${schedule.time(cycles)}</span>`;
      list.append(dom`<li>${time}${go}<span>${shortened(text, 120)}</span></li>`);
    }
    more.hidden = list.childElementCount === events.length;
    more.textContent = `${count(events.length - list.childElementCount)} more`;
  };
  add();
  return dom`<div>${list}${more}</div>`;
}

function tensorFacts({ tensors, kinds }, tensor) {
  const size = (name) => si(tensors[name][tensor], "B");
  const moved = ["loaded", "streamed_in", "stored", "streamed_out"];
  const start = tensors.in_dram[tensor] ? "in DRAM at the start" : "produced by the network";
  const end = tensors.keep[tensor] ? "in DRAM at the end" : "not kept at the end";
  return [
    `${kinds[tensors.kind[tensor]]}, ${size("bytes")}; ${start}, ${end}`,
    `over the whole schedule ${moved.map((name) => `${name.replace("_", " ")} ${size(name)}`).join(", ")}`,
  ].map((line) => dom`<p>${line}</p>`);
}

/** A name in full, in a box that scrolls if it is very long. */
function nameOf(name) {
  const isLong = name.length > 300;
  return dom`<h3 class=${isLong ? "name long" : "name"} tabindex=${isLong ? 0 : null}>${name}</h3>`;
}

/** A tensor followed in one or two schedules. */
function tensorPanel(schedules, tensor, board) {
  const parts = schedules.map((schedule) => {
    const events = eventList(schedule, eventsOf(schedule, tensor), (step) => board.showStep(schedule, step));
    return dom`<div>
      ${schedule.mark && dom`<h4>In ${schedule.mark}</h4>`}
      ${tensorFacts(schedule, tensor)}
      ${events}
    </div>`;
  });
  return [nameOf(schedules[0].tensors.name[tensor]), ...parts];
}

/** Stalls of a step and their obstacles, as `spmopt explain` lists them. */
function explainedPart({ steps, timing }, step, explained) {
  if (!explained || !steps.stall_cycles[step]) return [];
  const rows = explained.steps[step];
  const head = dom`<h4>What is in the way of its transfers</h4>`;
  if (!rows) {
    const command = `spmopt explain SCHEDULE --step ${step}`;
    return [head, dom`<p>Not among the longest stalls: <code class="command">${command}</code></p>`];
  }
  const entries = rows.map(([stall, transfer, tensor, size, blocked, detail]) => {
    const subject = [transfer, shortened(tensor, 60)].filter(Boolean).join(" ");
    const amount = size && ` (${size})`;
    const why = blocked && dom`<p><strong>${blocked}</strong>${detail && `: ${detail}`}</p>`;
    return dom`<li><p>${`${stall.trim()} for ${subject}${amount}`}</p>${why || null}</li>`;
  });
  const key = timing === "step" ? [] : dom`<p class="key">with barriers between steps</p>`;
  return [head, key, dom`<ul class="explained">${entries}</ul>`];
}

/** An operation: its figures and its operands. */
function stepPanel(schedule, step, board, explained) {
  const [, ...lines] = stepWords(schedule, step);
  const { tensors, kinds } = schedule;
  const operands = schedule.usesIn(step).map(({ tensor, access }) => {
    const follow = link(shortened(tensors.name[tensor], 120), () => board.follow(tensor));
    return dom`<li>${`${access} ${si(tensors.bytes[tensor], "B")}, ${kinds[tensors.kind[tensor]]}: `}${follow}</li>`;
  });
  return [
    nameOf(schedule.steps.name[step]),
    ...(schedule.mark ? [dom`<p class="key">${`step ${step} of ${schedule.heading}`}</p>`] : []),
    ...lines.map((line) => dom`<p>${line}</p>`),
    ...explainedPart(schedule, step, explained).flat(),
    dom`<h4>Operands</h4>`,
    dom`<ul class="operands">${operands}</ul>`,
  ];
}
