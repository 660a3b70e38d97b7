// @ts-check
// The tabs after Next: doubts, review, unfamiliar, classes and search. Each is a panel and what class keys do there.

import { ask, change } from "./api.js";
import { count, h, percent, say, some } from "./dom.js";
import { RowList } from "./list.js";
import { alike, alikeWords, model, nameOf, on, take, tell } from "./model.js";
import { content, empty, failed, key, tag } from "./parts.js";

const PAUSE = 180; // milliseconds without a key, after which words are searched for

const noLabels = () => empty("Nothing to see yet", "Label rows of two classes or more. Then this tab fills by itself.");

/** A tab whose content is asked for when the model has something new to say. */
class LazyTab {
  /** @type {any[]} */
  items = [];
  total = 0;
  /** @type {number | null} */
  version = null;
  /** @type {RowList | null} */
  list = null;
  isOpen = false;
  source = "";
  /** @type {Promise<any> | undefined} */
  saving;

  /**
   * @param {string} what the request
   * @param {string} name the field of its answer
   */
  constructor(what, name) {
    this.what = what;
    this.name = name;
    on("state", () => { if (this.isOpen && this.version !== (model.state.trust?.version ?? null)) this.load(); });
  }

  fields() {
    return {};
  }

  async open() {
    this.isOpen = true;
    await this.load();
  }

  close() {
    this.isOpen = false;
    this.list = null;
  }

  arranged(items) {
    return items;
  }

  async load() {
    const { saving } = this; // a request before the change is saved would show the old state
    await saving;
    if (model.state === null) return; // it is loaded when the first state comes
    this.version = model.state.trust?.version ?? null;
    try {
      const answer = await ask(this.what, this.fields());
      if (this.saving !== saving) { await this.load(); return; }
      this.items = this.arranged(answer[this.name]);
      this.total = answer.total;
      tell("tab");
    } catch (error) {
      failed(error);
    }
  }

  /** @param {any} number @returns {any} */
  choose(number) { return this.list?.label({ class: number }); }
  /** @param {any} name @returns {any} */
  create(name) { return this.list?.label({ name }); }
  /** @returns {any} */
  accept() { return this.list?.accept(); }
  skip() {}
  escape() { this.list = null; tell("tab"); }
}

export class Doubts extends LazyTab {
  constructor() {
    super("doubts", "doubts");
    /** @type {Map<number, any>} */
    this.settled = new Map();
    this.broughtBack = null;
  }

  /** The card that is looked at stays, as long as its label is in doubt, or if an undo brought it back. */
  arranged(items) {
    const [first] = this.items;
    const shown = items.find((one) => one.row === first?.row) ?? (first && first === this.broughtBack ? first : null);
    return shown ? [shown, ...items.filter((one) => one.row !== shown.row)] : items;
  }

  /** Show again what an undo took back. The model has to think before it is in doubt again. */
  undone(row) {
    if (!this.settled.has(row)) return;
    this.broughtBack = this.settled.get(row);
    this.items = [this.broughtBack, ...this.items.filter((one) => one.row !== row)];
    tell("tab");
  }

  panel() {
    if (model.state.trust === null) return noLabels();
    const [doubt] = this.items;
    if (!doubt) return empty("No label is in doubt", "Each label was predicted from the others, and none is more probably wrong than right.");
    return h("article", { class: "card", "data-row": doubt.row },
      h("p", { class: "why" }, h("b", {}, `Row ${count(doubt.row)}`), ` ${some(this.items.length, "labels")} in doubt. You said `, tag(doubt.given),
        `; the other labels say `, tag(doubt.proposed), `. Probably wrong: ${percent(doubt.suspicion)}.`),
      content(doubt),
      h("div", { class: "proposal" },
        h("button", { type: "button", class: "accept", onclick: () => this.accept() }, "Change to ", tag(doubt.proposed), key("Enter")),
        h("button", { type: "button", class: "other", onclick: () => this.skip() }, "Keep ", tag(doubt.given), key("S"))));
  }

  settle(fields, words) {
    const [doubt, ...others] = this.items;
    if (!doubt) return null;
    this.items = others;
    this.settled.set(doubt.row, doubt);
    this.broughtBack = null;
    tell("tab");
    this.saving = change("label", { rows: [doubt.row], source: "doubts", ...fields }).then(
      (state) => { take(state); say(words); }, (error) => { failed(error); this.undone(doubt.row); });
    return this.saving;
  }

  choose(number) { return this.settle({ class: number }, `Now ${nameOf(number)}`); }
  create(name) { return this.settle({ name }, `Now ${name}`); }
  accept() { if (this.items[0]) this.choose(this.items[0].proposed); }
  skip() { if (this.items[0]) this.settle({ class: this.items[0].given }, "Kept"); }
}

/** Heaps of rows, each with some examples; opened, a list. */
class Heaps extends LazyTab {
  heap(heap, i, line) {
    return h("li", {}, h("button", { type: "button", class: "heap", "data-key": `heap ${i}`, onclick: () => this.openHeap(heap) },
      h("span", { class: "heap-head" }, tag(heap.number), h("span", { class: "dim" }, line)),
      h("span", { class: "examples" }, heap.examples.map((row) => content(row, { small: true })))));
  }

  title(_heap) { return ""; }

  openHeap(heap) {
    this.list = new RowList(this.title(heap), { rows: heap.rows }, this.source, { of: heap.n_rows });
    tell("tab");
    this.list.load();
  }
}

export class Review extends Heaps {
  constructor() {
    super("unsure", "regions");
    this.source = "review";
    on("precision", () => { if (this.isOpen && this.list === null) this.load(); });
  }

  fields() { return { precision: model.precision }; }
  title(heap) { return `Probably ${nameOf(heap.number)}`; }

  panel() {
    if (model.state.trust === null) return noLabels();
    if (this.list !== null) return this.list.panel(() => this.escape());
    const { total } = this;
    if (!total) return empty("Nothing to review", `All labels can be accepted if ${percent(model.precision)} of them should be right. Move the slider to ask for more.`);
    return h("div", { class: "heaps" },
      h("p", { class: "lead" }, `${some(total, "rows")} ${total === 1 ? "needs" : "need"} review to reach ${percent(model.precision)} precision. These are groups of similar rows, the largest first.`),
      h("ul", {}, this.items.map((heap, i) => this.heap(heap, i, some(heap.n_rows, "rows")))));
  }
}

export class Unfamiliar extends Heaps {
  constructor() {
    super("groups", "groups");
    this.source = "unfamiliar";
  }

  title() { return "Far from every label"; }

  panel() {
    if (model.state.trust === null) return noLabels();
    if (this.list !== null) return this.list.panel(() => this.escape());
    if (!this.items.length) return empty("Every group has a label", "No group of similar rows is far from all labels. A class that nobody named would show up here.");
    return h("div", { class: "heaps" },
      h("p", { class: "lead" }, "Rows that are alike, and no label is near: perhaps a class without a name. What they count as now stands above each."),
      h("ul", {}, this.items.map((heap, i) => this.heap(heap, i, some(heap.n_rows, "rows")))));
  }
}

/** Rows to which people gave different classes, and those of which somebody was unsure. A class key settles one. */
export class Disputes extends LazyTab {
  constructor() {
    super("disputes", "disputes");
    on("state", () => { if (this.isOpen && this.seen !== model.state.version) this.load(); });
  }

  async load() {
    this.seen = model.state?.version;
    await super.load();
  }

  undone() { this.load(); }

  panel() {
    const [row] = this.items;
    if (!row) return empty("Nothing is unclear", "Rows to which people gave different classes are listed here, and rows of which somebody was unsure. Enter “Your name” above, so that labels have one.");
    const people = row.opinions.flatMap(([who, number], i) => [i > 0 && "; ", h("b", {}, who || "a file"), " says ", tag(number)]);
    return h("article", { class: "card", "data-row": row.row },
      h("p", { class: "why" }, h("b", {}, `Row ${count(row.row)}`), ` (1 of ${some(this.items.length, "unclear rows")}). `, ...(people.length ? people : ["Somebody was unsure"]), "."),
      content(row),
      h("div", { class: "proposal" }, [...new Set(row.opinions.map(([, number]) => number))].map((number) =>
        h("button", { type: "button", class: "other", onclick: () => this.choose(number) }, tag(number)))),
      h("p", { class: "dim" }, "The class that you choose counts for everybody."));
  }

  settle(fields, words) {
    const [row, ...others] = this.items;
    if (!row) return null;
    this.items = others;
    tell("tab");
    this.saving = change("label", { rows: [row.row], source: "disputes", ...fields }).then(
      (state) => { take(state); say(words); }, (error) => { failed(error); this.load(); });
    return this.saving;
  }

  choose(number) { return this.settle({ class: number }, `Now ${nameOf(number)}`); }
  create(name) { return this.settle({ name }, `Now ${name}`); }
  accept() { say("Choose a class."); }
  skip() { this.items = [...this.items.slice(1), ...this.items.slice(0, 1)]; tell("tab"); }
}

export class Search extends LazyTab {
  constructor() {
    super("rows", "rows");
    this.input = h("input", { id: "search-words", type: "search", placeholder: "Words, or a row number (from 0)", "aria-label": "Search in rows", autocomplete: "off" });
    this.input.addEventListener("input", () => { clearTimeout(this.typing); this.typing = setTimeout(() => this.find(), PAUSE); });
    this.input.addEventListener("keydown", (event) => { event.stopPropagation(); if (event.key === "Escape") this.input.blur(); });
  }

  async open() {
    this.isOpen = true;
    tell("tab");
    this.input.focus();
  }

  async load() {}

  panel() {
    const where = model.state.has_text ? "Finds words in the texts of all rows, in capitals or not." : "These rows have no text: search for a row by its number.";
    return h("div", {},
      h("form", { class: "search", onsubmit: (event) => { event.preventDefault(); this.find(); this.input.blur(); } }, this.input, h("button", { type: "submit" }, "Search")),
      this.list === null ? h("p", { class: "dim" }, `${where} Press Enter, and a class key labels the rows that are ticked.`) : this.list.panel());
  }

  find() {
    clearTimeout(this.typing);
    const words = this.input.value.trim();
    if (!this.isOpen || (words && this.list?.fields.words === words)) return;
    this.list = words ? new RowList(`“${words}”`, { words }, "search", { all: true }) : null;
    tell("tab");
    this.list?.load();
  }
}

export class Classes extends LazyTab {
  constructor() { super("state", "classes"); }

  async load() { tell("tab"); }

  panel() {
    const { classes } = model.state;
    if (!classes.length) return empty("No class yet", "Name the class of the first row in the tab Next.");
    return h("div", { class: "wide" }, h("table", { class: "classes" },
      h("thead", {}, h("tr", {}, ["Colour", "Name", "Key", "Labels", "Rows", "Merge into", ""].map((head) => h("th", { scope: "col" }, head)))),
      h("tbody", {}, classes.map((one) => this.line(one, classes)))));
  }

  line(one, classes) {
    const edit = (fields, words) => send("class", { number: one.number, ...fields }, words);
    const stop = (event) => {
      event.stopPropagation();
      if (event.key === "Escape") event.target.value = event.target.defaultValue;
      if (event.key === "Enter" || event.key === "Escape") event.target.blur();
    };
    const rename = ({ target }) => {
      const other = alike(target.value.trim(), one.number);
      edit({ name: target.value }, other && alikeWords(other));
    };
    return h("tr", { "data-class": one.number },
      h("td", {}, h("input", { type: "color", value: one.colour, "aria-label": `Colour of ${one.name}`, onchange: ({ target }) => { target.blur(); edit({ colour: target.value }); } })),
      h("td", {}, h("input", { class: "name", value: one.name, defaultValue: one.name, "aria-label": `Name of ${one.name}`, maxlength: "200", onkeydown: stop, onchange: rename })),
      h("td", {}, h("input", { class: "key", value: one.key?.toUpperCase() ?? "", defaultValue: one.key?.toUpperCase() ?? "", "aria-label": `Key of ${one.name}`, maxlength: "1", onkeydown: stop, onchange: (event) => edit({ key: event.target.value }) })),
      h("td", { class: "n" }, count(one.labels)),
      h("td", { class: "n" }, one.rows === null ? "–" : count(one.rows)),
      h("td", {}, h("select", { "aria-label": `Merge ${one.name} into`, onkeydown: (event) => event.stopPropagation(), onchange: ({ target }) => { target.blur(); send("merge", { number: one.number, into: Number(target.value) }); } },
        h("option", { value: "" }, "–"), classes.filter((other) => other !== one).map((other) => h("option", { value: other.number }, other.name)))),
      h("td", {}, h("button", { type: "button", "aria-label": `Delete ${one.name}`, onclick: () => send("delete", { number: one.number }, `${one.name} is gone with its labels. Undo brings it back.`) }, "Delete")));
  }

  choose(number) { /** @type {HTMLElement} */ (document.querySelector(`tr[data-class="${number}"] input.name`))?.focus(); }
  create(name) { return send("class", { name }); }
}

function send(what, fields, words = "Saved") {
  return change(what, fields).then((state) => { take(state); say(words); tell("tab"); }, (error) => { failed(error); tell("tab"); });
}
