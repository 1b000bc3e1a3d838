// Now: is it finding what it looks for, and if nothing is fetched, why?
import { chart } from "../chart.js";
import { count, decimal, fill, h, percent, say } from "../dom.js";
import { pager } from "../table.js";

const CHANCE = "By chance: some candidates are drawn by lot, each as likely as any other. What they bring is what is "
  + "expected of a crawl that learns nothing, such as breadth-first; in 95 of 100 cases the true rate lies within the band.";

export function start(box, context) {
  const state = stateLine();
  const door = h("p", { class: "note" });
  const figures = h("dl", { class: "figures" });
  const predicates = predicateList(context);
  box.append(state.element, door, figures, predicates.element);
  return {
    params: (params) => predicates.params(params),
    update(view) {
      state.update(view.state);
      say(door, view.door ?? "");
      door.hidden = !view.door;
      figures.hidden = predicates.element.hidden = !view.begun;
      if (!view.begun) return;
      showFigures(figures, view.figures);
      predicates.update(view);
    },
    stop: () => predicates.stop(),
  };
}

/** The state in words; a screen reader is told when it becomes another, not each second. */
function stateLine() {
  const mood = h("strong");
  const text = h("span");
  const aloud = h("span", { class: "hidden", role: "status" });
  const element = h("p", { class: "lead state" }, mood, " ", text, aloud);
  function update(state) {
    say(mood, `${state.word}.`);
    say(text, state.text);
    if (element.dataset.mood !== state.mood) say(aloud, state.text);
    element.dataset.mood = state.mood;
  }
  return { element, update };
}

// figures

function showFigures(list, told) {
  const shown = figures(told);
  if (list.children.length !== shown.length) fill(list, shown.map(([name]) => figure(name)));
  shown.forEach(([name, value, note], place) => {
    const [term, main, small] = list.children[place].querySelectorAll("dt, dd");
    say(term, name);
    say(main, value);
    say(small, note);
  });
}

function figure(name) {
  return h("div", {}, h("dt", {}, name), h("dd"), h("dd", { class: "note" }));
}

/** Return what is counted: name, value and a note of each. */
function figures(told) {
  const share = told.requests ? ` (${percent(told.nothing / told.requests, 0)})` : "";
  const about = told.seen < 1 ? "about " : "";
  return [
    ["Pages a second", decimal(told.pages_a_second, 1), `${decimal(told.on_average, 1)} on average`],
    ["Pages", count(told.judged), left(told)],
    ["Slots used", told.slots === null ? "–" : percent(told.slots, 0), held(told)],
    ["Requests", count(told.requests), `${count(told.nothing)} brought nothing${share}`],
    ["Candidates in memory", count(told.queued), told.hosts === null ? "" : `on ${about}${count(told.hosts)} host${told.hosts === 1 ? "" : "s"}`],
    ["Hosts that may be asked", told.hosts === null ? "–" : about + count(told.ready), waiting(sum(told.waiting))],
    ["In flight", count(told.in_flight), inFlight(told)],
    ["URLs known", count(told.discovered), `${count(told.failed)} failed, ${count(told.refused)} refused`],
    ...(told.revisits ? [["Revisits", count(told.revisits), "pages looked at again"]] : []),
  ];
}

function waiting(hosts) {
  return `${count(hosts)} wait${hosts === 1 ? "s" : ""}`;
}

/** Return what bounds the pages in flight: slow ones are beside the window. */
function inFlight(told) {
  const slow = told.in_flight - told.window;
  return slow > 0 ? `${count(told.window)} at most, and ${count(slow)} slow` : `of ${count(told.window)} at most`;
}

/** Return what keeps most hosts, where fewer than half of their seconds are used. */
function held(told) {
  if (told.slots === null) return told.pages_a_second === null ? "" : "no delay between requests";
  return told.held_by ? `${told.held_by}: ${count(told.held)} host${told.held === 1 ? "" : "s"}` : "seconds in which hosts may be asked";
}

function left(told) {
  if (told.left === null) return "no budget";
  const of = told.budget ? `${count(told.budget)} pages` : `${count(told.requests_budget)} requests`;
  return `${count(told.left)} left of ${of}`;
}

function sum(counts) {
  return Object.values(counts).reduce((all, each) => all + each, 0);
}

// predicates

function predicateList(context) {
  const search = h("input", { type: "search", size: 24, maxlength: 64, autocomplete: "off" });
  const form = h("form", { class: "line", role: "search", onsubmit: (event) => { event.preventDefault(); context.go({ search: search.value, offset: 0 }); } },
    h("label", {}, "Predicates whose names contain", search), h("button", { type: "submit" }, "Search"));
  const panels = h("div", { class: "panels" });
  const pages = pager((offset) => context.go({ offset }), 6);
  const none = h("p", { class: "note" });
  const legend = h("p", { class: "note" }, CHANCE);
  const element = h("section", { "aria-label": "Predicates" }, form, none, panels, pages.element, legend);
  const shown = new Map();

  function update(view) {
    form.hidden = view.known <= 6;
    for (const [name, panel] of shown) {
      if (!view.predicates.some((each) => each.name === name)) { panel.stop(); panel.element.remove(); shown.delete(name); }
    }
    view.predicates.forEach((each, place) => {
      if (!shown.has(each.name)) shown.set(each.name, predicatePanel(each.name, view.window_pages));
      const panel = shown.get(each.name);
      if (panels.children[place] !== panel.element) panels.insertBefore(panel.element, panels.children[place] ?? null);
      panel.update(each);
    });
    none.hidden = view.predicates.length > 0;
    say(none, view.known ? "No predicate has such a name." : "No predicate is followed yet.");
    legend.hidden = !view.predicates.some((each) => each.chance);
    pages.update({ offset: view.offset, shown: view.predicates.length, total: view.total });
  }
  return {
    element,
    update,
    params(params) { search.value = params.search ?? ""; },
    stop() { shown.forEach((panel) => panel.stop()); },
  };
}

/** One predicate: its figures in a sentence each, and its curve. */
function predicatePanel(name, windowPages) {
  const expression = h("code");
  const rate = h("p");
  const lift = h("p", { class: "note" });
  const plot = chart(
    [
      { label: "all pages", colour: 0 },
      { label: `the last ${count(windowPages)}`, colour: 1, dash: 1 },
      { label: "by chance", colour: 5, dash: 2 },
      { hidden: true },
      { hidden: true, band: [4, 5] },
    ],
    { title: "Pages that satisfy it", x: "pages", percent: true, describe: ([pages, ...rest]) => described(pages, rest) },
  );
  const element = h("article", { class: "panel predicate" },
    h("h2", {}, name), h("p", { class: "note" }, expression), rate, lift, plot.element);
  function update(told) {
    say(expression, told.expression);
    say(rate, found(told));
    say(lift, compared(told));
    plot.element.hidden = told.pages === 0;
    if (told.pages) plot.update(columns(told.curve));
  }
  return { element, update, stop: plot.stop };
}

function columns(curve) {
  return [curve.pages, curve.rate, curve.lately, curve.chance, curve.high, curve.low];
}

function described(pages, [rate, lately, chance]) {
  const last = pages.length - 1;
  const drawn = chance[last] === null ? "" : `, by chance ${percent(chance[last])}`;
  return `From ${count(pages[0])} to ${count(pages[last])} pages: at first ${percent(rate[0])} satisfied it, now ${percent(rate[last])}, `
    + `of the latest ${percent(lately[last])}${drawn}.`;
}

/** What a predicate has found. */
function found(told) {
  const paused = told.state === "paused" ? "Paused. " : "";
  if (!told.pages) return `${paused}No page was judged by it yet.`;
  const matches = told.matches === null ? "" : ` ${count(told.matches)} do now, ${percent(told.freshness, 0)} of them as they were visited, by estimate.`;
  return `${paused}${count(told.hits)} of ${count(told.pages)} pages satisfy it: ${percent(told.rate)}; lately ${percent(told.lately)}${pace(told)}.${matches}`;
}

function pace(told) {
  return told.hits_a_minute === null ? "" : `, ${decimal(told.hits_a_minute, 1)} a minute`;
}

/** What chance found, and how much better the crawl is. */
function compared(told) {
  if (!told.pages) return "";
  if (!told.chance) return "Chance has chosen too few pages yet to compare with.";
  const { rate, low, high, pages } = told.chance;
  const chance = `By chance ${percent(rate)} of ${count(pages)} (${percent(low)} to ${percent(high)})`;
  if (!told.lift) return `${chance}: too few yet to compare with.`;
  const [least, lift, most] = told.lift.map((each) => decimal(each, each < 10 ? 1 : 0));
  return `${chance}: the crawl finds ${lift} times as much (${least} to ${most}).`;
}
