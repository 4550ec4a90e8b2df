// The page of one schedule, or of two.

/** Brings what the address of the page says into view. */
function readLink(board) {
  const wanted = new URLSearchParams(location.hash.slice(1));
  const tensor = Number(wanted.get("tensor") ?? -1);
  if (board.schedules[0].tensors.name[tensor] !== undefined) board.follow(tensor);
  const [from, to] = ["from", "to"].map((name) => Number(wanted.get(name) ?? NaN));
  if (from < to) board.axis.show(from, to);
}

/** Puts the state of the view into the address. */
function writeLink({ axis, tensor }) {
  const isPart = axis.span < axis.total;
  const state = Object.entries({
    theme: theme.choice !== "system" && theme.choice,
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
    .map((record, place) => (contrast ? new Schedule(record, "AB"[place], contrast.names[place]) : new Schedule(record)));
  drawHeadline(schedules, contrast);
  drawLegend(schedules[0], look);
  const board = new Board(schedules, contrast, look);
  readLink(board);
  board.draw();
  board.changed = debounced(() => writeLink(board), 400);
  board.axis.listeners.push(board.changed);
  drawFind(schedules[0], board);
  theme.changed = () => {
    board.draw();
    board.changed();
  };
  document.documentElement.dataset.drawn = "pictures";
  requestAnimationFrame(() =>
    setTimeout(async () => {
      const parts = await Promise.all(schedules.map((_, place) => block(`tables-${place}`)));
      board.explained = parts.map(({ explained }) => explained);
      if (contrast) drawContrast(schedules, contrast, board);
      drawDetails(schedules, parts, board);
      document.documentElement.dataset.drawn = "all";
    }),
  );
}

schedulePage().catch(showError);
