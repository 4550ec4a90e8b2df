// The page of a sweep: curves, what each scheduler comes to, all rows.

const ROW_UNITS = {
  spm_bytes: "B",
  page_bytes: "B",
  traffic_bytes: "B",
  dram_bytes_per_s: "B/s",
  operations_per_s: "FLOP/s",
  clock_hz: "Hz",
  time_s: "s",
  energy_j: "J",
  power_w: "W",
  solve_s: "s",
};
const ROW_COUNTS = ["batch", "dma_setup_cycles", "area_mm2"];
const OF_OBJECTIVE = ["value", "bound"];
const OBJECTIVE_UNITS = { time: "s", replay: "s", traffic: "B", energy: "J" };

/** Columns of the rows of a sweep. */
function rowColumns(names) {
  const objective = names.indexOf("objective");
  return names.map((name) => {
    if (OF_OBJECTIVE.includes(name)) {
      const shown = (value, row) => valueText(value, OBJECTIVE_UNITS[row[objective]] || "");
      return { name, numeric: true, unit: "", shown };
    }
    const numeric = name in ROW_UNITS || ROW_COUNTS.includes(name) || name === "gap";
    const shown = numeric
      ? (value) => valueText(value, name === "gap" ? "part" : ROW_UNITS[name] || "")
      : undefined;
    return { name, numeric, unit: ROW_UNITS[name] || "", shown };
  });
}

function drawAccounts(accounts) {
  const part = (value) => valueText(value, "part");
  const columns = [
    { name: "scheduler", numeric: false },
    { name: "schedules", numeric: true },
    { name: "optimal", numeric: true, title: "proven optimal" },
    { name: "mean_gap", numeric: true, shown: part },
    { name: "worst_gap", numeric: true, shown: part },
    { name: "worst_at", numeric: false, title: "worst at" },
  ];
  const rows = accounts.map((account) => columns.map(({ name }) => account[name]));
  byId("accounts").replaceChildren(
    new DataTable({ caption: "Gaps of each scheduler", file: "schedulers.csv", columns, rows })
      .root,
  );
}

/** Columns of the rows, those that are alike in all rows last. */
function varyingFirst({ columns, rows }) {
  const isFixed = (name) => rows[name].every((value) => value === rows[name][0]);
  return [...columns.filter((name) => !isFixed(name)), ...columns.filter(isFixed)];
}

async function curvesPage() {
  const [record, look] = await Promise.all(["curves", "look"].map(block));
  new Theme(() => {}).choose(new URLSearchParams(location.hash.slice(1)).get("theme") || "system");
  byId("remarks").replaceChildren(...record.remarks.map((text) => element("li", {}, text)));
  const curves = new Curves(record, look.series);
  curves.drawControls();
  curves.drawLegend();
  curves.draw();
  drawAccounts(record.accounts);
  const names = varyingFirst(record);
  const rows = record.rows[names[0]].map((_, place) =>
    names.map((name) => record.rows[name][place]),
  );
  byId("rows").replaceChildren(
    new DataTable({
      caption: "Rows of the sweep",
      file: "rows.csv",
      columns: rowColumns(names),
      rows,
    }).root,
  );
  document.documentElement.dataset.drawn = "all";
}

curvesPage().catch(troubled);
