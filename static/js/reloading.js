// A page with a job reloads itself when the job ends, but not while somebody goes elsewhere: that would undo their click.
const WAIT_MS = 10_000; // for a slow answer; a download, which leaves the page where it is, delays the reload by so much

export function startReloading() {
  if (!document.querySelector("[hx-get]")) return;
  let leftAt = -Infinity;
  addEventListener("beforeunload", () => (leftAt = performance.now()));
  document.addEventListener("htmx:beforeOnLoad", (event) => {
    if (performance.now() - leftAt < WAIT_MS) event.preventDefault();
  });
}
