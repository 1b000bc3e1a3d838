// The kept copy of a page as text, in a dialog: no markup of the site's is in it.
import { ago, fill, h, webLink } from "./dom.js";
import { once } from "./live.js";

const AGAIN = 200;
const HEADING = "copy-title";

/** Show what is kept of a page: params are {url, predicate, search}, whose words are marked. */
export function showCopy(params) {
  const body = h("div", {}, h("p", { role: "status" }, "The copy is being read."));
  const close = h("button", { type: "button", onclick: () => dialog.close() }, "Close");
  const title = h("h2", { id: HEADING, dir: "auto", tabindex: "-1" }, params.url);
  const dialog = h("dialog", { class: "copy", "aria-labelledby": HEADING }, h("div", { class: "copyhead" }, title, close), body);
  dialog.addEventListener("close", () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
  title.focus();
  read(params, dialog, title, body);
}

async function read(params, dialog, title, body) {
  try {
    let view = await once("page", params);
    while (view.state === "reading" && dialog.open) {
      await new Promise((resolve) => setTimeout(resolve, AGAIN));
      view = await once("page", params);
    }
    fill(title, view.title || view.page?.title || "Without a title");
    fill(body, head(view), view.state === "text" ? text(view) : h("p", { class: "alert" }, view.reason));
  } catch (error) {
    fill(body, h("p", { class: "trouble" }, error.message));
  }
}

/** Return what is said of a page above its text. */
function head(view) {
  const found = [h("p", { class: "address" }, webLink(view.url))];
  if (view.page) {
    const names = view.page.holds.flatMap((name) => [" ", h("span", { class: "chip" }, name)]);
    found.push(h("p", { class: "note" }, "Judged ", ago(view.page.time), ...names, view.page.left ? ` · it left: ${view.page.left}` : null));
    found.push(h("p", { class: "note" }, view.page.why));
  }
  if (view.judged) found.push(h("p", { class: "note" }, "The copy is of ", ago(view.judged), "."));
  return found;
}

function text(view) {
  const headers = Object.entries({ status: view.status, ...view.headers });
  const found = [h("details", {}, h("summary", {}, "Headers of the answer"),
    h("dl", {}, headers.map(([name, value]) => [h("dt", {}, name), h("dd", {}, value)])))];
  if (view.unread) found.push(h("p", { class: "alert" }, `It is neither HTML nor text: ${view.unread}.`));
  found.push(h("div", { class: "text", tabindex: "0", role: "region", "aria-label": "Text of the copy" },
    view.paragraphs.map((texts) => h("p", { dir: "auto" }, parts(texts)))));
  if (view.cut) found.push(h("p", { class: "note" }, "There is more of it, which is not shown."));
  if (!view.unread && view.paragraphs.length === 0) found.push(h("p", { class: "note" }, "It has no text."));
  return found;
}

/** Return text in parts, of which every second one is marked. */
export function parts(texts) {
  return texts.map((text, at) => (at % 2 ? h("mark", {}, text) : text));
}
