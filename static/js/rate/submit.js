// Sends the form once: at once, or as soon as the network is back. The server takes the same ratings twice for one submit.
const BACK_OFF_MS = [1000, 2000, 4000, 8000, 15000];
const TIMEOUT_MS = 20_000;
const SERVER_MARK = "X-Request-ID"; // in every answer of the server
const GATEWAY_ERRORS = [502, 503, 504]; // the server restarts, or cannot be reached behind its proxy

export class Submission {
  // prepare(): fills in the form and returns "ready", "wait" (no network), or why it is not sent: "incomplete" or "stopped";
  // renew(): gives the form a new token, and returns the same;
  // onState(state): "sending", "waiting" or that reason;
  // onSent({ isAccepted }): this page ends, because the server took the form or answered with a page of its own
  constructor({ form, prepare, renew, onState, onSent }) {
    Object.assign(this, { form, prepare, renew, onState, onSent });
    this.isBusy = false;
    this.isWaiting = false;
    this.nTries = 0;
    this.timer = null;
    addEventListener("online", () => this.isWaiting && this.send());
    // a request that is under way may hang until its timeout: what is known is shown at once
    addEventListener("offline", () => this.isBusy && this.onState("waiting"));
  }

  // Whether the form is being sent, or will be.
  get isUnderWay() {
    return this.isBusy || this.isWaiting;
  }

  async send() {
    if (this.isBusy) return;
    this.isBusy = true;
    clearTimeout(this.timer);
    if (!this.isWaiting) this.onState("sending");
    const result = await this.attempt();
    if (result === "sent") return; // the next page comes
    this.isBusy = false;
    this.isWaiting = result === "wait";
    this.onState(this.isWaiting ? "waiting" : result);
    if (!this.isWaiting) return;
    this.timer = setTimeout(() => this.send(), BACK_OFF_MS[Math.min(this.nTries, BACK_OFF_MS.length - 1)]);
    this.nTries += 1;
  }

  async attempt() {
    // Without any network a browser calls itself offline, and still reaches a site on its own device.
    const reached = navigator.onLine ? "ready" : await this.renew();
    if (reached !== "ready") return reached;
    const state = await this.prepare();
    if (state !== "ready") return state;
    let response;
    let next = null;
    try {
      response = await this.post();
      // the token is outdated, or somebody else has signed in since the last draft was saved
      if ([403, 404].includes(response.status)) {
        const renewed = await this.renew();
        if (renewed !== "ready") return renewed;
        response = await this.post();
      }
      if (GATEWAY_ERRORS.includes(response.status)) return "wait";
      const isJson = response.headers.get("Content-Type")?.startsWith("application/json");
      if (response.ok && isJson) next = (await response.json()).next ?? null;
      // a network or a proxy that asks for a sign-in answers in the server's place
      if (response.ok && !next && (isJson || !response.headers.has(SERVER_MARK))) return "wait";
    } catch {
      return "wait";
    }
    this.onSent({ isAccepted: next !== null });
    if (next) location.assign(next);
    else this.form.submit(); // the answer is a page that explains something: the browser asks for it once more and shows it
    return "sent";
  }

  post() {
    return fetch(this.form.action, {
      method: "POST",
      headers: { Accept: "application/json" },
      body: new URLSearchParams(new FormData(this.form)),
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
  }
}
