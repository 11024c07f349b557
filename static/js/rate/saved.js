// The saving status: saved how long ago, or how much is only on this device.
import { say } from "../words.js";
import { isTyping } from "./keys.js";

const TROUBLE = ["kept", "signed-out", "closed", "ended", "sent-elsewhere"];

export class Saved {
  // place: the element in the bar; announce(sentence): for screen readers
  constructor({ place, signInUrl, announce }) {
    this.place = place;
    this.text = place.querySelector("[data-saved]");
    this.ago = place.querySelector("[data-ago]");
    Object.assign(this, { signInUrl, announce });
    this.savedAt = null;
    this.isWaiting = false; // the HIT is to be submitted as soon as there is a network
    setInterval(() => this.showAgo(), 1000);
  }

  show(state, { message = "", nAnswers = 0, nOthers = 0, isOffline = false, isKept = true, isFresh = false } = {}) {
    const before = this.place.dataset.state;
    this.place.dataset.state = state;
    if (isFresh) this.savedAt = performance.now();
    this.last = [state, { message, nAnswers, nOthers, isOffline, isKept }];
    const sentence = message || this.sentence(state, nAnswers, nOthers, isOffline, isKept);
    if (this.text.textContent !== sentence) this.text.textContent = sentence;
    if (state === "signed-out") this.text.append(" ", this.wayIn());
    if (before !== state && TROUBLE.includes(state)) this.announce(sentence);
    if (state === "saved" && before === "kept") this.announce(say("saved_again"));
    this.showAgo();
  }

  sentence(state, nAnswers, nOthers, isOffline, isKept) {
    if (this.isWaiting && state !== "signed-out" && state !== "closed") return say("will_send");
    if (state === "idle") return "";
    if (state === "saving") return say("saving");
    if (state === "saved") return say("saved");
    if (state === "signed-out") return say("signed_out");
    if (state === "closed") return say("closed");
    if (state === "sent-elsewhere") return say("sent_elsewhere");
    if (!isKept) return say("unkept");
    const n = nAnswers + nOthers;
    if (n === 0) return say("offline");
    if (isOffline) return say(nOthers ? "offline_changes" : "offline_answers", { n });
    return say(nOthers ? "kept_changes" : "kept_answers", { n });
  }

  wait(isWaiting) {
    if (this.isWaiting === isWaiting) return;
    this.isWaiting = isWaiting;
    if (this.last) this.show(...this.last);
  }

  showAgo() {
    const isSaved = this.place.dataset.state === "saved" && this.savedAt !== null;
    const text = isSaved ? sayAgo((performance.now() - this.savedAt) / 1000) : "";
    if (this.ago.textContent !== text) this.ago.textContent = text;
  }

  // On a low screen the bar scrolls away, and with it why nothing is sent and the way to sign in.
  // Whoever is writing when a submit that waited stops goes on writing.
  reveal() {
    if (!isTyping(document.activeElement)) this.place.querySelector("a")?.focus();
    this.place.scrollIntoView({ block: "nearest" });
  }

  wayIn() {
    if (!this.signInUrl) return say("open_study_again");
    const link = document.createElement("a");
    link.href = this.signInUrl;
    link.target = "_blank";
    link.textContent = say("sign_in");
    return link;
  }
}

// Pages without the sentence for "just now" do not show the time.
function sayAgo(seconds) {
  if (!say("just_now")) return "";
  if (seconds < 2) return say("just_now");
  if (seconds < 10) return say("seconds_ago", { n: Math.floor(seconds) });
  if (seconds < 60) return say("seconds_ago", { n: Math.floor(seconds / 10) * 10 });
  if (seconds < 3600) return say("minutes_ago", { n: Math.floor(seconds / 60) });
  return say("hours_ago", { n: Math.floor(seconds / 3600) });
}
