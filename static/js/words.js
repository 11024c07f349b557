// The sentences of scripts, which come with the page in its language.
const words = {};
for (const script of document.querySelectorAll("script[type='application/json'][id$=-words]")) {
  Object.assign(words, JSON.parse(script.textContent));
}
const language = document.documentElement.lang;
const plural = new Intl.PluralRules(language);
const numbers = new Intl.NumberFormat(language, { numberingSystem: "latn" });

// Returns a sentence by its key, in the plural form for {n} if it has several.
export function say(key, values = {}) {
  const found = words[key] ?? "";
  const sentence = typeof found === "string" ? found : (found[plural.select(values.n)] ?? found.other);
  return sentence.replace(/\{(\w+)\}/g, (whole, name) => {
    if (!(name in values)) return whole;
    return typeof values[name] === "number" ? numbers.format(values[name]) : values[name];
  });
}
