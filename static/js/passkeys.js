// Passkeys: a form with data-passkey="get" or "create" fetches its challenge, asks the device, and is sent with the answer.
import { WAIT_MS } from "./sending.js";

const isSupported = typeof window.PublicKeyCredential?.parseCreationOptionsFromJSON === "function";

class Refused extends Error {} // its message is the server's

async function fetchOptions(form) {
  const token = form.querySelector("[name=csrfmiddlewaretoken]").value;
  const response = await fetch(form.dataset.options, { method: "POST", headers: { "X-CSRFToken": token } });
  if (!response.ok) throw new Refused((await response.json()).message);
  return (await response.json()).publicKey;
}

async function askDevice(kind, options) {
  if (kind === "create") {
    return navigator.credentials.create({ publicKey: PublicKeyCredential.parseCreationOptionsFromJSON(options) });
  }
  return navigator.credentials.get({ publicKey: PublicKeyCredential.parseRequestOptionsFromJSON(options) });
}

function start(form) {
  const note = form.querySelector("[role=alert]");
  form.hidden = false;
  let isAsking = false;
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    if (isAsking) return;
    isAsking = true;
    note.hidden = true;
    try {
      const credential = await askDevice(form.dataset.passkey, await fetchOptions(form));
      form.elements.credential.value = JSON.stringify(credential);
      form.submit(); // the next page comes: another challenge would make this answer worthless, unless it was stopped
      setTimeout(() => (isAsking = false), WAIT_MS);
    } catch (error) {
      // Cancelled, timed out, or without a passkey: browsers don't tell pages which.
      note.textContent = (error instanceof Refused && error.message) || form.dataset.failed;
      note.hidden = false;
      isAsking = false;
    }
  });
  addEventListener("pageshow", () => (isAsking = false));
}

if (isSupported) {
  for (const form of document.querySelectorAll("form[data-passkey]")) start(form);
  for (const note of document.querySelectorAll("[data-no-passkeys]")) note.hidden = true;
}
