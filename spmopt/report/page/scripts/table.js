// A table that is sorted, searched and saved; a hundred of its rows at a time are in the page.

const ROWS_AT_ONCE = 100;

/**
 * A column: its name in files, the unit of its values, how a value is shown if not by that.
 * @typedef {{name: string, title?: string, unit?: string, numeric: boolean,
 *   shown?: (value: any, row: any[]) => string}} Column
 */

/** @param {Column} column @param {any} value @param {any[]} row that it is of */
function shownValue({ unit, numeric, shown }, value, row) {
  if (value === null || value === undefined) return "–";
  if (shown) return shown(value, row);
  if (!numeric) return String(value);
  if (unit === "part") return share(value);
  if (unit === "cycles" || (!unit && Number.isInteger(value))) return count(value);
  return unit ? si(value, unit) : String(Number(value.toPrecision(4)));
}

/** The head of a column: its name without the unit, which the values bear. */
function headOf({ name, title, unit }) {
  const ends = {
    B: "_bytes",
    s: "_s",
    J: "_j",
    W: "_w",
    Hz: "_hz",
    "B/s": "_bytes_per_s",
    "FLOP/s": "_flop_per_s",
  };
  const end = ends[unit] || "";
  return (
    title || (end && name.endsWith(end) ? name.slice(0, -end.length) : name).replaceAll("_", " ")
  );
}

/** A field of a CSV file. */
function csvField(value) {
  const text = value === null || value === undefined ? "" : String(value);
  return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

class DataTable {
  /**
   * @param {{caption: string, file: string, columns: Column[], rows: any[][],
   *   pick?: (row: any[], place: number) => void}} content
   */
  constructor({ caption, file, columns, rows, pick }) {
    this.file = file;
    this.columns = columns;
    this.rows = rows;
    this.pick = pick;
    this.page = 0;
    this.sorted = -1;
    this.falling = false;
    this.text = "";
    this.order = rows.map((_, place) => place);
    /** @type {string[]|null} what is searched of each row */
    this.words = null;
    this.status = element("span", { class: "status", role: "status" });
    this.body = element("tbody");
    this.heads = columns.map((column, place) => this.head(column, place));
    this.root = element(
      "div",
      { class: "table" },
      element("div", { class: "controls" }, ...this.controls(caption)),
      this.scroll(caption),
    );
    this.draw();
  }

  controls(caption) {
    const filter = element("input", {
      type: "search",
      autocomplete: "off",
      spellcheck: "false",
      "aria-label": `Search in ${caption}`,
      placeholder: "Search",
    });
    const search = settled(() => this.search(filter.value), 120);
    filter.addEventListener("input", search);
    const named = (words) => ({ "aria-label": `${words} of ${caption}` });
    this.back = button("Previous", () => this.turn(-1), named("Previous rows"));
    this.next = button("Next", () => this.turn(1), named("Next rows"));
    const save = button("Save CSV", () => this.save(), named("Save CSV"));
    return [filter, this.status, this.back, this.next, save];
  }

  scroll(caption) {
    const label = element("caption", { class: "unseen" }, caption);
    const head = element("thead", {}, element("tr", {}, ...this.heads));
    const table = element("table", {}, label, head, this.body);
    return element(
      "div",
      { class: "scroll", tabindex: 0, role: "region", "aria-label": caption },
      table,
    );
  }

  head(column, place) {
    const act = button(headOf(column), () => this.sort(place), { class: "head" });
    return element("th", { scope: "col", class: column.numeric ? "number" : null }, act);
  }

  /** Sorts by a column; again: the other way round, then as it was. */
  sort(place) {
    if (this.sorted !== place) {
      this.sorted = place;
      this.falling = this.columns[place].numeric;
    } else if (this.falling === this.columns[place].numeric) this.falling = !this.falling;
    else this.sorted = -1;
    this.heads.forEach((head, at) => {
      if (at === this.sorted)
        head.setAttribute("aria-sort", this.falling ? "descending" : "ascending");
      else head.removeAttribute("aria-sort");
    });
    this.arrange();
  }

  /** @param {string} text */
  search(text) {
    this.text = text.trim().toLowerCase();
    this.arrange();
  }

  arrange() {
    const { rows, sorted, falling, columns } = this;
    this.words ||= rows.map((row) =>
      row
        .filter((_, at) => !columns[at].numeric)
        .join("\n")
        .toLowerCase(),
    );
    this.order = rows
      .map((_, place) => place)
      .filter((place) => this.words[place].includes(this.text));
    if (sorted >= 0) {
      const sign = falling ? -1 : 1,
        numeric = columns[sorted].numeric;
      this.order.sort((a, b) => compared(rows[a][sorted], rows[b][sorted], sign, numeric) || a - b);
    }
    this.page = 0;
    this.draw();
  }

  turn(by) {
    this.page += by;
    this.draw();
  }

  draw() {
    const first = this.page * ROWS_AT_ONCE,
      shown = this.order.slice(first, first + ROWS_AT_ONCE);
    this.body.replaceChildren(...shown.map((place) => this.row(place)));
    const all = this.order.length;
    this.status.textContent = this.standing(first, shown.length);
    this.back.disabled = first === 0;
    this.next.disabled = first + ROWS_AT_ONCE >= all;
    this.back.hidden = this.next.hidden = all <= ROWS_AT_ONCE;
  }

  /** Which rows are in the page, of how many. */
  standing(first, shown) {
    const [all, total] = [this.order.length, this.rows.length];
    if (all === 0) return total ? `no rows found, of ${count(total)}` : "no rows";
    const range = `rows ${count(first + 1)} to ${count(first + shown)}`;
    return all === total
      ? `${range} of ${count(all)}`
      : `${range} of ${count(all)} found, of ${count(total)}`;
  }

  row(place) {
    const values = this.rows[place];
    const cells = this.columns.map((column, at) => {
      const text = shownValue(column, values[at], values);
      if (at > 0)
        return element("td", { class: column.numeric ? "number" : null }, shortened(text, 60));
      const act = this.pick && (() => this.pick(values, place));
      const kind = { scope: "row", class: column.numeric ? "number" : null };
      return element("th", kind, act ? link(shortened(text), act) : shortened(text));
    });
    return element("tr", {}, ...cells);
  }

  /** All rows found, in the order shown, with the values in full. */
  csv() {
    const lines = [
      this.columns.map(({ name }) => name),
      ...this.order.map((place) => this.rows[place]),
    ];
    return lines.map((line) => `${line.map(csvField).join(",")}\n`).join("");
  }

  save() {
    const url = URL.createObjectURL(new Blob([this.csv()], { type: "text/csv" }));
    element("a", { href: url, download: this.file }).click();
    setTimeout(() => URL.revokeObjectURL(url), 1000);
  }
}

/** Order of two values; what is missing comes last either way. */
function compared(one, other, sign, numeric) {
  if (one === null || other === null) return Number(one === null) - Number(other === null);
  return sign * (numeric ? one - other : one < other ? -1 : one > other ? 1 : 0);
}

/** A choice of some, as buttons of which one is pressed. */
function choiceOf(label, names, chosen, choose) {
  const id = `choice-${label.replaceAll(" ", "-")}`;
  const radios = names.map((name) => {
    const radio = element("input", {
      type: "radio",
      name: id,
      value: name,
      checked: name === chosen,
      change: () => choose(name),
    });
    return element("label", {}, radio, element("span", {}, name));
  });
  return element("fieldset", { class: "choice" }, element("legend", {}, label), ...radios);
}
