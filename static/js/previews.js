// A form that was edited after its preview: its button waits for a new preview. The server refuses it in any case; here
// people see why before they press. Fields inside [data-preview-aside] belong to the confirmation and change no preview.

function isChanged(control) {
  if (control.type === "hidden" || control.type === "submit" || control.closest("[data-preview-aside]")) return false;
  if (control.type === "checkbox" || control.type === "radio") return control.checked !== control.defaultChecked;
  if (control.tagName === "SELECT") {
    const options = [...control.options];
    // Without a chosen option the browser shows the first.
    if (!control.multiple && !options.some((option) => option.defaultSelected)) return control.selectedIndex > 0;
    return options.some((option) => option.selected !== option.defaultSelected);
  }
  return "defaultValue" in control && control.value !== control.defaultValue;
}

function compare(row) {
  const form = document.getElementById(row.dataset.previewOf);
  const changed = [...form.elements].some(isChanged);
  const note = row.querySelector("[data-preview-note]");
  note.textContent = changed ? note.dataset.previewNote : "";
  const refresh = row.querySelector("[data-preview-refresh]");
  if (refresh) refresh.hidden = !changed;
  for (const button of row.querySelectorAll("[data-preview-confirm]")) {
    button.dataset.wasDisabled ??= String(button.disabled);
    button.disabled = changed || button.dataset.wasDisabled === "true";
  }
}

export function startPreviews() {
  const rows = [...document.querySelectorAll("[data-preview-of]")];
  if (!rows.length) return;
  const compareAll = () => rows.forEach(compare);
  document.addEventListener("input", compareAll);
  document.addEventListener("change", compareAll);
  // A browser may restore what was typed when it reloads the page or goes back to it.
  window.addEventListener("pageshow", compareAll);
  compareAll();
}
