// The page of a metric evaluation: each table can be copied in the formats of its downloads.
async function copy(button) {
  const response = await fetch(button.dataset.copy, { credentials: "same-origin" });
  if (!response.ok) throw new Error(String(response.status));
  await navigator.clipboard.writeText(await response.text());
  const name = button.textContent;
  button.textContent = button.dataset.done;
  setTimeout(() => (button.textContent = name), 2000);
}

// Browsers allow the clipboard only on https; without it the file is downloaded instead.
function download(button) {
  button.parentElement.querySelector("a[download]").click();
}

for (const button of document.querySelectorAll("button[data-copy]")) button.hidden = false;
document.addEventListener("click", (event) => {
  const button = event.target.closest("button[data-copy]");
  if (button) copy(button).catch(() => download(button));
});
