// On every page, after forms.js: appearance, menus that close, previews, reloads that undo no click, local times, a safe sign-out.
import { startTheme } from "./theme.js";
import { startCopying } from "./copy.js";
import { startPreviews } from "./previews.js";
import { startReloading } from "./reloading.js";
import { startSignOut } from "./signout.js";
import { startTimes } from "./times.js";
import { wipeOthers } from "./keep.js";

function startMenus() {
  const menus = document.querySelectorAll("details[data-menu]");
  document.addEventListener("click", (event) => {
    for (const menu of menus) if (isElsewhere(menu, event.target)) menu.open = false;
  });
  for (const menu of menus) {
    // An open menu would cover what has the focus after it. When the window loses it, nothing is named that gets it.
    menu.addEventListener("focusout", ({ relatedTarget }) => {
      if (relatedTarget && isElsewhere(menu, relatedTarget)) menu.open = false;
    });
  }
  document.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    for (const menu of menus) {
      if (menu.open) {
        menu.open = false;
        menu.querySelector("summary").focus();
      }
    }
  });
}

// A dialog that an entry opens gives the focus back to it.
function isElsewhere(menu, target) {
  return !menu.contains(target) && !target.closest("dialog");
}

// After a refused form the first wrong field has the focus, however far below, and in a section that was closed; else what is wrong with
// the form as a whole, unless the page chooses a field.
function startErrors() {
  const wrong = document.querySelector(".field--error :is(input, select, textarea):not([type=hidden])");
  for (let box = wrong?.closest("details"); box; box = box.parentElement.closest("details")) box.open = true;
  if (wrong) wrong.focus();
  else if (!document.querySelector("main [autofocus]")) focusOn(document.querySelector("form > .message--error"));
}

function focusOn(message) {
  message?.setAttribute("tabindex", "-1");
  message?.focus();
}

// Below a long list that scrolls, how many of its boxes are ticked.
function startTicked() {
  document.addEventListener("change", (event) => {
    const list = event.target.closest?.("fieldset");
    const count = list?.querySelector("[data-ticked] output");
    if (count) count.textContent = list.querySelectorAll("input:checked").length.toLocaleString("en");
  });
}

if (document.body.dataset.user) wipeOthers(document.body.dataset.user);
startTheme();
startTimes();
startMenus();
startPreviews();
startReloading();
startCopying();
startSignOut();
startErrors();
startTicked();
