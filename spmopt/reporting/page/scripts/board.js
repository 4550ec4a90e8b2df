// All pictures of a page: one time, one tensor followed, in one or two schedules.

const GOOD_MAP = 230; // pixels of a map that are enough to see all from the top of the page
const MODES = { address: "addresses", stack: "bytes by kind" };

class Board {
  /** @param {Schedule[]} schedules @param {any} contrast @param {any} look @param {Theme} theme */
  constructor(schedules, contrast, look, theme) {
    Object.assign(this, { contrast, tensor: -1, mode: "address", changed: () => {} });
    /** Schedules in their own times, and as they are drawn. */
    this.natural = this.schedules = schedules;
    this.alignment = "time";
    this.isMarked = Boolean(contrast);
    /** @type {any[]} of each schedule: what is in the way of its stalls; none until it is read */
    this.explained = [];
    const longest = Math.max(...schedules.map(({ cycles }) => cycles));
    this.axis = new TimeAxis(longest, schedules[0].clock_hz);
    const pick = (stage, tensor, step) => this.pick(stage, tensor, step);
    this.stages = schedules.map((one) => new Stage(one, this.axis, theme, look, pick));
    const stacks = this.stages.map(({ stack }) => stack);
    this.overview = new Overview(stacks, this.axis, theme);
    const roots = this.stages.map(({ root }) => root);
    const said = dom`<p class="key" id="said-of-time">${schedules[0].said}</p>`;
    if (contrast) this.drawGain(theme);
    fill("pictures", this.overview.root, this.gain ? this.gain.root : [], roots, said);
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
    this.modes = choiceOf("Scratchpad by", Object.values(MODES), MODES.address, (name) => {
      this.show(Object.keys(MODES).find((mode) => MODES[mode] === name));
    });
    const align = (name) => this.align(name);
    this.alignments = choiceOf("Align by", Object.values(ALIGNMENTS), ALIGNMENTS.time, align);
    const mark = (on) => this.mark(on);
    fill(
      "controls",
      this.modes,
      this.contrast
        ? [this.alignments, checkbox("Mark what only this one keeps", true, mark, "mark")]
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

  /**
   * Gives the maps what all else leaves of the window: from the top of the page if that is enough,
   * else from the heading of the pictures.
   */
  fit() {
    const maps = this.stages.map(({ mapSheet }) => mapSheet);
    const { root } = this.stages.at(-1);
    const head = byId("pictures-head").getBoundingClientRect().top + scrollY;
    const foot = root.getBoundingClientRect().bottom + scrollY;
    const beside = foot - head - maps.reduce((sum, { height }) => sum + height, 0) + 6;
    const room = (top) => (innerHeight - top - beside) / maps.length;
    const all = room(head) >= GOOD_MAP ? room(head) : room(0);
    const height = Math.round(Math.min(MOST_MAP, Math.max(LEAST_MAP, all)));
    for (const map of maps) map.setHeight(height);
  }

  /** The curve of time gained; a click shows the step in both. @param {Theme} theme */
  drawGain(theme) {
    const { gained_cycles: gained } = this.contrast;
    this.gain = new GainCurve(gained, this.axis, theme, (step) => {
      const [a, b] = this.natural;
      const there = b.steps.operation.indexOf(a.steps.operation[step]);
      const parts = [dom`<h4>In A</h4>`, this.panelOf(a, step), dom`<h4>In B</h4>`];
      this.showPanel([...parts, this.panelOf(b, there)].flat(), a.steps.name[step]);
    });
    this.gain.show(this.schedules[0], this.natural);
  }

  /** Aligns both schedules by time, or step by step. @param {string} name */
  align(name) {
    const to = name in ALIGNMENTS && this.contrast ? name : "time";
    for (const radio of this.alignments.querySelectorAll("input")) radio.checked = radio.value === to;
    if (to === this.alignment) return;
    this.alignment = to;
    const edges = to === "step" ? commonEdges(this.natural) : null;
    this.schedules = edges ? this.natural.map((one) => aligned(one, edges)) : this.natural;
    this.stages.forEach((stage, place) => stage.build(this.schedules[place]));
    this.overview.stacks = this.stages.map(({ stack }) => stack);
    this.gain.show(this.schedules[0], this.natural);
    this.axis.take(Math.max(...this.schedules.map(({ cycles }) => cycles)), edges);
    this.emphasize();
    this.draw();
    this.changed();
  }

  /** The panel of a step, with what `explain` says of its stall. @param {Schedule} schedule */
  panelOf(schedule, step) {
    const place = this.natural.findIndex(({ mark }) => mark === schedule.mark);
    return stepPanel(this.natural[place], step, this, this.explained[place]);
  }

  /** As it is drawn. @param {Schedule} schedule in its own times */
  shown({ mark }) {
    return this.schedules.find((one) => one.mark === mark);
  }

  /** Draws all; while it moves only as sharp as there is time for. */
  draw(isMoving = false) {
    this.overview.draw();
    this.gain?.draw();
    for (const stage of this.stages) {
      if (isMoving) stage.move();
      else stage.draw();
    }
    this.range.textContent = this.axis.words();
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
    else if (step >= 0) this.showPanel(this.panelOf(schedule, step), schedule.steps.name[step]);
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
    for (const stage of this.stages) stage.follow(tensor);
    const [{ edges, tensors, usesOf }] = this.schedules;
    this.showPanel(tensorPanel(this.natural, tensor, this), tensors.name[tensor]);
    this.changed();
    if (!jump) return;
    const uses = usesOf(tensor);
    if (uses.length) this.axis.focus(edges[uses[0].step], edges[uses.at(-1).step + 1]);
    this.reveal();
  }

  /** @param {Schedule} schedule */
  showStep(schedule, step) {
    const place = Math.min(step, schedule.count - 1);
    const { edges } = this.shown(schedule);
    this.axis.focus(edges[place], edges[place + 1]);
    this.showPanel(this.panelOf(schedule, place), schedule.steps.name[place]);
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
    for (const { lanes, natural } of this.stages)
      lanes.marked = natural.mark === schedule.mark ? marked : [];
    const { edges } = this.shown(schedule);
    this.axis.focus(edges[marked[0]], edges[marked.at(-1) + 1]);
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
    for (const stage of this.stages) {
      stage.lanes.marked = [];
      stage.follow(-1);
    }
    fill("followed");
    hideTip();
    this.emphasize();
    this.changed();
  }

  /** Marks, in each map, what it keeps between uses and the other does not; or not. */
  mark(isMarked) {
    this.isMarked = isMarked;
    this.clear();
  }

  /** Shows in full color what is followed, else what is marked, else all. */
  emphasize() {
    this.stages.forEach((stage, at) => {
      if (this.tensor >= 0) stage.follow(this.tensor);
      else stage.emphasize(this.isMarked ? this.only(at) : null);
    });
  }

  /** Rectangles that one schedule alone keeps, as they are drawn. */
  only(at) {
    const rects = rowsOf(this.contrast.only[at]);
    const { axis, natural } = this;
    return axis.edges ? alignedRects(natural[at], axis.edges, rects) : rects;
  }
}
