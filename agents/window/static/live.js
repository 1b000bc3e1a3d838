// What the server tells as it changes, and what is asked of the crawl.

/**
 * Follow a screen: `told` has crawl(view), view(view), trouble(text), connection(connected) and ended(now).
 * Returns a function that ends it.
 */
export function follow(screen, params, told) {
  const address = `/events/${screen}?${new URLSearchParams(present(params))}`;
  const source = new EventSource(address);
  source.onopen = () => told.connection(true);
  source.onerror = () => {
    told.connection(false);
    if (source.readyState === EventSource.CLOSED) refused(address, told);
  };
  for (const name of ["crawl", "view", "trouble"]) {
    source.addEventListener(name, (event) => told[name](JSON.parse(event.data)));
  }
  source.addEventListener("ended", (event) => {
    source.close();
    told.ended?.(JSON.parse(event.data));
  });
  return () => source.close();
}

/** Say why the server did not begin a stream. */
async function refused(address, told) {
  try {
    const answer = await fetch(address.replace("/events/", "/api/"));
    if (!answer.ok) told.trouble((await answer.text()).trim());
  } catch {
    told.connection(false);
  }
}

/** Return a view, asked for once; throws an Error with the server's words. */
export async function once(screen, params) {
  const answer = await fetch(`/api/${screen}?${new URLSearchParams(present(params))}`);
  if (!answer.ok) throw new Error((await answer.text()).trim());
  return answer.json();
}

/** Ask something of the crawl; throws an Error with the server's words. */
export async function steer(request) {
  const headers = { "Content-Type": "application/json" };
  const answer = await fetch("/steer", { method: "POST", headers, body: JSON.stringify(request) });
  if (!answer.ok) throw new Error((await answer.text()).trim());
  return answer.json();
}

/** Return parameters without those that have no value. */
function present(params) {
  return Object.fromEntries(Object.entries(params).filter(([, value]) => value !== undefined && value !== null && value !== ""));
}
