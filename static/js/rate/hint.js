// Shows what a point of the scale means while it is hovered, focused, or held with a finger.
const HOVER_MS = 250;
const HOLD_MS = 450;
const NARROWEST = 180; // in less room it is below the buttons

export function startHints(root) {
  const hint = document.createElement("div");
  hint.className = "meaning";
  hint.setAttribute("aria-hidden", "true"); // screen readers get the same text as the button's description
  let timer = 0;
  let point = null;
  let isHeld = false;

  const hide = () => {
    clearTimeout(timer);
    hint.remove();
    point = null;
  };
  const show = (which) => {
    clearTimeout(timer);
    if (which === point && hint.isConnected) return;
    const meaning = meaningOf(which);
    if (!meaning) return hide();
    point = which;
    hint.replaceChildren(...meaning);
    const place = placeFor(which);
    const used = findUsedWidth(place);
    hint.style.setProperty("--used", `${used}px`);
    hint.classList.toggle("meaning--below", used > 0 && place.clientWidth - used < NARROWEST);
    place.append(hint);
  };
  const later = (act, wait) => {
    clearTimeout(timer);
    timer = setTimeout(act, wait);
  };

  root.addEventListener("pointerover", (event) => {
    if (event.pointerType === "touch") return;
    const over = pointAt(event.target);
    if (over) later(() => show(over), hint.isConnected ? 0 : HOVER_MS);
    else if (hint.contains(event.target)) clearTimeout(timer);
    else later(hide, 150); // time to move the pointer to the hint itself
  });
  root.addEventListener("focusin", (event) => {
    const focused = pointAt(event.target);
    if (focused && event.target.matches(":focus-visible")) show(focused);
    else if (!isHeld) hide();
  });
  root.addEventListener("pointerdown", (event) => {
    hide();
    isHeld = false;
    const held = event.pointerType === "touch" && pointAt(event.target);
    if (!held) return;
    later(() => {
      isHeld = true;
      show(held);
    }, HOLD_MS);
  });
  for (const name of ["pointerup", "pointercancel"]) {
    root.addEventListener(name, () => {
      if (!isHeld) clearTimeout(timer);
      else setTimeout(() => (isHeld = false), 100); // after the click event that follows
    });
  }
  root.addEventListener("contextmenu", (event) => isHeld && pointAt(event.target) && event.preventDefault());
  // holding a point to read its meaning does not rate
  root.addEventListener("click", (event) => isHeld && pointAt(event.target) && stop(event), true);
  document.addEventListener("keydown", (event) => event.key === "Escape" && hint.isConnected && (stop(event), hide()), true);
}

function pointAt(target) {
  return target.closest?.(".point");
}

function stop(event) {
  event.preventDefault();
  event.stopPropagation();
}

function meaningOf(point) {
  const radio = point.querySelector("input");
  const description = document.getElementById(radio.getAttribute("aria-describedby"))?.textContent;
  const label = point.querySelector("span").textContent;
  const isLabelSeen = point.querySelector("span").offsetWidth > 1;
  if (!description && (isLabelSeen || !label)) return null;
  const value = document.createElement("b");
  value.textContent = [radio.value, isLabelSeen ? "" : label].filter(Boolean).join(" ");
  return [value, " ", description ?? ""];
}

// The width that the buttons of the line below the points take, which the hint leaves free.
function findUsedWidth(foot) {
  const line = foot.getBoundingClientRect();
  const boxes = [...foot.querySelectorAll(":scope > .extra")].map((each) => each.getBoundingClientRect());
  const isMirrored = getComputedStyle(foot).direction === "rtl";
  const ends = boxes.filter((box) => box.top < line.top + 8).map((box) => (isMirrored ? line.right - box.left : box.right - line.left));
  return Math.max(0, ...ends);
}

function placeFor(point) {
  return point.closest(".criterion").querySelector(".criterion-name") ?? point.closest(".item").querySelector(".item-foot");
}
