// @ts-check
// Puts the figures into the page, gives them the page's colours, and joins tables and map.
(async () => {
  const root = getComputedStyle(document.documentElement);
  const dark = matchMedia("(prefers-color-scheme: dark)");
  /** @type {(selector: string) => any[]} */
  const all = (selector) => [...document.querySelectorAll(selector)];
  const views = {};
  for (const id of Object.keys(FIGURES)) views[id] = await Bokeh.embed.embed_item(FIGURES[id], id);
  const model = (id, name) => Bokeh.documents.flatMap((d) => [...d.all_models]).find((m) => m.name === name && (!id || m.type === id));

  function paint() {
    const colour = (name) => root.getPropertyValue(name).trim();
    const glyph = (name, values) => { const r = model("GlyphRenderer", name); if (r) r.glyph.setv(values); };
    glyph("edges", { line_color: { value: colour("--line-strong") } });
    glyph("given", { line_color: { value: colour("--ink") } });
    glyph("suggested", { line_color: { value: colour("--ink") } });
    glyph("curve", { line_color: { value: colour("--accent") } });
    for (const chart of [model("Figure", "acceptance")].filter(Boolean)) {
      for (const axis of [...chart.below, ...chart.left]) {
        axis.setv({
          axis_label_text_color: colour("--dim"), major_label_text_color: colour("--dim"), axis_line_color: colour("--line-strong"),
          major_tick_line_color: colour("--line-strong"), minor_tick_line_color: null, axis_label_text_font_style: "normal",
          axis_label_text_font: colour("--font"), major_label_text_font: colour("--font"),
        });
      }
      for (const grid of chart.center) if (grid.type === "Grid") grid.setv({ grid_line_color: colour("--line") });
    }
  }
  paint();
  dark.addEventListener("change", paint);
  addEventListener("beforeprint", paint);

  // A narrow page gets a lower map with smaller points.
  const map = model("Figure", "map");
  if (innerWidth < 720) {
    map.height = Math.round(document.getElementById("map").clientWidth * 1.05);
    for (const name of ["given", "suggested"]) {
      const r = model("GlyphRenderer", name);
      if (r) r.glyph.size = { value: Math.round(r.glyph.size.value * 0.5) };
    }
    const { data_source } = model("GlyphRenderer", "points");
    data_source.data = { ...data_source.data, size: Array.from(data_source.data.size, (s) => s * 0.55) };
  }

  // On a touch screen a finger on the map scrolls the page, until a tool is chosen.
  if (matchMedia("(pointer: coarse)").matches) map.toolbar.active_drag = null;

  const sources = Object.fromEntries(["points", "given", "suggested"].map((name) => [name, model("GlyphRenderer", name).data_source]));
  const whole = Object.fromEntries(Object.entries(sources).map(([name, source]) => [name, { ...source.data }]));
  const chips = all(".chip");
  const frame = document.getElementById("map");
  const layer = frame.appendChild(Object.assign(document.createElement("div"), { id: "map-names" }));
  const ring = frame.appendChild(Object.assign(document.createElement("div"), { id: "map-here", hidden: true }));
  layer.setAttribute("aria-hidden", "true");
  let only = null;
  let found = null;

  // A class alone: nothing else is drawn, and nothing else answers to the mouse.
  function showOnly(code) {
    only = code;
    for (const chip of chips) chip.setAttribute("aria-pressed", String(chip.dataset.code === only));
    for (const [name, source] of Object.entries(sources)) {
      const kept = whole[name].code ? Array.from(whole[name].code, (c) => only === null || String(c) === only) : null;
      if (kept) source.data = Object.fromEntries(Object.entries(whole[name]).map(([key, values]) => [key, Array.from(values).filter((_, i) => kept[i])]));
    }
    const edges = model("GlyphRenderer", "edges");
    edges.glyph.setv({ line_alpha: { value: only === null ? 0.55 : 0.15 } });
    place();
  }

  // The names of classes, each where most of its rows are.
  const views_of_map = [...(views.map.roots ?? Object.values(views.map))];
  const view = views_of_map[0] ?? views.map;
  const { x: xs, y: ys, size, alpha, code: codes } = whole.points;
  const places = namePlaces(xs, ys, Array.from(codes, String), (i) => size[i] ** 2 * alpha[i] ** 2);
  const chipOf = (code) => chips.find((one) => one.dataset.code === code);

  function place() {
    const canvas = view.canvas_view.el.getBoundingClientRect();
    const outside = frame.getBoundingClientRect();
    const at = (x, y) => [view.frame.x_scale.compute(x) + canvas.left - outside.left, view.frame.y_scale.compute(y) + canvas.top - outside.top];
    writeNames(layer, places, {
      at, width: outside.width, height: outside.height, top: 30, most: places.length > 20 && outside.width < 560 ? 6 : Infinity,
      isShown: (code) => only === null || code === only,
      nameOf: (code) => chipOf(code).textContent.trim(), colourOf: (code) => chipOf(code).querySelector(".swatch").style.background,
    });
    ring.hidden = found === null;
    if (found !== null) {
      const [sx, sy] = at(...found);
      ring.style.left = `${sx}px`;
      ring.style.top = `${sy}px`;
    }
  }
  map.on_event("rangesupdate", place);
  new ResizeObserver(() => requestAnimationFrame(place)).observe(frame);

  for (const chip of chips) chip.closest("tr").addEventListener("click", () => showOnly(only === chip.dataset.code ? null : chip.dataset.code));

  // A row of a table is shown on the map.
  function act(element, action) {
    element.tabIndex = 0;
    element.addEventListener("click", action);
    element.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" && event.key !== " ") return;
      event.preventDefault(); // Space would scroll the page
      action();
    });
  }
  const toMap = () => frame.scrollIntoView({ block: "center", behavior: "smooth" });
  for (const row of all("tr[data-x]")) {
    act(row, () => { found = [Number(row.dataset.x), Number(row.dataset.y)]; showOnly(null); toMap(); });
  }

  // Long tables show their first rows until more are asked for, and can be searched.
  for (const table of all(".wide > table")) {
    const rows = [...table.tBodies[0].rows];
    const frame_of = table.parentElement;
    const what = table.dataset.what ?? "rows";
    let shown = Number(table.dataset.shown ?? rows.length);
    const show = () => {
      const wanted = box.value.trim().toLowerCase();
      rows.forEach((row, i) => { row.hidden = wanted ? !row.textContent.toLowerCase().includes(wanted) : i >= shown; });
    };
    const box = Object.assign(document.createElement("input"), { type: "search", className: "search screen", placeholder: `Search ${rows.length} ${what}` });
    box.setAttribute("aria-label", box.placeholder);
    box.addEventListener("input", show);
    if (rows.length > 12) (table.dataset.what ? table : frame_of).before(box);
    if (rows.length > shown + 1) {
      const more = Object.assign(document.createElement("button"), { type: "button", className: "more", textContent: `Show all ${rows.length}` });
      more.addEventListener("click", () => { shown = rows.length; more.remove(); box.hidden = false; show(); });
      frame_of.after(more);
      box.hidden = true;
    } else shown = rows.length;
    show();
  }

  // A table that is wider than the page says so, and can be moved with keys.
  const fits = new ResizeObserver((changes) => {
    for (const change of changes) {
      const target = /** @type {HTMLElement} */ (change.target);
      const sideways = target.scrollWidth > target.clientWidth + 1;
      const hint = target.previousElementSibling?.classList.contains("hint") ? target.previousElementSibling : null;
      target.classList.toggle("scrolls", sideways);
      if (sideways && !hint) target.before(Object.assign(document.createElement("p"), { className: "hint", textContent: "Move the table sideways to see all columns →" }));
      if (!sideways) hint?.remove();
      if (sideways || target.scrollHeight > target.clientHeight + 1) Object.assign(target, { tabIndex: 0 }).setAttribute("role", "region");
      if (target.tabIndex === 0) target.setAttribute("aria-label", target.closest("section")?.querySelector("h2").textContent ?? "Table");
    }
  });
  for (const one of all(".wide")) fits.observe(one);
  requestAnimationFrame(place);
  document.documentElement.dataset.ready = "yes";
})();
