// Fills in the address of a new project from its name, until somebody types an address. Without a script the server does.
const form = document.querySelector("[data-new-project]");
const [name, slug] = [form.elements.name, form.elements.slug];

// The same letters as in the server's LETTERS.
const LETTERS = {
  ä: "ae", ö: "oe", ü: "ue", ß: "ss", æ: "ae", œ: "oe", ø: "oe", å: "aa",
  ð: "d", đ: "d", þ: "th", ł: "l", ħ: "h", ı: "i", ŋ: "ng", ŧ: "t", ə: "e",
};

function derive(text) {
  const spelt = Array.from(text.toLowerCase().normalize("NFC"), (letter) => LETTERS[letter] ?? letter).join("");
  const plain = spelt.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase();
  return plain.replace(/[^a-z0-9]+/g, "-").slice(0, 50).replace(/^-+|-+$/g, "");
}

// Where a refused form comes back, an address that somebody typed is not the one of the name.
let derived = derive(name.value);
name.addEventListener("input", () => {
  if (slug.value !== derived) return;
  derived = derive(name.value);
  slug.value = derived;
});
