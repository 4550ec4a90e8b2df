// The page of one schedule, or of two.

/** Brings what the address of the page says into view. @param {Board} board */
function readLink(board) {
  const wanted = new URLSearchParams(location.hash.slice(1));
  if (wanted.has("by")) board.show(wanted.get("by"));
  if (wanted.has("align")) board.align(wanted.get("align"));
  const tensor = Number(wanted.get("tensor") ?? -1);
  if (board.schedules[0].tensors.name[tensor] !== undefined) board.follow(tensor);
  const [from, to] = ["from", "to"].map((name) => Number(wanted.get(name) ?? NaN));
  if (from < to) board.axis.show(from, to);
}

/** Puts the state of the view into the address. @param {Board} board @param {Theme} theme */
function writeLink({ axis, tensor, mode, alignment }, theme) {
  const isPart = axis.span < axis.total;
  const state = Object.entries({
    theme: theme.choice !== "system" && theme.choice,
    by: mode !== "address" && mode,
    align: alignment !== "time" && alignment,
    tensor: tensor >= 0 && tensor,
    from: isPart && axis.from.toFixed(0),
    to: isPart && axis.to.toFixed(0),
  }).filter(([, value]) => value !== false);
  history.replaceState(null, "", `#${new URLSearchParams(state)}`);
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
  const theme = new Theme();
  drawHeadline(schedules, contrast);
  drawLegend(schedules[0], look);
  const board = new Board(schedules, contrast, look, theme);
  const linked = debounced(() => writeLink(board, theme), 400);
  theme.changed = () => {
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
      board.explained = parts.map(({ explained }) => explained);
      if (contrast) drawContrast(schedules, contrast, board);
      drawDetails(schedules, parts, board, look);
      document.documentElement.dataset.drawn = "all";
    }),
  );
}

schedulePage().catch(showError);
