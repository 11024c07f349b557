// Answers kept on this device: one entry of localStorage per membership and assignment.
// An entry: {user, urls: {draft, session}, unsent: {answers, cannot, flags, comments, read}, seconds, keptAt}.
const PREFIX = "concord:work:";

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
    yield { hasUnsent: !isEmpty(entry.unsent), send: () => sendOnce(entry) };
  }
}

async function sendOnce(entry) {
  const session = await fetch(entry.urls.session, { headers: { Accept: "application/json" } });
  if (!session.ok) throw new Error(`session ${session.status}`);
  const { csrf } = await session.json();
  const response = await fetch(entry.urls.draft, {
    method: "POST",
    headers: { "Content-Type": "application/json", "X-CSRFToken": csrf },
    body: JSON.stringify(entry.unsent),
  });
  // 409: the HIT was submitted or is no longer this person's, so nothing is left to send.
  if (!response.ok && response.status !== 409) throw new Error(`draft ${response.status}`);
}
