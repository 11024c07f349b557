// Times in the reader's time zone, followed by the server's UTC time in brackets.
const { lang } = document.documentElement;
const HERE = new Intl.DateTimeFormat(!lang || lang === "en" ? "en-GB" : lang, {
  day: "numeric",
  month: "short",
  hour: "2-digit",
  minute: "2-digit",
  hourCycle: "h23",
  numberingSystem: "latn",
});

export function startTimes() {
  for (const time of document.querySelectorAll("time[data-local]")) {
    const at = new Date(time.dateTime);
    if (Number.isNaN(at.getTime()) || at.getTimezoneOffset() === 0) continue;
    time.textContent = `${HERE.format(at)} (${sayUtc(at, time.textContent)})`;
  }
}

// The time alone is enough if it is the same day in both zones.
function sayUtc(at, text) {
  return at.getDate() === at.getUTCDate() ? `${at.toISOString().slice(11, 16)} UTC` : text;
}
