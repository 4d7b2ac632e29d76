// What htmx cannot: go to the place that an error names, copy the manifest, drag
// alternatives, complete and explain what is typed into a CEL field, and drop answers
// that come late. Everything else of the composer works without script.
"use strict";
(() => {
  const offsetOf = (text, line, column) => {
    const lines = text.split("\n");
    const before = lines.slice(0, line - 1).reduce((sum, each) => sum + each.length + 1, 0);
    // Columns count code points; a text field counts UTF-16 units.
    return before + [...(lines[line - 1] || "")].slice(0, column - 1).join("").length;
  };

  document.addEventListener("click", (event) => {
    const link = event.target.closest("a[data-line]");
    if (!link) return;
    const field = document.getElementById(link.hash.slice(1));
    if (!field) return;
    event.preventDefault();
    const at = offsetOf(field.value, Number(link.dataset.line), Number(link.dataset.column));
    field.focus();
    field.setSelectionRange(at, at);
  });

  document.addEventListener("click", async (event) => {
    const button = event.target.closest("button[data-copy]");
    const text = button && document.getElementById(button.dataset.copy);
    if (text) await navigator.clipboard.writeText(text.textContent);
  });

  const showScripted = (root) => {
    root.querySelectorAll("[data-grip]").forEach((grip) => { grip.hidden = false; grip.draggable = true; });
    if (!navigator.clipboard) return;
    root.querySelectorAll("button[data-copy]").forEach((button) => { button.hidden = false; });
  };
  showScripted(document);
  document.addEventListener("htmx:load", (event) => showScripted(event.target));

  // Each question has a number; an answer to another than a part's newest is dropped.
  const NUMBER = "X-Question-Number";
  const newest = new Map();
  let asked = 0;
  document.addEventListener("htmx:configRequest", (event) => {
    const target = event.detail.target;
    if (!target?.id) return;
    asked += 1;
    newest.set(target.id, asked);
    event.detail.headers[NUMBER] = String(asked);
  });
  document.addEventListener("htmx:beforeSwap", (event) => {
    const { target, requestConfig } = event.detail;
    const number = Number(requestConfig?.headers?.[NUMBER]);
    if (number && target?.id && newest.get(target.id) !== number) event.detail.shouldSwap = false;
  });

  // What is typed while the form is fetched anew is not lost: it goes into the new one.
  // After a move the names of fields mean others, so then nothing is carried over.
  const valuesOf = (form) => new Map([...form.elements]
    .filter((each) => each.name && !each.hidden && /^(text|textarea|select-one|checkbox)$/.test(each.type))
    .map((each) => [`${each.name} ${each.type === "checkbox" ? each.value : ""}`, each.type === "checkbox" ? each.checked : each.value]));
  let sent = null;
  let later = null;
  document.addEventListener("htmx:beforeRequest", (event) => {
    if (event.detail.target?.id !== "composer" || event.defaultPrevented) return;
    const action = event.detail.requestConfig.parameters.action ?? "";
    sent = /^(check|add-|tolerate|build)/.test(action) ? valuesOf(event.detail.target) : null;
  });
  document.addEventListener("htmx:beforeSwap", (event) => {
    const form = document.getElementById("composer");
    if (event.detail.target !== form) return;
    later = event.detail.shouldSwap && sent
      ? [...valuesOf(form)].filter(([name, value]) => sent.has(name) && sent.get(name) !== value)
      : null;
  });
  // Settled is when the new fields' own questions can be asked: not before, when another
  // part has settled.
  document.addEventListener("htmx:afterSettle", (event) => {
    if (event.target.id !== "composer") return;
    const form = later?.length ? event.target : null;
    const names = new Map(later ?? []);
    later = null;
    for (const each of form?.elements ?? []) {
      const name = `${each.name} ${each.type === "checkbox" ? each.value : ""}`;
      if (!names.has(name)) continue;
      if (each.type === "checkbox") each.checked = names.get(name);
      else each.value = names.get(name);
      for (const kind of ["input", "change"]) each.dispatchEvent(new Event(kind, { bubbles: true }));
    }
  });

  // Moving alternatives: by dragging the grip, or Alt with the arrow keys.
  const press = (form, action) => {
    const button = document.createElement("button");
    button.name = "action";
    button.value = action;
    button.hidden = true;
    form.append(button);
    button.click();
    button.remove();
  };
  let dragged = null;
  document.addEventListener("dragstart", (event) => {
    const grip = event.target.closest?.("[data-grip]");
    dragged = grip?.closest("[data-movable]") ?? null;
    if (!dragged) return;
    event.dataTransfer.effectAllowed = "move";
    event.dataTransfer.setData("text/plain", dragged.dataset.alternative);
    event.dataTransfer.setDragImage(dragged, 12, 12);
    dragged.dataset.dragged = "";
  });
  const placeUnder = (event) => {
    const over = dragged && event.target.closest?.("[data-movable]");
    return over && over !== dragged && over.parentElement === dragged.parentElement ? over : null;
  };
  document.addEventListener("dragover", (event) => {
    const over = placeUnder(event);
    document.querySelectorAll("[data-over]").forEach((each) => { if (each !== over) delete each.dataset.over; });
    if (!over) return;
    event.preventDefault();
    over.dataset.over = "";
  });
  document.addEventListener("drop", (event) => {
    const over = placeUnder(event);
    if (!over) return;
    event.preventDefault();
    press(over.closest("form"), `move-alternative:${dragged.dataset.alternative}:${over.dataset.alternative.split(":")[1]}`);
  });
  document.addEventListener("dragend", () => {
    if (dragged) delete dragged.dataset.dragged;
    document.querySelectorAll("[data-over]").forEach((each) => delete each.dataset.over);
    dragged = null;
  });
  document.addEventListener("keydown", (event) => {
    const verb = event.altKey && { ArrowUp: "up", ArrowDown: "down" }[event.key];
    const row = verb && event.target.closest("[data-movable]");
    if (!row) return;
    event.preventDefault();
    row.querySelector(`button[value="${verb}-alternative:${row.dataset.alternative}"]:enabled`)?.click();
  });

  // Completion in CEL fields: a listbox of what devices publish and of CEL's own words.
  const MOST = 8;
  const OWN = ["device.driver", "device.allowMultipleAllocations", "quantity(\"\")", "semver(\"\")", "has()"];
  const wordsOf = (field) => {
    const options = [...(document.getElementById(field.dataset.words)?.options ?? [])];
    return [...options.map((each) => ({ text: each.value, doc: each.textContent })), ...OWN.map((text) => ({ text, doc: "" }))];
  };
  // What stands before the caret and could become a word: back to a space, bracket or sign.
  const startOf = (text, at) => {
    let from = at;
    while (from > 0 && /[\w.["\]/-]/.test(text[from - 1])) from -= 1;
    return from;
  };
  const matching = (field) => {
    const at = field.selectionStart;
    const from = startOf(field.value, at);
    const typed = field.value.slice(from, at).toLowerCase();
    if (typed.length < 2) return { from, found: [] };
    const last = typed.split(/[."\]]+/).filter(Boolean).pop() ?? typed;
    const found = wordsOf(field).filter(({ text }) => {
      const low = text.toLowerCase();
      return low !== typed && (low.startsWith(typed) || (last.length > 1 && low.split(".").pop().startsWith(last)));
    });
    return { from, found: found.slice(0, MOST) };
  };
  const boxOf = (field) => document.getElementById(`${field.id}-words`);
  const close = (field) => {
    boxOf(field)?.remove();
    field.removeAttribute("aria-activedescendant");
    field.removeAttribute("aria-controls");
  };
  const choose = (field, option) => {
    const from = Number(option.dataset.from);
    const at = field.selectionStart;
    field.setRangeText(option.dataset.text, from, at, "end");
    if (/\("?"?\)$/.test(option.dataset.text)) {
      const inside = field.selectionStart - (option.dataset.text.endsWith('("")') ? 2 : 1);
      field.setSelectionRange(inside, inside);
    }
    close(field);
    field.dispatchEvent(new Event("input", { bubbles: true }));
    field.focus();
  };
  const mark = (field, option) => {
    boxOf(field).querySelectorAll("[aria-selected]").forEach((each) => each.removeAttribute("aria-selected"));
    option.setAttribute("aria-selected", "true");
    field.setAttribute("aria-activedescendant", option.id);
    option.scrollIntoView({ block: "nearest" });
  };
  const offer = (field) => {
    close(field);
    const { from, found } = matching(field);
    if (!found.length) return;
    const box = document.createElement("ul");
    box.id = `${field.id}-words`;
    box.className = "words";
    box.setAttribute("role", "listbox");
    box.setAttribute("aria-label", field.labels?.[0]?.textContent ?? "");
    found.forEach(({ text, doc }, i) => {
      const option = document.createElement("li");
      option.id = `${box.id}-${i}`;
      option.setAttribute("role", "option");
      option.dataset.text = text;
      option.dataset.from = from;
      const code = document.createElement("code");
      const small = document.createElement("small");
      code.textContent = text;
      small.textContent = doc;
      option.append(code, small);
      box.append(option);
    });
    field.after(box);
    field.setAttribute("aria-controls", box.id);
    field.setAttribute("aria-autocomplete", "list");
  };
  const isWords = (target) => target.matches?.("textarea[data-words]");
  document.addEventListener("input", (event) => { if (isWords(event.target) && event.isTrusted) offer(event.target); });
  document.addEventListener("focusout", (event) => { if (isWords(event.target)) close(event.target); });
  document.addEventListener("pointerdown", (event) => {
    const option = event.target.closest?.(".words [role=option]");
    if (!option) return;
    event.preventDefault();
    choose(document.getElementById(option.parentElement.id.replace(/-words$/, "")), option);
  });
  document.addEventListener("keydown", (event) => {
    const box = isWords(event.target) && boxOf(event.target);
    if (!box || event.altKey) return;
    const options = [...box.children];
    const now = options.findIndex((each) => each.hasAttribute("aria-selected"));
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step) {
      event.preventDefault();
      const next = now < 0 ? (step > 0 ? 0 : options.length - 1) : (now + step + options.length) % options.length;
      mark(event.target, options[next]);
    } else if ((event.key === "Enter" || event.key === "Tab") && now >= 0) {
      event.preventDefault();
      choose(event.target, options[now]);
    } else if (event.key === "Escape") {
      event.preventDefault();
      close(event.target);
    }
  });

  // What a word is, in a line under the field: of the word at the caret, or under the pointer.
  const explain = (field, at) => {
    const line = document.getElementById(`${field.id}-doc`);
    if (!line) return;
    const word = wordsOf(field).find(({ text, doc }) => {
      if (!doc) return false;
      for (let from = field.value.indexOf(text); from >= 0; from = field.value.indexOf(text, from + 1)) {
        if (from <= at && at <= from + text.length) return true;
      }
      return false;
    });
    const says = word ? `${word.text}: ${word.doc}` : "";
    if (line.textContent !== says) line.textContent = says;
  };
  for (const name of ["keyup", "click"]) {
    document.addEventListener(name, (event) => { if (isWords(event.target)) explain(event.target, event.target.selectionStart); });
  }
  document.addEventListener("mousemove", (event) => {
    if (!isWords(event.target) || !document.caretPositionFromPoint) return;
    const found = document.caretPositionFromPoint(event.clientX, event.clientY);
    if (found?.offsetNode === event.target) explain(event.target, found.offset);
  });
})();
