// Many rows at once: tiles that can be ticked, and labelled together. A lasso, a region, a search and a group show it.

import { ask, change } from "./api.js";
import { count, h, say, some } from "./dom.js";
import { model, take, tell } from "./model.js";
import { content, failed, key, letGo, sure, tag } from "./parts.js";

/** A list of rows: what to ask the server for, what it is called, and where its labels come from. */
export class RowList {
  constructor(title, fields, source, { all = false } = {}) {
    Object.assign(this, { title, fields, source, all, rows: [], total: 0, ticked: new Set(), loaded: false });
  }

  async load(start = 0) {
    try {
      const found = await ask("rows", { ...this.fields, start });
      this.rows = start === 0 ? found.rows : [...this.rows, ...found.rows];
      this.total = found.total;
      for (const row of found.rows) if (row.label === null) this.ticked.add(row.row);
      this.loaded = true;
      tell("list");
    } catch (error) {
      failed(error);
    }
  }

  /** Label the ticked rows; or all rows that were found, of which not all are listed. */
  async label(fields, everything = false) {
    const rows = [...this.ticked];
    if (!everything && !rows.length) { say("Tick some rows first."); return; }
    const { points, words } = this.fields;
    const target = !everything ? { rows } : words === undefined ? { points } : { words };
    await this.send({ ...target, ...fields, source: this.source });
  }

  /** Give each ticked row the class that is proposed for it. */
  async accept() {
    const pairs = this.rows.filter((row) => this.ticked.has(row.row) && row.label === null && row.proposed !== null).map((row) => [row.row, row.proposed]);
    if (!pairs.length) { say("There is no proposal to accept."); return; }
    await this.send({ labels: Object.fromEntries(pairs), source: this.source });
  }

  async send(fields) {
    try {
      const before = model.state.n_labels;
      const state = await change("label", fields);
      take(state);
      const more = state.n_labels - before;
      say(more > 0 ? `${some(more, "rows")} labelled` : "Labels changed");
      this.ticked.clear();
      await this.load();
      this.ticked.clear();
      tell("list");
    } catch (error) {
      failed(error);
    }
  }

  tickAll(on) {
    for (const row of this.rows) this.ticked[on ? "add" : "delete"](row.row);
    tell("list");
  }

  panel(close) {
    const open = this.rows.length < this.total;
    return h("div", { class: "list" },
      h("div", { class: "list-head" },
        close && h("button", { type: "button", onclick: close }, "Back ", key("Esc")),
        h("h2", {}, this.title), h("span", { class: "dim" }, this.loaded ? some(this.total, "rows") : "…")),
      this.loaded && !this.total && h("p", { class: "dim" }, "No row was found."),
      this.total > 0 && h("div", { class: "list-tools" },
        h("button", { type: "button", onclick: () => this.tickAll(true) }, "Tick all"),
        h("button", { type: "button", onclick: () => this.tickAll(false) }, "Tick none"),
        h("button", { type: "button", onclick: (event) => { letGo(event); this.accept(); } }, "Accept proposals ", key("Enter")),
        h("span", { class: "dim" }, `${count(this.ticked.size)} ticked: a class key labels them`)),
      this.all && open && h("p", { class: "note" }, `${count(this.rows.length)} of ${count(this.total)} rows are listed${this.source === "map" ? ", the least sure first" : ""}. `,
        h("button", { type: "button", "aria-pressed": String(Boolean(this.everything)), onclick: () => { this.everything = !this.everything; tell("list"); } },
          "Label all that have no label")),
      h("ul", { class: "tiles" }, this.rows.map((row) => this.tile(row))),
      open && this.loaded && h("button", { type: "button", class: "more", onclick: () => this.load(this.rows.length) }, "More rows"));
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
