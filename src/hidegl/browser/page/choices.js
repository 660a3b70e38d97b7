// @ts-check
// The classes under every tab: a button with a key for each, a box to find one among many, and a new one.

import { byId, h, say, some, whenFree } from "./dom.js";
import { alike, alikeWords, model } from "./model.js";
import { key } from "./parts.js";

const MANY = 12; // from here on there is a box to find a class

/** @type {(number: number) => any} */
let chosen = () => {};
/** @type {(name: string) => any} */
let named = () => {};
let shown = "";

const find = h("input", { id: "find-class", type: "search", placeholder: "Find a class  /", "aria-label": "Find a class", autocomplete: "off" });
const fresh = h("input", { id: "new-class", "aria-label": "Name of a new class", maxlength: "200", autocomplete: "off" });
const first = h("label", { htmlFor: "new-class", class: "first-label" }, "Name this row’s class");
const note = h("p", { class: "note" });
const buttons = h("div", { class: "buttons", id: "class-buttons" });
const fold = h("button", { type: "button", id: "fold-classes", "aria-controls": "class-buttons", onclick: () => { folds = !buttons.hidden; drawFold(); } });
const touches = matchMedia("(pointer: coarse)"); // there are no keys to name, and a field with the focus hides half of the page

let folds = false; // whether the buttons are folded
let foldedFor = null; // and for which tab
let isFirst = null; // whether there is no class yet

/** What a chosen class, or a new name, does: it depends on the tab. */
export function choices(onChosen, onNamed) {
  chosen = onChosen;
  named = onNamed;
}

export const choose = (number) => chosen(number);

export function setUpChoices() {
  const form = h("form", { class: "new", onsubmit: nameNew }, fresh, h("button", { type: "submit" }, "Add"));
  byId("choices").append(first, h("div", { class: "choose" }, find, form, fold), note, buttons);
  find.addEventListener("input", drawButtons);
  find.addEventListener("keydown", (event) => {
    event.stopPropagation();
    const best = wanted()[0];
    if (event.key === "Enter" && best) { leave(find); event.preventDefault(); chosen(best.number); }
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

/** The buttons are folded where no class is chosen, until a person unfolds them. */
export function drawChoices(text, { tab, folded }) {
  note.textContent = text;
  note.hidden = !text;
  find.hidden = model.state.classes.length < MANY;
  if (`${tab} ${folded}` !== foldedFor) [folds, foldedFor] = [folded, `${tab} ${folded}`];
  drawFold();
  drawFirst();
  drawButtons();
}

function drawFold() {
  const n = model.state.classes.length;
  buttons.hidden = folds && n > 0;
  fold.hidden = n === 0;
  fold.textContent = folds ? `Show ${some(n, "classes")}` : "Hide";
  fold.setAttribute("aria-expanded", String(!folds));
}

/** Before there is a class, the field for its name is all that matters: it has the focus. */
function drawFirst() {
  const now = model.state.classes.length === 0;
  if (now === isFirst) return;
  isFirst = now;
  byId("work").classList.toggle("first", now);
  first.hidden = !now;
  fresh.placeholder = now ? (model.state.kind === "text" ? "for example: complaint" : "its name") : touches.matches ? "New class" : "New class (N)";
  fresh.setAttribute("aria-label", now ? "Name this row’s class" : "Name of a new class");
  if (!now && document.activeElement === fresh && !fresh.value) fresh.blur(); // another page named a class
  if (now && !touches.matches && document.activeElement === document.body) fresh.focus();
}

function drawButtons() {
  whenFree(drawNow);
}

function drawNow() {
  const listed = wanted();
  const mark = JSON.stringify([find.value, listed.map((one) => [one.number, one.name, one.colour, one.key, one.labels])]);
  if (mark === shown) return;
  shown = mark;
  buttons.classList.toggle("many", (model.state?.classes.length ?? 0) > 24);
  buttons.replaceChildren(...listed.map((one, i) =>
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
