// What the theme leaves out: names for the arrows of the menu, and wide tables that can be moved with keys.
document.addEventListener("DOMContentLoaded", () => {
  for (const arrow of document.querySelectorAll(".bd-sidebar-primary summary")) {
    const page = arrow.closest("li")?.querySelector("a")?.textContent.trim() ?? "this page";
    arrow.setAttribute("aria-label", `Pages below ${page}`);
  }
  for (const table of document.querySelectorAll(".pst-scrollable-table-container")) {
    if (table.scrollWidth > table.clientWidth) table.tabIndex = 0;
  }
});
