// The page of a network's ablation: sentences, bars of decisions, rooflines, figures.

const COMPUTES = "computes";
const STALLS = "stalls";
const SAVED = "saved by the decision";
const LITTLE = 0.3; // of the time at the start: where less is saved, the axis begins above 0

/** Decisions as bars: what the best schedule takes after each, what that saved, and bounds. */
class Waterfall {
  /** @param {any} record of `page_record` @param {string[]} colors */
  constructor({ decisions, floor }, colors) {
    const [first, last] = [decisions[0].time_s, decisions.at(-1).time_s];
    Object.assign(this, { decisions, floor, colors: [colors[0], colors[4], colors[2]] });
    this.isCut = first > last && (first - last) / first < LITTLE;
  }

  words({ title, by, time_s: time, compute_s: computes, saving, bound_s: bound, ...more }) {
    return [
      title,
      by,
      `${si(time, "s")}: computes for ${si(computes, "s")}, stalls for ${si(time - computes, "s")}`,
      saving === "-" ? "the start" : `saves ${saving}`,
      `${si(more.traffic_bytes, "B")} cross the DRAM boundary`,
      bound !== null && `lower bound over ${more.bound_of}: ${si(bound, "s")}, certified; gap ${percent(more.gap)}`,
    ].filter(Boolean);
  }

  draw() {
    const { decisions, floor } = this;
    const x = decisions.map((_, place) => place);
    const times = decisions.map(({ time_s: time }) => time);
    const tops = decisions.map(({ time_s: time, saved_s: saved }) => (saved ? time + saved : null));
    const bounds = decisions.map(({ bound_s: bound }) => bound).filter((bound) => bound !== null);
    const lowest = Math.min(...times, ...bounds);
    const bar = (y, look) => ({ x, y, look, isBar: true });
    const [computes, stalls, saved] = this.colors;
    const y = new NumberAxis({ label: "time", unit: "s" }, [Math.max(...times, ...tops), this.isCut ? lowest : 0], { zero: !this.isCut });
    this.plot = new Plot({
      label: "Time of the best schedule after each decision; the table of figures has the same",
      height: 360,
      x: new NumberAxis({ label: "", unit: "", categories: decisions.map(({ title }) => title) }, x),
      y,
      points: decisions.map((decision, place) => ({ x: place, y: times[place], words: () => this.words(decision) })),
      lines: [
        bar(tops, { fill: `${saved}40`, stroke: saved, width: 1, dash: [4, 3] }),
        bar(times, { fill: stalls, stroke: stalls, width: 0 }),
        bar(decisions.map((each) => each.compute_s), { fill: computes, stroke: computes, width: 0 }),
      ],
      paint: (plot) => {
        const { left, right, top } = plot.box;
        decisions.forEach(({ bound_s: bound }, place) => {
          plot.write(si(times[place], "s"), plot.place(place, 0)[0], Math.max(top + 8, plot.place(0, tops[place] ?? times[place])[1] - 9), { align: "center" });
          if (bound === null || bound < y.low) return;
          const [from, to] = [-0.34, 0.34].map((aside) => plot.place(place + aside, bound));
          plot.fused_group(from, to, { stroke: theme.ink, width: 3 });
        });
        if (floor.time_s === null || floor.time_s < y.low) return;
        const level = plot.place(0, floor.time_s)[1];
        plot.fused_group([left, level], [right, level], { stroke: theme.ink, dash: [6, 4], width: 1.2 });
      },
    });
    const choose = (checked) => {
      this.isCut = !checked;
      this.draw();
      byId("from-zero").focus();
    };
    const remark = this.isCut ? dom`<span class="status">the axis does not begin at 0</span>` : [];
    fill("scale", checkbox("from 0", !this.isCut, choose, "from-zero"), remark);
    fill("fall", this.plot.root);
    this.plot.fit();
    this.drawKey();
  }

  drawKey() {
    const box = "M0 2H14V14H0Z";
    const [computes, stalls, saved] = this.colors;
    const { time_s: time, of } = this.floor;
    const entries = [
      [COMPUTES, [box, { fill: computes }]],
      [STALLS, [box, { fill: stalls }]],
      [SAVED, [box, { fill: `${saved}40`, stroke: saved, dash: [4, 3] }]],
    ];
    if (this.decisions.some(({ bound_s: bound }) => bound !== null))
      entries.push(["certified lower bound of what was searched so far", ["M0 8H14", { stroke: theme.ink, width: 3 }]]);
    if (time !== null)
      entries.push([`lower bound over ${of}: ${si(time, "s")}`, ["M0 8H14", { stroke: theme.ink, dash: [4, 3] }]]);
    fill("parts", entries.map(([text, shape]) => dom`<li>${sample(16, shape)}${text}</li>`));
  }
}

/** The roofline of one schedule, with where its layers were at the start. */
function drawRoofs(rooflines, colors, shown = rooflines.length - 1) {
  const names = rooflines.map(({ name }) => name);
  const choice = choiceOf("Schedule", names, names[shown], (name) => {
    drawRoofs(rooflines, colors, names.indexOf(name));
    byId("schedules").querySelector("input:checked")?.focus();
  });
  fill("schedules", choice);
  fill("roofs", rooflineChart(rooflines[shown], rooflines, colors, shown ? rooflines[0] : null));
}

async function storyPage() {
  const [record, look] = await Promise.all(["ablation", "look"].map(block));
  fill("said", items(record.sentences));
  const fall = new Waterfall(record, look.series);
  theme.changed = () => {
    fall.draw();
    drawRoofs(record.rooflines, look.series);
  };
  theme.changed();
  fill("decisions", new DataTable(record.table).root);
  fill("remarks", items(record.remarks));
  document.documentElement.dataset.drawn = "all";
}

storyPage().catch(showError);
