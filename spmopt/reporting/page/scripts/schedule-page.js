// The page of one schedule, or of two.

/** Brings what the address of the page says into view. @param {Board} board */
function readLink(board) {
  const wanted = new URLSearchParams(location.hash.slice(1));
  if (wanted.has("by")) board.show(wanted.get("by"));
  const tensor = Number(wanted.get("tensor") ?? -1);
  if (board.schedules[0].tensors.name[tensor] !== undefined) board.follow(tensor);
  const [from, to] = ["from", "to"].map((name) => Number(wanted.get(name) ?? NaN));
  if (from < to) board.axis.show(from, to);
}

/** Puts the state of the view into the address. @param {Board} board @param {Theme} theme */
function writeLink({ axis, tensor, mode }, theme) {
  const state = new URLSearchParams();
  if (theme.choice !== "system") state.set("theme", theme.choice);
  if (mode !== "address") state.set("by", mode);
  if (tensor >= 0) state.set("tensor", String(tensor));
  if (!axis.whole) {
    state.set("from", axis.from.toFixed(0));
    state.set("to", axis.to.toFixed(0));
  }
  history.replaceState(null, "", `#${state}`);
}

/** Reads the blocks and builds the page: pictures first, tables when they are drawn. */
async function schedulePage() {
  const names = ["look", "contrast", "view-0", "view-1"];
  const [look, contrast, ...records] = await Promise.all(names.map(block));
  const schedules = records
    .filter((record) => record !== null)
    .map((record, place) =>
      contrast ? new Schedule(record, "AB"[place], contrast.names[place]) : new Schedule(record),
    );
  let changed = () => {};
  const theme = new Theme(() => changed());
  drawHeadline(schedules, contrast);
  drawLegend(schedules[0], look);
  const board = new Board(schedules, contrast, look, theme);
  const linked = debounced(() => writeLink(board, theme), 400);
  changed = () => {
    board.draw();
    linked();
  };
  readLink(board);
  board.draw();
  board.axis.listeners.push(linked);
  board.changed = linked;
  drawFind(schedules[0], board);
  document.documentElement.dataset.drawn = "pictures";
  requestAnimationFrame(() =>
    setTimeout(async () => {
      const parts = await Promise.all(schedules.map((_, place) => block(`tables-${place}`)));
      if (contrast) drawContrast(schedules, contrast, board);
      drawDetails(schedules, parts, board, look);
      document.documentElement.dataset.drawn = "all";
    }),
  );
}

schedulePage().catch(showError);
