// Puts the figures into the page, gives them the page's colours, and lets a click on a class show it alone.
(async () => {
  const root = getComputedStyle(document.documentElement);
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const views = {};
  for (const id of Object.keys(FIGURES)) views[id] = await Bokeh.embed.embed_item(FIGURES[id], id);
  const model = (id, name) => Bokeh.documents.flatMap((d) => [...d.all_models]).find((m) => m.name === name && (!id || m.type === id));

  function paint() {
    const colour = (name) => root.getPropertyValue(name).trim();
    const glyph = (name, values) => { const r = model("GlyphRenderer", name); if (r) r.glyph.setv(values); };
    glyph("edges", { line_color: { value: colour("--line-strong") } });
    glyph("given", { line_color: { value: colour("--ink") } });
    glyph("suggested", { line_color: { value: colour("--ink") } });
    glyph("bars", { fill_color: { value: colour("--accent") } });
    glyph("curve", { line_color: { value: colour("--accent") } });
    for (const chart of [model("Figure", "histogram"), model("Figure", "acceptance")].filter(Boolean)) {
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
    map.height = Math.round(innerWidth * 1.05);
    for (const name of ["given", "suggested"]) {
      const r = model("GlyphRenderer", name);
      if (r) r.glyph.size = { value: Math.round(r.glyph.size.value * 0.5) };
    }
    const { data_source } = model("GlyphRenderer", "points");
    data_source.data = { ...data_source.data, size: Array.from(data_source.data.size, (s) => s * 0.55) };
  }

  // On a touch screen a finger on the map scrolls the page, until a tool is chosen.
  if (matchMedia("(pointer: coarse)").matches) map.toolbar.active_drag = null;

  const points = model("GlyphRenderer", "points").data_source;
  const chips = [...document.querySelectorAll(".chip")];
  let only = null;
  for (const chip of chips) {
    chip.addEventListener("click", () => {
      only = only === chip.dataset.code ? null : chip.dataset.code;
      for (const other of chips) other.setAttribute("aria-pressed", String(other.dataset.code === only));
      const { alpha, code } = points.data;
      points.data = { ...points.data, shown: Array.from(alpha, (a, i) => (only === null || String(code[i]) === only ? a : 0.05)) };
    });
  }
  document.documentElement.dataset.ready = "yes";
})();
