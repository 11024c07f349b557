// The keyboard: 1–5 rate and move on, arrows or j/k move, c comments, f flags, x cannot be judged, / finds, m marked words, ? shows the keys.

function isText(element) {
  return element.matches?.("textarea, input:not([type]), input[type=text], input[type=search], select");
}

function digitOf(event) {
  if (/^\d$/.test(event.key)) return event.key;
  // keyboards that write digits with Shift
  const code = /^Digit(\d)$/.exec(event.code);
  return code && !event.shiftKey ? code[1] : null;
}

export function startKeys({ root, acts }) {
  document.addEventListener("keydown", (event) => {
    if (event.defaultPrevented || event.isComposing || document.querySelector("dialog[open]")) return;
    const target = event.target;
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
      event.preventDefault();
      acts.submit();
      return;
    }
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (!root.contains(target) && target !== document.body) return;
    if (target.closest?.(".give-back")) return;
    if (isText(target)) {
      if (event.key === "Escape" || (event.key === "Enter" && target.matches("input"))) {
        event.preventDefault();
        acts.leaveText(target, event.key === "Enter");
      }
      return;
    }
    const act = actOf(event, target, acts);
    if (!act) return;
    event.preventDefault();
    act();
  });
}

function actOf(event, target, acts) {
  const digit = digitOf(event);
  if (digit !== null) return acts.rate(digit, target.matches?.("input[type=number]"));
  // Enter on an input would send the form
  if (event.key === "Enter") return target.matches?.("input") ? acts.next : null;
  if (target.closest?.(".passage-body") && event.key.startsWith("Arrow")) return null; // scrolls the passage
  switch (event.key) {
    case "ArrowDown":
    case "j":
      return acts.next;
    case "ArrowUp":
    case "k":
      return acts.previous;
    case "c":
      return acts.comment;
    case "f":
      return acts.flag;
    case "x":
      return acts.cannot;
    case "/":
      return acts.find;
    case "m":
      return acts.toSpan;
    case "?":
      return acts.showKeys;
    default:
      return null;
  }
}
