// Pages: the hits as they come and why each was chosen, what became of them, and what is kept of them.
import { parts, showCopy } from "../copy.js";
import { ago, count, fill, h, say, webLink } from "../dom.js";

const SHOW = { hits: "Pages that satisfy it", judged: "Judged pages", texts: "Texts of the newest copies", changes: "What became of them" };
const KINDS = { appeared: "Appeared", changed: "Changed", left: "Left", moved: "Moved" };
const TYPING = 300;

export function start(box, context) {
  const form = asking(context);
  const lead = h("p", { class: "lead", role: "status" });
  const note = h("p", { class: "note" });
  const list = h("ol", { class: "found" });
  const newest = h("button", { type: "button", onclick: () => context.go({ after: "" }) }, "← Newest");
  const older = h("button", { type: "button" }, "Older →");
  const pager = h("nav", { class: "pager", "aria-label": "Pages of the list" }, newest, older);
  box.append(form.element, lead, note, list, pager);
  const shown = new Map();
  let params = {};

  const open = ({ url, predicate }) => showCopy({ url, predicate: predicate ?? params.predicate, search: params.search });

  /** Show rows; those that stayed as they were are left alone. */
  function rows(found) {
    const items = found.map((row) => {
      const text = JSON.stringify(row);
      const key = `${row.url} ${row.id ?? ""}`;
      const known = shown.get(key);
      return [key, known?.text === text ? known : { text, element: item(row, context, open) }];
    });
    shown.clear();
    items.forEach(([key, row]) => shown.set(key, row));
    arrange(list, items.map(([, row]) => row.element));
  }

  return {
    params(given) {
      params = given;
      form.take(given);
    },
    query: ({ show, predicate, search, after }) => ({ show, predicate, search, after }),
    crawl: (crawl) => form.predicates(crawl.predicates),
    update(view) {
      form.changes(view.keeps_up);
      say(lead, summary(view, params));
      say(note, bounds(view, params));
      note.hidden = !note.textContent;
      rows(view.rows ?? []);
      newest.disabled = !params.after;
      older.disabled = !view.after;
      older.onclick = () => context.go({ after: view.after });
      pager.hidden = newest.disabled && older.disabled;
    },
    stop: () => form.stop(),
  };
}

/** Return the form by which pages are asked for; what is typed is asked for a moment later. */
function asking(context) {
  const predicate = h("select", { name: "predicate" }, h("option", { value: "" }, "any"));
  const show = h("select", { name: "show" }, Object.entries(SHOW).map(([value, text]) => h("option", { value }, text)));
  const hint = "Words, \"words in a row\", or the beginning* of one";
  const search = h("input", { name: "search", type: "search", maxlength: 300, title: hint, autocomplete: "off" });
  let waiting = 0;
  const go = () => {
    clearTimeout(waiting);
    context.go({ predicate: predicate.value, show: show.value === "hits" ? "" : show.value, search: search.value, after: "" });
  };
  search.addEventListener("input", () => {
    clearTimeout(waiting);
    waiting = setTimeout(go, TYPING);
  });
  predicate.addEventListener("change", go);
  show.addEventListener("change", go);
  const onsubmit = (event) => {
    event.preventDefault();
    go();
  };
  const element = h("form", { class: "tools", role: "search", onsubmit },
    h("label", { class: "grow" }, "Search", search),
    h("label", {}, "Predicate", predicate), h("label", {}, "Show", show));
  let wanted = {};

  function take(params) {
    wanted = params;
    known(wanted.predicate ?? "");
    predicate.value = wanted.predicate ?? "";
    show.value = wanted.show in SHOW ? wanted.show : "hits";
    if (document.activeElement !== search) search.value = wanted.search ?? "";
  }
  /** Have a predicate among those that can be chosen: one that was removed may be asked for. */
  function known(name) {
    if (![...predicate.options].some((option) => option.value === name)) predicate.append(h("option", { value: name }, name));
  }
  function predicates(all) {
    all.forEach(({ name }) => known(name));
    predicate.value = wanted.predicate ?? "";
  }
  function changes(there) {
    show.querySelector("[value=changes]").hidden = !there && show.value !== "changes";
  }
  return { element, take, predicates, changes, stop: () => clearTimeout(waiting) };
}

/** Return what a list is, in words. */
function summary(view, { show, predicate, search, after }) {
  if (!view.begun) return "No crawl has begun in this directory yet.";
  const whose = predicate || "a predicate";
  const older = after ? ", older ones" : "";
  if (show === "changes") return `What became of the pages that satisfy ${whose}${older}${view.older ? "; the newest changes only" : ""}.`;
  if (show === "texts") return search ? looked(view) : "Type words of their text.";
  const searched = search ? " with what is searched in title or URL" : "";
  if (view.total === null) return `${show === "judged" ? "Judged pages" : `Pages that satisfy ${whose}`}${searched}${older}.`;
  return `${count(view.total)} ${view.total === 1 ? "page satisfies" : "pages satisfy"} ${whose}${older}.`;
}

/** Return which kept copies were looked at. */
function looked({ read, of, older, rows }) {
  const which = older ? `the newest ${count(of)}` : `${count(of)}`;
  const state = read < of && rows.length < 50 ? `so far ${count(read)} of ${which}` : `${older ? "the newest " : ""}${count(read)}`;
  return `Looked at ${state} kept copies for what is searched.`;
}

/** Return what was looked at, empty where that is all. */
function bounds(view, { show }) {
  if (!view.older || show === "texts" || show === "changes") return "";
  return `The newest ${count(view.looked_at)} judged pages were looked at; scentline matches lists all that satisfy a predicate.`;
}

/** Put items into a list, moving as few as may be, so that the keyboard's focus stays. */
function arrange(list, items) {
  if (items.length === 0) {
    fill(list, h("li", { class: "empty" }, "Nothing to show."));
    return;
  }
  const kept = new Set(items);
  [...list.children].forEach((child) => kept.has(child) || child.remove());
  items.forEach((item, at) => {
    if (list.children[at] !== item) list.insertBefore(item, list.children[at] ?? null);
  });
}

function item(row, context, open) {
  const title = row.title.join("").trim() ? parts(row.title) : h("em", {}, "Without a title");
  return h("li", {},
    h("h2", { dir: "auto" }, row.kind ? h("span", { class: `kind ${row.kind}` }, KINDS[row.kind] ?? row.kind) : null, title),
    h("p", { class: "address" }, webLink(row.url, h("span", {}, parts(row.address)))),
    h("p", { class: "note" }, ago(row.time), ...said(row)),
    row.excerpt.join("") ? h("p", { dir: "auto" }, parts(row.excerpt)) : null,
    row.why ? h("p", { class: "note" }, row.why) : null,
    h("p", {}, h("button", { type: "button", onclick: () => open(row) }, "Kept copy"), " ",
      h("a", { href: context.address("next", { url: row.url }) }, "Explain")),
  );
}

/** Return what else is said of a page, behind its time. */
function said(row) {
  const names = row.holds ?? [row.predicate];
  const found = names.flatMap((name) => [" ", h("span", { class: "chip" }, name)]);
  if (row.left) found.push(` · it left: ${row.left}`);
  if (row.reason) found.push(` · ${row.reason}`);
  if (row.before) found.push(" · it was otherwise ", ago(row.before));
  if (row.target) found.push(" · to ", webLink(row.target));
  return found;
}
