// Elements, made of text alone: nothing that a site or a log wrote is ever read as markup.

/** Return an element: properties that begin with "on" are listeners, "dataset" and "class" as in HTML. */
export function h(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties ?? {})) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "dataset") Object.assign(element.dataset, value);
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  element.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

/** Put other children into an element. */
export function fill(element, ...children) {
  element.replaceChildren(...children.flat(Infinity).filter((child) => child !== null && child !== undefined));
  return element;
}

/** Set an element's text, if it is another one: what is selected or read aloud stays. */
export function say(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

/** Return a field for a part of something's text: `wanted` is given it soon after it is typed. */
export function part(of, properties, wanted) {
  const search = h("input", { type: "search", autocomplete: "off", ...properties });
  let waiting = null;
  search.addEventListener("input", () => {
    clearTimeout(waiting);
    waiting = setTimeout(() => wanted(search.value.trim()), 250);
  });
  return {
    element: h("form", { class: "line", role: "search", onsubmit: (event) => event.preventDefault() },
      h("label", {}, `Part of the ${of}`, search)),
    update(text) {
      if (document.activeElement !== search) search.value = text ?? "";
    },
  };
}

/** Return a labelled list to choose of: update it with {value: text} and the value; `chosen` is told of another. */
export function choice(label, chosen) {
  const list = h("select", { onchange: () => chosen(list.value) });
  let shown = "";
  return {
    element: h("label", {}, label, list),
    update(options, value) {
      const told = JSON.stringify(options);
      if (told !== shown) fill(list, Object.entries(options).map(([name, text]) => h("option", { value: name }, text)));
      shown = told;
      if (document.activeElement !== list) list.value = value;
    },
  };
}

/** Return a link to a page of the web; what is no http or https URL is text. */
export function webLink(url, text = url) {
  if (!/^https?:\/\//i.test(url)) return h("span", {}, text);
  return h("a", { href: url, rel: "noreferrer noopener", target: "_blank", class: "web" }, text);
}

/** Return text with the parts marked that ranges [[start, end], ...] name, in the order of the text. */
export function marked(text, ranges = []) {
  const parts = [];
  let at = 0;
  for (const [start, end] of ranges) {
    parts.push(text.slice(at, start), h("mark", {}, text.slice(start, end)));
    at = end;
  }
  return [...parts, text.slice(at)];
}

const whole = new Intl.NumberFormat("en");
const ages = [[86400, "d"], [3600, "h"], [60, "min"], [1, "s"]];

/** Return a whole number with separators; a dash for none. */
export function count(number) {
  return number === null || number === undefined ? "–" : whole.format(number);
}

/** Return a share as a percentage; a dash for none. */
export function percent(share, digits = 1) {
  return share === null || share === undefined ? "–" : `${(100 * share).toFixed(digits)} %`;
}

/** Return a number with so many digits behind the point; a dash for none. */
export function decimal(number, digits = 2) {
  if (number === null || number === undefined) return "–";
  return number.toFixed(digits).replace(/^-(?=[0.]*$)/, "").replace("-", "−");
}

/** Return a length of time in its largest unit. */
export function lasting(seconds) {
  const [size, unit] = ages.find(([least]) => seconds >= least) ?? [1, "s"];
  const value = seconds / size;
  return `${value >= 10 || unit === "s" ? Math.round(value) : value.toFixed(1)} ${unit}`;
}

/** Return an element that tells how long ago a time (seconds since the epoch) was, and when; it goes on telling. */
export function ago(time) {
  if (!time) return h("span", {}, "–");
  const date = new Date(1000 * time);
  return h("time", { datetime: date.toISOString(), title: date.toLocaleString(), class: "ago" }, since(date));
}

function since(date) {
  const seconds = Math.max(0, (Date.now() - date) / 1000);
  return seconds < 2 ? "just now" : `${lasting(seconds)} ago`;
}

setInterval(() => {
  document.querySelectorAll("time.ago").forEach((element) => say(element, since(new Date(element.dateTime))));
}, 5000);
