// Start here: records from the embedded data, filters, legend, charts, the list of records, light and dark.

const embedded = JSON.parse(document.getElementById("data").textContent);

function unpacked(columns) {
  const first = columns[0];
  const count = (first.values ?? first.places).length;
  return Array.from({ length: count }, (_, index) => {
    const row = {};
    for (const column of columns) row[column.name] = column.values ? column.values[index] : column.distinct[column.places[index]];
    return row;
  });
}

const allRows = unpacked(embedded.columns);

// Colour by group, hatch and marker by place in it, as in the figures that `convscope-report plot` draws.
function makeLooks() {
  const groups = Object.keys(embedded.colours);
  const rank = (name) => { const at = groups.indexOf(embedded.groups[name]); return at < 0 ? groups.length : at; };
  const names = Object.keys(embedded.groups).sort((a, b) => rank(a) - rank(b) || (a < b ? -1 : 1));
  const looks = new Map();
  const members = {};
  names.forEach((name, order) => {
    const group = embedded.groups[name];
    members[group] = (members[group] ?? -1) + 1;
    looks.set(name, { order, colour: embedded.colours[group] ?? embedded.other, library: group === "library",
      hatch: members[group] % embedded.hatches, marker: members[group] + rank(name) });
  });
  return looks;
}

const looks = makeLooks();
const hidden = new Set();

// Filters in this order; `all` may leave every value, `always` shows the filter with a single value too, `words` says
// the value below a chart.
const FILTERS = [
  { column: "device_name", label: "machine", always: true },
  { column: "device_index", label: "device", words: (value) => `device ${value}` },
  { column: "machine_class", label: "class of machine" },
  { column: "network", label: "network" },
  { column: "pass", label: "pass", all: true, always: true, text: (value) => PASS_NAMES[value] },
  { column: "batch", label: "batch", always: true, words: (value) => `batch ${value}` },
  { column: "math", label: "math mode", always: true },
  { column: "layer", label: "layer", all: true, always: true },
  { column: "layout", label: "layout" },
  { column: "epilogue", label: "epilogue", words: (value) => (value === "none" ? null : `with ${value}`) },
  { column: "threads", label: "threads", words: (value) => `${value} threads` },
  { column: "cache", label: "cache", words: (value) => `${value} cache` },
  { column: "workspace_cap_bytes", label: "workspace cap", text: (value) => (value === null ? "any" : bytesText(value)),
    words: (value) => (value === null ? "any workspace" : `workspace up to ${bytesText(value)}`) },
];
const ALL = "\u0000all";
const chosen = {};

const matches = (row, besides = null) => FILTERS.every(({ column }) =>
  column === besides || chosen[column] === ALL || row[column] === chosen[column]);

function buildFilters() {
  const form = document.getElementById("filters");
  form.addEventListener("submit", (event) => event.preventDefault());
  for (const filter of FILTERS) {
    const values = [...new Set(allRows.map((row) => row[filter.column]))];
    chosen[filter.column] = filter.all && filter.column === "layer" ? ALL : values[0];
    if (values.length < 2 && !filter.always) continue;
    const select = make("select", { name: filter.column });
    if (filter.all) select.add(new Option("all", ALL));
    filter.values = values;
    values.forEach((value, index) => {
      const text = filter.text ? filter.text(value) : String(value ?? "none");
      select.add(new Option(text, String(index)));
    });
    select.value = chosen[filter.column] === ALL ? ALL : "0";
    select.addEventListener("change", () => {
      chosen[filter.column] = select.value === ALL ? ALL : values[Number(select.value)];
      keepSome(filter.column);
      draw();
    });
    filter.select = select;
    form.append(make("label", {}, filter.label, select));
  }
}

// Where the new choice leaves no record, the other filters take the values of the first record that has it.
function keepSome(column) {
  if (allRows.some((row) => matches(row))) return;
  const row = allRows.find((one) => chosen[column] === ALL || one[column] === chosen[column]);
  for (const filter of FILTERS) {
    if (filter.column === column || chosen[filter.column] === ALL) continue;
    chosen[filter.column] = row[filter.column];
    if (filter.select) filter.select.value = String(filter.values.indexOf(row[filter.column]));
  }
}

function drawLegend(rows) {
  const legend = document.getElementById("legend");
  legend.replaceChildren();
  const names = new Set(rows.filter((row) => row.outcome === "measured").map((row) => row.algorithm));
  for (const [name, look] of looks) {
    if (!names.has(name)) continue;
    const sample = element("svg", { width: 34, height: 14, "aria-hidden": "true" },
      element("rect", { width: 16, height: 14, fill: look.colour }));
    if (look.hatch) sample.append(element("rect", { width: 16, height: 14, fill: `url(#hatch${look.hatch})` }));
    sample.append(shape(look.marker, 26, 7, look.colour, !look.library));
    const button = makeButton(name, () => {
      if (!hidden.delete(name)) hidden.add(name);
      draw();
      [...legend.children].find((one) => one.textContent === name)?.focus();
    });
    button.prepend(sample);
    button.setAttribute("aria-pressed", String(!hidden.has(name)));
    legend.append(button);
  }
}

const said = make("p", { className: "unseen" });
said.setAttribute("aria-live", "polite");

function drawCharts() {
  const holder = document.getElementById("figures");
  const visible = (row) => !hidden.has(row.algorithm);
  const circumstances = (free) => FILTERS.filter(({ column }) => !["pass", "layer", free].includes(column))
    .map(({ column, words }) => (words ? words(chosen[column]) : chosen[column])).filter(Boolean).join(", ");
  holder.replaceChildren();
  for (const chart of CHARTS) {
    const lines = [chart.question, circumstances(chart.free)].map((words) => make("span", { className: "faint" }, words));
    const figure = make("figure", { className: chart.wide ? "wide" : "" }, make("figcaption", {}, chart.title, ...lines));
    holder.append(figure);
    const width = Math.max(300, figure.clientWidth - 22);
    const frame = chart.draw(allRows.filter((row) => matches(row, chart.free) && visible(row)), width, looks);
    if (!frame) {
      figure.remove();
      continue;
    }
    figure.append(make("div", { className: "chart" }, frame.svg));
    makeLive(frame, said);
  }
}

// What a record is worth, in words; how its sampling ended stands in its dialog and its tip.
const STATES = { good: "right", repeat: "right; another record of it stands for both", untimed: "right, not timed",
  throttled: "throttled: too long", disturbed: "disturbed: too long", wrong_repeat: "wrong in another record" };
const stateText = (row) => STATES[row.standing] ?? row.standing;
const whyNot = (row) => [row.outcome, row.note || row.reason?.replaceAll("_", " ")].filter(Boolean).join(": ");

// The columns behind the name; those of a record without a time share one cell, which says why.
const LIST = [
  { head: "layer", value: (row) => row.layer },
  { head: "pass", value: (row) => PASS_NAMES[row.pass] },
  { head: "rank", number: (row) => row.rank, text: (rank, row) => `${rank === 1 ? "★ " : row.in_doubt ? "~ " : ""}${rank}` },
  { head: "median (ms)", number: (row) => row.full_median_ms },
  { head: "95% interval (ms)", value: interval },
  { head: "vs library", number: (row) => row.speed_up, text: (value, row) => `${value.toFixed(2)}x${isSuspect(row) || row.baseline_suspect ? "?" : ""}` },
  { head: "GFLOP/s", number: (row) => row.gflops_nominal },
  { head: "% of ceiling", number: (row) => row.percent_of_ceiling,
    text: (value, row) => `${digits(value)}${row.suspect_ceiling ? "?" : ""}` },
  { head: "workspace", number: (row) => row.workspace_bytes, text: bytesText },
  { head: "error", number: (row) => row.relative_l2, text: (value) => value.toExponential(1) },
  { head: "state", value: stateText },
];
const PLACE_COLUMNS = 2;
const LONGEST = 500;
let sortedBy = { index: -1, down: false };

function sorted(rows) {
  if (sortedBy.index < 0) return rows;
  const column = LIST[sortedBy.index];
  const key = column.number ?? column.value;
  const order = (a, b) => {
    const [x, y] = [key(a), key(b)];
    if (x === null || y === null) return (x === null) - (y === null);
    return (x < y ? -1 : x > y ? 1 : 0) * (sortedBy.down ? -1 : 1);
  };
  return [...rows].sort(order);
}

function drawList(rows) {
  const table = document.getElementById("list");
  table.replaceChildren();
  const head = table.createTHead().insertRow();
  ["algorithm", ...LIST.map((column) => column.head), "rerun"].forEach((name, place) => {
    const cell = make("th", { scope: "col" });
    const index = place - 1;
    if (index < 0 || index >= LIST.length) cell.textContent = name;
    else {
      const arrow = sortedBy.index === index ? (sortedBy.down ? " ▼" : " ▲") : "";
      if (arrow) cell.setAttribute("aria-sort", sortedBy.down ? "descending" : "ascending");
      cell.append(makeButton(name + arrow, () => {
        sortedBy = { index, down: sortedBy.index === index && !sortedBy.down };
        drawList(rows);
        table.querySelectorAll("th button")[index].focus();
      }));
    }
    head.append(cell);
  });
  const body = table.createTBody();
  for (const row of sorted(rows).slice(0, LONGEST)) body.append(listLine(row));
}

function listLine(row) {
  const line = make("tr");
  line.insertCell().append(makeButton(row.algorithm, () => openRecord(row)));
  const shown = row.full_median_ms === null ? LIST.slice(0, PLACE_COLUMNS) : LIST;
  for (const column of shown) {
    const cell = line.insertCell();
    if (column.number) {
      const value = column.number(row);
      cell.className = "right";
      cell.textContent = value === null ? "-" : (column.text ?? digits)(value, row);
    } else cell.textContent = column.value(row) ?? "";
  }
  if (shown.length < LIST.length) {
    const cell = line.insertCell();
    cell.colSpan = LIST.length - shown.length;
    cell.className = "why";
    cell.append(make("span", {}, whyNot(row)));
    // A narrow screen has it below the name.
    line.cells[0].dataset.why = whyNot(row);
  }
  const copy = makeButton("copy", () => copyRerun(row, copy));
  copy.setAttribute("aria-label", `copy the command that measures ${row.algorithm} on ${row.layer} again`);
  line.insertCell().append(copy);
  return line;
}

// Tables of other circumstances than those chosen are hidden; one that is about a filter (times by batch) has no value
// for it and stays.
function drawTables() {
  const fits = (scope) => FILTERS.every(({ column }) =>
    !(column in scope) || chosen[column] === ALL || scope[column] === chosen[column]);
  const all = [...document.querySelectorAll(".one-table")];
  for (const one of all) one.hidden = !fits(JSON.parse(one.dataset.scope));
  for (const group of document.querySelectorAll(".table-group"))
    group.hidden = ![...group.querySelectorAll(".one-table")].some((one) => !one.hidden);
  const shown = all.filter((one) => !one.hidden).length;
  document.getElementById("tables-shown").textContent =
    `${shown} of ${all.length} tables are of what the filters above choose, layers aside`;
}

function draw() {
  const rows = allRows.filter((row) => matches(row));
  const good = rows.filter((row) => row.outcome === "measured").length;
  const more = rows.length > LONGEST ? `; the list has the first ${LONGEST}` : "";
  document.getElementById("shown").textContent = `${rows.length} records, ${good} of them measured${more}`;
  drawLegend(rows);
  drawCharts();
  drawList(rows);
  drawTables();
}

function setTheme(dark) {
  document.documentElement.dataset.theme = dark ? "dark" : "light";
  const button = document.getElementById("theme");
  button.setAttribute("aria-pressed", String(dark));
}

document.body.append(hatchPatterns(), said);
setTheme(matchMedia("(prefers-color-scheme: dark)").matches);
document.getElementById("theme").addEventListener("click", () =>
  setTheme(document.documentElement.dataset.theme !== "dark"));
for (const table of document.querySelectorAll("table.answer")) makeGrid(table);
buildFilters();
draw();
let timer = 0;
let lastWidth = window.innerWidth;
window.addEventListener("resize", () => {
  if (window.innerWidth === lastWidth) return;
  lastWidth = window.innerWidth;
  clearTimeout(timer);
  timer = setTimeout(draw, 150);
});
