// A box whose text is too long scrolls; it then gets a tabindex, so that the keyboard can scroll it too.
const SELECTOR = ".candidate, .question-head";

export function startBoxes(root) {
  const observer = new ResizeObserver((entries) => entries.forEach(({ target }) => fit(target)));
  for (const box of root.querySelectorAll(SELECTOR)) observer.observe(box);
}

function fit(box) {
  if (box.scrollHeight > box.clientHeight + 1) box.tabIndex = 0;
  else box.removeAttribute("tabindex");
}
