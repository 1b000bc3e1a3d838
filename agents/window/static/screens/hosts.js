// Hosts: which may be asked, which wait and why, and what came of the requests to each.
import { ago, count, decimal, fill, h, lasting, part, percent, say } from "../dom.js";
import { pager, table } from "../table.js";

const WAITS = {
  delay: "the delay between two requests",
  robots: "its robots.txt asks for this delay",
  "retry-after": "it asked for that (Retry-After)",
  "back-off": "it failed, and is left alone",
  browser: "the browser renders other pages",
  shared: "another host at its address was asked",
};
/** Seconds for which nobody is told how old an order is. */
const FRESH = 15;
const STATES = {
  rests: () => "may be asked",
  busy: () => "is being asked",
  exhausted: () => "nothing left to fetch",
  unknown: () => "has not answered yet",
  ready: (row) => `may be asked: ${pages(row)}`,
  stopped: (row) => `stopped: ${row.why}`,
};

function pages(row) {
  return `${count(row.candidates)} ${row.candidates === 1 ? "page" : "pages"} to fetch`;
}

/** Return in words how a host stands at this moment. */
function standing(row) {
  if (row.state !== "waits") return STATES[row.state]?.(row) ?? row.state;
  const left = row.until - Date.now() / 1000;
  const waits = left > 0 ? `waits ${lasting(Math.ceil(left))}` : "may be asked soon";
  return `${waits}: ${WAITS[row.why] ?? row.why}${row.candidates === null ? "" : `; ${pages(row)}`}`;
}

/** Return a host's standing as an element; what waits is told anew each second. */
function stands(row) {
  return h("span", { class: `stands ${row.state}`, dataset: row.state === "waits" ? { row: JSON.stringify(row) } : {} }, standing(row));
}

function seconds(time) {
  if (time === null || time === undefined) return "–";
  return time < 1 ? `${Math.round(1000 * time)} ms` : `${decimal(time, time < 10 ? 1 : 0)} s`;
}

/** Return what a site's robots.txt asks for, in a few words. */
function robots(row) {
  if (row.robots === null) return "not read";
  if (row.robots.error) return h("span", { class: "warn" }, `not to be had: ${row.robots.error}`);
  const asks = row.delay ? `asks for ${decimal(row.delay, row.delay % 1 ? 1 : 0)} s` : "read";
  return h("span", { title: `read ${new Date(1000 * row.robots.time).toLocaleString()}` }, asks);
}

export function start(box, context) {
  const list = hostList(context);
  const one = h("div", {});
  box.append(list.element, one);
  const tick = setInterval(() => {
    box.querySelectorAll("[data-row]").forEach((element) => say(element, standing(JSON.parse(element.dataset.row))));
  }, 1000);
  return {
    params: list.params,
    update(view) {
      list.element.hidden = !view.begun || Boolean(view.host);
      one.hidden = !list.element.hidden;
      if (!view.begun) fill(one, h("p", { class: "lead" }, "No crawl has begun in this directory yet."));
      else if (view.host) whole(one, view.host, context);
      else list.update(view);
    },
    stop: () => clearInterval(tick),
  };
}

function hostList(context) {
  const begin = { offset: "" };
  const search = part("name", { name: "find", maxlength: 300 }, (find) => context.go({ ...begin, find }));
  const told = h("p", { class: "note", role: "status" });
  const hosts = table(columns(context), {
    caption: "Hosts",
    key: (row) => row.host,
    empty: "No host has this in its name.",
    sorted: { by: "pages", descending: true },
    onsort: (by, descending) => context.go({ ...begin, by, descending }),
  });
  const pages = pager((offset) => context.go({ offset: offset || "" }));
  return {
    element: h("div", {}, search.element, told, hosts.element, pages.element),
    params: ({ find }) => search.update(find),
    update(view) {
      say(told, progress(view));
      hosts.update(view.rows);
      pages.update({ offset: view.offset, shown: view.rows.length, total: view.total });
    },
  };
}

/** Return in words how many hosts there are, and how old their order is; their rows are as of now. */
function progress(view) {
  if (!view.as_of) return `${count(view.hosts)} hosts read so far; more are being read.`;
  const found = view.total === view.hosts ? "" : `${count(view.total)} of `;
  const looked = view.more ? `the first ${count(view.hosts)} hosts; a whole name finds any other` : `${count(view.hosts)} hosts`;
  const age = Date.now() / 1000 - view.as_of;
  return `${found}${looked}${age < FRESH ? "." : `, in the order of ${lasting(age)} ago; what is said of each is as of now.`}`;
}

function columns(context) {
  const link = (row) => h("a", { class: "name", href: context.address("hosts", { host: row.host }) }, row.host);
  return [
    { title: "Host", sort: "name", head: true, cell: link },
    { title: "Now", wide: true, cell: stands },
    { title: "Pages", sort: "pages", number: true, cell: (row) => count(row.pages) },
    { title: "Requests", number: true, cell: (row) => count(row.requests) },
    { title: "No page", meaning: "Requests that brought no page", sort: "failures", number: true, cell: (row) => count(row.failures) },
    { title: "Answers in", sort: "seconds", number: true, meaning: "The mean", cell: (row) => seconds(row.seconds) },
    { title: "robots.txt", cell: robots },
  ];
}

// one host

function whole(box, row, context) {
  const text = JSON.stringify(row);
  if (box.dataset.shown === text) return;
  box.dataset.shown = text;
  fill(box,
    h("p", {}, h("a", { href: context.address("hosts") }, "← All hosts")),
    h("h2", {}, row.host),
    row.known ? known(row) : h("p", {}, "No fetch of this host has ended yet."),
    row.robots_txt.map(robotsText));
}

function known(row) {
  return [
    h("p", { class: "lead" }, stands(row)),
    h("dl", { class: "figures" }, figures(row).map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, value)))),
    row.depth ? h("p", {}, row.depth) : null,
    h("h3", {}, "Why fetches brought no page"),
    causes(row.causes),
    row.times.length ? [h("h3", {}, "How long answers took"), times(row.times)] : null,
  ];
}

function figures(row) {
  return [
    ["Pages", count(row.pages)],
    ["Requests", count(row.requests)],
    ...(row.again ? [["of these for known pages", count(row.again)]] : []),
    ["Redirects", count(row.moved)],
    ["Without a page", count(row.failures)],
    ["Mean answer in", seconds(row.seconds)],
    ["95 % within", seconds(row.most)],
    ...(row.delay ? [["Crawl-delay", seconds(row.delay)]] : []),
    ...(row.server ? [["Server", row.server]] : []),
  ];
}

function causes(rows) {
  const shown = table([
    { title: "Cause", head: true, cell: (row) => row.cause },
    { title: "Fetches", number: true, cell: (row) => count(row.fetches) },
    { title: "Last", cell: (row) => ago(row.time) },
    { title: "Example", wide: true, cell: example },
  ], { caption: "Why fetches brought no page", key: (row) => row.cause, empty: "Every fetch brought a page." });
  shown.update(rows);
  return shown.element;
}

/** Return an example of a cause: the URL as text, and what is known of it now. */
export function example(row) {
  return h("span", {}, h("code", {}, row.url || "–"), row.reason ? h("span", { class: "note" }, ` ${row.reason}`) : null);
}

function times(rows) {
  const all = rows.reduce((sum, row) => sum + row.answers, 0);
  const shown = table([
    { title: "Seconds", head: true, cell: (row) => (row.within === null ? "longer" : `up to ${row.within}`) },
    { title: "Answers", number: true, cell: (row) => count(row.answers) },
    { title: "Share", number: true, cell: (row) => percent(row.answers / all) },
  ], { caption: "How long answers took", key: (row) => row.within });
  shown.update(rows);
  return shown.element;
}

function robotsText(told) {
  const when = told.time ? [" read ", ago(told.time)] : [];
  return h("section", {},
    h("h3", {}, h("code", {}, told.url), when),
    told.error ? h("p", { class: "warn" }, `It was not to be had (${told.error}): nothing is asked for until it is.`)
      : told.text ? h("pre", { tabindex: "0" }, told.text) : h("p", {}, "It asks for nothing."),
    told.cut ? h("p", { class: "note" }, "Only its beginning is shown.") : null);
}
