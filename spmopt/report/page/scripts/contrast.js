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
 * For each schedule, the rectangles of what it keeps through a gap and the other does not.
 * @param {Schedule[]} schedules @returns {Array<(rect: number) => boolean>}
 */
function onlyHere([a, b], { gaps, operations }) {
  const stepOfB = (step) => operations.step_b[a.steps.operation[step]];
  return [a, b].map((schedule, at) => {
    const chosen = new Uint8Array(schedule.rects.tensor.length),
      { begin, end } = schedule.rects;
    gaps.tensor.forEach((tensor, gap) => {
      if (at === 0 ? gaps.kept_a[gap] <= gaps.kept_b[gap] : gaps.kept_b[gap] <= gaps.kept_a[gap])
        return;
      const edges = [gaps.from_step[gap], gaps.to_step[gap]];
      const [from, to] = at === 0 ? edges : edges.map(stepOfB);
      for (const rect of ofGroup(schedule.rectsOf, tensor)) {
        if (begin[rect] < to && end[rect] > from) chosen[rect] = 1;
      }
    });
    return (rect) => chosen[rect] === 1;
  });
}
