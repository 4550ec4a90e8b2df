// All pictures of a page: one time, one tensor followed, in one or two schedules.

const MODES = { address: "addresses", stack: "bytes by kind" };

class Board {
  /** @param {Schedule[]} schedules @param {any} contrast @param {any} look @param {Theme} theme */
  constructor(schedules, contrast, look, theme) {
    Object.assign(this, { schedules, contrast, tensor: -1, mode: "address", changed: () => {} });
    const longest = Math.max(...schedules.map(({ cycles }) => cycles));
    this.axis = new TimeAxis(longest, schedules[0].clock_hz);
    const pick = (stage, tensor, step) => this.pick(stage, tensor, step);
    this.stages = schedules.map((one) => new Stage(one, this.axis, theme, look, pick));
    const stacks = this.stages.map(({ stack }) => stack);
    this.overview = new Overview(stacks, this.axis, theme);
    const roots = this.stages.map(({ root }) => root);
    const said = dom`<p class="key" id="said-of-time">${schedules[0].said}</p>`;
    fill("pictures", this.overview.root, roots, said);
    this.drawControls();
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
    this.modes = choiceOf("Scratchpad by", Object.values(MODES), MODES.address, (name) => {
      this.show(Object.keys(MODES).find((mode) => MODES[mode] === name));
    });
    fill(
      "controls",
      this.modes,
      this.contrast
        ? checkbox("Mark what only this one keeps", false, (on) => this.mark(on), "mark")
        : [],
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

  /** Draws all; while it moves only as sharp as there is time for. */
  draw(isMoving = false) {
    this.overview.draw();
    for (const stage of this.stages) {
      if (isMoving) stage.move();
      else stage.draw();
    }
    const { from, to, clockHz } = this.axis;
    const digits = tickDigits((to - from) / 100, to);
    const [start, end] = [from, to].map((cycles) => si(cycles / clockHz, "s", digits));
    this.range.textContent = `${start} to ${end}, ${si((to - from) / clockHz, "s", 3)} in view`;
  }

  /** Shows addresses or bytes by kind. @param {string} mode */
  show(mode) {
    this.mode = mode in MODES ? mode : "address";
    for (const stage of this.stages) stage.mode = this.mode;
    for (const radio of this.modes.querySelectorAll("input"))
      radio.checked = radio.value === MODES[this.mode];
    this.draw();
    this.changed();
  }

  /** A click: follows the tensor, or shows the operation. */
  pick({ schedule }, tensor, step) {
    if (tensor >= 0) this.follow(tensor);
    else if (step >= 0) this.showPanel(stepPanel(schedule, step, this), schedule.steps.name[step]);
    else this.clear();
  }

  /** Shows a panel below the legend. */
  showPanel(content, name) {
    const end = button("End following (Escape)", () => this.clear());
    fill("followed", content, end);
    announce(`${shortened(name)} is shown beside the pictures`);
  }

  /** Follows a tensor through all schedules; `jump` brings its whole life into view. */
  follow(tensor, jump = false) {
    this.tensor = tensor;
    this.setMark(false);
    for (const stage of this.stages) stage.follow(tensor);
    const [{ edges, tensors, usesOf }] = this.schedules;
    this.showPanel(tensorPanel(this.schedules, tensor, this), tensors.name[tensor]);
    this.changed();
    if (!jump) return;
    const uses = usesOf(tensor);
    if (uses.length) this.axis.focus(edges[uses[0].step], edges[uses.at(-1).step + 1]);
    this.reveal();
  }

  /** @param {Schedule} schedule */
  showStep(schedule, step) {
    const place = Math.min(step, schedule.count - 1);
    this.axis.focus(schedule.edges[place], schedule.edges[place + 1]);
    this.showPanel(stepPanel(schedule, place, this), schedule.steps.name[place]);
    this.reveal();
  }

  /**
   * Brings the steps of a layer, of one pass or of all, into view and marks them.
   * @param {Schedule} schedule @param {string} name @param {string} [pass]
   */
  showLayer(schedule, name, pass) {
    const { layer, pass: passes } = schedule.steps;
    const isIn = (step) => layer[step] === name && (!pass || passes[step] === pass);
    const marked = [...layer.keys()].filter(isIn);
    if (!marked.length) return;
    for (const { lanes } of this.stages) lanes.marked = lanes.schedule === schedule ? marked : [];
    this.axis.focus(schedule.edges[marked[0]], schedule.edges[marked.at(-1) + 1]);
    this.draw();
    announce(
      `${counted(marked.length, "step")} of ${shortened(name)} marked above the engine's lane`,
    );
    this.reveal();
  }

  reveal() {
    byId("pictures-head").scrollIntoView({ block: "nearest" });
  }

  /** Ends following. */
  clear() {
    this.tensor = -1;
    this.setMark(false);
    for (const stage of this.stages) {
      stage.lanes.marked = [];
      stage.follow(-1);
    }
    fill("followed");
    hideTip();
    this.changed();
  }

  setMark(isMarked) {
    if (this.contrast) byId("mark").checked = isMarked;
  }

  /** Marks, in each map, what it keeps between uses and the other does not. */
  mark(isMarked) {
    this.clear();
    this.setMark(isMarked);
    this.stages.forEach((stage, at) =>
      stage.emphasize(isMarked ? rowsOf(this.contrast.only[at]) : null),
    );
  }
}
