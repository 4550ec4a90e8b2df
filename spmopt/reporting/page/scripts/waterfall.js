// Decisions as a waterfall: what the best schedule takes after each, what that saved, and bounds.

const COMPUTES = "computes",
  WAITS = "waits for DRAM",
  SAVED = "saved by the decision";
/** Of the time at the start: where less is saved, the axis opens on that. */
const LITTLE = 0.3;
const SCALES = ["from 0", "what is saved"];

class Waterfall {
  /** @param {any} record of `page_record` @param {string[]} colors */
  constructor(record, colors) {
    const { decisions } = record;
    const [first, last] = [decisions[0].time_s, decisions.at(-1).time_s];
    Object.assign(this, { decisions, floor: record.floor, first, last });
    this.colors = { [COMPUTES]: colors[0], [WAITS]: colors[4], [SAVED]: colors[2] };
    this.isCut = first > last && (first - last) / first < LITTLE;
  }

  /** The stretch of time that is drawn. */
  get range() {
    const { first, last } = this;
    const high = first + (first - last || first) * 0.03;
    if (!this.isCut) return [0, high];
    return [Math.max(0, last - 0.5 * (first - last)), high];
  }

  /** Where a time is, in percent of the width; what is outside is at the edge. */
  part(time) {
    const [low, high] = this.range;
    return Math.min(100, Math.max(0, (100 * (time - low)) / (high - low || 1)));
  }

  /** A stretch of a bar, with its text where there is room for that. */
  stretch(kind, from, to, text = "") {
    const made = dom`<span class="stretch" />`;
    const [left, right] = [this.part(from), this.part(to)];
    made.style.left = `${left}%`;
    made.style.width = `${right - left}%`;
    if (kind === SAVED) made.classList.add("saved");
    made.style.setProperty("--series", this.colors[kind]);
    made.style.color = kind === SAVED ? "var(--ink)" : inkOn(this.colors[kind]);
    if (right - left > 14 && text) made.append(element("b", {}, text));
    return made;
  }

  /** A line at a time; what is left of all that is drawn is an arrow at the edge. */
  line(name, time) {
    if (time < this.range[0]) return dom`<span class="beyond">◂</span>`;
    const made = dom`<span class=${name} />`;
    made.style.left = `${this.part(time)}%`;
    return made;
  }

  /** What a row says in full. */
  words(decision) {
    const { title, by, time_s: time, compute_s: computes, saving, bound_s: bound } = decision;
    const certified =
      bound === null
        ? []
        : [`${decision.bound_of}: ${si(bound, "s")} at least, certified`, `gap ${percent(decision.gap)}`];
    return [
      title,
      by,
      `${si(time, "s")}: computes for ${si(computes, "s")}, waits for ${si(time - computes, "s")}`,
      saving === "-" ? "where it all begins" : `saves ${saving}`,
      `${si(decision.traffic_bytes, "B")} cross the DRAM boundary`,
      ...certified,
    ];
  }

  row(decision) {
    const { time_s: time, compute_s: computes, saved_s: saved, bound_s: bound } = decision;
    const tip = (event) => showTip(this.words(decision), event.clientX, event.clientY);
    const parts = [
      this.stretch(COMPUTES, 0, computes, si(computes, "s", 3)),
      this.stretch(WAITS, computes, time, si(time - computes, "s", 3)),
      ...(saved ? [this.stretch(SAVED, time, time + saved, `−${si(saved, "s", 3)}`)] : []),
      ...(bound === null ? [] : [this.line("least", bound)]),
      ...(this.floor.time_s === null || this.floor.time_s < this.range[0] ? [] : [this.line("floor", this.floor.time_s)]),
    ];
    return dom`<tr class=${decision.is_idle ? "idle" : null} pointermove=${tip} pointerleave=${hideTip}>
      <th scope="row"><strong>${decision.title}</strong><span class="by">${shortened(decision.by, 90)}</span></th>
      <td class="fall" aria-hidden="true"><span class="bar">${parts}</span></td>
      <td class="number">${si(time, "s")}<span class="by">${decision.saving === "-" ? "" : `saves ${decision.saving}`}</span></td>
    </tr>`;
  }

  /** Ticks of time below the bars. */
  ticks() {
    const [low, high] = this.range;
    const step = roundStep((high - low) / 5);
    const digits = tickDigits(step, high);
    const texts = multiples(step, low, high).map((time) => {
      const made = dom`<span class="tick">${si(time, "s", digits)}</span>`;
      made.style.left = `${this.part(time)}%`;
      return made;
    });
    return dom`<tr class="ticks" aria-hidden="true"><td /><td class="fall"><span class="bar">${texts}</span></td><td /></tr>`;
  }

  draw() {
    const head = dom`<thead class="unseen"><tr><th>decision</th><th>bars</th><th>time</th></tr></thead>`;
    const rows = this.decisions.map((decision) => this.row(decision));
    const scale = choiceOf("Time", SCALES, SCALES[Number(this.isCut)], (name) => {
      this.isCut = name === SCALES[1];
      this.draw();
      byId("scale").querySelector("input:checked")?.focus();
    });
    const said = this.isCut ? dom`<span class="status">the axis does not begin at 0</span>` : [];
    fill("scale", scale, said);
    fill("fall", dom`<table class="waterfall"><caption class="unseen">Time of the best schedule after each decision</caption>
      ${head}<tbody>${[rows, this.ticks()]}</tbody></table>`);
    this.drawParts();
  }

  drawParts() {
    const swatches = [COMPUTES, WAITS, SAVED].map((kind) => {
      const look = dom`<span class=${kind === SAVED ? "swatch saved" : "swatch"} />`;
      look.style.setProperty("--swatch", this.colors[kind]);
      look.style.setProperty("--series", this.colors[kind]);
      return dom`<li>${look}${kind}</li>`;
    });
    const { time_s: time, of } = this.floor;
    if (this.decisions.some(({ bound_s: bound }) => bound !== null))
      swatches.push(
        dom`<li>${sample(14, segment("least-line", [7, 0], [7, 16]))}certified bound of what was searched so far</li>`,
      );
    if (time !== null)
      swatches.push(
        dom`<li>${sample(14, segment("limit", [7, 0], [7, 16]))}${`the floor: ${of} take ${si(time, "s")} at least`}</li>`,
      );
    fill("parts", swatches);
  }
}
