// The grid of winners: looks of the algorithms, arrow keys from cell to cell, words of a cell, its record.
// The cells stand in the page as they are; nothing here decides who wins.

function sample(name) {
  const look = looks.get(name);
  const picture = element("svg", { width: 12, height: 12, "aria-hidden": "true" },
    element("rect", { width: 12, height: 12, rx: 2, fill: look.colour }));
  if (look.hatch) picture.append(element("rect", { width: 12, height: 12, rx: 2, fill: `url(#hatch${look.hatch})` }));
  return picture;
}

const wordsOf = (cell) => cell.querySelector(".unseen").textContent;

function moveFrom(cell, key) {
  const line = cell.closest("tr");
  const column = [...line.cells].indexOf(cell.closest("td"));
  const inLine = (one, at) => one?.cells[at]?.querySelector("button.cell");
  const step = { ArrowRight: 1, ArrowLeft: -1 }[key];
  if (step) return inLine(line, column + step);
  if (key === "Home") return line.querySelector("button.cell");
  if (key === "End") return [...line.querySelectorAll("button.cell")].at(-1);
  let next = line;
  do next = key === "ArrowDown" ? next.nextElementSibling : next.previousElementSibling;
  while (next && !inLine(next, column));
  return inLine(next, column);
}

// One stop of the Tab key a grid; the arrow keys go on from there.
function makeGrid(table) {
  const buttons = [...table.querySelectorAll("button.cell")];
  if (!buttons.length) return;
  buttons[0].tabIndex = 0;
  for (const name of table.querySelectorAll("[data-algorithm]")) name.prepend(sample(name.dataset.algorithm));
  table.addEventListener("keydown", (event) => {
    const cell = event.target.closest("button.cell");
    if (!cell) return;
    if (event.key === "Escape") { hideTip(); return; }
    if (!/^(Arrow|Home|End)/.test(event.key)) return;
    event.preventDefault();
    const next = moveFrom(cell, event.key);
    if (!next) return;
    for (const button of buttons) button.tabIndex = -1;
    next.tabIndex = 0;
    next.focus();
  });
  table.addEventListener("focusin", (event) => {
    const cell = event.target.closest("button.cell");
    if (!cell || !cell.matches(":focus-visible")) return;
    const box = cell.getBoundingClientRect();
    showText(wordsOf(cell), box.left, box.bottom);
  });
  table.addEventListener("focusout", hideTip);
  table.addEventListener("pointermove", (event) => {
    const cell = event.target.closest("button.cell");
    if (cell) showText(wordsOf(cell), event.clientX, event.clientY);
    else hideTip();
  });
  table.addEventListener("pointerleave", hideTip);
  table.addEventListener("click", (event) => {
    const cell = event.target.closest("button.cell");
    if (cell?.dataset.record) openRecord(allRows[Number(cell.dataset.record)]);
  });
}
