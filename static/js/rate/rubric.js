// The dialog with the scale, the instructions and the examples. It is loaded when the page is idle, so it works offline too.
import { readKeys } from "./keys.js";
import { copyWithoutIds } from "./question.js";
import { say } from "../words.js";

export function startRubric({ root, url }) {
  const dialog = root.querySelector("[data-rubric-dialog]");
  const body = dialog.querySelector("[data-rubric-body]");
  const nameOf = readKeys(root);
  let isThere = false;

  body.append(copyWithoutIds(root.querySelector("[data-scale] .scale-body")));
  const note = document.createElement("p");
  note.className = "muted";
  note.textContent = say("instructions_away");
  if (url) body.append(note);

  const load = async () => {
    if (isThere || !url) return;
    try {
      const headers = { Accept: "text/html", "X-Requested-With": "fetch" }; // the page's messages stay for a page that is seen
      const response = await fetch(url, { headers, redirect: "error" });
      if (!response.ok) return;
      const page = new DOMParser().parseFromString(await response.text(), "text/html");
      const guide = page.querySelector(".guide");
      if (isThere) return;
      isThere = true;
      note.remove();
      if (!guide) return; // the project has no instructions
      borrowStyles(page);
      guide.querySelectorAll("[id]").forEach((element) => element.removeAttribute("id"));
      body.replaceChildren(guide);
    } catch {
      // requested again when the dialog is opened
    }
  };
  const open = () => {
    load();
    if (!dialog.open) dialog.showModal();
    body.scrollTop = 0;
  };

  load();
  for (const link of root.querySelectorAll("[data-rubric]")) {
    link.addEventListener("click", (event) => {
      if (event.ctrlKey || event.metaKey || event.shiftKey) return; // the link opens the instructions in a new tab
      event.preventDefault();
      open();
    });
  }
  dialog.addEventListener("keydown", (event) => {
    if (nameOf(event) !== "showRubric" || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault(); // otherwise the page's own handler would open it again
    dialog.close();
  });
  dialog.addEventListener("click", (event) => event.target === dialog && dialog.close());
  return open;
}

// Adds the style sheets of the instructions page that this page lacks.
function borrowStyles(page) {
  const here = new Set([...document.styleSheets].map((sheet) => sheet.href));
  for (const link of page.querySelectorAll("link[rel=stylesheet]")) {
    const href = new URL(link.getAttribute("href"), location.href).href;
    if (here.has(href)) continue;
    const own = document.createElement("link");
    own.rel = "stylesheet";
    own.href = href;
    document.head.append(own);
  }
}
