// The shell: which screen is shown is in the address, behind #/.
import { fill, h, say } from "./dom.js";
import { follow, once, steer } from "./live.js";

const SCREENS = {
  now: "Now", hosts: "Hosts", next: "Next", pages: "Pages", errors: "Errors", learning: "Learning", steer: "Steer",
};
const main = document.getElementById("main");
const connection = document.getElementById("connection");
let shown = null;
let crawl = null;

/** Return the screen and the parameters that the address names. */
function place() {
  const [name, query = ""] = location.hash.replace(/^#\//, "").split("?");
  return { name: name in SCREENS ? name : "now", params: Object.fromEntries(new URLSearchParams(query)) };
}

/** Return the address of a screen with parameters. */
export function address(name, params = {}) {
  const given = Object.entries(params).filter(([, value]) => value !== undefined && value !== null && value !== "");
  return `#/${name}${given.length ? `?${new URLSearchParams(given)}` : ""}`;
}

async function show() {
  const { name, params } = place();
  if (shown?.name === name && shown.screen.params) {
    shown.params = params;
    shown.screen.params(params);
    listen();
    return;
  }
  stop();
  document.title = `${SCREENS[name]} – Scentline`;
  links.forEach((link, key) => (key === name ? link.setAttribute("aria-current", "page") : link.removeAttribute("aria-current")));
  const module = await import(`./screens/${name}.js`);
  if (place().name !== name) return;
  const box = h("div", { class: `screen ${name}` });
  fill(main, h("h1", {}, SCREENS[name]), h("p", { id: "trouble", class: "trouble", role: "alert", hidden: true }), box);
  shown = { name, params, box, screen: null, end: null };
  shown.screen = module.start(box, context());
  shown.screen.params?.(params);
  if (crawl) shown.screen.crawl?.(crawl);
  listen();
}

/** Return what a screen is given: `go` changes its parameters, which begins its view anew. */
function context() {
  return {
    params: shown.params,
    crawl: () => crawl,
    go: (params) => location.replace(address(shown.name, { ...shown.params, ...params })),
    address,
    once,
    steer,
    trouble,
  };
}

function listen() {
  shown.end?.();
  trouble("");
  const screen = shown.screen;
  shown.end = follow(shown.name, screen.query?.(shown.params) ?? shown.params, {
    connection: connected,
    crawl: heading,
    trouble,
    ended,
    view(view) {
      trouble("");
      screen.update(view);
    },
  });
}

function stop() {
  shown?.end?.();
  shown?.screen?.stop?.();
  shown = null;
}

function trouble(text) {
  const line = document.getElementById("trouble");
  if (line === null) return;
  say(line, text);
  line.hidden = text === "";
}

function connected(there) {
  say(connection, there ? "" : "The window does not answer: what is shown is how the crawl was. Trying again.");
  connection.hidden = there;
  if (!there && crawl) heading({ ...crawl, state: "no answer" });
}

/** Say that the window has ended, and how the crawl was then. */
function ended(now) {
  const again = "`scentline window` shows it again.";
  say(connection, now.running ? `This window has ended, and the crawl goes on: ${again}` : `${now.state.text} ${again}`);
  connection.hidden = false;
}

/** Show which crawl it is. */
function heading(view) {
  crawl = view;
  const state = view.state ?? (view.begun ? (view.running ? "running" : "at rest") : "not begun");
  const text = `${view.data}: ${state}${view.policy ? `, ${view.policy}` : ""}${view.read_only ? ", read-only" : ""}`;
  say(document.getElementById("crawl"), text);
  document.body.dataset.state = state.replace(" ", "-");
  shown?.screen?.crawl?.(view);
}

// the theme

const button = document.getElementById("theme");
const dark = () => document.documentElement.dataset.theme === "dark"
  || (!document.documentElement.dataset.theme && matchMedia("(prefers-color-scheme: dark)").matches);

function name_theme() {
  say(button, dark() ? "Light" : "Dark");
  button.setAttribute("aria-label", `Change to the ${dark() ? "light" : "dark"} theme`);
  document.dispatchEvent(new Event("theme"));
}

button.addEventListener("click", () => {
  const chosen = dark() ? "light" : "dark";
  document.documentElement.dataset.theme = chosen;
  localStorage.setItem("theme", chosen);
  name_theme();
});
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", name_theme);

// the beginning

const links = new Map(Object.entries(SCREENS).map(([name, title]) => [name, h("a", { href: address(name) }, title)]));
fill(document.getElementById("screens"), [...links.values()].map((link) => h("li", {}, link)));
addEventListener("hashchange", show);
name_theme();
show();
