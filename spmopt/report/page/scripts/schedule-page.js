// The page of one schedule, or of two.

/** Reads the blocks and builds the page: pictures first, tables when they are drawn. */
async function schedulePage() {
  const [look, contrast, ...records] = await Promise.all(
    ["look", "contrast", "view-0", "view-1"].map(block),
  );
  const present = records.filter((record) => record !== null);
  const schedules = present.map(
    (record, place) => new Schedule(record, contrast ? "AB"[place] : "", contrast?.names[place]),
  );
  let changed = () => {};
  const theme = new Theme(() => changed());
  drawHeadline(schedules, contrast);
  drawLegend(schedules[0], look);
  const board = new Board(schedules, contrast, look, theme);
  const linked = settled(() => writeLink(board, theme), 400);
  const roofs = [];
  changed = () => {
    board.draw();
    for (const roof of roofs) roof.draw();
    linked();
  };
  readLink(board, theme);
  board.draw();
  board.axis.listeners.push(linked);
  board.changed = linked;
  drawFind(schedules[0], board);
  document.documentElement.dataset.drawn = "pictures";
  requestAnimationFrame(() =>
    setTimeout(() => finishPage(schedules, contrast, board, roofs, look, theme)),
  );
}

async function finishPage(schedules, contrast, board, roofs, look, theme) {
  const parts = await Promise.all(schedules.map((_, place) => block(`tables-${place}`)));
  if (contrast) drawContrast(schedules, contrast, board);
  drawTables(schedules, parts, board);
  roofs.push(...drawRooflines(schedules, parts, look, theme));
  document.documentElement.dataset.drawn = "all";
}

schedulePage().catch(troubled);
