// @ts-check
// Progress that means something: labels, expected accuracy, what more labels would gain, and what can be accepted.

import { byId, count, h, percent, svg } from "./dom.js";
import { model, on, tell } from "./model.js";

const slider = h("input", { id: "precision", type: "range", min: "50", max: "99", step: "1", value: "95", "aria-label": "Share of accepted labels that should be right" });
const parts = Object.fromEntries(["labels", "accuracy", "gain", "accepted"].map((name) => [name, [h("b", {}), h("span", {})]]));
const curve = h("div", { class: "curve" });

export function setUpProgress() {
  const box = (name, ...more) => h("div", { class: `fact ${name}` }, parts[name], ...more);
  byId("progress").append(box("labels"), box("accuracy", curve), box("gain"), box("accepted", slider));
  slider.addEventListener("input", () => { model.precision = Number(slider.value) / 100; draw(); });
  slider.addEventListener("change", () => tell("precision"));
}

function put(name, big, small) {
  parts[name][0].textContent = big;
  parts[name][1].textContent = small;
}

function draw() {
  const { state } = model;
  if (state === null) return;
  const { trust } = state;
  put("labels", count(state.n_labels), `${state.n_labels === 1 ? "label" : "labels"} for ${count(state.n_rows)} rows`);
  const isDone = state.n_labels >= state.n_rows;
  slider.disabled = trust === null || isDone;
  if (isDone) {
    put("accuracy", "All", "rows are labelled by you");
    put("gain", "–", "nothing is left to label");
    put("accepted", "–", "nothing is left to accept");
    curve.replaceChildren();
    return;
  }
  if (trust === null) {
    put("accuracy", "–", "expected to be right");
    put("gain", "–", "points more, from ten more labels");
    put("accepted", "–", "can be accepted");
    curve.replaceChildren();
    return;
  }
  const low = Math.floor(100 * trust.low);
  const range = trust.chosen ? `at least ${low}\u00a0%` : `${low} to ${Math.ceil(100 * trust.high)}\u00a0%`;
  put("accuracy", percent(trust.mean), `expected right (${range}); the largest class alone: ${percent(trust.majority)}`);
  parts.accuracy[1].title = trust.chosen ? "Cards are the hardest rows, so more of the others may be right." : "";
  put("gain", trust.gain < 0.0005 ? "± 0" : `+ ${(100 * trust.gain).toFixed(1)}`, "points more right, expected from ten more labels");
  const [, rows, share] = trust.accepted.reduce((a, b) => (Math.abs(b[0] - model.precision) < Math.abs(a[0] - model.precision) ? b : a));
  put("accepted", rows > 0 && share < 0.005 ? "<\u00a01\u00a0%" : percent(share), `of rows (${count(rows)}) if ${percent(model.precision)} should be right`);
  curve.replaceChildren(drawn(state.progress));
}

/** Expected accuracy with its interval, against the number of labels. */
function drawn(progress) {
  const last = new Map(progress.map((point) => [point[0], point]));
  const points = [...last.values()].sort((a, b) => a[0] - b[0]);
  if (points.length < 2) return "";
  const [width, height] = [120, 34];
  const x = (labels) => (width * (labels - points[0][0])) / Math.max(points.at(-1)[0] - points[0][0], 1);
  const lowest = Math.min(...points.map((point) => point[2]));
  const y = (share) => height - 2 - ((height - 4) * (share - lowest)) / Math.max(1 - lowest, 0.01);
  const path = (some) => some.map(([a, b]) => `${a.toFixed(1)},${b.toFixed(1)}`).join(" ");
  const above = points.map((point) => [x(point[0]), y(point[3])]);
  const below = points.map((point) => [x(point[0]), y(point[2])]).reverse();
  const picture = svg("svg", { viewBox: `0 0 ${width} ${height}`, preserveAspectRatio: "none", role: "img", "aria-label": `Expected accuracy from ${points[0][0]} to ${points.at(-1)[0]} labels` });
  picture.append(svg("polygon", { points: path([...above, ...below]), class: "interval" }), svg("polyline", { points: path(points.map((point) => [x(point[0]), y(point[1])])), class: "mean" }));
  return picture;
}

on("state", draw);
