// Asks for confirmation before an act that cannot be undone: <form data-confirm="…"> or <button data-confirm="…">.
// “{choice}” in it is what the form's first select has. Without JavaScript the form is sent without asking.
import { say } from "./words.js";

export function ask({ title, text, yes = say("go_on"), no = say("cancel"), danger = false }) {
  const dialog = document.createElement("dialog");
  const form = document.createElement("form");
  form.method = "dialog";
  const heading = document.createElement("h2");
  heading.textContent = title;
  heading.id = "confirm-title";
  dialog.setAttribute("aria-labelledby", heading.id);
  form.append(heading);
  if (text) {
    const words = document.createElement("p");
    words.textContent = text;
    form.append(words);
  }
  const row = document.createElement("div");
  row.className = "button-row button-row--end";
  for (const [value, label, style] of [["no", no, "button"], ["yes", yes, danger ? "button button--danger" : "button button--primary"]]) {
    const button = document.createElement("button");
    button.className = style;
    button.value = value;
    button.textContent = label;
    row.append(button);
  }
  form.append(row);
  dialog.append(form);
  document.body.append(dialog);
  return new Promise((resolve) => {
    dialog.addEventListener("close", () => {
      dialog.remove();
      resolve(dialog.returnValue === "yes");
    });
    dialog.showModal();
  });
}

export function startConfirm() {
  const agreed = new WeakSet();
  document.addEventListener("submit", async (event) => {
    const form = event.target;
    const source = event.submitter?.dataset.confirm ? event.submitter : form;
    if (!source.dataset.confirm || agreed.has(form)) {
      agreed.delete(form);
      return;
    }
    event.preventDefault();
    const submitter = event.submitter;
    const choice = form.querySelector("select")?.selectedOptions[0]?.text.trim() ?? "";
    const yes = await ask({
      title: source.dataset.confirm.replace("{choice}", choice),
      text: source.dataset.confirmText,
      yes: source.dataset.confirmLabel ?? submitter?.textContent.trim() ?? say("go_on"),
      danger: source.dataset.confirmDanger !== undefined || submitter?.classList.contains("button--danger"),
    });
    if (!yes) return;
    agreed.add(form);
    form.requestSubmit(submitter);
  });
}
