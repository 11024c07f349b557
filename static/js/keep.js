// Answers kept on this device: one entry of localStorage per membership and assignment.
// An entry: {user, urls: {draft, session}, unsent: {answers, cannot, flags, comments, read}, seconds, keptAt}.
const PREFIX = "concord:work:";
let isClosed = false; // at the sign-out: a request that ends after it keeps nothing

export function keyOf(owner, assignment) {
  return `${PREFIX}${owner}:${assignment}`;
}

export function read(key) {
  try {
    return JSON.parse(localStorage.getItem(key) ?? "null");
  } catch {
    return null;
  }
}

export function write(key, entry) {
  if (isClosed) return false;
  try {
    localStorage.setItem(key, JSON.stringify(entry));
    return true;
  } catch {
    return false; // storage is full or turned off: the server's draft is then the only copy
  }
}

export function wipe(key) {
  try {
    localStorage.removeItem(key);
  } catch {
    // nothing was kept
  }
}

function keys() {
  try {
    return Object.keys(localStorage).filter((key) => key.startsWith(PREFIX));
  } catch {
    return [];
  }
}

export function wipeAll() {
  keys().forEach(wipe);
}

export function closeStore() {
  isClosed = true;
  wipeAll();
}

// Deletes what another person left on this device.
export function wipeOthers(user) {
  for (const key of keys()) if (read(key)?.user !== user) wipe(key);
}

export function isEmpty(changes) {
  return Object.values(changes ?? {}).every((part) => Object.keys(part).length === 0);
}

export function* kept() {
  for (const key of keys()) {
    const entry = read(key);
    if (!entry) continue;
    yield { hasUnsent: !isEmpty(entry.unsent), send: (signal) => sendOnce(entry, signal) };
  }
}

async function sendOnce(entry, signal) {
  const options = { headers: { Accept: "application/json" }, redirect: "error", signal };
  const session = await fetch(entry.urls.session, options);
  if (!session.ok) throw new Error(`session ${session.status}`);
  const { csrf } = await session.json();
  const response = await fetch(entry.urls.draft, {
    ...options,
    method: "POST",
    headers: { ...options.headers, "Content-Type": "application/json", "X-CSRFToken": csrf },
    body: JSON.stringify(entry.unsent),
  });
  // After a refusal the HIT was submitted or is no longer this person's, so nothing is left to send.
  if (!(await readSaved(response)) && !(await readRefusal(response))) throw new Error(`draft ${response.status}`);
}

// Returns the draft that the server has saved, or null if it has not. An answer counts only with the time of saving: a network or a proxy
// that asks for a sign-in answers with a page of its own, and with any status.
export async function readSaved(response) {
  const at = response.headers.get("X-Saved-At");
  if (response.status === 204) return at && { saved_at: at }; // nothing came from another device since the answer before
  const draft = response.ok ? await readJson(response) : null;
  return draft?.saved_at ? draft : null;
}

// Returns why the server takes no answers any more, or null if this is not what it says.
export async function readRefusal(response) {
  const refusal = response.status === 409 ? await readJson(response) : null;
  return refusal?.state ? refusal : null;
}

async function readJson(response) {
  return response.json().catch(() => null);
}
