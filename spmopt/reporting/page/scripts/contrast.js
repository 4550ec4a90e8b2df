// Two schedules of one instance: what one keeps that the other evicts, and where the time went.

/** What a click on a row does, by the table. @param {Schedule} a @param {Board} board */
function contrastPicker(a, { gaps }, board) {
  return {
    "kept between uses": (_, at) => {
      board.follow(gaps.tensor[at]);
      board.axis.focus(a.edges[gaps.from_step[at]], a.edges[gaps.to_step[at] + 1]);
      board.reveal();
    },
    layers: ([name]) => board.showLayer(a, name),
    operations: ([name]) => board.showStep(a, a.stepPlace.get(name)),
    tensors: ([name]) => board.follow(a.tensorPlace.get(name), true),
  };
}

/** @param {Schedule[]} schedules @param {Board} board */
function drawContrast([a], contrast, board) {
  const pickers = contrastPicker(a, contrast, board);
  const make = (name) => new DataTable({ ...contrast.tables[name], pick: pickers[name] });
  const names = Object.keys(contrast.tables);
  byId("contrast").append(...tablesOf([["Differences in", names]], make));
  byId("contrast").hidden = false;
}
