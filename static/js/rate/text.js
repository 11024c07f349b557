// Finding words in a text regardless of case, accents, spacing and invisible marks, and the position of text on the screen.
const UNSEEN = /\p{M}|[\u00AD\u0640\u200B-\u200F\u202A-\u202E\u2060-\u2069\uFEFF]/gu;
const CONTROL = /[\u200B-\u200F\u202A-\u202E\u2060-\u2069\uFEFF]/;
const SPACE = /\s/u;

// Returns the text as it is compared and, for each of its characters, the position in the original text.
function fold(text) {
  const at = [];
  const parts = [];
  let offset = 0;
  let isSpace = false;
  for (const char of text) {
    const plain = plainOf(char);
    if (plain !== " " || !isSpace) {
      for (let n = 0; n < plain.length; n += 1) at.push(offset);
      parts.push(plain);
    }
    if (plain) isSpace = plain === " ";
    offset += char.length;
  }
  at.push(offset);
  return { folded: parts.join(""), at };
}

function plainOf(char) {
  if (SPACE.test(char)) return " ";
  if (char < "\u0080") return char.toLowerCase();
  return char.normalize("NFKD").toLowerCase().replace(UNSEEN, ""); // normalised first: 𝔸 has no lower case, A has
}

export class Words {
  constructor(elements) {
    this.elements = elements;
  }

  // The texts, read again when they were replaced: a browser that translates the page puts elements with other texts in their place.
  get nodes() {
    if (this.texts?.every(({ element, node }) => element.contains(node))) return this.known;
    this.texts = this.elements.flatMap((element) => {
      element.normalize(); // Safari splits a text after 65,536 characters
      return [...textsOf(element)].map((node) => ({ element, node }));
    });
    this.known = this.texts.map(({ node }) => node);
    this.folded = null;
    return this.known;
  }

  // Returns every match, as static ranges, which the browser need not keep up to date.
  find(words) {
    const wanted = fold(words).folded.trim();
    if (!wanted) return [];
    const { nodes } = this;
    this.folded ??= nodes.map((node) => fold(node.data));
    return nodes.flatMap((node, n) => placesOf(node, this.folded[n], wanted));
  }

  isFrom(place, start) {
    if (!start || place.startContainer === start.startContainer) return !start || place.startOffset >= start.startOffset;
    return this.nodes.indexOf(place.startContainer) > this.nodes.indexOf(start.startContainer);
  }

  // Returns the exact matches, or those with different spacing if there is none.
  findExactly(words) {
    const found = this.nodes.flatMap((node) => matchesOf(node, words));
    if (found.length || !words.trim()) return found;
    const spaced = words.trim().split(/\s+/u).map(escape).join("\\s+");
    return this.nodes.flatMap((node) =>
      [...node.data.matchAll(new RegExp(spaced, "gu"))].map((match) => rangeOf(node, match.index, match.index + match[0].length)),
    );
  }
}

function* textsOf(element) {
  for (let node = element.firstChild; node; node = node.nextSibling) {
    if (node.nodeType === Node.TEXT_NODE) yield node;
    else yield* textsOf(node);
  }
}

function escape(text) {
  return text.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&");
}

function matchesOf(node, words) {
  const found = [];
  for (let at = node.data.indexOf(words); at >= 0; at = node.data.indexOf(words, at + words.length)) {
    found.push(rangeOf(node, at, at + words.length));
  }
  return found;
}

function placesOf(node, { folded, at }, wanted) {
  const found = [];
  for (let start = folded.indexOf(wanted); start >= 0; start = folded.indexOf(wanted, start + wanted.length)) {
    let end = start + wanted.length;
    while (at[end] === at[end - 1]) end += 1; // never end within a letter that became several characters
    let last = at[end];
    while (CONTROL.test(node.data[last - 1])) last -= 1;
    found.push(rangeOf(node, at[start], last));
  }
  return found;
}

function rangeOf(node, start, end) {
  return new StaticRange({ startContainer: node, startOffset: start, endContainer: node, endOffset: end });
}

export function boxOf({ startContainer, startOffset, endContainer, endOffset }) {
  const range = new Range();
  range.setStart(startContainer, startOffset);
  range.setEnd(endContainer, endOffset);
  return range.getBoundingClientRect();
}

// Returns the first visible character of the text in its frame. A binary search, since lines follow one another in any script.
export function firstInView(nodes, frame) {
  for (const node of nodes) {
    if (node.parentElement.getBoundingClientRect().bottom <= frame.top) continue;
    let [low, high] = [0, Math.max(0, node.length - 1)];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (boxOf(rangeOf(node, middle, middle + 1)).bottom <= frame.top + 1) low = middle + 1;
      else high = middle;
    }
    const place = rangeOf(node, low, Math.min(node.length, low + 1));
    return { place, below: boxOf(place).top - frame.top };
  }
  return null;
}
