// Elements from plain values. Texts are always set as text, never as HTML.

export function h(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "class") element.className = value;
    else if (name === "colour") element.style.setProperty("--colour", value);
    else if (name === "share") element.style.setProperty("--share", String(value));
    else if (["value", "checked", "disabled", "htmlFor"].includes(name)) element[name] = value;
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

export function svg(tag, attributes = {}, ...children) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, String(value));
  element.append(...children);
  return element;
}

export const byId = (id) => document.getElementById(id);
export const percent = (share, digits = 0) => `${(100 * share).toFixed(digits)} %`;
export const count = (number) => number.toLocaleString("en");
export const some = (n, what) => `${count(n)} ${n === 1 ? what.replace(/s$/, "") : what}`;

let fading = null;

/** A short message at the foot of the page. */
export function say(text, kind = "") {
  const said = byId("said");
  said.textContent = text;
  said.className = `shown ${kind}`;
  clearTimeout(fading);
  fading = setTimeout(() => { said.className = ""; }, kind === "error" ? 9000 : 2600);
}

/** A dialog that is removed when it closes. Its answer is that of the form. */
export function dialog(label, ...children) {
  const element = h("dialog", { "aria-label": label }, ...children);
  element.addEventListener("close", () => element.remove());
  document.body.append(element);
  element.showModal();
  return element;
}

export const dialogIsOpen = () => document.querySelector("dialog[open]") !== null;
