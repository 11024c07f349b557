// Tables of figures: a heading sorts the rows, and each table can be copied in the formats of its downloads.
const collator = new Intl.Collator(document.documentElement.lang || "en", { numeric: true, sensitivity: "base" });
const READ = {
  // An undefined figure has no data-value: it comes last in both directions.
  number: (cell) => (cell.dataset.value === undefined ? null : Number(cell.dataset.value)),
  text: (cell) => cell.textContent.trim() || null,
};
const COMPARE = { number: (one, other) => one - other, text: collator.compare };

// Numbers begin with the largest and names with the first; the third time restores the order of the server.
const NEXT = {
  number: { none: "descending", descending: "ascending", ascending: "none" },
  text: { none: "ascending", ascending: "descending", descending: "none" },
};

function sortRows(body, order, place, kind, direction) {
  const sign = direction === "descending" ? -1 : 1;
  const values = new Map(order.map((row) => [row, READ[kind](row.cells[place])]));
  const rows = direction === "none" ? order : [...order].sort((one, other) => {
    const [first, second] = [values.get(one), values.get(other)];
    if (first === null || second === null) return (first === null) - (second === null);
    return sign * COMPARE[kind](first, second);
  });
  body.append(...rows);
}

function startSorting(table) {
  const body = table.tBodies[0];
  const order = [...body.rows];
  table.dataset.figures = "ready";
  if (order.length < 2) return;
  const heads = [...table.tHead.rows[0].cells];
  heads.forEach((head, place) => {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "sort";
    const name = head.querySelector("bdi");
    name.replaceWith(button);
    button.append(name);
    button.addEventListener("click", () => {
      const direction = NEXT[head.dataset.kind][head.getAttribute("aria-sort") ?? "none"];
      for (const other of heads) other.removeAttribute("aria-sort");
      if (direction !== "none") head.setAttribute("aria-sort", direction);
      sortRows(body, order, place, head.dataset.kind, direction);
    });
  });
}

class SignedOut extends Error {}

async function fetchText(url) {
  const response = await fetch(url, { redirect: "manual" });
  if (response.type === "opaqueredirect") throw new SignedOut();
  if (!response.ok) throw new Error(String(response.status));
  return response.text();
}

// Safari allows the clipboard only while the click is handled, but takes a text that comes later.
async function write(text) {
  const later = text.then((each) => new Blob([each], { type: "text/plain" }));
  if (window.ClipboardItem) await navigator.clipboard.write([new ClipboardItem({ "text/plain": later })]);
  else await navigator.clipboard.writeText(await text);
}

async function copy(button) {
  const note = button.closest(".table-foot").querySelector("[role=status]");
  note.textContent = ""; // so that a second copy is announced too
  const text = fetchText(button.dataset.copy);
  try {
    await write(text);
    note.textContent = button.dataset.copied;
  } catch {
    const fault = await text.catch((error) => error);
    if (fault instanceof SignedOut) location.reload(); // a page leads to the sign-in and back, a file does not
    else download(button);
  }
}

// Browsers allow the clipboard only on https; without it the file is downloaded instead.
function download(button) {
  button.parentElement.querySelector("a[download]").click();
}

for (const table of document.querySelectorAll('table[data-figures=""]')) startSorting(table);
for (const button of document.querySelectorAll("button[data-copy]")) button.hidden = false;
document.addEventListener("click", (event) => {
  const button = event.target.closest("button[data-copy]");
  if (button) copy(button);
});
