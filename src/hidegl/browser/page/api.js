// @ts-check
// Requests to the server, one after the other, so that what was done first is saved first.

const NAME = "studio-name"; // the name of the person at this browser

let last = Promise.resolve();

export const person = () => localStorage.getItem(NAME) ?? "";
/** The name is stored as the server writes it: with single spaces and composed accents. */
export const setPerson = (name) => localStorage.setItem(NAME, name.trim().replace(/\s+/g, " ").normalize("NFC"));

/** Ask for something. An error of the server is thrown with its words. */
export async function ask(what, fields = {}) {
  let response;
  try {
    response = await fetch(`/api/${what}`, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify(person() ? { ...fields, by: person() } : fields),
    });
  } catch {
    throw new Error("Studio does not answer. If it was ended, start it again and open the address that it prints.");
  }
  const type = response.headers.get("Content-Type") ?? "";
  const content = type.includes("json") ? await response.json() : { error: await response.text() };
  if (!response.ok) throw new Error(content.error ?? `error ${response.status}`);
  return content;
}

/** Change something, after all earlier changes. */
export function change(what, fields = {}) {
  const next = last.catch(() => {}).then(() => ask(what, fields));
  last = next;
  return next;
}
