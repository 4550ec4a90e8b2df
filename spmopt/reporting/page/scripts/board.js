// All pictures of a page: one time, one tensor followed, in one or two schedules.

const GOOD_MAP = 230; // pixels of a map that are enough to see all from the top of the page

class Board {
  constructor(schedules, contrast, look) {
    Object.assign(this, { schedules, contrast, tensor: -1, isMarked: Boolean(contrast) });
    /** Of each schedule: obstacles of its stalls, when they are read. */
    this.explained = [];
    this.changed = () => {};
    this.axis = new TimeAxis(Math.max(...schedules.map(({ cycles }) => cycles)), schedules[0].clock_hz);
    const gained = (place) => (contrast && !place ? contrast.gained_cycles : null);
    this.stages = schedules.map(
      (one, place) => new Stage(one, this.axis, look, gained(place), (stage, found) => this.pick(stage, found)),
    );
    const key = dom`<p class="key" id="said-of-time">${schedules[0].said}</p>`;
    fill("pictures", this.stages.map(({ root }) => root), key);
    this.drawControls();
    this.fit();
    this.emphasize();
    let isAsked = false;
    this.axis.listeners.push(() => {
      if (isAsked) return;
      isAsked = true;
      requestAnimationFrame(() => {
        isAsked = false;
        this.draw(true);
      });
    });
    document.addEventListener("keydown", (event) => event.key === "Escape" && this.clear());
  }

  drawControls() {
    const { axis } = this;
    const act = (text, label, done) => button(text, done, { "aria-label": label });
    this.range = dom`<span class="status" id="range" />`;
    const mark = (on) => {
      this.isMarked = on;
      this.clear();
    };
    fill(
      "controls",
      this.contrast ? checkbox("Mark what only this one keeps", true, mark, "mark") : [],
      dom`<div class="group" role="group" aria-label="Zoom and pan">
        ${act("◀", "Earlier", () => axis.pan(-0.5))}
        ${act("▶", "Later", () => axis.pan(0.5))}
        ${act("+", "Zoom in", () => axis.zoom(2))}
        ${act("−", "Zoom out", () => axis.zoom(0.5))}
        ${act("All", "All of the time", () => axis.show(0, axis.total))}
      </div>`,
      this.range,
    );
  }

  /** Gives the maps the rest of the window: from the top of the page if that is enough, else below. */
  fit() {
    const maps = this.stages.map(({ mapSheet }) => mapSheet);
    const head = byId("pictures-head").getBoundingClientRect().top + scrollY;
    const foot = this.stages.at(-1).root.getBoundingClientRect().bottom + scrollY;
    const beside = foot - head - maps.reduce((sum, { height }) => sum + height, 0) + 6;
    const room = (top) => (innerHeight - top - beside) / maps.length;
    const all = room(head) >= GOOD_MAP ? room(head) : room(0);
    for (const map of maps) map.setHeight(Math.round(Math.min(MOST_MAP, Math.max(LEAST_MAP, all))));
  }

  /** The panel of a step, with what is in the way of its transfers. */
  panelOf(schedule, step) {
    return stepPanel(schedule, step, this, this.explained[this.schedules.indexOf(schedule)]);
  }

  /** Draws all; while it moves only as sharp as there is time for. */
  draw(isMoving = false) {
    for (const stage of this.stages) {
      if (isMoving) stage.move();
      else stage.draw();
    }
    this.range.textContent = this.axis.words();
  }

  /** Follows the tensor below a click, zooms into a run, or shows the operation, of the lead in both. */
  pick({ schedule }, { tensor = -1, step = -1, run, lane }) {
    const { edges, steps } = schedule;
    if (run) this.axis.show(edges[run.begin], edges[run.end]);
    else if (lane) {
      const [a, b] = this.schedules;
      const there = b.steps.operation.indexOf(a.steps.operation[step]);
      const parts = [dom`<h4>In A</h4>`, this.panelOf(a, step), dom`<h4>In B</h4>`, this.panelOf(b, there)];
      this.showPanel(parts.flat(), steps.name[step]);
    } else if (tensor >= 0) this.follow(tensor);
    else if (step >= 0) this.showPanel(this.panelOf(schedule, step), steps.name[step]);
    else this.clear();
  }

  /** Shows a panel below the legend. */
  showPanel(content, name) {
    fill("followed", content, button("End following (Escape)", () => this.clear()));
    announce(`${shortened(name)} is shown beside the pictures`);
  }

  /** Follows a tensor through all schedules; `jump` brings its whole life into view. */
  follow(tensor, jump = false) {
    this.tensor = tensor;
    const [{ edges, tensors, usesOf }] = this.schedules;
    this.showPanel(tensorPanel(this.schedules, tensor, this), tensors.name[tensor]);
    this.emphasize();
    this.changed();
    if (!jump) return;
    const uses = usesOf(tensor);
    if (uses.length) this.axis.focus(edges[uses[0].step], edges[uses.at(-1).step + 1]);
    this.reveal();
  }

  showStep(schedule, step) {
    const place = Math.min(step, schedule.count - 1);
    const { edges } = schedule;
    this.axis.focus(edges[place], edges[place + 1]);
    this.showPanel(this.panelOf(schedule, place), schedule.steps.name[place]);
    this.reveal();
  }

  /** Brings the steps of a layer, of one pass or of all, into view and marks them. */
  showLayer(schedule, name, pass) {
    const { layer, pass: fetches } = schedule.steps;
    const isIn = (step) => layer[step] === name && (!pass || fetches[step] === pass);
    const marked = [...layer.keys()].filter(isIn);
    if (!marked.length) return;
    for (const stage of this.stages) stage.lanes.marked = stage.schedule === schedule ? marked : [];
    const { edges } = schedule;
    this.axis.focus(edges[marked[0]], edges[marked.at(-1) + 1]);
    this.draw();
    announce(`${counted(marked.length, "step")} of ${shortened(name)} marked above the engine's lane`);
    this.reveal();
  }

  reveal() {
    byId("pictures-head").scrollIntoView({ block: "nearest" });
  }

  /** Ends following. */
  clear() {
    this.tensor = -1;
    for (const { lanes } of this.stages) lanes.marked = [];
    fill("followed");
    hideTip();
    this.emphasize();
    this.changed();
  }

  /** Shows in full color what is followed, else what only one schedule keeps, else all. */
  emphasize() {
    this.stages.forEach((stage, at) => {
      const { schedule } = stage;
      const marked = this.isMarked ? rowsOf(this.contrast.only[at]) : null;
      stage.emphasize(this.tensor >= 0 ? schedule.rectsOf(this.tensor) : marked);
    });
  }
}
