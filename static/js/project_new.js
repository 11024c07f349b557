// Fills in the address of a new project from its name, until somebody types an address. Without a script the server does.
const form = document.querySelector("[data-new-project]");
const [name, slug] = [form.elements.name, form.elements.slug];
let derived = slug.value;

function derive(text) {
  const plain = text.normalize("NFKD").replace(/\p{M}/gu, "").replaceAll("ß", "ss").toLowerCase();
  return plain.replace(/[^a-z0-9]+/g, "-").slice(0, 50).replace(/^-+|-+$/g, "");
}

name.addEventListener("input", () => {
  if (slug.value !== derived) return;
  derived = derive(name.value);
  slug.value = derived;
});
