// The page of a search: front, trials, importance of settings, shadow duals.

/** Makes the choices of both axes. */
function drawAxes(front) {
  const { axes } = front.record;
  const choice = (label, side) => {
    const options = axes.map((axis) => {
      const name = axis.is_objective ? `${axis.label} (objective)` : axis.label;
      return dom`<option value=${axis.key} selected=${axis === front[side]}>${name}</option>`;
    });
    const change = () => {
      front[side] = axes.find(({ key }) => key === select.value);
      front.draw();
      announce(`${front.y.label} over ${front.x.label}`);
    };
    const select = dom`<select change=${change}>${options}</select>`;
    return dom`<label class="pick">${label}${select}</label>`;
  };
  fill("axes", choice("Upwards", "y"), choice("across", "x"));
}

/** Makes the table of trials: of the front, or all. */
function drawTrials(front, pick) {
  const { trials, top, table } = front.record;
  const best = front.members.length ? { [top === null ? "front" : "best"]: front.members } : {};
  const chosen = { ...best, all: trials };
  const make = (name) =>
    new DataTable({
      caption: `Trials: ${name}`,
      file: `trials-${name}.csv`,
      columns: table.columns,
      rows: chosen[name].map((trial) => table.rows[trials.indexOf(trial)]),
      pick: (_, place) => pick(chosen[name][place]),
    });
  fill("trials", tablesOf([["Trials", Object.keys(chosen)]], make));
}

function facts(texts) {
  const pairs = Object.entries(texts).map(([key, text]) => dom`<dt>${key}</dt><dd>${text}</dd>`);
  return dom`<dl class="facts">${pairs}</dl>`;
}

/** Fills the side panel: a trial, its machine, and the commands that show its schedules. */
function drawTrial(front, trial, schedules) {
  const rest = front.rest(trial);
  const name = front.members.includes(trial) ? front.title() : trial.state;
  const gap = trial.gap === null ? {} : { "largest gap": percent(trial.gap) };
  const commands = schedules
    .filter((each) => each.trial === trial.number)
    .map(({ network, commands: texts }) => [
      dom`<p>${`Its schedule of ${shortened(network, 60)}:`}</p>`,
      texts.map((text) => dom`<code class="command">${text}</code>`),
    ]);
  fill(
    "trial",
    dom`<h3>${`Trial ${trial.number}: ${name}`}</h3>`,
    facts({ ...trial.fields, ...front.labelled(trial.texts), ...gap }),
    [...trial.networks, ...trial.said].map((text) => dom`<p>${text}</p>`),
    commands.flat(2),
    Object.keys(rest).length ? [dom`<h4>The rest of its machine</h4>`, facts(rest)] : [],
  );
}

async function frontPage() {
  const [record, look, { schedules }] = await Promise.all(["front", "look", "commands"].map(block));
  fill("about", items(record.lines.slice(1)));
  const pick = (trial) => {
    front.choose(trial.number);
    drawTrial(front, trial, schedules);
    announce(`Trial ${trial.number} is shown beside the front`);
  };
  const front = new Front(record, look.series, pick);
  front.draw();
  theme.changed = () => front.draw();
  drawAxes(front);
  drawTrials(front, pick);
  for (const name of ["shares", "duals"]) {
    byId(`${name}-section`).hidden = record[name].rows.length === 0;
    fill(name, new DataTable(record[name]).root);
  }
  document.documentElement.dataset.drawn = "all";
}

frontPage().catch(showError);
