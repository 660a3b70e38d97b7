// @ts-check
// Many rows at once: tiles that can be ticked, and labelled together. A lasso, a region, a search and a group show it.

import { ask, change } from "./api.js";
import { count, dialog, h, say, some } from "./dom.js";
import { model, nameOf, take, tell } from "./model.js";
import { content, failed, key, sure, tag } from "./parts.js";

const MANY = 20; // to label more rows at once, a person has to confirm it
const PAGE = 60; // the maximum number of rows that the server lists at a time

/** A list of rows: what to ask the server for, what it is called, and where its labels come from.
 *  It can be of more rows than it can list, and `all` of those that it finds can be labelled at once. */
export class RowList {
  /** @type {any[]} */
  rows = [];
  total = 0; // of the rows that were found
  open = 0; // of those without a label
  /** @type {Set<number>} */
  ticked = new Set();
  loaded = false;
  everything = false;
  version = -1;

  /**
   * @param {string} title
   * @param {Record<string, any>} fields
   * @param {string} source
   * @param {{ all?: boolean, of?: number }} [options]
   */
  constructor(title, fields, source, { all = false, of = 0 } = {}) {
    this.title = title;
    this.fields = fields;
    this.source = source;
    this.all = all;
    this.of = of;
  }

  async load(start = 0) {
    this.version = model.state.version;
    try {
      const found = await ask("rows", { ...this.fields, start });
      const known = new Set(start === 0 ? [] : this.rows.map((row) => row.row));
      const fresh = found.rows.filter((row) => !known.has(row.row));
      this.rows = start === 0 ? fresh : [...this.rows, ...fresh];
      Object.assign(this, { total: found.total, open: found.open, loaded: true });
      for (const row of fresh) if (row.label === null) this.ticked.add(row.row);
      tell("list");
    } catch (error) {
      failed(error);
    }
  }

  /** Ask again for the rows that are listed, in the same order, because some label has changed. */
  async refresh() {
    const version = model.state.version;
    this.version = version;
    const known = this.rows.map((row) => row.row);
    try {
      const rows = [];
      for (let i = 0; i < known.length; i += PAGE) rows.push(...(await ask("rows", { rows: known.slice(i, i + PAGE) })).rows);
      const { total, open } = await ask("rows", { ...this.fields, start: this.total });
      if (this.version !== version || this.rows.length !== known.length) return; // a later answer counts
      Object.assign(this, { rows, total, open });
      tell("list");
    } catch (error) {
      failed(error);
    }
  }

  /** Rows without a label that a person does not want to label. */
  get unticked() {
    return this.rows.filter((row) => row.label === null && !this.ticked.has(row.row)).map((row) => row.row);
  }

  /** Label the ticked rows; or all rows that were found, of which not all are listed. Returns whether it was done. */
  async label(fields) {
    const rows = [...this.ticked];
    if (!this.everything && !rows.length) { say("Tick some rows first."); return false; }
    const { points, words } = this.fields;
    const found = words === undefined ? { points } : { words };
    const target = this.everything ? { ...found, without: this.unticked } : { rows };
    const n = this.everything ? this.open - this.unticked.length : rows.length;
    if (!await this.isMeant(n, fields.name ?? nameOf(fields.class))) return false;
    return this.send({ ...target, ...fields, source: this.source });
  }

  /** Give each ticked row the class that is proposed for it. */
  async accept() {
    const pairs = this.rows.filter((row) => this.ticked.has(row.row) && row.label === null && row.proposed !== null).map((row) => [row.row, row.proposed]);
    if (!pairs.length) { say("There is no proposal to accept."); return false; }
    if (!await this.isMeant(pairs.length, "what is proposed")) return false;
    return this.send({ labels: Object.fromEntries(pairs), source: this.source });
  }

  /** Whether so many rows should get a label: a person is asked. */
  async isMeant(n, name) {
    if (n <= MANY) return true;
    return new Promise((answer) => {
      let meant = false;
      const box = dialog("Label many rows", h("h2", {}, `Label ${some(n, "rows")}?`), h("p", {}, "All of them get: ", h("b", {}, name)),
        h("div", { class: "foot" }, h("button", { type: "button", class: "strong", autofocus: true, onclick: () => { meant = true; box.close(); } }, `Label ${some(n, "rows")}`),
          h("button", { type: "button", onclick: () => box.close() }, "Cancel")));
      box.addEventListener("close", () => answer(meant));
    });
  }

  async send(fields) {
    try {
      const before = model.state.n_labels;
      const state = await change("label", fields);
      this.ticked.clear();
      this.everything = false;
      take(state); // an open list asks for its rows again
      const more = state.n_labels - before;
      say(more > 0 ? `${some(more, "rows")} labelled` : "Labels changed");
      tell("list");
      return true;
    } catch (error) {
      failed(error);
      return false;
    }
  }

  tickAll(on) {
    for (const row of this.rows) this.ticked[on ? "add" : "delete"](row.row);
    tell("list");
  }

  panel(close) {
    const listed = this.rows.length;
    const total = Math.max(this.total, this.of);
    const open = listed < this.total;
    const does = this.everything ? `A class key labels all ${some(this.open - this.unticked.length, "rows")} without a label` : `${count(this.ticked.size)} ticked: a class key labels them`;
    return h("div", { class: "list" },
      h("div", { class: "list-head" },
        close && h("button", { type: "button", onclick: close }, "Back ", key("Esc")),
        h("h2", {}, this.title), h("span", { class: "dim" }, !this.loaded ? "…" : listed < total ? `${count(listed)} of ${some(total, "rows")}` : some(total, "rows"))),
      this.loaded && !this.total && h("p", { class: "dim" }, "No row was found."),
      this.total > 0 && h("div", { class: "list-tools" },
        h("button", { type: "button", "data-key": "all", onclick: () => this.tickAll(true) }, "Tick all"),
        h("button", { type: "button", "data-key": "none", onclick: () => this.tickAll(false) }, "Tick none"),
        h("button", { type: "button", "data-key": "accept", onclick: () => this.accept() }, "Accept proposals ", key("Enter")),
        h("span", { class: this.everything ? "does" : "dim does" }, does)),
      this.all && open && h("p", { class: "note" }, `${count(listed)} of ${count(total)} rows are listed${this.source === "map" ? ", the least sure first" : ""}. `,
        h("button", { type: "button", "data-key": "everything", "aria-pressed": String(this.everything), onclick: () => { this.everything = !this.everything; tell("list"); } },
          "Label all that have no label")),
      !open && this.loaded && listed < total && h("p", { class: "note" }, "These are the rows that can be listed at once. Label some of them, and others come."),
      h("ul", { class: "tiles" }, this.rows.map((row) => this.tile(row))),
      open && this.loaded && h("button", { type: "button", class: "more", "data-key": "more", onclick: () => this.load(this.rows.length) }, "More rows"));
  }

  tile(row) {
    const label = row.label ?? row.proposed;
    return h("li", { class: row.label === null ? "" : "given" }, h("label", {},
      h("input", { type: "checkbox", checked: this.ticked.has(row.row), "aria-label": `Row ${row.row}`, onchange: (event) => {
        this.ticked[event.target.checked ? "add" : "delete"](row.row);
        tell("list");
      } }),
      content(row, { small: true }),
      h("span", { class: "said" }, label === null ? h("span", { class: "dim" }, "no label") : tag(label),
        h("span", { class: "dim" }, row.label !== null ? "given" : row.confidence === null || label === null ? "" : sure(row.confidence)))));
  }
}
