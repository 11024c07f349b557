// Before signing out, ratings that are only on this device are sent. If that fails, a dialog asks; then they are deleted.
import { ask } from "./confirm.js";
import { closeStore, kept } from "./keep.js";
import { WAIT_MS } from "./sending.js";
import { say } from "./words.js";

const TIMEOUT_MS = 20_000; // for all of them: on a dead connection each would wait as long

async function sendKept() {
  const signal = AbortSignal.timeout(TIMEOUT_MS);
  let lost = 0;
  for (const entry of kept()) {
    if (!entry.hasUnsent) continue;
    try {
      await entry.send(signal);
    } catch {
      lost += 1;
    }
  }
  return lost;
}

// Returns whether the form was sent.
async function leave(form) {
  const lost = await sendKept();
  const yes =
    lost === 0 ||
    (await ask({
      title: say("sign_out_title"),
      text: say("sign_out_text"),
      yes: say("sign_out_yes"),
      no: say("sign_out_no"),
      danger: true,
    }));
  if (!yes) return false;
  closeStore();
  form.submit();
  return true;
}

export function startSignOut() {
  for (const form of document.querySelectorAll("form[data-sign-out]")) {
    let isBusy = false;
    form.addEventListener("submit", async (event) => {
      event.preventDefault();
      if (isBusy) return;
      isBusy = true;
      isBusy = await leave(form);
      if (isBusy) setTimeout(() => (isBusy = false), WAIT_MS); // the request may be stopped
    });
    addEventListener("pageshow", () => (isBusy = false));
  }
}
