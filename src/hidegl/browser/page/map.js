// @ts-check
// The map: high-dense points by their tree, drawn by Bokeh, coloured as labels spread. Names of classes stand on it.

import { byId, count, h, percent } from "./dom.js";
import { namePlaces, writeNames } from "./map_names.js";
import { colourOf, model, nameOf, on } from "./model.js";
import { picture, sure, tag } from "./parts.js";

const FAINT = 0.22;
const NEAR = 14; // pixels

let view = null;
let sources = {};
let only = null;
let here = null;
/** @type {{ map?: any, colours?: any, there?: Set<number>, mark?: string, places?: any[] }} */
let placed = {};
let planned = false;
let isDrawing = false; // a lasso
/** @type {(points: number[], isClick: boolean) => any} */
let picked = () => {};

/** What a click on a point and a lasso around points do. */
export function onPicked(handler) {
  picked = handler;
}

export async function setUpMap() {
  const response = await fetch("/api/figure");
  const views = await Bokeh.embed.embed_item(await response.json(), "map");
  view = [...(views.roots ?? Object.values(views))][0] ?? views;
  const plot = view.model;
  const named = (name) => plot.renderers.find((renderer) => renderer.name === name);
  sources = Object.fromEntries(["edges", "points", "stars"].map((name) => [name, named(name).data_source]));
  plot.on_event("mousemove", (event) => hover(event));
  plot.on_event("mouseleave", () => { byId("tip").hidden = true; });
  plot.on_event("tap", (event) => { const point = nearest(event.sx, event.sy); if (point !== null) picked([point], true); });
  plot.on_event("rangesupdate", placeNames);
  sources.points.selected.properties.indices.change.connect(() => {
    const chosen = [...sources.points.selected.indices];
    byId("tip").hidden = true;
    if (chosen.length) picked(chosen, false);
  });
  new ResizeObserver(() => requestAnimationFrame(placeNames)).observe(byId("map"));
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", paint);
  byId("map").addEventListener("pointerdown", () => { isDrawing = byId("map-lasso").getAttribute("aria-pressed") === "true"; byId("tip").hidden ||= isDrawing; }, true);
  for (const end of ["pointerup", "pointercancel"]) addEventListener(end, () => { isDrawing = false; }, true);
  byId("map").append(h("div", { id: "map-names", "aria-hidden": "true" }), h("div", { id: "map-here", "aria-hidden": "true", hidden: true }));
  setUpTools(plot);
  paint();
  draw();
}

function setUpTools(plot) {
  const tool = (name) => plot.toolbar.tools.find((one) => one.name === name);
  const use = (lasso) => {
    tool("lasso").active = lasso;
    tool("pan").active = !lasso && !matchMedia("(pointer: coarse)").matches; // a finger scrolls the page
    byId("map-lasso").setAttribute("aria-pressed", String(lasso));
    byId("map-pan").setAttribute("aria-pressed", String(!lasso));
  };
  byId("map-pan").addEventListener("click", () => { use(false); forget(); });
  byId("map-lasso").addEventListener("click", () => use(true));
  byId("map-fit").addEventListener("click", () => { showOnly(null); fit(); });
  byId("map-find").addEventListener("input", () => {
    const wanted = byId("map-find").value.trim().toLowerCase();
    const found = model.state?.classes.find((one) => one.name.toLowerCase() === wanted);
    showOnly(wanted && found ? found.number : null);
  });
  byId("map-find").addEventListener("keydown", (event) => event.stopPropagation());
  tool("wheel").active = true;
  use(false);
}

/** Forget what a lasso chose. */
export function forget() {
  if (sources.points?.selected.indices.length) sources.points.selected.indices = [];
}

export function showOnly(number) {
  only = number;
  byId("map-find").value = number === null ? "" : nameOf(number);
  colour();
}

function paint() {
  const root = getComputedStyle(document.documentElement);
  const shade = (name) => root.getPropertyValue(name).trim();
  const glyph = (name, values) => view.model.renderers.find((renderer) => renderer.name === name).glyph.setv(values);
  glyph("edges", { line_color: { value: shade("--line-strong") }, line_alpha: { value: 0.55 } });
  glyph("stars", { line_color: { value: shade("--ink") } });
}

function draw() {
  const { map } = model;
  if (view === null || map === null) return;
  const { x, y, heads, tails } = map;
  sources.edges.data = { x0: heads.map((i) => x[i]), y0: heads.map((i) => y[i]), x1: tails.map((i) => x[i]), y1: tails.map((i) => y[i]) };
  fit();
  colour();
}

function fit() {
  if (view === null || model.map === null) return;
  const [width, height] = [byId("map").clientWidth, byId("map").clientHeight];
  const reach = (values) => Math.max(...values.map(Math.abs)) * 1.06;
  const [right, top] = [reach(model.map.x), reach(model.map.y)];
  const scale = Math.max(right / width, top / height);
  view.model.x_range.setv({ start: -scale * width, end: scale * width });
  view.model.y_range.setv({ start: -scale * height, end: scale * height });
  requestAnimationFrame(placeNames);
}

/** A pure guess is faint, certainty is not. */
function visible(confidence) {
  const guess = 1 / Math.max(model.state.classes.length, 1);
  return FAINT + (1 - FAINT) * Math.min(Math.max((confidence / 100 - guess) / Math.max(1 - guess, 0.01), 0), 1);
}

function colour() {
  const { map, colours, state } = model;
  if (view === null || map === null || state === null) return;
  const { x, y, mass } = map;
  const small = byId("map").clientWidth < 560 ? 0.6 : 1;
  const largest = small * Math.min(Math.max(22 * Math.sqrt(350 / x.length), 7), 20);
  const heaviest = Math.max(...mass);
  const grey = getComputedStyle(document.documentElement).getPropertyValue("--line-strong").trim();
  const dim = (number, shown) => (only === null || only === number ? shown : 0.05);
  sources.points.data = {
    x, y,
    size: mass.map((m) => largest * (0.35 + 0.65 * Math.sqrt(m / heaviest))),
    colour: x.map((_, i) => (colours === null ? grey : colourOf(colours.classes[i]))),
    shown: x.map((_, i) => (colours === null ? 0.7 : dim(colours.classes[i], visible(colours.confidence[i])))),
  };
  const stars = state.stars.filter(([point]) => point < x.length);
  const size = small * (stars.length <= 60 ? 15 : stars.length <= 300 ? 12 : 8);
  sources.stars.data = {
    x: stars.map(([point], i) => x[point] + 0.004 * Math.sin(7 * i)), y: stars.map(([point], i) => y[point] + 0.004 * Math.cos(7 * i)),
    size: stars.map(() => size), colour: stars.map(([, number]) => colourOf(number)), shown: stars.map(([, number]) => dim(number, 1)),
  };
  document.documentElement.dataset.colours = colours === null ? "" : String(colours.version);
  placeNames();
  legend();
}

/** Where the row of the card lies: a ring above the drawing, so that nothing is drawn anew. */
export function showHere(card) {
  if (view === null || model.map === null) return;
  here = card?.point ?? null;
  placeHere();
}

function placeHere() {
  const ring = byId("map-here");
  if (!ring) return;
  ring.hidden = here === null || model.map === null;
  if (ring.hidden) return;
  ring.style.left = `${view.frame.x_scale.compute(model.map.x[here])}px`;
  ring.style.top = `${view.frame.y_scale.compute(model.map.y[here])}px`;
}

/** Draw after the card is on the screen; several reasons at once are one drawing. */
function soon() {
  if (planned) return;
  planned = true;
  requestAnimationFrame(() => setTimeout(() => { planned = false; colour(); }, 0));
}

/** The names of classes, each where most of its rows are and no other name is. */
function placeNames() {
  const layer = byId("map-names");
  if (!layer || view === null || model.map === null) return;
  placeHere();
  if (model.colours === null) { layer.replaceChildren(); return; }
  writeNames(layer, places().filter((place) => model.classes.has(place.of)), {
    at: (x, y) => [view.frame.x_scale.compute(x), view.frame.y_scale.compute(y)],
    width: byId("map").clientWidth, height: byId("map").clientHeight,
    isShown: (number) => only === null || number === only, nameOf, colourOf,
  });
}

/** The places of names; classes without points of their own are named at their labels. */
function places() {
  const { map, colours, state } = model;
  const there = placed.colours === colours ? placed.there : new Set(colours.classes);
  const apart = state.stars.filter(([point, number]) => point < map.x.length && !there.has(number));
  const mark = JSON.stringify(apart);
  if (placed.colours !== colours || placed.map !== map || placed.mark !== mark) {
    const at = (values) => [...values, ...apart.map(([point]) => values[point])];
    const weightOf = (i) => (i < map.x.length ? map.mass[i] * (colours.confidence[i] / 100) ** 2 : 1e-9);
    const found = namePlaces(at(map.x), at(map.y), [...colours.classes, ...apart.map(([, number]) => number)], weightOf);
    placed = { map, colours, there, mark, places: found };
  }
  return placed.places;
}

function nearest(sx, sy) {
  if (model.map === null) return null;
  const { x, y } = model.map;
  let [best, least] = [null, NEAR ** 2];
  for (let i = 0; i < x.length; i += 1) {
    const d = (view.frame.x_scale.compute(x[i]) - sx) ** 2 + (view.frame.y_scale.compute(y[i]) - sy) ** 2;
    if (d < least) [best, least] = [i, d];
  }
  return best;
}

function hover(event) {
  const tip = byId("tip");
  if (event.sx === undefined || isDrawing) { tip.hidden = true; return; }
  const point = nearest(event.sx, event.sy);
  byId("map").style.cursor = point === null ? "" : "pointer";
  tip.hidden = point === null;
  if (point === null) return;
  const { map, colours, state } = model;
  const row = map.typical[point];
  tip.replaceChildren(
    colours === null ? h("b", {}, "No label yet") : h("b", {}, tag(colours.classes[point]), ` ${sure(colours.confidence[point] / 100)} sure`),
    h("p", { class: "dim" }, `about ${count(Math.round(map.mass[point]))} rows${row >= 0 ? `, such as row ${count(row)}` : ""}`),
    ...(row >= 0 && state.kind === "image" ? [picture(row, { alt: "" })] : []),
    ...(map.texts[point] ? [h("p", {}, map.texts[point])] : []));
  const box = byId("map").getBoundingClientRect();
  tip.style.left = `${Math.min(box.left + event.sx + 16, innerWidth - tip.offsetWidth - 8)}px`;
  tip.style.top = `${Math.min(box.top + event.sy + 16, innerHeight - tip.offsetHeight - 8)}px`;
}

function legend() {
  const { state, colours } = model;
  const many = only !== null ? `Only ${nameOf(only)} is shown.` : "";
  byId("map-legend").textContent = colours === null
    ? "Each point stands for the rows around it. They take colours when two classes have labels."
    : `${many} Faint points are unsure, stars are your labels${state.trust && state.n_labels < state.n_rows ? `, ${percent(state.trust.mean)} expected right` : ""}. Click a point to see its rows.`.trim();
}

on("map", draw);
on("colours", soon);
on("state", () => {
  const names = model.state.classes.map((one) => one.name);
  const known = [...byId("class-names").children].map((option) => option.value);
  if (JSON.stringify(names) !== JSON.stringify(known)) byId("class-names").replaceChildren(...names.map((name) => h("option", { value: name })));
  soon();
});
