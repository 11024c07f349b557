// Copies a link or token that is shown once. Where the browser refuses, the text is selected and the reader copies it.
async function copy(field) {
  field.focus();
  field.select();
  try {
    await navigator.clipboard.writeText(field.value);
    return true;
  } catch {
    // Without https, or without permission, the older way may still work.
    return document.execCommand("copy");
  }
}

export function startCopying() {
  for (const part of document.querySelectorAll("[data-copy-field]")) {
    const [field, button, note] = [part.querySelector("textarea"), part.querySelector("button"), part.querySelector("[role=status]")];
    button.hidden = false;
    button.addEventListener("click", async () => {
      note.textContent = (await copy(field)) ? note.dataset.copied : note.dataset.notCopied;
    });
    field.addEventListener("focus", () => field.select());
  }
}
