// The keyboard: digits rate and move on, ←/→ choose a point, ↑/↓ or j/k move, Backspace clears, z undoes; ? shows the rest.

const BOUNCE_MS = 120; // faster than a finger: a worn key reports one press twice

function isText(element) {
  return element.matches?.("textarea, input:not([type]), input[type=text]:not([data-number]), input[type=search], select");
}

function digitOf(event) {
  if (/^\d$/.test(event.key)) return event.key;
  // keyboards that write digits with Shift, or with digits of another script, also on the number pad
  const code = event.key.length === 1 && /^(?:Digit|Numpad)(\d)$/.exec(event.code);
  return code && !event.shiftKey ? code[1] : null;
}

// Returns the key as the page names it: letters in lower case (Caps Lock), and where the layout writes another script,
// the letter or symbol that is at this place on the usual layout.
export function keyName({ key, code, shiftKey }) {
  if (/^[A-Z]$/.test(key)) return key.toLowerCase();
  if (/^[\x00-\x7f]|\p{Script=Latin}/u.test(key)) return key;
  const letter = /^Key([A-Z])$/.exec(code);
  if (letter) return letter[1].toLowerCase();
  if (code === "Slash") return shiftKey ? "?" : "/";
  return key;
}

// Whether a key belongs to an input method. Safari ends a composition before the key that ends it, and tells by its code alone.
export function isComposing(event) {
  return event.isComposing || event.keyCode === 229;
}

// Returns whether a press is the bounce of the one before it.
function bounceFilter() {
  let last = { digit: null, at: -Infinity };
  return (digit, at) => {
    const isBounce = digit === last.digit && at - last.at < BOUNCE_MS;
    last = { digit, at };
    return isBounce;
  };
}

// Whether the annotator has turned off the keys of one letter, digit or sign, which dictation or a tremor would press.
export function areOff(root) {
  return "keysOff" in root.dataset;
}

// Returns a function from an event to the act of its key, with the keys that the annotator has chosen.
export function readKeys(root) {
  if (areOff(root)) return (event) => ACTS[event.key];
  const own = { ...LETTERS, ...JSON.parse(root.dataset.ownKeys ?? "{}") };
  const acts = new Map(Object.entries(own).map(([act, key]) => [key, act]));
  return (event) => {
    const written = event.key.length === 1 ? event.key.toLowerCase() : event.key;
    return ACTS[event.key] ?? acts.get(written) ?? acts.get(keyName(event));
  };
}

export function startKeys({ root, acts }) {
  const isBounce = bounceFilter();
  const nameOf = readKeys(root);
  document.addEventListener("keydown", (event) => {
    if (event.defaultPrevented || isComposing(event) || document.querySelector("dialog[open]")) return;
    const target = event.target;
    const isCommand = event.ctrlKey || event.metaKey;
    // A click on plain text gives the focus to the page around it.
    if (!root.contains(target) && !target.contains(root)) return;
    if (target.closest?.("[data-no-keys]")) return;
    if (isCommand && event.key === "Enter") return run(event, acts.submit);
    if (isCommand && !event.shiftKey && keyName(event) === "z" && acts.undo && !isTyping(target)) return run(event, acts.undo);
    if (isCommand || event.altKey) return;
    if (isText(target)) {
      if (event.key === "Escape" || (event.key === "Enter" && target.matches("input"))) {
        run(event, () => acts.leaveText(target, event.key === "Enter"));
      }
      return;
    }
    if (areOff(root) && isSymbol(event) && !isTyping(target)) return;
    const digit = digitOf(event);
    if (digit !== null) {
      const isAgain = !event.repeat && isBounce(digit, event.timeStamp);
      if (isAgain && !isTyping(target)) return event.preventDefault();
    }
    const name = nameOf(event);
    const act = actOf(event, target, acts, name);
    if (act) run(event, act, MOVES.has(name));
  });
}

// A space is none: it works on what has the focus.
function isSymbol(event) {
  return event.key.length === 1 && event.key !== " ";
}

function run(event, act, isMove = false) {
  event.preventDefault();
  // a key that is held down only moves
  if (!event.repeat || isMove) act();
}

export function isTyping(target) {
  return isText(target) || target.matches?.("input[data-number]");
}

function actOf(event, target, acts, name) {
  const isNumber = target.matches?.("input[data-number]");
  const digit = digitOf(event);
  if (digit !== null) return target.closest?.("[data-submit]") ? null : acts.rate(digit, isNumber);
  // Enter in an input would submit the form
  if (event.key === "Enter") return target.matches?.("input") ? () => acts.next(target) : null;
  if (event.key === " " && !isNumber) return target.matches?.("input[type=radio]:checked") ? () => acts.clear(target) : null;
  if (target.closest?.(".passage-body") && event.key.startsWith("Arrow")) return null; // scrolls the passage
  if (isNumber && /^[-.,]$|^Backspace$|^Delete$|^Arrow(Left|Right)$/.test(event.key)) return null;
  // The field takes every character, but a letter in it is a shortcut.
  if (isNumber && event.key.length === 1 && !NUMERIC.test(event.key) && !acts[name]) return () => {};
  if (/^[-.,]$/.test(event.key)) return acts.typeNumber?.();
  if (/^Arrow(Left|Right)$/.test(event.key) && target.matches?.("input[type=range], button, a, summary")) return null;
  // not every page offers every action
  return acts[name] ? () => acts[name](target) : null;
}

const NUMERIC = /^[\p{Nd}.,\u066b\u2212-]$/u;
const MOVES = new Set(["next", "previous", "chooseLeft", "chooseRight"]);
const ACTS = {
  ArrowDown: "next",
  ArrowUp: "previous",
  ArrowLeft: "chooseLeft",
  ArrowRight: "chooseRight",
  Backspace: "clear",
  Delete: "clear",
};
// What annotators can change; projects/accounts/rating_keys.py has the same defaults.
const LETTERS = {
  next: "j",
  previous: "k",
  undo: "z",
  comment: "c",
  flag: "f",
  cannot: "x",
  showRubric: "r",
  find: "/",
  question: "q",
  toSpan: "m",
  showKeys: "?",
};
