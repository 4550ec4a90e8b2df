// The page of a search: front, trials, what matters, what more is worth, and schedules.

/** A choice of a figure. */
function axisChoice(label, axes, chosen, choose) {
  const options = axes.map(({ key, label: name, is_objective: is }) =>
    element(
      "option",
      { value: key, selected: key === chosen.key },
      is ? `${name} (objective)` : name,
    ),
  );
  const select = element(
    "select",
    { change: () => choose(axes.find(({ key }) => key === select.value)) },
    ...options,
  );
  return element("label", { class: "pick" }, label, select);
}

/** @param {Front} front */
function drawAxes(front) {
  const redraw = () => {
    front.draw();
    say(`${front.y.label} over ${front.x.label}`);
  };
  const choose = (side) => (axis) => {
    front[side] = axis;
    redraw();
  };
  const log = element("input", {
    type: "checkbox",
    change: () => {
      front.isLog = log.checked;
      redraw();
    },
  });
  const { axes } = front.record;
  byId("axes").replaceChildren(
    axisChoice("Upwards", axes, front.y, choose("y")),
    axisChoice("across", axes, front.x, choose("x")),
    element("label", { class: "check" }, log, "logarithmic"),
  );
}

/** Trials as a table: those of the front, or all. @param {Front} front */
function drawTrials(front, pick) {
  const { record, rank } = front,
    fields = [...new Set(record.trials.flatMap((trial) => Object.keys(trial.fields)))];
  const figures = record.axes.filter(({ key }) => key !== "trial" && !fields.includes(key)),
    holder = element("div");
  const columns = [
    { name: "trial", numeric: true },
    { name: "state", numeric: false },
    ...fields.map((name) => ({ name, numeric: false })),
    ...figures.map((axis) => ({
      name: axis.key,
      title: front.label(axis),
      numeric: true,
      shown: (value) => valueText(value, axis.unit),
    })),
    { name: "gap", numeric: true, shown: (value) => valueText(value, "part") },
    { name: "said", title: "proof or remark", numeric: false },
  ];
  const row = (trial) => [
    trial.number,
    trial.state,
    ...fields.map((name) => trial.fields[name] ?? null),
    ...figures.map(({ key }) => trial.figures[key] ?? null),
    trial.gap,
    trial.said.join("; "),
  ];
  const members = record.members.map((number) =>
    record.trials.find((trial) => trial.number === number),
  );
  const sets = { [record.top === null ? "front" : "best"]: members, all: record.trials },
    names = Object.keys(sets);
  const show = (name) => {
    const table = new DataTable({
      caption: `Trials: ${name}`,
      file: `trials-${name}.csv`,
      columns,
      rows: sets[name].map(row),
      pick: (_, place) => pick(sets[name][place]),
    });
    holder.replaceChildren(table.root);
  };
  const first = rank.size ? names[0] : "all";
  byId("trials").replaceChildren(
    element("div", { class: "controls" }, choiceOf("Trials", names, first, show)),
    holder,
  );
  show(first);
}

/** Parts of the variance of each objective, as bars. */
function drawShares(shares) {
  byId("shares-section").hidden = shares.length === 0;
  byId("shares").replaceChildren(
    ...shares.flatMap(({ objective, rests, parts }) => {
      const rows = Object.entries(parts).map(([field, part]) => {
        const bar = element("span", { class: "bar" });
        bar.style.width = `${100 * part}%`;
        return element(
          "tr",
          {},
          element("th", { scope: "row" }, field),
          element("td", { class: "number" }, share(part)),
          element("td", { class: "part", "aria-hidden": "true" }, bar),
        );
      });
      return [
        element("h3", {}, `${objective} (${rests})`),
        element(
          "table",
          { class: "shares" },
          element("caption", { class: "unseen" }, `What ${objective} varies with`),
          element("tbody", {}, ...rows),
        ),
      ];
    }),
  );
}

function drawWorth(worth) {
  byId("worth-section").hidden = worth.length === 0;
  if (!worth.length) return;
  const unit = worth[0].unit,
    amount = (name, title) => ({
      name,
      title,
      unit,
      numeric: true,
      shown: (value) => valueText(value, unit),
    });
  const columns = [
    { name: "trial", numeric: true },
    { name: "network", numeric: false },
    amount("bound", "bound"),
    amount("per_mb", "1 MB more SPM"),
    amount("per_gbps", "1 GB/s more DRAM"),
    amount("per_pe", "1 PE more"),
  ];
  const rows = worth.map((each) => columns.map(({ name }) => each[name]));
  byId("worth").replaceChildren(
    element(
      "p",
      { class: "key" },
      "How much the certified bound falls at first, for each MB, GB/s and PE (multiply-accumulate unit) more, by the prices that prove it.",
    ),
    new DataTable({ caption: "Worth for each trial", file: "worth.csv", columns, rows }).root,
  );
}

async function frontPage() {
  const [record, look, { schedules }] = await Promise.all(["front", "look", "opened"].map(block));
  let opened = null;
  const theme = new Theme(() => opened?.draw());
  opened = new Opened(look, theme);
  theme.choose(new URLSearchParams(location.hash.slice(1)).get("theme") || "system");
  byId("about").replaceChildren(...record.lines.slice(1).map((text) => element("li", {}, text)));
  const open = (each) => opened.open(each).catch(troubled);
  const pick = (trial) => {
    front.choose(trial.number);
    drawTrial(front, trial, schedules, open);
    const held = schedules.find((each) => each.trial === trial.number && each.block !== null);
    if (held) open(held);
    else say(`Trial ${trial.number} is shown beside the front`);
  };
  const front = new Front(record, look.series, pick);
  drawAxes(front);
  front.draw();
  drawTrials(front, pick);
  drawShares(record.shares);
  drawWorth(record.worth);
  document.documentElement.dataset.drawn = "all";
}

frontPage().catch(troubled);
