// A form that is on its way is not sent again by a second press: on a slow network its answer would be that of the second, which is
// refused because the first was done. Another button, or a field that has changed since, is another wish, and is sent. After a while
// the same can be sent again, for a request that was stopped, or a file that came instead of a page.
export const WAIT_MS = 5000;

export function startSending() {
  const sent = new WeakMap();
  document.addEventListener("submit", (event) => {
    const { target: form, submitter } = event;
    const method = submitter?.getAttribute("formmethod") ?? form.getAttribute("method");
    if (event.defaultPrevented || method !== "post") return;
    const [before, now] = [sent.get(form), { at: performance.now(), submitter, fields: readFields(form) }];
    const isAgain = before?.submitter === submitter && before.fields === now.fields && now.at - before.at < WAIT_MS;
    if (isAgain) event.preventDefault();
    else sent.set(form, now);
  });
  addEventListener("pageshow", ({ persisted }) => {
    if (persisted) for (const form of document.forms) sent.delete(form);
  });
}

function readFields(form) {
  const fields = [...new FormData(form)];
  return JSON.stringify(fields.map(([name, value]) => [name, value instanceof File ? [value.name, value.size] : value]));
}
