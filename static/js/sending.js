// A form that is on its way is not sent again by a second press: on a slow network its answer would be that of the second, which is
// refused because the first was done. After a while it can be, for a request that was stopped, or a file that came instead of a page.
const WAIT_MS = 5000;

export function startSending() {
  const sentAt = new WeakMap();
  document.addEventListener("submit", (event) => {
    const { target: form, submitter } = event;
    const method = submitter?.getAttribute("formmethod") ?? form.getAttribute("method");
    if (event.defaultPrevented || method !== "post") return;
    if (performance.now() - sentAt.get(form) < WAIT_MS) event.preventDefault();
    else sentAt.set(form, performance.now());
  });
  addEventListener("pageshow", ({ persisted }) => {
    if (persisted) for (const form of document.forms) sentAt.delete(form);
  });
}
