// @ts-check
// The tab Next: one row at a time. A key labels it, and the next card is there at once.

import { ask, change } from "./api.js";
import { h, say, some, unsay } from "./dom.js";
import { model, nameOf, on, refill, take, tell } from "./model.js";
import { bar, content, empty, failed, key, sure, tag } from "./parts.js";

const JUNK = "other / junk"; // a class for rows that belong to no other
const FEW = 5; // the minimum number of cards in the queue

const answered = new Set(); // rows that were answered here, of which the server may not know yet
let current = null;
let waiting = [];

const HARDLY = 0.01; // less probable classes are not proposed
const JUST = 450; // milliseconds for which a proposal that changed under the eyes is not accepted by a key

/** What a card proposes, of the classes that there are. */
const proposals = (card) => card.likely.filter(([number, p], i) => model.classes.has(number) && (i === 0 || p >= HARDLY));

/** Cards of which none was answered here. The one in view stays; what it proposes is never older than the map. */
export function gather() {
  const fresh = model.cards.filter((card) => !answered.has(card.row));
  if (current !== null) {
    const same = fresh.find((card) => card.row === current.row);
    const [best] = proposals(current);
    const changed = same && best && same.likely[0]?.[0] !== best[0] ? performance.now() : current.changed;
    if (same) current = { ...same, reopened: current.reopened, changed };
    else if (!same && !best && model.colours !== null) complete(current.row).catch(failed);
    waiting = fresh.filter((card) => card.row !== current.row);
  } else {
    [current = null, ...waiting] = fresh;
  }
  for (const card of waiting.slice(0, 3)) if (model.state?.kind === "image") new Image().src = `/image/${card.row}`;
}

/** Tell more of the row in view, which came before there was a map or a proposal. */
async function complete(row) {
  const { card } = await ask("card", { row });
  if (current?.row !== row) return;
  current = proposals(current).length ? { ...current, point: card.point } : { ...card, reopened: current.reopened };
  tell("card");
}

export function currentCard() {
  return current;
}

/** Go to the next card, and ask for more if few are left. */
function next() {
  if (current !== null) answered.add(current.row);
  [current = null, ...waiting] = waiting;
  tell("card");
  if (waiting.length < FEW) refill().catch(failed);
}

/** Show a row again. */
export async function reopen(row) {
  answered.delete(row);
  try {
    const { card } = await ask("card", { row });
    if (current !== null && current.row !== row) waiting = [current, ...waiting.filter((one) => one.row !== row)];
    current = { ...card, reopened: true };
    tell("card");
  } catch (error) {
    failed(error);
  }
}

/** Go on, if this row is in view. */
export function leave(row) {
  if (current?.row === row) next();
}

function act(what, fields) {
  const card = current;
  if (card === null) return null;
  const begun = performance.now();
  next();
  document.documentElement.dataset.cardMs = String(performance.now() - begun);
  return change(what, fields(card)).then(
    (state) => { take(state); unsay("error"); document.documentElement.dataset.saved = String(state.n_labels); },
    (error) => {
      say(`Not saved: ${error.message}`, "error");
      answered.delete(card.row);
      if (current !== null) waiting = [current, ...waiting];
      current = card;
      tell("card");
    },
  );
}

export const labelCard = (number) => act("label", (card) => ({ rows: [card.row], class: number }));
export const nameCard = (name) => act("label", (card) => ({ rows: [card.row], name }));
export const unsureCard = () => act("skip", (card) => ({ row: card.row, unsure: true }));
export const junkCard = () => nameCard(JUNK);
export const skipCard = () => act("skip", (card) => ({ row: card.row }));

export function acceptCard() {
  if (current === null) return;
  const [best] = proposals(current);
  if (performance.now() - (current.changed ?? -JUST) < JUST) say("The proposal has just changed: look again.");
  else if (best) labelCard(best[0]);
  else say("There is no proposal yet: press the key of a class, or N for a new one.");
}

on("queue", () => { gather(); tell("card"); });
on("map", () => { if (current !== null && current.point === null) complete(current.row).catch(failed); });
on("state", () => {
  if (current === null || current.reopened) return;
  const { stars, skipped } = model.state;
  if (stars.some(([, , row]) => row === current.row) || skipped.includes(current.row)) next(); // another page answered it
});

/** The panel of the tab. */
export function nextPanel() {
  if (current === null) return nothingToAsk();
  const [best, ...others] = proposals(current);
  return h("article", { class: "card", "data-row": current.row },
    h("p", { class: "why" }, h("b", { title: "Rows count from 0" }, `Row ${current.row.toLocaleString("en")}`), " ", current.reopened ? "undone: label it again" : current.why,
      current.label !== null && h("span", {}, " · now ", tag(current.label))),
    content(current),
    best && h("div", { class: "proposal" },
      h("button", { type: "button", class: "accept", onclick: acceptCard },
        tag(best[0]), bar(best[1]), h("span", { class: "sure" }, sure(best[1])), key("Enter")),
      others.map(([number, p]) => h("button", { type: "button", class: "other", onclick: () => labelCard(number) },
        tag(number), h("span", { class: "sure" }, sure(p)), model.classes.get(number)?.key && key(model.classes.get(number).key.toUpperCase())))),
    h("div", { class: "actions" },
      h("button", { type: "button", onclick: skipCard }, "Skip this row ", key("S")),
      h("button", { type: "button", onclick: unsureCard, title: "No class; it is listed in the tab Unclear" }, "Unsure ", key("−")),
      ![...model.classes.values()].some((one) => one.name === JUNK) && model.classes.size > 0
        && h("button", { type: "button", onclick: junkCard, title: "A class for rows that belong to no other" }, "Other / junk")));
}

function nothingToAsk() {
  const { state } = model;
  if (state === null || !state.has_model) {
    return h("div", { class: "empty" }, h("div", { class: "spinner", "aria-hidden": "true" }),
      h("h2", {}, "Learning your rows"), h("p", {}, "The first row to label appears in a few seconds."), h("p", { class: "dim" }, state?.phase ?? ""));
  }
  if (state.n_labels + state.skipped.length >= state.n_rows) {
    return empty("Every row has an answer", `${some(state.n_labels, "labels")} are given. Export them, or look at the doubts.`);
  }
  return h("div", { class: "empty" }, h("div", { class: "spinner", "aria-hidden": "true" }), h("h2", {}, "Choosing the next rows"), h("p", {}, "One moment."));
}

/** What is still needed before labels spread. */
export function hint() {
  const { state } = model;
  if (state === null || state.trust !== null || state.n_labels === 0) {
    return state !== null && state.classes.length === 0 ? "What kind of row is this? Type a name and press Enter. After two classes your labels spread to all similar rows." : "";
  }
  const used = state.classes.filter((one) => one.labels > 0);
  return used.length < 2 ? `All labels are ${used.length ? nameOf(used[0].number) : "gone"}: labels spread as soon as there is a second class.` : "";
}
