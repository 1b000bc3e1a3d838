// Curves: uPlot in the colours of the page, with words for those who can't see them.
import { h, say } from "./dom.js";

/* global uPlot */

/** The colours of Okabe and Ito, which colour-blind people tell apart, and a dash for each. */
const DASHES = [[], [8, 4], [2, 3], [10, 3, 2, 3], [4, 2], [1, 2]];

/** Return the colour of a series of this number. */
export function colour(number) {
  return css(`--series-${(number % 6) + 1}`);
}

function css(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

/**
 * Return a chart of `series`: [{label, colour: 0..5, dash: 0..5, band: [upper, lower] places, width}], one for each
 * column after the first. `options` are {title, x, y, height, percent, time, describe(columns)}.
 */
export function chart(series, options) {
  const words = h("p", { class: "hidden" });
  const box = h("div", { class: "plot" });
  const legend = h("ul", { class: "legend" }, series.filter((each) => each.label).map((each) => key(each)));
  const element = h("figure", { class: "chart", role: "group", "aria-label": options.title },
    h("figcaption", {}, options.title), legend, box, words);
  let plot = null;
  let drawn = null;

  function draw() {
    plot?.destroy();
    plot = new uPlot(settings(series, options, box), drawn, box);
  }

  const resized = new ResizeObserver(() => plot?.setSize({ width: box.clientWidth, height: options.height ?? 220 }));
  resized.observe(box);
  const themed = () => drawn && draw();
  document.addEventListener("theme", themed);

  return {
    element,
    /** Show columns: [x, y, y, ...], null where there is no value. */
    update(columns) {
      drawn = columns;
      if (options.describe) say(words, options.describe(columns));
      if (plot === null || !document.contains(plot.root)) draw();
      else plot.setData(columns);
    },
    stop() {
      resized.disconnect();
      document.removeEventListener("theme", themed);
      plot?.destroy();
    },
  };
}

function settings(series, options, box) {
  const number = options.percent ? (value) => `${Math.round(100 * value)} %` : (value) => value.toLocaleString("en");
  const grid = { stroke: css("--line"), width: 1 };
  const axis = { stroke: css("--muted"), grid, ticks: grid, font: "12px system-ui, sans-serif", labelFont: "12px system-ui, sans-serif", labelSize: 18 };
  const bands = series.flatMap((each, place) => (each.band ? [{ series: each.band, fill: css("--band") }] : []));
  return {
    width: box.clientWidth || 600,
    height: options.height ?? 220,
    legend: { show: false },
    cursor: { drag: { x: false, y: false } },
    scales: { x: { time: Boolean(options.time) }, y: { range: (_, low, high) => [Math.min(0, low ?? 0), high > 0 ? high * 1.05 : 1] } },
    axes: [
      { ...axis, label: options.x, size: 32 },
      { ...axis, label: options.y, size: 56, values: (_, ticks) => ticks.map(number) },
    ],
    bands,
    series: [{}, ...series.map((each) => line(each))],
  };
}

function line(each) {
  return {
    label: each.label,
    stroke: each.hidden ? "transparent" : colour(each.colour ?? 0),
    width: each.width ?? 2,
    dash: DASHES[each.dash ?? 0],
    points: { show: Boolean(each.points) },
    spanGaps: true,
  };
}

function key(each) {
  const swatch = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  swatch.setAttribute("width", "28");
  swatch.setAttribute("height", "8");
  swatch.setAttribute("aria-hidden", "true");
  const stroke = document.createElementNS("http://www.w3.org/2000/svg", "line");
  const attributes = { x1: 0, x2: 28, y1: 4, y2: 4, "stroke-width": 2.5, "stroke-dasharray": DASHES[each.dash ?? 0].join(" ") };
  Object.entries(attributes).forEach(([name, value]) => stroke.setAttribute(name, String(value)));
  stroke.setAttribute("class", `stroke-${((each.colour ?? 0) % 6) + 1}`);
  swatch.append(stroke);
  return h("li", {}, swatch, " ", each.label);
}
