// The page of one schedule, or of two.

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
  board.draw();
  theme.changed = () => board.draw();
  document.documentElement.dataset.drawn = "pictures";
  requestAnimationFrame(() =>
    setTimeout(async () => {
      const parts = await Promise.all(schedules.map((_, place) => block(`tables-${place}`)));
      if (contrast) drawContrast(schedules, contrast, board);
      drawDetails(schedules, parts, board);
      document.documentElement.dataset.drawn = "all";
    }),
  );
}

schedulePage().catch(showError);
