// Next: the best candidates of a predicate and what speaks for them, and any URL explained.
import { ago, choice, count, decimal, fill, h, lasting, percent, say, webLink } from "../dom.js";
import { table } from "../table.js";

export function start(box, context) {
  const predicate = choice("Predicate", (name) => context.go({ predicate: name }));
  const asking = form(context);
  const parts = [explained(context), best(context)];
  box.append(h("div", { class: "tools" }, predicate.element, asking.element), ...parts.map((part) => part.element));
  return {
    params: (given) => asking.take(given.url ?? ""),
    update(view) {
      predicate.update(Object.fromEntries((view.predicates ?? []).map((name) => [name, name])), view.predicate);
      parts.forEach((part) => part.update(view));
    },
  };
}

/** Return the form by which a URL is asked for. */
function form(context) {
  const input = h("input", { type: "text", inputmode: "url", maxlength: 2000, autocomplete: "off", spellcheck: "false", placeholder: "https://www.example.org/" });
  const onsubmit = (event) => {
    event.preventDefault();
    context.go({ url: input.value.trim() });
  };
  return {
    element: h("form", { class: "line grow", onsubmit }, h("label", { class: "grow" }, "Explain a URL", input), h("button", { type: "submit" }, "Explain")),
    take(url) {
      if (document.activeElement !== input) input.value = url;
    },
  };
}

// the best candidates

function best(context) {
  const lead = h("p", { class: "lead", role: "status" });
  const columns = [
    { title: "Page", head: true, wide: true, cell: (row) => webLink(row.url) },
    { title: "Why", number: true, cell: (row) => why(row, context.address) },
    { title: "A hit", number: true, cell: (row) => percent(row.probability), meaning: "Probability that a request brings a page that satisfies the predicate" },
    { title: "A page", number: true, cell: (row) => percent(row.comes, 0), meaning: "Probability that a request brings a page" },
    { title: "Priority", number: true, cell: (row) => decimal(row.priority) },
    { title: "Speaks for it", wide: true, cell: (row) => spoken(row.speaks.filter((each) => each.adds > 0)) },
    { title: "Speaks against it", wide: true, cell: (row) => spoken(row.speaks.filter((each) => each.adds < 0)) },
    { title: "Its host", number: true, meaning: "When the next request to it may be made", cell: (row) => (row.waits > 0 ? `in ${lasting(row.waits)}` : "free") },
  ];
  const list = table(columns, { caption: "Best candidates", key: (row) => row.url, empty: "No candidate is known of." });
  const note = h("p", { class: "note" });
  return {
    element: h("section", {}, lead, note, list.element),
    update(view) {
      say(lead, summary(view));
      fill(note, ...(view.time ? ["As of ", ago(view.time), "."] : []));
      list.update((view.best ?? []).map((row) => ({ ...row, predicate: view.predicate })));
    },
  };
}

/** Return in a sentence what the list shows. */
function summary(view) {
  if (!view.begun) return "No crawl has begun in this directory yet.";
  if (!view.predicate) return "The crawl has no predicate yet.";
  if (!view.time) return view.running ? "The frontier is being asked for its best candidates." : "The crawl told nothing of its candidates before it ended.";
  if (!view.best.length) return view.opening ? "The frontier is taking up its candidates." : `No candidate is in the queue of ${view.predicate}.`;
  return `The best ${count(view.best.length)} of ${count(view.queued)} candidates for ${view.predicate}.`;
}

/** Return what leads to what is known of a candidate. */
function why({ predicate, url }, to) {
  return h("a", { href: to("next", { predicate, url }), "aria-label": `Explain ${url}` }, "Explain");
}

/** Return what speaks, each with what it adds. */
function spoken(parts) {
  return parts.map((part) => h("div", { title: part.means }, `${part.plain} `, h("span", { class: "note" }, signed(part.adds))));
}

function signed(number) {
  return `${number > 0 ? "+" : ""}${decimal(number)}`;
}

// one URL

function explained(context) {
  const title = h("h2");
  const told = h("ul");
  const trouble = h("p", { class: "alert", role: "status" });
  const note = h("p", { class: "note", "aria-live": "polite" });
  const lists = [inputs("What speaks for it and against it", "inputs"), features("What speaks for it and against it", "Adds", (found) => !found.inputs?.length),
    words(), features("What users say of it, by the paper's ratios", "In collaborative", (found) => found.inputs?.length > 0), links(), inputs("What may make the request fail", "failing")];
  const back = () => context.go({ url: "" });
  const element = h("section", { hidden: true }, title, told, trouble, note, lists.map((list) => list.element),
    h("p", {}, h("button", { type: "button", onclick: back }, "Close")), h("h2", {}, "Best candidates"));
  return {
    element,
    update(view) {
      const found = view.explained;
      element.hidden = !found;
      if (!found) return;
      fill(title, found.known ? webLink(found.url) : found.url ?? "Unknown");
      fill(told, (found.told ?? []).map((line) => h("li", {}, line)));
      trouble.hidden = !found.trouble;
      say(trouble, found.trouble ?? "");
      say(note, found.trouble ? "" : promise(found, view.predicate));
      lists.forEach((list) => list.update(found));
    },
  };
}

/** Return what is expected of the URL. */
function promise(found, predicate) {
  const parts = [`Priority for ${predicate}: ${decimal(found.priority)}.`];
  if (found.expected !== null) parts.push(`A hit with probability ${percent(found.expected)}, where a page comes, which it does with ${percent(found.comes)}.`);
  if (found.named) parts.push(`Put forward by ${decimal(found.named)}, as a link or its URL has keywords.`);
  return parts.join(" ");
}

/** Return a table under a title that is hidden while it has no rows: `rows(found)` are its rows. */
function part(title, columns, key, rows) {
  const list = table(columns, { caption: title, key });
  const element = h("div", { hidden: true }, h("h3", {}, title), list.element);
  return {
    element,
    update(found) {
      const shown = rows(found) ?? [];
      element.hidden = shown.length === 0;
      if (shown.length) list.update(shown);
    },
  };
}

function inputs(title, name) {
  const columns = [
    { title: "What is known of it", head: true, cell: (row) => h("span", { title: row.means }, row.plain) },
    { title: "Adds", number: true, cell: (row) => signed(row.adds) },
    { title: "Value", number: true, cell: (row) => decimal(row.value) },
    { title: "Weight", number: true, cell: (row) => `${decimal(row.weight)} ± ${decimal(row.deviation)}` },
  ];
  return part(title, columns, (row) => row.plain, (found) => found[name]);
}

/** Return a table of features with the paper's ratios, `adds` over what they add, where `shows(found)`. */
function features(title, adds, shows) {
  const columns = [
    { title: "Feature", head: true, wide: true, cell: (row) => h("span", { title: row.means }, row.plain) },
    { title: adds, number: true, cell: (row) => (row.adds ? signed(row.adds) : "–") },
    { title: "Pages", number: true, cell: (row) => count(row.pages) },
    { title: "Hits", number: true, cell: (row) => count(row.hits) },
    { title: "Ratio", number: true, cell: (row) => decimal(row.ratio) },
    { title: "Deviations", number: true, cell: (row) => decimal(row.significance, 1), meaning: "By which it differs from any page: from 2 on it counts by the paper's policies" },
  ];
  const rows = (found) => ((shows(found) && found.features) || []).map((row, place) => ({ ...row, place }));
  return part(title, columns, (row) => row.place, rows);
}

function words() {
  const columns = [
    { title: "Word", head: true, wide: true, key: "word" },
    { title: "Where", key: "where" },
    { title: "Adds", number: true, cell: (row) => signed(row.adds) },
    { title: "Pages", number: true, cell: (row) => count(row.pages), meaning: "Judged pages that had it there" },
    { title: "Hits", number: true, cell: (row) => count(row.hits) },
  ];
  return part("Words that count", columns, (row) => `${row.where} ${row.word}`, (found) => found.words);
}

function links() {
  const columns = [
    { title: "Linked from", head: true, wide: true, cell: (row) => webLink(row.url) },
    { title: "Its verdict", key: "verdict" },
    { title: "Words in the link", wide: true, key: "inside" },
    { title: "Around it", wide: true, key: "around" },
    { title: "Heading above", wide: true, key: "above" },
  ];
  return part("Pages that link to it", columns, (row) => row.url, (found) => found.linking);
}
