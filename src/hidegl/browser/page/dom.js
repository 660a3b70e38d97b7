// @ts-check
// Elements from plain values. Texts are always set as text, never as HTML.

/**
 * An element.
 * @param {string} tag
 * @param {Record<string, any>} [attributes]
 * @param {...any} children
 * @returns {any}
 */
export function h(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "class") element.className = value;
    else if (name === "colour") element.style.setProperty("--colour", value);
    else if (name === "share") element.style.setProperty("--share", String(value));
    else if (["defaultValue", "value", "checked", "disabled", "htmlFor"].includes(name)) element[name] = value;
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

/**
 * An element of a drawing.
 * @param {string} tag
 * @param {Record<string, string | number>} [attributes]
 * @param {...(Node | string)} children
 */
export function svg(tag, attributes = {}, ...children) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, String(value));
  element.append(...children);
  return element;
}

/** @type {(id: string) => any} */
export const byId = (id) => document.getElementById(id);
export const percent = (share, digits = 0) => `${(100 * share).toFixed(digits)}\u00a0%`; // never broken into two lines
export const count = (number) => number.toLocaleString("en");
export const some = (n, what) => `${count(n)} ${n === 1 ? what.replace(/(?<=ss)es$|s$/, "") : what}`;

/** @type {ReturnType<typeof setTimeout> | null} */
let fading = null;

/** A short message at the foot of the page: a note, an "error", or a "lasting error" that stays until it is taken back. */
export function say(text, kind = "") {
  const said = byId("said");
  if (said === null) return; // Studio has ended
  said.textContent = text;
  said.className = `shown ${kind}`;
  clearTimeout(fading);
  if (!kind.startsWith("lasting")) fading = setTimeout(() => { said.className = ""; }, kind === "error" ? 9000 : 2600);
}

/** Take back a message of a kind, because it is settled. */
export function unsay(kind) {
  const said = byId("said");
  if (said?.classList.contains(kind)) said.className = "";
}

let isDown = false; // a pointer, on its way to a click
const waiting = new Set();

/** Draw now, or after the click: what a click began on must not be replaced before it ends. */
export function whenFree(draw) {
  if (isDown) waiting.add(draw);
  else draw();
}

function free() {
  isDown = false;
  const draws = [...waiting];
  waiting.clear();
  for (const draw of draws) draw();
}

addEventListener("pointerdown", (event) => { isDown = event.button === 0; }, true);
addEventListener("click", () => { isDown = false; }, true); // what the click itself does is drawn at once
for (const end of ["pointerup", "pointercancel", "contextmenu", "keydown"]) addEventListener(end, () => setTimeout(free), true);
addEventListener("pointermove", (event) => { if (isDown && event.buttons === 0) free(); }, true); // it was let go elsewhere
addEventListener("change", (event) => { if (/** @type {Element} */ (event.target).matches("select")) setTimeout(free); }, true); // let go on a menu

/** A dialog that is removed when it closes. Its answer is that of the form. */
export function dialog(label, ...children) {
  const element = h("dialog", { "aria-label": label }, ...children);
  element.addEventListener("close", () => element.remove());
  document.body.append(element);
  element.showModal();
  return element;
}

export const dialogIsOpen = () => document.querySelector("dialog[open]") !== null;
