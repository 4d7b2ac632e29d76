// What htmx cannot: go to the place that an error names, and copy the manifest.
// Everything else of the composer works without script.
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

  const showCopy = (root) => {
    if (!navigator.clipboard) return;
    root.querySelectorAll("button[data-copy]").forEach((button) => { button.hidden = false; });
  };
  showCopy(document);
  document.addEventListener("htmx:load", (event) => showCopy(event.target));
})();
