// A table that is sorted, searched and saved; a hundred of its rows at a time are in the page.

const ROWS_AT_ONCE = 100;
/**
 * A column: its name in files, its head, what it means, and the unit of its values: `part` of a share, `change` of
 * a relative difference; `units` are by the text in column `of` of the same row.
 * @typedef {{name: string, title: string, help: string, unit?: string, numeric: boolean, isSigned?: boolean,
 *   units?: Object<string, string>, of?: number}} Column
 */

/** @param {Column} column @param {any} value @param {any[]} row that it is of */
function shownValue({ unit, numeric, units, of, isSigned }, value, row) {
  if (value === null || value === undefined) return "–";
  if (!numeric) return String(value);
  if (unit === "part") return share(value);
  if (unit === "cycles" || (!unit && !units && Number.isInteger(value))) return count(value);
  const text = valueText(value, units ? units[row[of]] || "" : unit === "change" ? "part" : unit);
  return isSigned && value > 0 ? `+${text}` : text;
}

/** A field of a CSV file. */
function csvField(value) {
  const text = value === null || value === undefined ? "" : visible(String(value));
  return /[",]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

class DataTable {
  /**
   * @param {{caption: string, file: string, columns: Column[], rows: any[][],
   *   pick?: (row: any[], place: number) => void}} content
   */
  constructor(content) {
    Object.assign(this, content, { page: 0, sorted: -1, isFalling: false, text: "" });
    this.order = [...this.rows.keys()];
    this.status = dom`<span class="status" role="status" />`;
    this.body = dom`<tbody />`;
    this.heads = this.columns.map((column, place) => this.head(column, place));
    this.root = this.made();
    this.draw();
  }

  made() {
    const { caption } = this;
    const search = debounced(() => {
      this.text = filter.value.trim().toLowerCase();
      this.arrange();
    }, 120);
    const filter = dom`<input type="search" autocomplete="off" spellcheck="false" placeholder="Search"
      aria-label=${`Search in ${caption}`} input=${search} />`;
    const act = (text, words, done) =>
      button(text, done, { "aria-label": `${words} of ${caption}` });
    this.back = act("Previous", "Previous rows", () => this.turn(-1));
    this.next = act("Next", "Next rows", () => this.turn(1));
    return dom`<div class="table">
      <div class="controls">
        ${[filter, this.status, this.back, this.next]}
        ${act("Save CSV", "Save CSV", () => this.save())}
      </div>
      ${scrolled(caption, "", dom`<thead><tr>${this.heads}</tr></thead>`, this.body)}
    </div>`;
  }

  head(column, place) {
    const act = button(column.title, () => this.sort(place), { class: "head" });
    helped(act, column.title, column.help);
    return dom`<th scope="col" class=${column.numeric ? "number" : null}>${act}</th>`;
  }

  /** Sorts by a column; again: the other way round, then as it was. */
  sort(place) {
    const first = this.columns[place].numeric;
    if (this.sorted !== place) Object.assign(this, { sorted: place, isFalling: first });
    else if (this.isFalling === first) this.isFalling = !first;
    else this.sorted = -1;
    const direction = this.isFalling ? "descending" : "ascending";
    this.heads.forEach((head, at) => {
      head.ariaSort = at === this.sorted ? direction : null;
    });
    this.arrange();
  }

  /** Which rows are shown, and in what order. */
  arrange() {
    const { rows, sorted, columns, text } = this;
    const isFound = (value, at) =>
      !columns[at].numeric && `${value ?? ""}`.toLowerCase().includes(text);
    this.order = [...rows.keys()].filter((place) => !text || rows[place].some(isFound));
    if (sorted >= 0) {
      const sign = this.isFalling ? -1 : 1;
      this.order.sort((a, b) => compared(rows[a][sorted], rows[b][sorted], sign) || a - b);
    }
    this.page = 0;
    this.draw();
  }

  turn(by) {
    this.page += by;
    this.draw();
  }

  draw() {
    const first = this.page * ROWS_AT_ONCE;
    const shown = this.order.slice(first, first + ROWS_AT_ONCE);
    this.body.replaceChildren(...shown.map((place) => this.row(place)));
    this.status.textContent = this.standing(first, shown.length);
    this.back.disabled = first === 0;
    this.next.disabled = first + ROWS_AT_ONCE >= this.order.length;
    this.back.hidden = this.next.hidden = this.order.length <= ROWS_AT_ONCE;
  }

  /** Which rows are in the page, of how many. */
  standing(first, shown) {
    const [all, total] = [this.order.length, this.rows.length];
    if (all === 0) return total ? `no rows found, of ${count(total)}` : "no rows";
    const range = `rows ${count(first + 1)} to ${count(first + shown)} of ${count(all)}`;
    return all === total ? range : `${range} found, of ${count(total)}`;
  }

  row(place) {
    const values = this.rows[place];
    const cells = this.columns.map((column, at) => {
      const name = column.numeric ? "number" : null;
      const text = shownValue(column, values[at], values);
      if (at > 0) return dom`<td class=${name ?? (text.length > 60 ? "long" : null)}>${text}</td>`;
      const content = this.pick ? link(shortened(text), () => this.pick(values, place)) : shortened(text);
      return dom`<th scope="row" class=${name}>${content}</th>`;
    });
    return dom`<tr>${cells}</tr>`;
  }

  /** All rows found, in the order shown, with the values in full. */
  csv() {
    const names = this.columns.map(({ name }) => name);
    const lines = [names, ...this.order.map((place) => this.rows[place])];
    return lines.map((line) => `${line.map(csvField).join(",")}\n`).join("");
  }

  save() {
    const url = URL.createObjectURL(new Blob([this.csv()], { type: "text/csv" }));
    element("a", { href: url, download: this.file }).click();
    setTimeout(() => URL.revokeObjectURL(url), 1000);
  }
}

/** Lets an element say what it means, to pointers, keys and screen readers. @param {any} made */
function helped(made, title, help) {
  if (!help) return made;
  // Where a focus scrolls the page, what is shown is taken down: later, then.
  const show = debounced(() => {
    const { left, bottom } = made.getBoundingClientRect();
    if (made.matches(":focus-visible")) showTip([title, help], left - 8, bottom - 10);
  }, 120);
  return filled(made, {
    "aria-description": help,
    pointerenter: (event) => showTip([title, help], event.clientX, event.clientY),
    pointerleave: hideTip,
    focus: show,
    blur: hideTip,
  });
}

/** A table that scrolls within the page, by pointer and keys. */
function scrolled(caption, name, ...parts) {
  return dom`<div class="scroll" tabindex="0" role="region" aria-label=${caption}>
    <table class=${name || null}><caption class="unseen">${caption}</caption>${parts}</table>
  </div>`;
}

/** Order of two values; what is missing comes last either way. */
function compared(one, other, sign) {
  if (one === null || other === null) return Number(one === null) - Number(other === null);
  return sign * (one < other ? -1 : one > other ? 1 : 0);
}

/**
 * Tables of which one is shown, each built when it is first looked at.
 * @param {Array<[string, string[]]>} choices labels and names
 * @param {(...chosen: string[]) => DataTable} make
 */
function tablesOf(choices, make) {
  const chosen = choices.map(([, names]) => names[0]);
  const holder = dom`<div />`;
  const built = new Map();
  const show = () => {
    const key = chosen.join("/");
    if (!built.has(key)) built.set(key, make(...chosen));
    holder.replaceChildren(built.get(key).root);
  };
  const controls = choices.map(([label, names], place) =>
    choiceOf(label, names, names[0], (name) => {
      chosen[place] = name;
      show();
    }),
  );
  show();
  return [dom`<div class="controls">${controls}</div>`, holder];
}
