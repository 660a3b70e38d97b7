// Parts of the page that several tabs show: the content of a row, a class, a key.

import { h, percent, say } from "./dom.js";
import { colourOf, model, nameOf } from "./model.js";

/** What a row is: an image, a text, a table of its columns, or its nearest labelled rows. */
export function content(row, { small = false } = {}) {
  const parts = [];
  const { kind } = model.state;
  if (kind === "image") parts.push(h("img", { class: "picture", src: `/image/${row.row}`, alt: `Row ${row.row}`, draggable: "false" }));
  if (row.text) parts.push(h("p", { class: "text" }, row.text));
  if (row.cells?.length) parts.push(table(row.cells, small));
  if (kind === "vector") parts.push(nearest(row));
  if (kind === "text" && !row.text) parts.push(h("p", { class: "dim" }, "This row has no text."));
  return h("div", { class: `content ${kind}` }, parts);
}

function table(cells, small) {
  const shown = small ? cells.slice(0, 4) : cells;
  const more = cells.length - shown.length;
  return h("dl", { class: "cells" },
    shown.map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, value))),
    more > 0 && h("div", {}, h("dt", {}, `and ${more} more`), h("dd", {})));
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

/** Say what went wrong. */
export function failed(error) {
  say(error.message, "error");
}
