// Two schedules of one instance: what one keeps that the other evicts, and where the time went.

const TEXT = (name, title) => ({ name, title, numeric: false });
const NUMBER = (name, title, unit) => ({ name, title, unit, numeric: true });
const SIGNED = (name, title, unit) => ({
  name,
  title,
  unit,
  numeric: true,
  shown: (value) => `${value > 0 ? "+" : ""}${si(value, unit)}`,
});

/** @param {Schedule[]} schedules */
function gapTable([a], { gaps }, board) {
  const { tensors, kinds, steps } = a;
  const rows = gaps.tensor.map((tensor, at) => [
    tensors.name[tensor],
    kinds[tensors.kind[tensor]],
    steps.name[gaps.from_step[at]],
    steps.name[gaps.to_step[at]],
    gaps.kept_a[at],
    gaps.kept_b[at],
    gaps.bytes_saved[at],
  ]);
  const columns = [
    TEXT("tensor"),
    TEXT("kind"),
    TEXT("after", "kept after"),
    TEXT("until"),
    NUMBER("kept_a_bytes", "kept in A", "B"),
    NUMBER("kept_b_bytes", "kept in B", "B"),
    SIGNED("b_less_a_bytes", "B less A", "B"),
  ];
  const pick = (_, at) => {
    board.follow(gaps.tensor[at]);
    board.axis.focus(a.edges[gaps.from_step[at]], a.edges[gaps.to_step[at] + 1]);
    board.reveal();
  };
  return new DataTable({
    caption: "What one keeps between two uses and the other does not",
    file: "kept.csv",
    columns,
    rows,
    pick,
  });
}

/** @param {Schedule[]} schedules */
function tensorTable([a], { tensors }, board) {
  const rows = tensors.tensor
    .map((tensor, at) => [
      tensors.name[at],
      a.kinds[a.tensors.kind[tensor]],
      tensors.traffic_a[at],
      tensors.traffic_b[at],
      tensors.traffic_b[at] - tensors.traffic_a[at],
      tensors.kept_a[at],
      tensors.kept_b[at],
    ])
    .filter((row) => row[4] !== 0 || row[5] !== row[6]);
  const columns = [
    TEXT("tensor"),
    TEXT("kind"),
    NUMBER("traffic_a_bytes", "traffic in A", "B"),
    NUMBER("traffic_b_bytes", "traffic in B", "B"),
    SIGNED("b_less_a_bytes", "B less A", "B"),
    NUMBER("kept_a_byte_s", "kept in A", "B·s"),
    NUMBER("kept_b_byte_s", "kept in B", "B·s"),
  ];
  const pick = ([name]) => board.follow(a.tensorPlace.get(name), true);
  return new DataTable({
    caption: "Traffic and stay of tensors",
    file: "tensors.csv",
    columns,
    rows,
    pick,
  });
}

/** Time of operations or, summed, of layers in both. @param {Schedule[]} schedules */
function timeTable([a], { operations }, board, perLayer) {
  const groups = new Map();
  operations.name.forEach((name, operation) => {
    const key = perLayer ? a.steps.layer[operations.step_a[operation]] : name;
    const sums = groups.get(key) || [0, 0, 0, 0];
    ["cycles_a", "cycles_b", "stall_a", "stall_b"].forEach(
      (column, at) => (sums[at] += operations[column][operation] / a.clock_hz),
    );
    groups.set(key, sums);
  });
  const rows = [...groups]
    .map(([name, [one, other, waitA, waitB]]) => [name, one, other, other - one, waitA, waitB])
    .sort((x, y) => Math.abs(y[3]) - Math.abs(x[3]));
  const columns = [
    TEXT(perLayer ? "layer" : "operation"),
    NUMBER("time_a_s", "time in A", "s"),
    NUMBER("time_b_s", "time in B", "s"),
    SIGNED("b_less_a_s", "B less A", "s"),
    NUMBER("stall_a_s", "stall in A", "s"),
    NUMBER("stall_b_s", "stall in B", "s"),
  ];
  const pick = ([name]) =>
    perLayer ? board.showLayer(a, name) : board.showStep(a, a.stepPlace.get(name));
  const what = perLayer ? "layers" : "operations";
  return new DataTable({
    caption: `Where the time goes, by ${what}`,
    file: `${what}.csv`,
    columns,
    rows,
    pick,
  });
}

/** @param {Schedule[]} schedules */
function drawContrast(schedules, contrast, board) {
  const makers = {
    "kept between uses": () => gapTable(schedules, contrast, board),
    layers: () => timeTable(schedules, contrast, board, true),
    operations: () => timeTable(schedules, contrast, board, false),
    tensors: () => tensorTable(schedules, contrast, board),
  };
  const names = Object.keys(makers),
    holder = element("div"),
    built = new Map();
  const show = (name) => {
    if (!built.has(name)) built.set(name, makers[name]());
    holder.replaceChildren(built.get(name).root);
  };
  byId("contrast").append(
    element("div", { class: "controls" }, choiceOf("Differences in", names, names[0], show)),
    holder,
  );
  byId("contrast").hidden = false;
  show(names[0]);
}

/**
 * Rectangles of each schedule, cut so that what it keeps through a gap and the other does not is
 * apart from the rest, and lit.
 * @param {Schedule[]} schedules
 */
function onlyHere([a, b], { gaps, operations }) {
  const stepOfB = (step) => operations.step_b[a.steps.operation[step]];
  return [a, b].map((schedule, at) => {
    const [mine, others] = at === 0 ? [gaps.kept_a, gaps.kept_b] : [gaps.kept_b, gaps.kept_a];
    const kept = new Map();
    gaps.tensor.forEach((tensor, gap) => {
      if (mine[gap] <= others[gap]) return;
      const steps = [gaps.from_step[gap], gaps.to_step[gap]];
      const [from, to] = at === 0 ? steps : steps.map(stepOfB);
      const part = {
        start: schedule.edges[from],
        stop: schedule.edges[to + 1],
        low: Math.floor(others[gap] / schedule.page_bytes),
        high: Math.ceil(mine[gap] / schedule.page_bytes),
      };
      kept.set(tensor, [...(kept.get(tensor) || []), part]);
    });
    return cutRects(schedule.rects, kept);
  });
}

/** Rectangles cut at parts [start, stop) and pages [low, high) of their tensors, which are lit. */
function cutRects({ tensor, start, stop, page, pages, tensor_page: place }, kept) {
  for (const parts of kept.values()) parts.sort((one, other) => one.start - other.start);
  const cut = { tensor: [], start: [], stop: [], page: [], pages: [], lit: [] };
  const add = (...values) => {
    const [, from, to, , high] = values;
    if (from < to && high > 0) Object.keys(cut).forEach((name, at) => cut[name].push(values[at]));
  };
  for (let rect = 0; rect < tensor.length; rect++) {
    const [whose, low, high] = [tensor[rect], page[rect], pages[rect]];
    let from = start[rect];
    for (const part of kept.get(whose) || []) {
      const [begin, end] = [Math.max(from, part.start), Math.min(stop[rect], part.stop)];
      if (begin >= end) continue;
      const [first, last] = [part.low, part.high].map((at) =>
        Math.min(high, Math.max(0, at - place[rect])),
      );
      add(whose, from, begin, low, high, 0);
      add(whose, begin, end, low, first, 0);
      add(whose, begin, end, low + first, last - first, 1);
      add(whose, begin, end, low + last, high - last, 0);
      from = end;
    }
    add(whose, from, stop[rect], low, high, 0);
  }
  return cut;
}
