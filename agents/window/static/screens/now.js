// Now: is it finding what it looks for, and if nothing is fetched, why?
import { h, say } from "../dom.js";

export function start(box) {
  const lead = h("p", { class: "lead" });
  box.append(lead);
  return {
    update(view) {
      say(lead, view.begun ? "A crawl is here." : "No crawl has begun in this directory yet.");
    },
  };
}
