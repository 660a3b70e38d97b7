// What the page knows. The server tells it by events; parts of the page listen.

import { ask } from "./api.js";

const listeners = {};

export const model = {
  state: null,
  classes: new Map(),
  map: null,
  colours: null,
  cards: [],
  precision: 0.95,
};

export function on(what, listener) {
  (listeners[what] ??= []).push(listener);
}

export function tell(what) {
  for (const listener of listeners[what] ?? []) listener(model);
}

export const nameOf = (number) => model.classes.get(number)?.name ?? "a class that is gone";
export const colourOf = (number) => model.classes.get(number)?.colour ?? "#8a949e";

/** Take over the state that an answer or an event holds. An older one is left aside. */
export function take(state) {
  if (!state || state.classes === undefined) return;
  model.state = state;
  model.classes = new Map(state.classes.map((one) => [one.number, one]));
  tell("state");
}

export function listenToServer() {
  const events = new EventSource("/events");
  events.addEventListener("state", (event) => take(JSON.parse(event.data)));
  events.addEventListener("map", (event) => { model.map = JSON.parse(event.data); tell("map"); });
  events.addEventListener("colours", (event) => { model.colours = JSON.parse(event.data).colours; tell("colours"); });
  events.addEventListener("queue", (event) => { model.cards = JSON.parse(event.data).cards; tell("queue"); });
  events.addEventListener("open", () => { document.documentElement.dataset.connected = "yes"; });
  events.addEventListener("error", () => { document.documentElement.dataset.connected = "no"; tell("lost"); });
}

export async function refill() {
  model.cards = (await ask("cards")).cards;
  tell("queue");
}
