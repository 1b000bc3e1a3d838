// Errors: why fetches brought no page, on which hosts, and what could not be read.
import { ago, count, fill, h, lasting, part, say } from "../dom.js";
import { pager, table } from "../table.js";
import { example } from "./hosts.js";

const WHY = {
  unreadable: "not readable", version: "of another version", kind: "of an unknown kind", line: "a line of a log",
  judge: "a judge failed", page: "too much of a page", quarantine: "quarantined",
};

export function start(box, context) {
  let params = {};
  const causes = section(causeTable(context), (offset) => context.go({ causes: offset || "" }));
  const hosts = hostSection(context);
  const letters = section(letterTable(), (offset) => context.go({ letters: offset || "" }));
  const reason = part("cause", { name: "reason", maxlength: 100 }, (text) => context.go({ reason: text, causes: "" }));
  const lead = h("p", { class: "lead", role: "status" });
  const note = h("p", { class: "note" });
  const kept = h("p", { class: "note" });
  const all = h("div", {}, note, h("h2", {}, "Why fetches brought no page"), reason.element, causes.element, hosts.element,
    h("h2", {}, "Dead letters"), kept, letters.element);
  box.append(lead, all);
  return {
    params(given) {
      params = given;
      hosts.params(given);
      reason.update(given.reason);
    },
    update(view) {
      all.hidden = !view.begun;
      say(lead, view.begun ? summary(view, params.reason) : "No crawl has begun in this directory yet.");
      if (!view.begun) return;
      const { causes: first = 0, letters: skipped = 0 } = params;
      say(note, progress(view));
      causes.update(view.causes, { offset: Number(first), total: view.of });
      hosts.update(view);
      letters.update(view.letters, { offset: Number(skipped), total: null, more: view.more_letters });
      fill(kept, `${count(view.kept)} messages and log lines could not be read${view.kept > view.grouped ? `; the newest ${count(view.grouped)} are grouped` : ""}. What they hold may be of users, and is not shown here: `,
        h("code", {}, "scentline dead-letters"), " shows it.");
    },
  };
}

function summary(view, reason) {
  if (reason && !view.of) return `No cause has “${reason}” in it.`;
  if (!view.fetches) return "Every fetch brought a page.";
  return `${count(view.fetches)} fetches brought no page, for ${view.of === 1 ? "one cause" : `${count(view.of)} causes`}.`;
}

/** Return in words how much of the crawl is counted. */
function progress(view) {
  if (!view.as_of) return `${count(view.known)} hosts read so far; more are being read.`;
  return `Counted on ${view.more ? "the first " : ""}${count(view.known)} hosts, as of ${lasting(Math.max(1, Date.now() / 1000 - view.as_of))} ago.`;
}

/** Return a table with what leads to its other pages. */
function section(rows, onpage) {
  const pages = pager(onpage);
  return {
    element: h("div", {}, rows.element, pages.element),
    update(found, page) {
      rows.update(found);
      pages.update({ ...page, shown: found.length });
    },
  };
}

function causeTable(context) {
  const link = (row) => h("a", { href: context.address("errors", { cause: row.cause }) }, row.cause);
  return table([
    { title: "Cause", head: true, cell: link },
    { title: "Fetches", number: true, cell: (row) => count(row.fetches) },
    { title: "Hosts", number: true, cell: (row) => count(row.hosts) },
    { title: "Last", cell: (row) => ago(row.time) },
    { title: "On", cell: (row) => hostLink(row, context) },
    { title: "Example", wide: true, cell: example },
  ], { caption: "Causes", key: (row) => row.cause, empty: "There are none." });
}

function hostLink(row, context) {
  return row.host ? h("a", { class: "name", href: context.address("hosts", { host: row.host }) }, row.host) : "–";
}

/** Return the hosts of the cause that was chosen. */
function hostSection(context) {
  let offset = 0;
  const title = h("h3", {});
  const hosts = section(table([
    { title: "Host", head: true, cell: (row) => hostLink(row, context) },
    { title: "Fetches", number: true, cell: (row) => count(row.fetches) },
    { title: "Last", cell: (row) => ago(row.time) },
    { title: "Example", wide: true, cell: example },
  ], { caption: "Hosts of the cause", key: (row) => row.host, empty: "No host has this cause." }), (wanted) => context.go({ offset: wanted || "" }));
  const element = h("section", { hidden: true }, title, hosts.element);
  return {
    element,
    params(params) {
      offset = Number(params.offset ?? 0);
      element.hidden = !params.cause;
      say(title, `Hosts with ${params.cause ?? ""}`);
    },
    update(view) {
      hosts.update(view.hosts, { offset, total: view.hosts_of });
    },
  };
}

function letterTable() {
  return table([
    { title: "Topic", head: true, cell: (row) => row.topic },
    { title: "Letters", number: true, cell: (row) => count(row.letters) },
    { title: "What", cell: (row) => WHY[row.why] ?? (row.why || "–") },
    { title: "Reason", wide: true, cell: (row) => row.reason },
    { title: "Last", cell: (row) => ago(row.time) },
    { title: "At", cell: (row) => h("code", {}, row.place) },
  ], { caption: "Dead letters that are alike", key: (row) => `${row.place} ${row.reason}`, empty: "There are none." });
}
