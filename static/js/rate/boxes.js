// A text that is longer than its box scrolls by itself: then the keyboard has to reach it.
const SELECTOR = ".candidate, .question-head";

export function startBoxes(root) {
  const observer = new ResizeObserver((entries) => entries.forEach(({ target }) => fit(target)));
  for (const box of root.querySelectorAll(SELECTOR)) observer.observe(box);
}

function fit(box) {
  if (box.scrollHeight > box.clientHeight + 1) box.tabIndex = 0;
  else box.removeAttribute("tabindex");
}
