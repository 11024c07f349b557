// Signing out sends what is still only on this device first, asks if that fails, and then wipes it.
import { ask } from "./confirm.js";
import { kept, wipeAll } from "./keep.js";

async function sendKept() {
  let lost = 0;
  for (const entry of kept()) {
    if (!entry.hasUnsent) continue;
    try {
      await entry.send();
    } catch {
      lost += 1;
    }
  }
  return lost;
}

export function startSignOut() {
  for (const form of document.querySelectorAll("form[data-sign-out]")) {
    let isReady = false;
    form.addEventListener("submit", async (event) => {
      if (isReady) return;
      event.preventDefault();
      const lost = await sendKept();
      const yes =
        lost === 0 ||
        (await ask({
          title: "Some answers are only on this device",
          text: "They could not be sent just now. If you sign out, they are removed from this device.",
          yes: "Sign out all the same",
          no: "Stay signed in",
          danger: true,
        }));
      if (!yes) return;
      isReady = true;
      wipeAll();
      form.submit();
    });
  }
}
