// Finding words in a passage: which stretch of the text lights up.
import { equal, test } from "./checking.js";
import { Words } from "../../../static/js/rate/text.js";

// A browser's text node, or outside of one the little of it that finding needs.
const inBrowser = "document" in globalThis;
globalThis.Node ??= { TEXT_NODE: 3 };
globalThis.StaticRange ??= class {
  constructor(ends) {
    Object.assign(this, ends);
  }
};

// The text may come in several parts, each a node of its own.
function elementOf(text) {
  const parts = [text].flat().filter((part) => part !== "");
  if (inBrowser) {
    const element = document.createElement("p");
    element.append(...parts);
    return element;
  }
  let nodes = parts.map(nodeOf);
  return {
    get firstChild() {
      return nodes[0] ?? null;
    },
    contains(node) {
      return nodes.includes(node);
    },
    replaceChildren(...inner) {
      nodes = inner;
    },
    normalize() {
      if (nodes.length && nodes.every(({ nodeType }) => nodeType)) nodes = [nodeOf(nodes.map(({ data }) => data).join(""))];
    },
  };
}

function nodeOf(data) {
  return { nodeType: Node.TEXT_NODE, data };
}

function wordsOf(...texts) {
  return new Words(texts.map(elementOf));
}

function stretches(places) {
  return places.map((place) => place.startContainer.data.slice(place.startOffset, place.endOffset));
}

function found(words, ...texts) {
  return stretches(wordsOf(...texts).find(words));
}

test("case and accents do not matter on either side", () => {
  equal(found("cafe", "CAFÉ, cafe\u0301, Cafe"), ["CAFÉ", "cafe\u0301", "Cafe"]);
  equal(found("CAFE\u0301", "a café"), ["café"]);
  equal(found("strasse", "Straße"), []);
});

test("a text that the browser has translated is found where it is now", () => {
  const element = elementOf("the cat");
  const words = new Words([element]);
  equal([stretches(words.find("cat")), stretches(words.findExactly("cat"))], [["cat"], ["cat"]]);
  element.replaceChildren(elementOf("die Katze"));
  equal([stretches(words.find("katze")), words.find("cat"), stretches(words.findExactly("Katze"))], [["Katze"], [], ["Katze"]]);
});

test("any white space is one space", () => {
  equal(found("two cafe owners", "two  cafe\n\towners; twocafe owners"), ["two  cafe\n\towners"]);
  equal(found("  lazy dog ", "the lazy dog sleeps"), ["lazy dog"]);
});

test("points and marks on letters do not matter", () => {
  equal(found("מים", "מַיִם ומים"), ["מַיִם", "מים"]);
  equal(found("ماء", "مَاء"), ["مَاء"]);
  equal(found("كتاب", "كـــتاب"), ["كـــتاب"]);
});

test("marks of direction are passed over and not lit at the end", () => {
  equal(found("מים", "\u202eמים\u202c."), ["מים"]);
  equal(found("one two", "one\u200b two\u200f three"), ["one\u200b two"]);
});

test("a letter is never lit by half", () => {
  equal(found("f", "ﬁsh"), ["ﬁ"]);
  equal(found("i", "İz"), ["İ"]);
  equal(found("e", "e\u0301te\u0301"), ["e\u0301", "e\u0301"]);
});

test("letters of two code units keep the places behind them right", () => {
  equal(found("end", "👩‍👩‍👧 and 𝔸 the end"), ["end"]);
  equal(found("a", "𝔸"), ["𝔸"]);
});

test("places do not overlap", () => {
  equal(found("aa", "aaaaa"), ["aa", "aa"]);
});

test("nothing is found by nothing", () => {
  equal(found("", "text"), []);
  equal(found(" \n ", "a b"), []);
  equal(found("\u0301", "cafe\u0301"), []);
});

test("several documents are searched one after the other and words do not cross them", () => {
  const words = wordsOf("a cat", "", "cat and cat");
  equal(stretches(words.find("cat")), ["cat", "cat", "cat"]);
  equal(words.find("cat cat").length, 0);
  const [first, second, third] = words.find("cat");
  equal([first, second, third].map((place) => words.isFrom(place, second)), [false, true, true]);
  equal(words.isFrom(second, third), false);
  equal(words.isFrom(first, null), true);
});

test("a long text that the browser has split is searched to its end and across the parts", () => {
  const words = wordsOf(["The cat sat on the m", "at and the dog", " on the cat."], "cat");
  equal(stretches(words.find("cat")), ["cat", "cat", "cat"]);
  equal(stretches(words.findExactly("on the mat")), ["on the mat"]);
  equal(stretches(words.findExactly("dog on")), ["dog on"]);
});

test("a span is marked as it is written, wherever it is", () => {
  const words = wordsOf("The cat. the cat; the  cat");
  equal(stretches(words.findExactly("the cat")), ["the cat"]);
  equal(stretches(words.findExactly("The cat.")), ["The cat."]);
});

test("a span with other spacing is marked where it is not found as written", () => {
  equal(stretches(wordsOf("the\nmarked\n\nwords").findExactly("the marked words")), ["the\nmarked\n\nwords"]);
  equal(wordsOf("some words").findExactly(" ").length, 1);
  equal(wordsOf("words").findExactly(" ").length, 0);
});

test("signs of patterns in a span are signs", () => {
  equal(stretches(wordsOf("f(x)  = [a|b]* $1.5").findExactly("f(x) = [a|b]* $1.5")), ["f(x)  = [a|b]* $1.5"]);
  equal(wordsOf("fx").findExactly("f.").length, 0);
});
