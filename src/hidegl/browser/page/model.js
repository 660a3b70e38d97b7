// @ts-check
// The state of the page, which the server updates by events; parts of the page listen.

import { ask } from "./api.js";

const listeners = {};

export const model = {
  state: null,
  classes: new Map(),
  map: null,
  colours: null,
  cards: [],
  precision: 0.95,
  ended: false,
};

export function on(what, listener) {
  (listeners[what] ??= []).push(listener);
}

export function tell(what) {
  if (model.ended) return;
  for (const listener of listeners[what] ?? []) listener(model);
}

export const nameOf = (number) => model.classes.get(number)?.name ?? "a class that is gone";
export const colourOf = (number) => model.classes.get(number)?.colour ?? "#8a949e";

/** A class whose name differs in nothing but capitals. */
export const alike = (name, except = null) =>
  model.state.classes.find((one) => one.number !== except && one.name !== name && one.name.toLowerCase() === name.toLowerCase());
export const alikeWords = (other) => `There is a class “${other.name}” too. If both are one, merge them in the tab Classes.`;

/** Take over the state that an answer or an event holds, unless a newer one came before it. */
export function take(state) {
  if (!state || state.classes === undefined) return;
  if (model.state !== null && state.number < model.state.number) return;
  model.state = state;
  model.classes = new Map(state.classes.map((one) => [one.number, one]));
  tell("state");
}

let events = null;

export function listenToServer() {
  events = new EventSource("/events");
  events.addEventListener("state", (event) => take(JSON.parse(event.data)));
  events.addEventListener("map", (event) => { model.map = JSON.parse(event.data); tell("map"); });
  events.addEventListener("colours", (event) => { model.colours = JSON.parse(event.data).colours; tell("colours"); });
  events.addEventListener("queue", (event) => { model.cards = JSON.parse(event.data).cards; tell("queue"); });
  const { dataset } = document.documentElement;
  events.addEventListener("open", () => { dataset.connected = "yes"; tell("found"); });
  events.addEventListener("error", () => {
    const wasLost = dataset.connected === "no";
    dataset.connected = "no";
    if (events.readyState === EventSource.CLOSED) tell("refused"); // this page has the key of an earlier start
    else if (!wasLost) tell("lost");
  });
}

/** Studio ends, and the page with it. */
export function end() {
  model.ended = true;
  events?.close();
}

export async function refill() {
  model.cards = (await ask("cards")).cards;
  tell("queue");
}
