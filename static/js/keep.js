// A part that refreshes itself keeps what a person did in it: what is open, how far it is
// scrolled, and what has the focus. htmx alone gives back the focus of what has an id.
"use strict";
(() => {
  const SCROLLS = ".scroll, pre";
  const PLACES = "tr, li, section, article";
  const kept = new Map();

  const placeOf = (each) => {
    const place = each.closest(PLACES);
    return place?.querySelector("th[scope=row], h2, h3")?.textContent.trim() ?? "";
  };
  // What stays the same from one answer to the next; counts in a summary may change.
  const nameOf = (each) => {
    if (each.id) return `#${each.id}`;
    const summary = { DETAILS: each.querySelector("summary"), SUMMARY: each }[each.tagName];
    if (summary) return [each.tagName, placeOf(each), summary.textContent.replace(/\d+/g, "")].join(" ");
    if (each.hasAttribute("href")) return `A ${each.getAttribute("href")}`;
    const marks = ["name", "value", "aria-label", "aria-labelledby"].map((mark) => each.getAttribute(mark));
    return [each.tagName, placeOf(each), each.form?.getAttribute("action"), ...marks].join(" ");
  };
  // Elements by name; of those of one name, the first, the second and so on.
  const namedIn = (part, selector) => {
    const seen = new Map();
    return new Map([...part.querySelectorAll(selector)].map((each) => {
      const name = nameOf(each);
      seen.set(name, (seen.get(name) ?? 0) + 1);
      return [`${name} ${seen.get(name)}`, each];
    }));
  };
  const focused = (part) => {
    const active = document.activeElement;
    if (!part.contains(active)) return null;
    if (active === part) return { tag: "", name: "" };
    const tag = active.localName;
    return { tag, name: [...namedIn(part, tag)].find(([, each]) => each === active)[0] };
  };
  const stateOf = (part) => ({
    open: new Map([...namedIn(part, "details")].map(([name, each]) => [name, each.open])),
    scrolled: new Map([...namedIn(part, SCROLLS)].map(([name, each]) => [name, [each.scrollLeft, each.scrollTop]])),
    own: [part.scrollLeft, part.scrollTop],
    focus: focused(part),
  });
  const giveBack = (part, state) => {
    for (const [name, each] of namedIn(part, "details")) each.open = state.open.get(name) ?? each.open;
    for (const [name, each] of namedIn(part, SCROLLS)) each.scrollTo(...(state.scrolled.get(name) ?? [0, 0]));
    part.scrollTo(...state.own);
    if (!state.focus || document.activeElement !== document.body) return;
    const { tag, name } = state.focus;
    const found = tag && namedIn(part, tag).get(name);
    // What is gone leaves the focus on its part, not at the top of the page.
    if (!found) part.tabIndex = part.hasAttribute("tabindex") ? part.tabIndex : -1;
    (found || part).focus({ preventScroll: true });
  };

  // What a person asked for inside a part, as by a button of a form, opens what it opens.
  const isAskedWithin = (part, event) => event?.target instanceof Node && part.contains(event.target);
  document.addEventListener("htmx:beforeSwap", ({ detail: { target, elt, requestConfig } }) => {
    if (!target.id || elt !== target) return;
    const event = requestConfig?.triggeringEvent;
    if (!event?.type.startsWith("sse:") && isAskedWithin(target, event)) return;
    kept.set(target.id, stateOf(target));
  });
  document.addEventListener("htmx:afterSwap", ({ target }) => {
    if (kept.has(target.id)) giveBack(target, kept.get(target.id));
  });
  // Settling puts the served attributes back on what has an id, `open` among them.
  document.addEventListener("htmx:afterSettle", ({ target }) => {
    const state = kept.get(target.id);
    if (!kept.delete(target.id)) return;
    for (const [name, each] of namedIn(target, "details[id]")) each.open = state.open.get(name) ?? each.open;
  });
})();
