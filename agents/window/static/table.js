// Tables whose rows come from the server, a page at a time: sorted and searched there.
import { fill, h } from "./dom.js";

/**
 * Return a table: columns are {key, title, number, sort, cell(row)}, `sort` the name by which the server sorts.
 * `options` are {caption, key(row), empty, sorted: {by, descending}, onsort(by, descending)}.
 */
export function table(columns, options) {
  const head = h("tr");
  const body = h("tbody");
  const shown = new Map();
  const element = h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": options.caption },
    h("table", {}, h("caption", { class: "hidden" }, options.caption), h("thead", {}, head), body));
  const heads = columns.map((column) => heading(column, options));
  head.append(...heads);

  /** Show rows; those that stayed as they were are left alone. */
  function update(rows, sorted = options.sorted) {
    columns.forEach((column, place) => mark(heads[place], column, sorted));
    const elements = rows.map((row) => {
      const key = String(options.key(row));
      const text = JSON.stringify(row);
      const known = shown.get(key);
      if (known?.text === text) return [key, known];
      const made = { text, element: h("tr", {}, columns.map((column) => cell(column, row))) };
      if (known && known.element.contains(document.activeElement)) return [key, { ...known, text: "" }];
      return [key, made];
    });
    shown.clear();
    elements.forEach(([key, row]) => shown.set(key, row));
    place(body, elements.map(([, row]) => row.element), columns.length, options.empty);
  }

  return { element, update };
}

/** Put rows into a table's body, moving as few as may be, so that the keyboard's focus stays. */
function place(body, rows, columns, empty = "Nothing to show.") {
  if (rows.length === 0) {
    fill(body, h("tr", {}, h("td", { colspan: columns, class: "empty" }, empty)));
    return;
  }
  const kept = new Set(rows);
  [...body.children].forEach((child) => kept.has(child) || child.remove());
  rows.forEach((row, at) => {
    if (body.children[at] !== row) body.insertBefore(row, body.children[at] ?? null);
  });
}

function heading(column, options) {
  const attributes = { scope: "col", class: column.number ? "number" : undefined, title: column.meaning };
  if (!column.sort) return h("th", attributes, column.title);
  const onclick = () => {
    const sorted = options.sorted ?? {};
    const descending = sorted.by === column.sort ? !sorted.descending : Boolean(column.number);
    options.sorted = { by: column.sort, descending };
    options.onsort?.(column.sort, descending);
  };
  return h("th", attributes, h("button", { type: "button", class: "sort", onclick }, column.title));
}

function mark(head, column, sorted) {
  if (!column.sort) return;
  if (sorted?.by === column.sort) head.setAttribute("aria-sort", sorted.descending ? "descending" : "ascending");
  else head.removeAttribute("aria-sort");
}

function cell(column, row) {
  const content = column.cell ? column.cell(row) : row[column.key];
  const attributes = { class: column.number ? "number" : column.wide ? "wide" : undefined };
  return column.head ? h("th", { ...attributes, scope: "row" }, content) : h("td", attributes, content);
}

/** Return what leads to other pages of a list: `onpage(offset)` is called; update with {offset, shown, total, more}. */
export function pager(onpage, size = 50) {
  let offset = 0;
  const before = h("button", { type: "button", onclick: () => onpage(Math.max(0, offset - size)) }, "← Before");
  const after = h("button", { type: "button", onclick: () => onpage(offset + size) }, "Next →");
  const text = h("span", { role: "status" });
  const element = h("nav", { class: "pager", "aria-label": "Pages of the list" }, before, text, after);
  function update(page) {
    offset = page.offset ?? 0;
    const last = offset + page.shown;
    const of = page.total === null || page.total === undefined ? "" : ` of ${page.total.toLocaleString("en")}`;
    const words = page.shown ? `${(offset + 1).toLocaleString("en")} to ${last.toLocaleString("en")}${of}` : "none";
    if (text.textContent !== words) text.textContent = words;
    before.disabled = offset === 0;
    after.disabled = page.total !== null && page.total !== undefined ? last >= page.total : !page.more;
    element.hidden = offset === 0 && after.disabled;
  }
  return { element, update };
}
