// The appearance: as the device, light, or dark. It is stored in a cookie, so that the server draws the page correctly at once.
import { say } from "./words.js";

const NAMES = { "": "theme", light: "theme_light", dark: "theme_dark" };
const ORDER = ["", "light", "dark"];

function current() {
  const value = document.documentElement.dataset.theme ?? "";
  return value in NAMES ? value : "";
}

function show(button) {
  const name = button.querySelector("[data-theme-name]");
  if (name) name.textContent = say(NAMES[current()]);
}

// Stored for a year; an empty value deletes it.
export function remember(name, value) {
  const secure = location.protocol === "https:" ? "; Secure" : "";
  document.cookie = `${name}=${value}; Path=/; SameSite=Lax; Max-Age=${value ? 31536000 : 0}${secure}`;
}

function choose(value) {
  if (value) document.documentElement.dataset.theme = value;
  else delete document.documentElement.dataset.theme;
  remember("theme", value);
}

export function startTheme() {
  for (const button of document.querySelectorAll("[data-theme-toggle]")) {
    show(button);
    button.hidden = false;
    button.addEventListener("click", () => {
      choose(ORDER[(ORDER.indexOf(current()) + 1) % ORDER.length]);
      document.querySelectorAll("[data-theme-toggle]").forEach(show);
    });
  }
}
