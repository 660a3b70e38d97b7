// The classes under every tab: a button with a key for each, a box to find one among many, and a new one.

import { byId, h, say, whenFree } from "./dom.js";
import { alike, alikeWords, model } from "./model.js";
import { key } from "./parts.js";

const MANY = 12; // from here on there is a box to find a class

let chosen = () => {};
let named = () => {};
let shown = "";

const find = h("input", { id: "find-class", type: "search", placeholder: "Find a class  /", "aria-label": "Find a class", autocomplete: "off" });
const fresh = h("input", { id: "new-class", placeholder: "New class  N", "aria-label": "Name of a new class", maxlength: "200", autocomplete: "off" });
const note = h("p", { class: "note" });
const buttons = h("div", { class: "buttons" });

/** What a chosen class, or a new name, does: it depends on the tab. */
export function choices(onChosen, onNamed) {
  chosen = onChosen;
  named = onNamed;
}

export const choose = (number) => chosen(number);

export function setUpChoices() {
  const form = h("form", { class: "new", onsubmit: nameNew }, fresh, h("button", { type: "submit" }, "Add"));
  byId("choices").append(h("div", { class: "choose" }, find, form), note, buttons);
  find.addEventListener("input", drawButtons);
  find.addEventListener("keydown", (event) => {
    event.stopPropagation();
    const first = wanted()[0];
    if (event.key === "Enter" && first) { leave(find); event.preventDefault(); chosen(first.number); }
    if (event.key === "Escape") leave(find);
  });
  fresh.addEventListener("keydown", (event) => {
    event.stopPropagation();
    if (event.key === "Escape") leave(fresh);
  });
}

function leave(input) {
  input.value = "";
  input.blur();
  drawButtons();
}

function wanted() {
  const needle = find.value.trim().toLowerCase();
  return (model.state?.classes ?? []).filter((one) => one.name.toLowerCase().includes(needle));
}

export function drawChoices(text) {
  note.textContent = text;
  note.hidden = !text;
  find.hidden = model.state.classes.length < MANY;
  drawButtons();
}

function drawButtons() {
  whenFree(drawNow);
}

function drawNow() {
  const some = wanted();
  const mark = JSON.stringify([find.value, some.map((one) => [one.number, one.name, one.colour, one.key, one.labels])]);
  if (mark === shown) return;
  shown = mark;
  buttons.classList.toggle("many", (model.state?.classes.length ?? 0) > 24);
  buttons.replaceChildren(...some.map((one, i) =>
    h("button", { type: "button", class: `class${find.value && i === 0 ? " first" : ""}`, colour: one.colour, "data-class": one.number, title: one.name, onclick: () => chosen(one.number) },
      h("i", { "aria-hidden": "true" }), h("span", { class: "name" }, one.name), h("span", { class: "n", "aria-hidden": "true" }, one.labels || ""), one.key && key(one.key.toUpperCase()))));
}

function nameNew(event) {
  event.preventDefault();
  const name = fresh.value.normalize("NFC").split(/\s+/).filter(Boolean).join(" ");
  if (!name || model.state === null) return;
  leave(fresh);
  const there = model.state.classes.find((one) => one.name === name);
  const other = alike(name);
  if (there) chosen(there.number);
  else Promise.resolve(named(name)).then(() => { if (other) say(alikeWords(other)); });
}
