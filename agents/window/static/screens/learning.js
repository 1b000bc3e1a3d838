// Learning: what the crawl goes by, and what speaks most.
import { choice, count, decimal, fill, h, percent, say } from "../dom.js";
import { pager, table } from "../table.js";

const SOURCES = { links: "links", words: "words", URL: "URL", users: "users", place: "its place" };

export function start(box, context) {
  const predicate = choice("Predicate", (name) => context.go({ predicate: name, offset: "" }));
  const lead = h("p", { class: "lead", "aria-live": "polite" });
  const parts = [weights(), ratios(), speaking(context)];
  box.append(h("div", { class: "tools" }, predicate.element), lead, ...parts.map((part) => part.element));
  return {
    update(view) {
      predicate.update(view.begun ? view.predicates : {}, view.predicate);
      say(lead, summary(view));
      parts.forEach((part) => part.update(view));
    },
  };
}

/** Return in a sentence what there is to be seen. */
function summary(view) {
  if (!view.begun) return "No crawl has begun in this directory yet.";
  if (!view.predicate) return "The crawl has no predicate yet.";
  if (view.trouble) return `What was learned can't be read: ${view.trouble}`;
  if (view.reading) return "What was learned is being read.";
  if (view.learned) return `The learned policy has learned from ${count(view.learned.judged)} verdicts how to weigh what it knows of a page.`;
  if (view.kinds.length) return `By the policy ${view.policy} the ratios of significant features are multiplied.`;
  return `This crawl goes by ${view.policy}: it learns nothing that would change the order of its pages.`;
}

// weights

function weights() {
  let most = 1;
  const columns = [
    { title: "What is known of a page", head: true, cell: (row) => h("span", { title: row.means }, row.plain) },
    { title: "Made of", cell: (row) => SOURCES[row.source] },
    { title: "Weight, ± 2 deviations", cell: (row) => interval(row, most) },
    { title: "Weight", number: true, cell: (row) => `${decimal(row.mean)} ± ${decimal(2 * row.deviation)}` },
    { title: "At first", number: true, cell: (row) => decimal(row.first) },
  ];
  const list = table(columns, { caption: "Weights of what is known of a page", key: (row) => row.name });
  const element = h("section", {}, h("h2", {}, "What counts how much"), list.element);
  return {
    element,
    update(view) {
      element.hidden = !view.learned;
      if (!view.learned) return;
      const rows = [...view.learned.weights].sort((one, other) => Math.abs(other.mean) - Math.abs(one.mean));
      most = Math.max(1, ...rows.map((row) => Math.abs(row.mean) + 2 * row.deviation));
      list.update(rows.map((row) => ({ ...row, most })));
    },
  };
}

const WIDTH = 220;
const HEIGHT = 18;

/** Return a bar for a weight between its bounds, with a mark where it began. */
function interval(row, most) {
  const at = (value) => WIDTH / 2 + (value / most) * (WIDTH / 2 - 4);
  const [low, high] = [at(row.mean - 2 * row.deviation), at(row.mean + 2 * row.deviation)];
  const text = `${decimal(row.mean)}, between ${decimal(row.mean - 2 * row.deviation)} and ${decimal(row.mean + 2 * row.deviation)}`;
  return svg("svg", { width: WIDTH, height: HEIGHT, viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-label": text, class: "interval" },
    svg("line", { x1: WIDTH / 2, x2: WIDTH / 2, y1: 0, y2: HEIGHT, class: "axis" }),
    svg("rect", { x: low, y: 5, width: Math.max(1, high - low), height: 8, rx: 2, class: "range" }),
    svg("line", { x1: at(row.first), x2: at(row.first), y1: 2, y2: HEIGHT - 2, class: "first" }),
    svg("circle", { cx: at(row.mean), cy: HEIGHT / 2, r: 4, class: "mean" }));
}

function svg(tag, attributes, ...children) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  Object.entries(attributes).forEach(([name, value]) => element.setAttribute(name, String(value)));
  element.append(...children);
  return element;
}

// by the paper's policies

/** Return the columns of features: pages, hits and what that makes of them; by the paper's policies how sure that is. */
function counted(name, tested) {
  const columns = [
    { title: name, head: true, wide: true, key: "name" },
    { title: "Pages", number: true, cell: (row) => count(row.pages), meaning: "Judged pages that have it" },
    { title: "Hits", number: true, cell: (row) => count(row.hits) },
    { title: "Share", number: true, cell: (row) => percent(row.pages ? row.hits / row.pages : null, 0) },
    { title: "Times as likely", number: true, cell: (row) => decimal(Math.exp(row.weight)), meaning: "As any page, as the policy weighs it" },
  ];
  const meaning = "By which it differs from any page: from 2 on it counts by the paper's policies";
  return tested ? [...columns, { title: "Deviations", number: true, cell: (row) => decimal(row.significance, 1), meaning }] : columns;
}

function ratios() {
  const list = table(counted("What leads to a page", true), { caption: "What links and visits say", key: (row) => row.name });
  const element = h("section", {}, h("h2", {}, "What links and visits say"), list.element);
  return {
    element,
    update(view) {
      element.hidden = !view.ratios?.length;
      if (!element.hidden) list.update(view.ratios);
    },
  };
}

// what speaks most

function speaking(context) {
  const kind = choice("Of which kind", (value) => context.go({ kind: value, offset: "" }));
  const side = choice("Which speak", (value) => context.go({ side: value, offset: "" }));
  const box = h("div");
  let list = null;
  const pages = pager((offset) => context.go({ offset: String(offset) }));
  const element = h("section", {}, h("h2", {}, "What speaks most"), h("div", { class: "tools" }, kind.element, side.element), box, pages.element);

  /** Make the table: by the learned policy no feature is tested for significance. */
  function begin(learned) {
    const options = { caption: "Features that speak most", key: (row) => row.name, empty: "Nothing of this kind speaks yet." };
    list = table(counted("Feature", !learned), options);
    fill(box, list.element);
  }

  return {
    element,
    update(view) {
      element.hidden = !view.speaking;
      if (!view.speaking) return;
      if (list === null) begin(view.policy === "learned");
      kind.update(Object.fromEntries(view.kinds.map((name) => [name, name])), view.kind);
      side.update({ for: "for it", against: "against it" }, view.side);
      list.update(view.speaking.rows);
      pages.update(view.speaking);
    },
  };
}
