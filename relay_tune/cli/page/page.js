"use strict";
for (const table of document.querySelectorAll("table.kernels")) {
  const heads = [...table.tHead.rows[0].cells];
  heads.forEach((head, column) => {
    head.querySelector("button").addEventListener("click", () => sort(table, heads, column));
  });
}
for (const button of document.querySelectorAll("button.open")) {
  button.addEventListener("click", () => show(button, button.ariaExpanded !== "true"));
}
addEventListener("hashchange", openTarget);
openTarget();

function sort(table, heads, column) {
  const head = heads[column];
  const numeric = head.dataset.kind === "number";
  const before = head.getAttribute("aria-sort");
  const down = before === null ? numeric && column > 0 : before === "ascending";
  heads.forEach((each) => each.removeAttribute("aria-sort"));
  head.setAttribute("aria-sort", down ? "descending" : "ascending");
  const value = (body) => body.rows[0].cells[column].dataset.value;
  const compare = numeric
    ? (one, other) => value(one) - value(other)
    : (one, other) => value(one).localeCompare(value(other));
  const bodies = [...table.tBodies].sort((one, other) => (down ? -1 : 1) * compare(one, other));
  table.append(...bodies);
}

function show(button, open) {
  button.setAttribute("aria-expanded", open);
  button.closest("tbody").rows[1].hidden = !open;
}

function openTarget() {
  const target = location.hash && document.getElementById(location.hash.slice(1));
  const button = target && target.querySelector("button.open");
  if (button) show(button, true);
}
