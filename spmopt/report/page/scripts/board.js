// All pictures of a page: one time, one tensor followed, in one or two schedules.

const MODES = { address: "addresses", stack: "bytes by kind" };

class Board {
  /** @param {Schedule[]} schedules @param {any} contrast @param {any} look @param {Theme} theme */
  constructor(schedules, contrast, look, theme) {
    this.schedules = schedules;
    this.contrast = contrast;
    this.tensor = -1;
    this.mode = "address";
    this.changed = () => {};
    /** @type {Array<(rect: number) => boolean>|null} what each schedule alone keeps */
    this.only = null;
    this.axis = new TimeAxis(
      Math.max(...schedules.map(({ cycles }) => cycles)),
      schedules[0].clock_hz,
    );
    const pick = (stage, tensor, step) => this.pick(stage, tensor, step);
    const two = schedules.length > 1;
    this.overview = new Overview(schedules, this.axis, theme, look);
    this.stages = schedules.map(
      (schedule) => new Stage(schedule, this.axis, theme, look, { pick, two }),
    );
    byId("pictures").replaceChildren(
      this.overview.root,
      ...this.stages.map(({ root }) => root),
      element("p", { class: "key", id: "said-of-time" }, schedules[0].said),
    );
    this.drawControls();
    let asked = false;
    this.axis.listeners.push(() => {
      if (asked) return;
      asked = true;
      requestAnimationFrame(() => {
        asked = false;
        this.move();
      });
    });
    document.addEventListener("keydown", (event) => event.key === "Escape" && this.clear());
  }

  drawControls() {
    const { axis } = this;
    const labelled = (text, label, act) => button(text, act, { "aria-label": label });
    this.range = element("span", { class: "status", id: "range" });
    const mark = element("input", {
      type: "checkbox",
      id: "mark",
      change: () => this.mark(mark.checked),
    });
    const marks = this.contrast
      ? [element("label", { class: "check" }, mark, "Mark what only this one keeps")]
      : [];
    this.modes = choiceOf("Scratchpad by", Object.values(MODES), MODES.address, (name) => {
      this.show(Object.keys(MODES).find((mode) => MODES[mode] === name));
    });
    byId("controls").replaceChildren(
      this.modes,
      ...marks,
      element(
        "div",
        { class: "group", role: "group", "aria-label": "Zoom and pan" },
        labelled("◀", "Earlier", () => axis.pan(-0.5)),
        labelled("▶", "Later", () => axis.pan(0.5)),
        labelled("+", "Zoom in", () => axis.zoom(2)),
        labelled("−", "Zoom out", () => axis.zoom(0.5)),
        labelled("All", "All of the time", () => axis.show(0, axis.total)),
      ),
      this.range,
    );
  }

  /** Draws what has moved. */
  move() {
    for (const stage of this.stages) stage.move();
    this.overview.draw();
    this.tell();
  }

  /** Draws all anew: colours, contents or sizes have changed. */
  draw() {
    this.overview.redraw();
    for (const stage of this.stages) stage.draw();
    this.tell();
  }

  tell() {
    const { from, to, clockHz } = this.axis,
      digits = tickDigits((to - from) / 100, to);
    this.range.textContent = `${si(from / clockHz, "s", digits)} to ${si(to / clockHz, "s", digits)}, ${si((to - from) / clockHz, "s", 3)} in view`;
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
  pick(stage, tensor, step) {
    if (tensor >= 0) this.follow(tensor);
    else if (step >= 0)
      this.showPanel(stepPanel(stage, step, this), stage.schedule.steps.name[step]);
    else this.clear();
  }

  showPanel(content, name) {
    showFollowed(content, this);
    say(`${shortened(name)} is shown beside the pictures`);
  }

  /** Follows a tensor through all schedules; `jump` brings its whole life into view. */
  follow(tensor, jump = false) {
    this.tensor = tensor;
    this.setMark(false);
    for (const stage of this.stages) stage.follow(tensor);
    this.showPanel(tensorPanel(this.stages, tensor, this), this.schedules[0].tensors.name[tensor]);
    this.changed();
    if (!jump) return;
    const { edges, tensors } = this.schedules[0],
      { uses_step: step, uses_first: first } = tensors;
    if (first[tensor] < first[tensor + 1])
      this.axis.focus(edges[step[first[tensor]]], edges[step[first[tensor + 1] - 1] + 1]);
    this.reveal();
  }

  /** @param {Schedule} schedule */
  showStep(schedule, step) {
    const place = Math.min(step, schedule.count - 1),
      stage = this.stages[this.schedules.indexOf(schedule)];
    this.axis.focus(schedule.edges[place], schedule.edges[place + 1]);
    this.showPanel(stepPanel(stage, place, this), schedule.steps.name[place]);
    this.reveal();
  }

  /**
   * Brings the steps of a layer, of one pass or of all, into view and marks them.
   * @param {Schedule} schedule @param {string} name @param {string} [pass]
   */
  showLayer(schedule, name, pass) {
    const { layer, pass: passes } = schedule.steps;
    const marked = [...layer.keys()].filter(
      (step) => layer[step] === name && (!pass || passes[step] === pass),
    );
    if (!marked.length) return;
    for (const stage of this.stages)
      stage.markSteps(stage.schedule === schedule ? marked : []);
    this.axis.focus(schedule.edges[marked[0]], schedule.edges[marked[marked.length - 1] + 1]);
    say(`${counted(marked.length, "step")} of ${shortened(name)} marked above the engine's lane`);
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
    showFollowed(null, this);
    hideTip();
    this.changed();
  }

  setMark(marked) {
    if (this.contrast) byId("mark").checked = marked;
  }

  /** Marks, in each map, what it keeps between uses and the other does not. */
  mark(marked) {
    this.clear();
    this.setMark(marked);
    this.only ||= onlyHere(this.schedules, this.contrast);
    this.stages.forEach((stage, at) => stage.mark(marked ? this.only[at] : null));
  }
}
