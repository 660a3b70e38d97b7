// @ts-check
// Parts of the page that several tabs show: the content of a row, a class, a key.

import { dialog, h, percent, say, some } from "./dom.js";
import { colourOf, model, nameOf } from "./model.js";

const FEW = 3; // the number of other columns under a text; the rest is folded
const MANY = 24; // the maximum number of columns of a row without a text
const SMALL = 64; // images of fewer pixels are shown pixel by pixel

let unfolded = false; // whether the other columns are open: for all cards, once a person has opened one

/** What a row is: an image, a text, a table of its columns, or its nearest labelled rows. */
export function content(row, { small = false } = {}) {
  const parts = [];
  const { kind } = model.state;
  if (kind === "image") parts.push(picture(row.row, { zooms: !small }));
  if (row.text) parts.push(h("p", { class: "text" }, row.text));
  if (row.cells?.length) parts.push(small && row.text ? line(row.cells) : table(row.cells, small, row.text || kind === "image"));
  if (kind === "vector") parts.push(nearest(row));
  if (kind === "text" && !row.text) parts.push(h("p", { class: "dim" }, "This row has no text."));
  return h("div", { class: `content ${kind}` }, parts);
}

/** An image; small ones keep their pixels. */
export function picture(row, { zooms = false, alt = `Row ${row}` } = {}) {
  const image = h("img", { class: "picture", src: `/image/${row}`, alt, draggable: "false" });
  const keepPixels = () => image.classList.toggle("pixels", Math.max(image.naturalWidth, image.naturalHeight) <= SMALL);
  if (image.complete && image.naturalWidth) keepPixels();
  image.addEventListener("load", keepPixels);
  return zooms ? h("button", { type: "button", class: "zoom", title: "Enlarge (+)", "aria-label": `Enlarge row ${row}`, onclick: () => zoom(row) }, image) : image;
}

/** The image as large as the window. */
export function zoom(row) {
  const box = dialog(`Row ${row}`, picture(row), h("button", { type: "button", onclick: () => box.close() }, "Close ", key("Esc")));
  box.classList.add("enlarged");
}

/** The first columns in one line, where a text says what the row is. */
function line(cells) {
  return h("p", { class: "dim line" }, cells.slice(0, FEW).map(([, value]) => value).filter(Boolean).join(" · "));
}

function table(cells, small, isAside) {
  const shown = cells.slice(0, small ? 4 : isAside ? FEW : MANY);
  const rest = cells.slice(shown.length);
  const list = (chosen) => h("dl", { class: "cells" }, chosen.map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, value || "–"))));
  if (!rest.length) return list(cells);
  if (small) return h("div", {}, list(shown), h("p", { class: "dim line" }, `and ${rest.length} more`));
  return h("div", { class: "others" }, list(shown),
    h("details", { open: unfolded, ontoggle: ({ target }) => { unfolded = target.open; } }, h("summary", {}, some(rest.length, "more columns")), list(rest)));
}

function nearest(row) {
  if (!row.near?.length) return h("p", { class: "dim" }, `Row ${row.row} is a vector. Its nearest labelled rows will stand here.`);
  return h("div", { class: "near" }, h("p", { class: "dim" }, `Row ${row.row} is a vector. Nearest to it are:`),
    h("ul", {}, row.near.map(([other, number]) => h("li", {}, tag(number), h("span", { class: "dim" }, ` row ${other}`)))));
}

/** The name of a class with its colour. */
export function tag(number, ...more) {
  return h("span", { class: "tag", colour: colourOf(number) }, h("i", { "aria-hidden": "true" }), h("span", {}, nameOf(number)), ...more);
}

export const key = (text) => h("kbd", { "aria-hidden": "true" }, text);

/** A bar for a probability. */
export const bar = (p) => h("span", { class: "bar", share: p, "aria-hidden": "true" });

export const sure = (p) => (p >= 0.995 ? "99 %" : percent(p));

/** A state in which there is nothing to show, and what to do. */
export function empty(title, text) {
  return h("div", { class: "empty" }, h("h2", {}, title), h("p", {}, text));
}

/** A phase without its numbers, which change four times a second: screen readers announce each change. */
export const spokenPhase = (phase) => phase.split(/[\d:,;(·]/)[0].trim();

/** Say what went wrong. */
export function failed(error) {
  say(error.message, "error");
}
