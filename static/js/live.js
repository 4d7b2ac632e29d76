// What htmx does not do: ages that tick, the reader's own time as a title, the pause
// button, a word when a part cannot be refreshed, and menus that close. Pages work without it.
const ages = JSON.parse(document.body.dataset.ages).reverse();
const pause = document.querySelector("[data-pause]");
const connected = document.querySelector("[sse-connect]");
const local = new Intl.DateTimeFormat(document.documentElement.lang, { dateStyle: "medium", timeStyle: "long" });
let paused = false;
let missed = false;

function tick() {
  for (const time of document.querySelectorAll("time[data-age]")) {
    const seconds = Math.max(0, Math.floor((Date.now() - Date.parse(time.dateTime)) / 1000));
    const [size, pattern] = ages.find(([size]) => seconds >= size || size === 1);
    const text = pattern.replace("{}", Math.floor(seconds / size));
    if (time.textContent !== text) time.textContent = text;
  }
  for (const time of document.querySelectorAll("time[datetime*=T]:not([title])")) time.title = local.format(Date.parse(time.dateTime));
}
setInterval(tick, 1000);

const isLive = (event) => (event.detail.requestConfig?.triggeringEvent?.type ?? "").startsWith("sse:");
// What asks by the clock has no event to name; nor has what asks as it is loaded.
const isClocked = (event) =>
  !event.detail.requestConfig?.triggeringEvent && /(^|,)\s*every\s/.test(event.detail.elt.getAttribute("hx-trigger") ?? "");

document.body.addEventListener("htmx:beforeRequest", (event) => {
  if (paused && (isLive(event) || isClocked(event))) {
    missed = true;
    event.preventDefault();
  }
});

// A part with data-pace, in seconds, asks again that long after its last question at the
// soonest, and not before that is answered. Not by htmx's own throttle: it would keep
// changes of the form waiting as well, and forget the last of what it hears.
const last = new Map();
const later = new Map();
function pace(event) {
  const part = event.target;
  if (!part.dataset?.pace) return;
  const wait = (last.get(part.id) ?? 0) + Number(part.dataset.pace) * 1000 - Date.now();
  if (!paused && wait <= 0 && !part.classList.contains("htmx-request")) return;
  event.stopImmediatePropagation();
  if (paused) missed = true;
  if (paused || later.has(part.id)) return;
  const again = () => {
    later.delete(part.id);
    const successor = document.getElementById(part.id);
    if (successor) htmx.trigger(successor, event.type);
  };
  later.set(part.id, setTimeout(again, Math.max(wait, 1000)));
}
for (const name of ["sse:inventory", "sse:claim"]) document.body.addEventListener(name, pace, true);
document.body.addEventListener("htmx:beforeRequest", ({ target }) => {
  if (target.dataset.pace) last.set(target.id, Date.now());
});

// A part that is being replaced forgets what it hears meanwhile: its successor asks again.
const asked = new Map();
document.body.addEventListener("htmx:beforeRequest", (event) => {
  if (!isLive(event)) return;
  const question = { justAsked: true, late: false };
  asked.set(event.target.id, question);
  setTimeout(() => (question.justAsked = false));
});
document.body.addEventListener("htmx:sseMessage", (event) => {
  const question = asked.get(event.target.id);
  if (question && !question.justAsked) question.late = true;
});
document.body.addEventListener("htmx:afterSettle", (event) => {
  const question = asked.get(event.target.id);
  asked.delete(event.target.id);
  const part = document.getElementById(event.target.id);
  if (question?.late && part) htmx.trigger(part, part.getAttribute("hx-trigger").match(/sse:[\w-]+/)[0]);
});

function reload() {
  for (const part of document.querySelectorAll('[hx-trigger*="sse:"]')) {
    for (const [, name] of part.getAttribute("hx-trigger").matchAll(/sse:([\w-]+)/g)) htmx.trigger(part, `sse:${name}`);
  }
}

if (pause && connected) {
  const words = [pause.textContent, pause.dataset.resume];
  pause.hidden = false;
  pause.addEventListener("click", () => {
    paused = !paused;
    pause.textContent = words[Number(paused)];
    pause.setAttribute("aria-pressed", String(paused));
    if (!paused && missed) reload();
    missed = false;
  });
}

function say(sentence) {
  const region = document.getElementById("messages");
  if (region.querySelector("[data-lost]")) return;
  const line = document.createElement("p");
  line.className = "message";
  line.dataset.kind = "error";
  line.dataset.lost = "";
  line.textContent = sentence;
  region.append(line);
}
for (const name of ["htmx:sendError", "htmx:responseError", "htmx:timeout"]) {
  document.body.addEventListener(name, () => say(document.getElementById("messages").dataset.lost));
}
document.body.addEventListener("htmx:afterOnLoad", () => document.querySelector("#messages > [data-lost]")?.remove());

// Of what panels say, a short word alone is read out, and only where it became another.
const told = document.getElementById("told");
let telling;
document.body.addEventListener("htmx:afterSettle", () => {
  clearTimeout(telling);
  telling = setTimeout(() => {
    const words = [...document.querySelectorAll("[data-told]")].map((each) => each.textContent.trim().replace(/\s+/g, " ")).join(" ");
    if (words && words !== told.textContent) told.textContent = words;
  }, 300);
});

// The number beside a slider follows it.
document.addEventListener("input", ({ target }) => {
  const shown = target.type === "range" && target.id && document.querySelector(`output[for="${target.id}"]`);
  if (shown) shown.textContent = Number(target.value).toFixed(2);
});

document.addEventListener("click", (event) => {
  for (const menu of document.querySelectorAll("details.menu[open]")) if (!menu.contains(event.target)) menu.open = false;
});
document.addEventListener("keydown", (event) => {
  const menu = event.key === "Escape" && document.querySelector("details.menu[open]");
  if (menu) {
    menu.open = false;
    menu.querySelector("summary").focus();
  }
});
document.querySelector("nav.side a[aria-current]")?.scrollIntoView({ block: "nearest", inline: "center" });
