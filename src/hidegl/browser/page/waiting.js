// @ts-check
// The page before Studio: asks how far the work is, and becomes Studio when that answers in its place.

const PAUSE = 500; // milliseconds between questions
const MISSED = 6; // after this number of failed requests, the page reports it

let missed = 0;

async function ask() {
  let response = null;
  try {
    response = await fetch("/waiting");
  } catch {
    missed += 1; // between the two servers, or Studio was ended: ask again
    if (missed > MISSED) document.getElementById("what").textContent = "Studio does not answer: look at the terminal in which it was started";
  }
  if (response !== null && response.status === 404) { location.replace("/"); return; }
  if (response?.ok) {
    missed = 0;
    const { title, what, share } = await response.json();
    document.title = `${title} · Studio`;
    document.getElementById("title").textContent = title;
    document.getElementById("what").textContent = what ? `${what}: ${Math.floor(100 * share)} %` : "Reading";
    /** @type {HTMLProgressElement} */ (document.getElementById("share")).value = share;
  }
  setTimeout(ask, PAUSE);
}

history.replaceState(null, "", "/"); // the token is a cookie now
ask();
