// The full record: tip under the pointer, dialog, copying the command that measures it again.

const PASS_NAMES = { forward: "forward", backward_data: "backward-data", backward_filter: "backward-filter" };

function bytesText(bytes) {
  for (const [unit, size] of [["GiB", 2 ** 30], ["MiB", 2 ** 20], ["KiB", 2 ** 10]]) {
    if (bytes >= size) return `${(bytes / size).toFixed(1)} ${unit}`;
  }
  return `${bytes} B`;
}

function interval(row) {
  return row.full_ci_low_ms === null ? "" : `[${digits(row.full_ci_low_ms)}, ${digits(row.full_ci_high_ms)}]`;
}

// How the sampling of a record ended, in words; none of it is an error.
const STOPS = { converged: "the interval is as narrow as asked for", noise_plateau: "more samples no longer narrowed the interval",
  time_limit: "the time limit was reached", max_samples: "the limit of samples was reached" };

function tipText(row) {
  const lines = [`${row.algorithm}${row.implementation ? ` (${row.implementation})` : ""}`,
    `${row.layer} ${PASS_NAMES[row.pass]}, batch ${row.batch}, ${row.math} ${row.layout}, ${row.threads} threads`];
  if (row.sum_ms !== undefined) lines.push(`all layers: ${digits(row.sum_ms)} ms; Enter or press: record of its first layer`);
  if (row.full_median_ms === null) return [...lines, `${row.reason ?? row.outcome}: ${row.note ?? ""}`].join("\n");
  lines.push(`median ${digits(row.full_median_ms)} ms ${interval(row)}`);
  if (row.gflops_nominal !== null) lines.push(`${digits(row.gflops_nominal)} nominal GFLOP/s`);
  if (row.percent_of_ceiling !== null) lines.push(`${digits(row.percent_of_ceiling)}% of the ceiling (${row.bound}${row.suspect_ceiling ? "; suspect, measured too low" : ""})`);
  if (row.workspace_bytes !== null) lines.push(`workspace ${bytesText(row.workspace_bytes)}`);
  if (row.relative_l2 !== null) lines.push(`error ${row.relative_l2.toExponential(1)}`);
  if (row.rank !== null) lines.push(`rank ${row.rank}${row.in_doubt ? ", not shown to be slower than the first" : ""}`);
  if (row.standing !== "good") lines.push(row.rank === null ? `${row.standing}: cannot win` : `${row.standing} while measured: its time is too long`);
  if (STOPS[row.stop_reason]) lines.push(`sampling: ${STOPS[row.stop_reason]}`);
  return lines.join("\n");
}

const tip = document.getElementById("tip");

function showText(words, x, y) {
  tip.textContent = words;
  tip.hidden = false;
  const box = tip.getBoundingClientRect();
  tip.style.left = `${Math.max(4, Math.min(x + 14, window.innerWidth - box.width - 4))}px`;
  tip.style.top = `${y + 18 + box.height > window.innerHeight ? Math.max(4, y - box.height - 12) : y + 18}px`;
}

const showTip = (row, x, y) => showText(tipText(row), x, y);
const hideTip = () => { tip.hidden = true; };

const dialog = document.getElementById("record");

let openRow = null;

function openRecord(row) {
  openRow = row;
  hideTip();
  document.getElementById("record-title").textContent = `${row.algorithm}, ${row.layer} ${PASS_NAMES[row.pass]}`;
  document.getElementById("rerun").textContent = row.rerun ?? "";
  document.getElementById("copied").textContent = "";
  const fields = document.getElementById("fields");
  fields.replaceChildren();
  for (const [name, value] of Object.entries(row)) {
    if (value === null || ["rerun", "run"].includes(name)) continue;
    const line = fields.insertRow();
    line.append(make("th", { scope: "row" }, name));
    const stop = name === "stop_reason" && STOPS[value];
    line.insertCell().textContent = stop ? `${value} (${stop})` : String(value);
  }
  dialog.showModal();
}

// Copies the command that measures the record again. Some browsers refuse the clipboard to pages from disk: then the record
// is open and the command in it selected, to be copied by hand.
async function copyRerun(row, status) {
  try {
    await navigator.clipboard.writeText(row.rerun);
    status.textContent = "copied";
  } catch {
    if (!dialog.open) openRecord(row);
    const range = document.createRange();
    range.selectNodeContents(document.getElementById("rerun"));
    getSelection().removeAllRanges();
    getSelection().addRange(range);
    document.getElementById("copied").textContent = "the browser refused; the line is selected: copy it with Ctrl-C";
  }
}

document.getElementById("close").addEventListener("click", () => dialog.close());
document.getElementById("copy").addEventListener("click", () => copyRerun(openRow, document.getElementById("copied")));
dialog.addEventListener("click", (event) => { if (event.target === dialog) dialog.close(); });

// Pointing, pressing and the arrow keys on a chart's marks. `said` is read out by screen readers.
function makeLive(frame, said) {
  let current = -1;
  const point = (index) => {
    frame.marks[current]?.classList.remove("current");
    current = (index + frame.marks.length) % frame.marks.length;
    const mark = frame.marks[current];
    mark.classList.add("current");
    const box = mark.getBoundingClientRect();
    showTip(mark.row, box.right, box.top);
    said.textContent = tipText(mark.row);
  };
  frame.svg.addEventListener("pointermove", (event) => {
    const mark = event.target.closest(".mark");
    if (mark) showTip(mark.row, event.clientX, event.clientY);
    else hideTip();
  });
  frame.svg.addEventListener("pointerleave", hideTip);
  frame.svg.addEventListener("blur", hideTip);
  frame.svg.addEventListener("click", (event) => {
    const mark = event.target.closest(".mark");
    if (mark) openRecord(mark.row);
  });
  frame.svg.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    if (step && frame.marks.length) point(current < 0 && step < 0 ? frame.marks.length - 1 : current + step);
    else if (event.key === "Home") point(0);
    else if (event.key === "End") point(frame.marks.length - 1);
    else if ((event.key === "Enter" || event.key === " ") && current >= 0) openRecord(frame.marks[current].row);
    else if (event.key === "Escape") hideTip();
    else return;
    event.preventDefault();
  });
}
