// @ts-check
// Puts the page together: tabs, keys, undo, help and export.

import { ask, change, person, setPerson } from "./api.js";
import { acceptCard, currentCard, hint, labelCard, leave, nameCard, nextPanel, reopen, skipCard, unsureCard } from "./card.js";
import { choices, choose, drawChoices, setUpChoices } from "./choices.js";
import { byId, count, dialog, dialogIsOpen, h, percent, say, some, unsay, whenFree } from "./dom.js";
import { RowList } from "./list.js";
import { forget, onPicked, setUpMap, showHere } from "./map.js";
import { end, listenToServer, model, on, take, tell } from "./model.js";
import { failed, zoom, spokenPhase } from "./parts.js";
import { setUpProgress } from "./progress.js";
import { Classes, Disputes, Doubts, Review, Search, Unfamiliar } from "./tabs.js";

const next = {
  open() { tell("card"); }, close() {}, panel: nextPanel, choose: labelCard, create: nameCard, accept: acceptCard, skip: skipCard, escape() {},
};
const TABS = { next, doubts: new Doubts(), disputes: new Disputes(), review: new Review(), unfamiliar: new Unfamiliar(), classes: new Classes(), search: new Search() };

let open = "next";
let drawn = ""; // of which state the panel was drawn
let named = ""; // with which classes
let isStale = false; // the panel was not drawn, because a name was being typed
let naming = null; // a class whose name is on its way to the server
let isBest = null; // whether the numbers are those of the better model
let picked = null; // the list of rows that the map shows, above every tab

const active = () => picked ?? TABS[open];

class Picked {
  constructor(list) { this.list = list; }
  panel() { return this.list.panel(() => this.escape()); }
  async choose(number) { if (await this.list.label({ class: number })) this.escape(); }
  async create(name) { if (await this.list.label({ name })) this.escape(); }
  accept() { return this.list.accept(); }
  skip() {}
  escape() { picked = null; forget(); drawPanel(); }
}

// Tabs

function show(name, { focus = false } = {}) {
  if (picked !== null) { picked = null; forget(); }
  TABS[open].close();
  open = name;
  for (const other of Object.keys(TABS)) {
    const tab = byId(`tab-${other}`);
    tab.setAttribute("aria-selected", String(other === name));
    tab.tabIndex = other === name ? 0 : -1;
    if (focus && other === name) tab.focus();
  }
  byId("panel").setAttribute("aria-labelledby", `tab-${name}`);
  TABS[name].open();
  drawPanel();
}

function drawPanel() {
  whenFree(drawNow);
}

function drawNow() {
  if (model.state === null || model.ended) return;
  const panel = byId("panel");
  const editing = panel.contains(document.activeElement) && document.activeElement.matches("input:not([type=checkbox]), select");
  isStale = editing && open === "classes";
  if (isStale) return;
  const keyOf = (one) => one.dataset.key ?? one.getAttribute("aria-label");
  const focused = panel.contains(document.activeElement) ? keyOf(document.activeElement) : null;
  const ofSearch = document.activeElement?.id === "search-words";
  panel.replaceChildren(active().panel());
  if (ofSearch) byId("search-words")?.focus();
  else if (focused) [...panel.querySelectorAll("[aria-label], [data-key]")].find((one) => keyOf(one) === focused)?.focus();
  panel.classList.toggle("is-card", open === "next" && picked === null);
  drawTheChoices();
}

function step(by) {
  const names = Object.keys(TABS);
  show(names[(names.indexOf(open) + by + names.length) % names.length], { focus: byId("tabs").contains(document.activeElement) });
}

// Keys

/** Single letters, digits and signs can be turned off: then they need Alt. */
const keysAreOff = () => document.cookie.split("; ").includes("studio-keys=off");
const needsAlt = (event) => keysAreOff() && event.key.length === 1 && event.key !== " ";

function turnKeys(off) {
  document.cookie = `studio-keys=${off ? "off" : "on"}; max-age=31536000; path=/; samesite=strict`;
  document.documentElement.classList.toggle("keys-off", off);
}

function pressed(event) {
  if (dialogIsOpen() || event.target.matches?.("input:not([type=checkbox]):not([type=range]), select, textarea")) return;
  const letter = event.key.toLowerCase();
  if ((event.ctrlKey || event.metaKey) && !event.altKey) {
    const does = { z: event.shiftKey ? redo : undo, y: redo, s: openExport }[letter];
    if (does) event.preventDefault();
    if (does && !event.repeat) does();
    return;
  }
  if (event.ctrlKey || event.metaKey || event.altKey !== needsAlt(event)) return;
  const presses = { Enter: "button, a, summary", " ": "button, a, summary, input" }[event.key];
  if (presses && event.target.matches?.(presses)) { // it presses what has the focus, once
    if (event.repeat) event.preventDefault();
    return;
  }
  const does = {
    "+": () => { if (model.state?.kind === "image" && open === "next" && currentCard() !== null) zoom(currentCard().row); },
    Enter: () => active().accept(), " ": () => active().accept(), s: () => active().skip(), u: undo, n: () => byId("new-class").focus(),
    "-": () => { if (open === "next" && picked === null) unsureCard(); },
    "?": openHelp, "/": () => byId("find-class").hidden || byId("find-class").focus(), "[": () => step(-1), "]": () => step(1), Escape: () => active().escape(),
  }[event.key.length === 1 ? letter : event.key];
  const one = model.state?.classes.find((other) => other.key === letter);
  if (!does && !one) {
    naming?.then(() => { // the key of the class that is being named counts, too
      const made = model.state.classes.find((other) => other.key === letter);
      if (made) choose(made.number);
    });
    return;
  }
  event.preventDefault();
  if (event.repeat) return; // a key that is held down answers one row, not many
  if (does) does();
  else choose(one.number);
}

async function undo() {
  try {
    const state = await change("undo");
    take(state);
    if (!state.did) say("There is nothing to undo.");
    else {
      say(`Undone: ${state.did}`);
      if (open === "next" && state.row !== null && picked === null) await reopen(state.row);
      else { TABS[open].undone?.(state.row); TABS[open].load?.(); }
    }
  } catch (error) {
    failed(error);
  }
}

async function redo() {
  try {
    const state = await change("redo");
    take(state);
    say(state.did ? `Done again: ${state.did}` : "There is nothing to redo.");
    if (state.row !== null) leave(state.row);
    TABS[open].load?.();
  } catch (error) {
    failed(error);
  }
}

// Dialogs

const KEYS = [
  ["1–9, letters", "give the class with this key"], ["Enter, Space", "accept the proposal"], ["S", "skip; in Doubts, keep the label"], ["−", "unsure: no class"],
  ["N", "name a new class"], ["/", "find a class by its name"], ["U, Ctrl-Z", "undo, any number of steps"], ["Ctrl-Shift-Z", "redo"],
  ["[ and ]", "the tab before and after"], ["+", "enlarge the image"], ["Esc", "close a list"], ["Ctrl-S", "export"], ["?", "these keys"],
];

function openHelp() {
  const box = dialog("Keys", h("h2", {}, "Keys"), h("dl", { class: "keys" }, KEYS.map(([key, does]) => h("div", {}, h("dt", {}, h("kbd", {}, key)), h("dd", {}, does)))),
    h("label", { class: "only" }, h("input", { type: "checkbox", checked: keysAreOff(), id: "keys-off", onchange: ({ target }) => turnKeys(target.checked) }),
      " Single keys only together with Alt (for speech input, or if keys are pressed by accident). The tab Classes changes the key of each class."),
    h("div", { class: "foot" }, h("button", { type: "button", onclick: () => { box.close(); openWho(); } }, "Your name"),
      h("button", { type: "button", class: "strong", autofocus: true, onclick: () => box.close() }, "Close")));
}

/** The name of the person at this browser is stored with every action: of several people, each can have an opinion. */
function openWho() {
  const input = h("input", { id: "person", value: person(), maxlength: "40", autocomplete: "off", autofocus: true, "aria-label": "Your name" });
  const box = dialog("Your name", h("h2", {}, "Your name"),
    h("p", {}, "It is stored with every label that you give in this browser. Where people give different classes to a row, it is listed in the tab Unclear."),
    h("form", { class: "new", onsubmit: (event) => { event.preventDefault(); setPerson(input.value); drawWho(); if (model.state) drawState(); box.close(); } }, input, h("button", { type: "submit", class: "strong" }, "Save")));
}

function drawWho() {
  byId("who").textContent = person() || "Your name";
  byId("who").title = person() ? "Your name, which is stored with your labels" : "Enter a name, if several people label";
}

const KINDS = { csv: ["CSV file", "all rows with their labels and confidences"], parquet: ["Parquet file", "the same, for large tables"],
  model: ["Model", "for hidegl predict, on new rows"], report: ["Report", "a page with map, classes and what to review"] };

async function openExport() {
  if (model.state === null) return;
  const { exports, trust, n_labels: given } = model.state;
  const told = h("p", { class: "told", role: "status" });
  const only = h("input", { type: "checkbox", id: "only-sure", onchange: () => name() });
  const place = h("p", {});
  const files = Object.fromEntries(exports.map((kind) => [kind, h("span", { class: "file" }, "\u00a0")]));
  const buttons = exports.map((kind, i) => h("button", { type: "button", class: i === 0 ? "strong" : "", autofocus: i === 0, disabled: trust === null, "data-kind": kind, onclick: () => write(kind, only.checked, told, buttons) },
    h("b", {}, KINDS[kind][0]), h("span", { class: "what" }, KINDS[kind][1]), files[kind]));
  const name = async () => {
    const found = await ask("files", { precision: only.checked ? model.precision : null }).catch(() => null);
    if (found === null) return;
    place.textContent = `Files are saved in ${found.folder}. Your labels are kept.`;
    for (const [kind, names] of Object.entries(found.files)) files[kind].replaceChildren(...names.join(" and ").split(/(?<=\.)/).flatMap((part) => [part, h("wbr")]));
  };
  const box = dialog("Export", h("div", { class: "dialog-head" }, h("h2", {}, "Export"), h("button", { type: "button", onclick: () => box.close() }, "Close ", h("kbd", {}, "Esc"))),
    exports.length ? place : h("p", {}, "Finish returns the labels to Python."),
    trust === null && exports.length > 0 && h("p", { class: "note" }, "Label rows of two classes first."),
    h("div", { class: "kinds" }, buttons),
    exports.length > 0 && h("label", { class: "only" }, only, ` Only labels of which ${percent(model.precision)} are expected to be right. The others stay blank in the table, and go to a file for review.`),
    told,
    h("div", { class: "foot" }, h("p", { class: "dim" }, `${some(given, "labels")} are saved already.`), h("button", { type: "button", onclick: () => finish(box) }, "Finish and stop Studio")));
  if (exports.length) await name();
}

async function write(kind, onlySure, told, buttons, replace = false) {
  for (const button of buttons) button.disabled = true;
  told.className = "told";
  told.textContent = model.state.is_best ? "Writing …" : "Waiting for the better model, then writing …";
  try {
    const { wrote, exists } = await ask("export", { kind, replace, precision: onlySure ? model.precision : null });
    if (exists) {
      const again = h("button", { type: "button", onclick: () => write(kind, onlySure, told, buttons, true) }, exists.length > 1 ? "Replace them" : "Replace it");
      told.replaceChildren(exists.length > 1 ? `${exists.join(" and ")} exist already. ` : `${exists[0]} exists already. `, again);
      again.focus();
    } else {
      told.textContent = `Wrote ${wrote.join(" and ")}`;
      told.dataset.wrote = wrote.join("\n");
    }
  } catch (error) {
    told.textContent = error.message;
    told.className = "told error";
  }
  for (const button of buttons) button.disabled = false;
}

async function finish(box) {
  end();
  await ask("end").catch(() => {}); // it has ended already
  box.close();
  document.body.replaceChildren(h("main", { class: "ended" }, h("h1", {}, "Studio has ended"), h("p", {}, `${count(model.state.n_labels)} labels are saved. You can close this page.`)));
}

// Start

/** Classes are folded where a key would label nothing. */
function drawTheChoices() {
  const folded = picked === null && ["doubts", "disputes", "next"].every((name) => open !== name) && !active().list;
  drawChoices(picked === null && open === "next" ? hint() : "", { tab: open, folded });
}

function drawState() {
  const { state } = model;
  document.title = `${state.title} · Studio`;
  byId("title").textContent = state.title;
  byId("phase").textContent = state.phase;
  byId("phase").classList.toggle("busy", state.phase !== "");
  const spoken = spokenPhase(state.phase);
  if (byId("phase-said").textContent !== spoken) byId("phase-said").textContent = spoken;
  for (const [id, whose] of [["undo", state.undo], ["redo", state.redo]]) { // everybody has a history
    const what = whose[person()] ?? null;
    byId(id).disabled = what === null;
    byId(id).title = what === null ? "" : `${id === "undo" ? "Undo" : "Redo"} the ${what}`;
  }
  const badge = (name, n) => { byId(`tab-${name}`).querySelector(".count").textContent = n || ""; };
  badge("doubts", state.trust?.doubts);
  badge("disputes", state.disputes);
  badge("unfamiliar", state.trust?.groups);
  badge("classes", state.classes.length);
  drawTheChoices();
  document.documentElement.dataset.labels = String(state.n_labels);
  document.documentElement.dataset.version = String(state.version);
}

function start() {
  history.replaceState(null, "", "/"); // the token is a cookie now
  setUpProgress();
  setUpChoices();
  choices((number) => active().choose(number), (name) => {
    const done = Promise.resolve(active().create(name)).finally(() => { if (naming === done) naming = null; });
    naming = done;
    return done;
  });
  for (const name of Object.keys(TABS)) byId(`tab-${name}`).addEventListener("click", () => show(name));
  byId("tabs").addEventListener("keydown", (event) => {
    const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (by) { event.preventDefault(); step(by); }
  });
  const tabs = byId("tabs"); // those that are out of view are hinted at
  const hintAtTabs = () => tabs.classList.toggle("at-end", tabs.scrollLeft + tabs.clientWidth >= tabs.scrollWidth - 2);
  tabs.addEventListener("scroll", hintAtTabs);
  new ResizeObserver(hintAtTabs).observe(tabs);
  turnKeys(keysAreOff());
  byId("panel").addEventListener("focusout", () => setTimeout(() => { if (isStale) drawPanel(); }));
  byId("undo").addEventListener("click", undo);
  byId("redo").addEventListener("click", redo);
  byId("help").addEventListener("click", openHelp);
  byId("who").addEventListener("click", openWho);
  drawWho();
  byId("export").addEventListener("click", openExport);
  addEventListener("keydown", pressed);
  addEventListener("click", (event) => { // so that Enter and Space mean the proposal again
    if (event.detail > 0 && !dialogIsOpen()) /** @type {Element} */ (event.target).closest?.("button")?.blur();
  }, true);
  on("state", () => {
    drawState();
    if (isBest === false && model.state.is_best && model.state.trust !== null) say("The better model has taken over, so numbers and map have changed.");
    isBest = model.state.is_best;
    const mark = JSON.stringify([model.state.classes, model.state.trust?.version, currentCard() === null && model.state.phase]);
    const names = JSON.stringify(model.state.classes.map(({ number, name, colour, key }) => [number, name, colour, key]));
    if (mark !== drawn && (open !== "next" || picked !== null || currentCard() === null || names !== named)) drawPanel();
    [drawn, named] = [mark, names];
    const { list } = active();
    if (list && list.version !== model.state.version) list.refresh();
  });
  on("card", () => { if (open === "next" && picked === null) drawPanel(); if (model.state !== null) { drawTheChoices(); showHere(currentCard()); } });
  on("map", () => showHere(currentCard()));
  for (const what of ["tab", "list"]) on(what, drawPanel);
  on("lost", () => say("Studio does not answer. Labels are saved. If it was ended, start it again and open the address that it prints.", "lasting error"));
  on("refused", () => say("Studio was started again: open the address that it prints. Labels are saved.", "lasting error"));
  on("found", () => unsay("lasting"));
  onPicked((points, around) => {
    const list = new RowList(around ? "Rows of this region" : "Rows in the lasso", { points, around }, "map", { all: !around });
    picked = new Picked(list);
    drawPanel();
    list.load();
  });
  listenToServer();
  setUpMap().then(() => { document.documentElement.dataset.ready = "yes"; }, failed);
}

start();
