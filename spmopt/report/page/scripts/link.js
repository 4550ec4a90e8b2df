// The state of the view in the address of the page, so that a link shows the same.

/** @param {Board} board @param {Theme} theme */
function readLink(board, theme) {
  const wanted = new URLSearchParams(location.hash.slice(1));
  if (wanted.has("theme")) theme.choose(wanted.get("theme"));
  if (wanted.has("by")) board.show(wanted.get("by"));
  const tensor = Number(wanted.get("tensor") ?? -1);
  if (Number.isInteger(tensor) && tensor >= 0 && tensor < board.schedules[0].tensors.name.length)
    board.follow(tensor);
  const [from, to] = ["from", "to"].map((name) => Number(wanted.get(name) ?? NaN));
  if (from < to) board.axis.show(from, to);
}

/** @param {Board} board @param {Theme} theme */
function writeLink(board, theme) {
  const { axis, tensor, mode } = board,
    state = new URLSearchParams();
  if (theme.choice !== "system") state.set("theme", theme.choice);
  if (mode !== "address") state.set("by", mode);
  if (tensor >= 0) state.set("tensor", String(tensor));
  if (!axis.whole) {
    state.set("from", axis.from.toFixed(0));
    state.set("to", axis.to.toFixed(0));
  }
  history.replaceState(null, "", `#${state}`);
}
