// The page of a search: front, trials, what matters, shadow prices, and schedules.

/** @param {Front} front */
function drawAxes(front) {
  const { axes } = front.record;
  const choice = (label, side) => {
    const options = axes.map((axis) => {
      const name = axis.is_objective ? `${axis.label} (objective)` : axis.label;
      return dom`<option value=${axis.key} selected=${axis === front[side]}>${name}</option>`;
    });
    const change = () => {
      front[side] = axes.find(({ key }) => key === select.value);
      redraw();
    };
    const select = dom`<select change=${change}>${options}</select>`;
    return dom`<label class="pick">${label}${select}</label>`;
  };
  const log = (side) => {
    const label = `${front[side].label} logarithmic`;
    return checkbox(label, front.chart[side].isLog, (checked) => {
      front.isLog[front[side].key] = checked;
      redraw();
    });
  };
  const logs = dom`<span class="logs" />`;
  const redraw = () => {
    front.draw();
    logs.replaceChildren(log("y"), log("x"));
    announce(`${front.y.label} over ${front.x.label}`);
  };
  logs.append(log("y"), log("x"));
  fill("axes", choice("Upwards", "y"), choice("across", "x"), logs);
}

/** Trials as a table: those of the front, or all. @param {Front} front */
function drawTrials(front, pick) {
  const { trials, top } = front.record;
  const { columns, rows } = front.record.table;
  const best = front.members.length ? { [top === null ? "front" : "best"]: front.members } : {};
  const chosen = { ...best, all: trials };
  const make = (name) =>
    new DataTable({
      caption: `Trials: ${name}`,
      file: `trials-${name}.csv`,
      columns,
      rows: chosen[name].map((trial) => rows[trials.indexOf(trial)]),
      pick: (_, place) => pick(chosen[name][place]),
    });
  fill("trials", tablesOf([["Trials", Object.keys(chosen)]], make));
}

/** Parts of the variance of each objective, as bars. */
function drawShares(shares) {
  byId("shares-section").hidden = shares.length === 0;
  const tables = shares.flatMap(({ objective, rests, parts }) => {
    const rows = Object.entries(parts).map(([field, part]) => {
      const bar = dom`<span class="bar" />`;
      bar.style.width = `${100 * part}%`;
      return dom`<tr>
        <th scope="row">${field}</th>
        <td class="number">${share(part)}</td>
        <td class="part" aria-hidden="true">${bar}</td>
      </tr>`;
    });
    return dom`<h3>${`${objective} (${rests})`}</h3><table class="shares">
      <caption class="unseen">${`What ${objective} varies with`}</caption><tbody>${rows}</tbody>
    </table>`;
  });
  fill("shares", tables);
}

/** Pairs of names and texts. */
function facts(texts) {
  const pairs = Object.entries(texts).map(([key, text]) => dom`<dt>${key}</dt><dd>${text}</dd>`);
  return dom`<dl class="facts">${pairs}</dl>`;
}

/** Fills the side panel. @param {Front} front @param {any[]} schedules of trials */
function drawTrial(front, trial, schedules, open) {
  const rest = front.rest(trial);
  const own = schedules.filter((each) => each.trial === trial.number);
  const name = front.members.includes(trial) ? front.named() : trial.state;
  const gap = trial.gap === null ? {} : { "largest gap": percent(trial.gap) };
  fill(
    "trial",
    dom`<h3>${`Trial ${trial.number}: ${name}`}</h3>`,
    facts({ ...trial.fields, ...trial.texts, ...gap }),
    [...trial.networks, ...trial.said].map((text) => dom`<p>${text}</p>`),
    own.map((each) => scheduleLink(each, own.length > 1, open)),
    Object.keys(rest).length ? [dom`<h4>The rest of its machine</h4>`, facts(rest)] : [],
  );
}

/** Opens a schedule that the page holds; of others the commands that show them. */
function scheduleLink(each, isOneOfMany, open) {
  const of = isOneOfMany ? ` of ${shortened(each.network, 60)}` : "";
  if (each.block !== null) return dom`<p>${button(`Open its schedule${of}`, () => open(each))}</p>`;
  const commands = each.commands.map((text) => dom`<code class="command">${text}</code>`);
  return dom`<div><p>${`Its schedule${of} is not in this page; these commands show it:`}</p>${commands}</div>`;
}

/** Brings a schedule into the page, in place of the one before. */
async function openSchedule({ block: name, trial, network }, look, theme) {
  const [record, parts] = await Promise.all([block(`${name}-view`), block(`${name}-tables`)]);
  const schedule = new Schedule(record);
  fill("schedule", document.importNode(byId("spare").content, true));
  byId("opened").hidden = false;
  fill("opened-head", visible(`Schedule of trial ${trial}: ${shortened(network, 80)}`));
  fill("opened-about", visible(`${record.title}; ${record.subtitle}`));
  drawHeadline([schedule], null);
  drawLegend(schedule, look);
  const board = new Board([schedule], null, look, theme);
  board.explained = [parts.explained];
  board.draw();
  theme.changed = () => board.draw();
  drawFind(schedule, board);
  drawDetails([schedule], [parts], board, look);
  byId("opened-head").focus();
  byId("opened-head").scrollIntoView();
  document.documentElement.dataset.opened = String(trial);
}

async function frontPage() {
  const [record, look, { schedules }] = await Promise.all(["front", "look", "opened"].map(block));
  const theme = new Theme();
  fill("about", items(record.lines.slice(1)));
  const open = (each) => openSchedule(each, look, theme).catch(showError);
  const pick = (trial) => {
    front.choose(trial.number);
    drawTrial(front, trial, schedules, open);
    const held = schedules.find((each) => each.trial === trial.number && each.block !== null);
    if (held) open(held);
    else announce(`Trial ${trial.number} is shown beside the front`);
  };
  const front = new Front(record, look.series, pick);
  front.draw();
  drawAxes(front);
  drawTrials(front, pick);
  drawShares(record.shares);
  byId("prices-section").hidden = record.prices.rows.length === 0;
  fill("prices", new DataTable(record.prices).root);
  document.documentElement.dataset.drawn = "all";
}

frontPage().catch(showError);
