// The passage: folded on a phone, open beside the answers on a wide screen; the marked span of the current question is lit.
const wide = matchMedia("(min-width: 64rem)");

export function startPassage(details) {
  const fit = () => {
    details.open = wide.matches;
  };
  fit();
  wide.addEventListener("change", fit);
}

export function lightSpan(details, span) {
  if (!("highlights" in CSS)) return; // the question shows the marked words as well
  CSS.highlights.delete("span");
  if (!span) return;
  const ranges = [...details.querySelectorAll(".passage-text")].flatMap((text) => rangesOf(text.firstChild, span));
  if (!ranges.length) return;
  CSS.highlights.set("span", new Highlight(...ranges));
  if (details.open) bringIntoView(details.querySelector(".passage-body"), ranges[0]);
}

function rangesOf(node, span) {
  const found = [];
  if (!node || node.nodeType !== Node.TEXT_NODE) return found;
  for (let at = node.data.indexOf(span); at >= 0 && found.length < 50; at = node.data.indexOf(span, at + span.length)) {
    const range = new Range();
    range.setStart(node, at);
    range.setEnd(node, at + span.length);
    found.push(range);
  }
  return found;
}

function bringIntoView(box, range) {
  const place = range.getBoundingClientRect();
  const frame = box.getBoundingClientRect();
  if (place.top >= frame.top && place.bottom <= frame.bottom) return;
  box.scrollTop += place.top - frame.top - frame.height / 3;
}
