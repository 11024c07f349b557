// What tests of modules are written with. It runs in node and in a browser alike, so it needs neither.
const tests = [];

export function test(name, act) {
  tests.push({ name, act });
}

// Equal in all that JSON keeps, whatever the order of the keys.
export function equal(found, wanted) {
  const [one, other] = [found, wanted].map((value) => JSON.stringify(value, sortKeys));
  if (one !== other) throw new Error(`${one} is not ${other}`);
}

function sortKeys(_key, value) {
  if (value === null || typeof value !== "object" || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)));
}

export async function rejects(act, pattern) {
  let error = null;
  try {
    await act();
  } catch (caught) {
    error = caught;
  }
  if (!error) throw new Error("nothing was thrown");
  if (!pattern.test(error.message)) throw new Error(`“${error.message}” is not like ${pattern}`);
}

// Let everything that only waits for promises go on.
export async function flushPromises() {
  for (let n = 0; n < 20; n += 1) await Promise.resolve();
}

// The tests of one file by name, each with what was thrown, or "".
export async function run(file) {
  tests.length = 0;
  await import(file);
  const found = {};
  for (const { name, act } of tests) {
    if (name in found) throw new Error(`two tests are called “${name}”`);
    try {
      await act();
      found[name] = "";
    } catch (error) {
      found[name] = error.stack || String(error);
    }
  }
  return found;
}
