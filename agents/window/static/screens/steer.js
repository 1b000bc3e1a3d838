// Steer: what is in force of what people asked of the crawl, and how it is changed. All goes through POST /steer.
import { ago, count, fill, h, say } from "../dom.js";
import { follow } from "../live.js";
import { pager, table } from "../table.js";

const TYPING = 300;
/** Bytes of what fits into an address: what is longer is checked when it is saved. */
const LONGEST = 6000;

export function start(box, context) {
  const parts = [pausing, predicates, seeds, exclusions, budget, delays].map((part) => part(context));
  const none = h("p", { class: "lead", hidden: true }, "No crawl has begun in this directory yet.");
  const sections = h("div", {}, parts.map((part) => part.element));
  box.append(none, sections);
  return {
    query: (params) => ({ predicates: params.predicates, exclusions: params.exclusions, delays: params.delays }),
    update(view) {
      none.hidden = view.begun;
      sections.hidden = !view.begun;
      if (!view.begun) return;
      parts.forEach((part) => part.update(view));
    },
    stop: () => parts.forEach((part) => part.stop?.()),
  };
}

// forms

/** Return a section with a title. */
function section(title, ...children) {
  return h("section", { "aria-label": title }, h("h2", {}, title), children);
}

/** Return a form that asks something of the crawl: `request()` is what, or null for nothing. */
function asking(context, label, request, ...fields) {
  const said = h("p", { class: "note", role: "status" });
  const button = h("button", { type: "submit", class: "main" }, label);
  const onsubmit = async (event) => {
    event.preventDefault();
    const wanted = request();
    if (wanted === null) return;
    button.disabled = true;
    if (await ask(context, said, wanted)) element.reset();
    button.disabled = false;
    element.dispatchEvent(new Event("input"));
  };
  const element = h("form", { class: "line", onsubmit }, fields, button, said);
  return element;
}

/** Ask something of the crawl, one record or several, and say what became of it; return whether it was taken. */
async function ask(context, said, wanted) {
  say(said, "Asking …");
  try {
    const answers = [];
    for (const record of [wanted].flat()) answers.push((await context.steer(record)).said);
    say(said, answers.join("; "));
    return true;
  } catch (error) {
    say(said, error.message);
    return false;
  }
}

/** Return a button that asks something at once; what can't be undone is asked for twice. */
function doing(context, said, label, wanted, forGood = "") {
  const act = () => ask(context, said, wanted);
  if (!forGood) return h("button", { type: "button", onclick: act }, label);
  const box = h("span", { class: "doing" });
  const back = () => fill(box, first);
  const first = h("button", { type: "button", class: "danger", onclick: sure }, label);
  function sure() {
    const yes = h("button", { type: "button", class: "danger", onclick: act }, forGood);
    fill(box, yes, h("button", { type: "button", onclick: back }, "Keep it"));
    yes.focus();
  }
  back();
  return box;
}

/** Leave out what changes something where nothing may be changed. */
function allowed(view, ...elements) {
  if (view.read_only) elements.forEach((element) => element.remove());
}

/** Check what is typed a moment later: `asked()` is the query, null for none; `told(view)` shows the answer. */
function trying(field, asked, told) {
  let end = null;
  let waiting = 0;
  const stop = () => {
    clearTimeout(waiting);
    end?.();
    end = null;
  };
  field.addEventListener("input", () => {
    stop();
    const wanted = asked();
    told({});
    if (wanted === null) return;
    waiting = setTimeout(() => {
      const quiet = () => {};
      end = follow("trial", wanted, { view: told, crawl: quiet, connection: quiet, trouble: (problem) => told({ problem }) });
    }, TYPING);
  });
  return stop;
}

/** Return a text where it can be tried. */
function short(text) {
  return text.trim() && encodeURIComponent(text).length < LONGEST;
}

/** Return a section with the records of a list in force, a page at a time, and the form that adds to it. */
function listed(context, title, name, columns, options, form, stop) {
  const said = h("p", { class: "note", role: "status" });
  let readOnly = true;
  const rows = table(columns(said, () => readOnly), options);
  const pages = pager((offset) => context.go({ [name]: offset || "" }));
  function update(view) {
    readOnly = view.read_only;
    allowed(view, form, said);
    rows.update(view[name].rows);
    pages.update(view[name]);
  }
  return { element: section(title, rows.element, pages.element, said, form), update, stop };
}

// pause

function pausing(context) {
  const lead = h("p", { class: "lead", role: "status" });
  const said = h("p", { class: "note", role: "status" });
  const pause = h("button", { type: "button", class: "danger", onclick: () => ask(context, said, { what: "paused", on: true }) }, "Pause the crawl");
  const resume = h("button", { type: "button", onclick: () => ask(context, said, { what: "paused", on: false }) }, "Go on");
  const tools = h("p", { class: "tools" }, pause, resume);
  function update(view) {
    say(lead, view.paused ? "The crawl is paused: it orders nothing." : "The crawl may fetch.");
    allowed(view, tools, said);
    pause.hidden = view.paused;
    resume.hidden = !view.paused;
  }
  return { element: section("Pause", lead, tools, said), update };
}

// predicates

function predicates(context) {
  const columns = (said, readOnly) => [
    { title: "Predicate", key: "name", head: true },
    { title: "Expression", wide: true, cell: (row) => h("code", {}, row.expression) },
    { title: "Hits", number: true, cell: (row) => count(row.hits) },
    { title: "Share", number: true, cell: (row) => (readOnly() ? String(row.share) : share(context, said, row)) },
    { title: "State", key: "state" },
    { title: "Change", cell: (row) => (readOnly() ? "" : changes(context, said, row)) },
  ];
  const options = { caption: "Predicates", key: (row) => row.name, empty: "The crawl looks for nothing." };
  return listed(context, "Predicates", "predicates", columns, options, ...adding(context));
}

function share(context, said, row) {
  const field = h("input", {
    type: "number", min: "0.001", max: "1000000", step: "any", value: row.share, size: 5, "aria-label": `Share of ${row.name}`,
  });
  field.addEventListener("change", () => field.reportValidity()
    && ask(context, said, { what: "predicate", name: row.name, share: Number(field.value) }));
  return field;
}

function changes(context, said, row) {
  const paused = row.state === "paused";
  const state = { what: "predicate", name: row.name, state: paused ? "active" : "paused" };
  const removed = { what: "predicate", name: row.name, state: "removed" };
  return h("span", { class: "tools" },
    doing(context, said, paused ? `Resume ${row.name}` : `Pause ${row.name}`, state),
    doing(context, said, `Remove ${row.name}`, removed, `Remove ${row.name} for good`));
}

/** Return the form of a new predicate, whose syntax is checked while it is typed, and what stops that. */
function adding(context) {
  const name = h("input", { name: "name", required: true, pattern: "[A-Za-z][A-Za-z0-9_\\-]{0,63}", autocomplete: "off" });
  const expression = h("textarea", { name: "expression", class: "code", required: true, maxlength: 10000, spellcheck: "false", rows: 2 });
  const weight = h("input", { name: "share", type: "number", min: "0.001", max: "1000000", step: "any", value: "1" });
  const kept = h("input", { name: "kept", type: "checkbox" });
  const problem = h("pre", { class: "caret", hidden: true });
  const tried = h("p", { class: "note", role: "status" });
  const form = asking(context, "Add the predicate", () => ({
    what: "predicate", name: name.value, expression: expression.value, share: Number(weight.value), kept: kept.checked,
  }), h("label", {}, "Name", name), h("label", {}, "Share", weight), h("label", { class: "whole" }, "Looks for", expression),
  h("div", { class: "whole" }, problem, tried),
  h("label", { class: "check" }, kept, "Also judge the pages of the last day"));
  const told = (view) => {
    problem.hidden = !view.lines;
    say(problem, view.lines ? `${view.lines.join("\n")}\n${view.problem}` : "");
    expression.setAttribute("aria-invalid", String(Boolean(view.problem)));
    say(tried, view.lines ? `Column ${view.column}: ${view.problem}` : view.problem ?? (view.read ? "It can be read." : ""));
  };
  const stop = trying(form, () => (short(expression.value) ? { expression: expression.value } : null), told);
  return [form, stop];
}

// seeds

function seeds(context) {
  const urls = h("textarea", { name: "urls", required: true, spellcheck: "false", rows: 2 });
  const form = asking(context, "Add the seeds", () => ({ what: "seeds", urls: lines(urls.value) }),
    h("label", { class: "whole" }, "Pages to start from, one URL a line", urls));
  return { element: section("Seeds", form), update: (view) => allowed(view, form.parentElement) };
}

/** Return the lines of a text as URLs, as the browser writes them; what is none stays as it is. */
function lines(text) {
  const given = text.split("\n").map((line) => line.trim()).filter(Boolean);
  return [...new Set(given.map((line) => (URL.canParse(line) ? new URL(line).href.replace(/#.*$/, "") : line)))];
}

// exclusions

function exclusions(context) {
  const columns = (said, readOnly) => [
    { title: "URLs that", cell: (row) => (row.prefix ? "begin with" : "match") },
    { title: "Text", wide: true, cell: (row) => h("code", {}, row.prefix || row.expression) },
    { title: "Since", cell: (row) => ago(row.time) },
    { title: "Change", cell: (row) => (readOnly() ? "" : including(context, said, row)) },
  ];
  const options = { caption: "Exclusions", key: (row) => row.name, empty: "Nothing is excluded." };
  return listed(context, "Exclusions", "exclusions", columns, options, ...excluding(context));
}

function including(context, said, row) {
  return doing(context, said, `Include ${row.prefix || row.expression}`, { what: "excluded", name: row.name, on: false });
}

/** Return the form of an exclusion, which says what it would leave out, and what stops that. */
function excluding(context) {
  const kind = h("select", { name: "kind" }, h("option", { value: "prefix" }, "begin with"), h("option", { value: "expression" }, "match (RE2)"));
  const text = h("input", { name: "text", class: "code", required: true, maxlength: 4000, spellcheck: "false", autocomplete: "off" });
  const tried = h("p", { class: "note whole", role: "status" });
  const form = asking(context, "Exclude", () => ({ what: "excluded", [kind.value]: text.value }),
    h("label", {}, "URLs that", kind), h("label", { class: "grow" }, "Text", text), tried);
  const asked = () => (short(text.value) ? { [kind.value === "prefix" ? "prefix" : "pattern"]: text.value } : null);
  const stop = trying(form, asked, (view) => say(tried, view.problem ?? leftOut(view.tried)));
  return [form, stop];
}

/** Return how many candidates an exclusion leaves out, in words. */
function leftOut(tried) {
  if (!tried) return "";
  if (tried.done) return `It leaves out ${count(tried.found)} of ${count(tried.read)} candidates.`;
  const guess = tried.read ? Math.round((tried.found * tried.of) / tried.read) : 0;
  return `So far it leaves out ${count(tried.found)} of ${count(tried.read)} candidates; of all, about ${count(guess)} of ${count(tried.of)}.`;
}

// budget and delays

function budget(context) {
  const lead = h("p", {});
  const field = (name) => h("input", { name, type: "number", min: "0", max: "2147483648", step: "1" });
  const pages = field("pages");
  const requests = field("requests");
  const form = asking(context, "Set the budget", () => {
    const given = [pages, requests].filter((input) => input.value !== "");
    return given.length ? given.map((input) => ({ what: "budget", name: input.name, most: Number(input.value) })) : null;
  }, h("label", {}, "Pages to judge in all", pages), h("label", {}, "Requests to have answered in all", requests));
  function update(view) {
    say(lead, inForce(view.budget));
    allowed(view, form);
  }
  return { element: section("Budget", lead, form), update };
}

/** Return which budget is in force, in words; null stands for what is not known. */
function inForce(budget) {
  const known = Object.entries(budget).filter(([, most]) => most !== null);
  if (known.length === 0) return "As the settings of the crawl say. 0 is no limit.";
  const words = known.map(([name, most]) => (most === 0 ? `no limit of ${name}` : `${count(most)} ${name}`));
  return `In force, in all: ${words.join(" and ")}. A run with another budget in its settings goes by that.`;
}

function delays(context) {
  const columns = (said, readOnly) => [
    { title: "Host", key: "name", head: true, wide: true },
    { title: "Seconds between requests, at least", number: true, cell: (row) => String(row.seconds) },
    { title: "Since", cell: (row) => ago(row.time) },
    { title: "Change", cell: (row) => (readOnly() ? "" : doing(context, said, `As usual for ${row.name}`, { what: "delay", name: row.name, seconds: 0 })) },
  ];
  const options = { caption: "Delays of hosts", key: (row) => row.name, empty: "Every host is asked as often as is polite." };
  const host = h("input", { name: "host", required: true, maxlength: 300, autocomplete: "off", spellcheck: "false" });
  const seconds = h("input", { name: "seconds", type: "number", required: true, min: "0", max: "86400", step: "any" });
  const form = asking(context, "Set the delay", () => ({ what: "delay", name: host.value.trim(), seconds: Number(seconds.value) }),
    h("label", { class: "grow" }, "Host", host), h("label", {}, "Seconds between two requests", seconds));
  return listed(context, "Delays", "delays", columns, options, form);
}
