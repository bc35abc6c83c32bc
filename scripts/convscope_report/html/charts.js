// The charts: each takes the records that the filters leave, a width in pixels, and what is known of algorithms (looks).
// Each returns a Frame, or null where there is nothing to draw. Who wins, by how much, against which baseline and what is
// on the front stands in the records (rank, over_winner, speed_up, on_front): filters hide records and change none of it.

const PASS_SHORT = { forward: "F", backward_data: "BD", backward_filter: "BF" };
const MIB = 2 ** 20;

// Rows that can win: measured and right, and of repeats the one that stands for all.
const ranked = (rows) => rows.filter((row) => row.rank !== null);
const isWinner = (row) => row.rank === 1;
const isSuspect = (row) => row.standing === "throttled" || row.standing === "disturbed";
const winnerTime = (row) => row.full_median_ms / row.over_winner;
// Behind what stands for a suspect record.
const SUSPECT = "t";

// Rows by layer and pass, in their order; the name has the pass where there are several.
function places(rows) {
  const several = new Set(rows.map((row) => row.pass)).size > 1;
  const found = new Map();
  for (const row of rows) {
    const name = several ? `${row.layer} ${PASS_SHORT[row.pass]}` : `${row.layer}`;
    if (!found.has(name)) found.set(name, []);
    found.get(name).push(row);
  }
  return [...found].map(([name, members]) => ({ name, rows: members }));
}

function inOrder(rows, looks) {
  return [...rows].sort((a, b) => looks.get(a.algorithm).order - looks.get(b.algorithm).order);
}

// Bars side by side at every place; `value` gives a bar's height, `top` the highest that is drawn.
function bars(rows, width, looks, { label, unit, value, top, extra }) {
  const groups = places(rows);
  if (!groups.length) return null;
  const slots = rows.length + 1.2 * groups.length;
  const needed = Math.max(width, 90 + 9 * slots);
  const frame = new Frame(needed, 320, label);
  const y = linear(0, top, frame.bottom, frame.top + 14);
  frame.yAxis(y, unit);
  const slot = (frame.right - frame.left) / slots;
  let x = frame.left + 0.6 * slot;
  for (const group of groups) {
    const start = x;
    for (const row of inOrder(group.rows, looks)) {
      const look = looks.get(row.algorithm);
      const high = y(Math.min(value(row), top));
      const box = { x, y: high, width: 0.86 * slot, height: Math.max(frame.bottom - high, 0.5) };
      frame.mark(element("rect", { ...box, fill: look.colour }), row);
      if (look.hatch) frame.svg.append(element("rect", { ...box, fill: `url(#hatch${look.hatch})`, "pointer-events": "none" }));
      if (value(row) > top) {
        const middle = x + 0.43 * slot;
        frame.text(middle, frame.top + 10, digits(value(row)), { "text-anchor": "middle", "font-size": 10 });
      }
      if (extra) extra(frame, y, row, x, 0.86 * slot);
      x += slot;
    }
    frame.text((start + x) / 2 - 0.07 * slot, frame.bottom + 16, group.name, { "text-anchor": "middle" });
    x += 1.2 * slot;
  }
  frame.svg.append(element("line", { class: "axis", x1: frame.left, x2: frame.right, y1: frame.bottom, y2: frame.bottom }));
  frame.xLabel("layer");
  return frame;
}

function timeByLayer(rows, width, looks) {
  const good = ranked(rows);
  if (!good.length) return null;
  const top = Math.min(5 * Math.max(...good.map(winnerTime)), 1.1 * Math.max(...good.map((row) => row.full_median_ms)));
  const interval = (frame, y, row, x, wide) => {
    const middle = x + wide / 2;
    if (row.full_ci_low_ms !== null && row.full_median_ms <= top) {
      frame.line([[middle, y(row.full_ci_low_ms)], [middle, y(Math.min(row.full_ci_high_ms, top))]],
        { "stroke-width": 1.2, "pointer-events": "none" });
    }
    if (isWinner(row)) frame.text(middle, frame.bottom - 3, "★", { "text-anchor": "middle", "pointer-events": "none" });
    if (isSuspect(row)) frame.text(middle, y(Math.min(row.full_ci_high_ms ?? row.full_median_ms, top)) - 3, SUSPECT,
      { class: "suspect-mark", "text-anchor": "middle", "pointer-events": "none" });
  };
  return bars(good, width, looks, { label: "Time by layer and algorithm", unit: "median time (ms)",
    value: (row) => row.full_median_ms, top, extra: interval });
}

function operations(rows, width, looks) {
  const good = ranked(rows).filter((row) => row.flops_executed !== null);
  if (!good.length) return null;
  const top = 1.08 * Math.max(...good.map((row) => Math.max(row.flops_executed, row.flops_nominal))) / 1e9;
  const nominal = (frame, y, row, x, wide) => frame.line(
    [[x - 0.1 * wide, y(row.flops_nominal / 1e9)], [x + 1.15 * wide, y(row.flops_nominal / 1e9)]],
    { "stroke-width": 1.6, "pointer-events": "none" });
  return bars(good, width, looks, { label: "Operations executed by layer and algorithm", unit: "operations (GFLOP)",
    value: (row) => row.flops_executed / 1e9, top, extra: nominal });
}

// Purple below 1, orange above, by the logarithm up to a factor of 4.
function speedColour(factor) {
  const share = Math.max(-1, Math.min(1, Math.log(factor) / Math.log(4)));
  const end = share < 0 ? [69, 39, 129] : [179, 88, 6];
  const middle = [246, 244, 240];
  const mix = middle.map((part, index) => Math.round(part + Math.abs(share) * (end[index] - part)));
  return { fill: `rgb(${mix.join(",")})`, ink: Math.abs(share) > 0.6 ? "#ffffff" : "#1c1c1c" };
}

function speedUp(rows, width, looks) {
  const good = ranked(rows);
  const groups = places(good);
  if (!groups.length) return null;
  const hasBaseline = good.some((row) => row.speed_up !== null);
  const factorOf = (row) => (hasBaseline ? row.speed_up : 1 / row.over_winner);
  const names = [...new Set(inOrder(good, looks).map((row) => row.algorithm))];
  const cell = Math.max(46, Math.min(110, (width - 190) / groups.length));
  const frame = new Frame(Math.max(width, 190 + cell * groups.length), 46 + 22 * names.length,
    "Speed-up over the fastest record of a library by layer and algorithm", { left: 176, top: 4, bottom: 40 });
  groups.forEach((group, column) => {
    const x = frame.left + column * cell;
    names.forEach((name, line) => {
      const row = group.rows.find((one) => one.algorithm === name);
      const y = frame.top + 22 * line;
      const factor = row ? factorOf(row) : null;
      if (factor === null) {
        frame.svg.append(element("rect", { x, y, width: cell - 2, height: 20, fill: "var(--empty)" }));
        return;
      }
      const colour = speedColour(factor);
      frame.mark(element("rect", { x, y, width: cell - 2, height: 20, fill: colour.fill }), row);
      frame.text(x + cell / 2 - 1, y + 14, `${factor.toFixed(2)}x${isSuspect(row) ? SUSPECT : ""}`, { "text-anchor": "middle", "pointer-events": "none",
        style: `fill:${colour.ink}`, "font-weight": isWinner(row) ? 700 : 400 });
    });
    frame.text(x + cell / 2, frame.bottom + 14, group.name, { "text-anchor": "middle" });
  });
  names.forEach((name, line) => frame.text(frame.left - 6, frame.top + 22 * line + 14, name, { "text-anchor": "end" }));
  frame.xLabel("layer; time of the fastest library record over this one's");
  return frame;
}

// Points of records on two axes.
function scatter(frame, rows, x, y, xValue, yValue, looks) {
  for (const row of rows) {
    const look = looks.get(row.algorithm);
    frame.mark(shape(look.marker, x(xValue(row)), y(yValue(row)), look.colour, !look.library), row);
    if (isSuspect(row)) frame.text(x(xValue(row)) + 7, y(yValue(row)) - 4, SUSPECT, { class: "suspect-mark" });
  }
}

// An axis of over_winner: suspect records rank behind the winner, and may lie before it.
const slownessRange = (rows) => [0.92 * Math.min(1, ...rows.map((row) => row.over_winner)),
  Math.max(2.2, 1.1 * Math.max(...rows.map((row) => row.over_winner)))];

function roofline(rows, width, looks) {
  const good = ranked(rows).filter((row) => row.gflops_executed !== null && row.ceiling_gflops !== null
    && row.arithmetic_intensity !== null);
  if (!good.length) return null;
  const { ceiling_gflops: rate, ceiling_cache_gbs: cache } = good[0];
  const memory = Math.max(good[0].ceiling_read_gbs, good[0].ceiling_copy_gbs);
  const intensity = good.map((row) => row.arithmetic_intensity);
  const low = Math.min(0.6 * Math.min(...intensity), (0.5 * rate) / memory);
  const high = 1.6 * Math.max(...intensity);
  const lowest = Math.min(0.6 * Math.min(...good.map((row) => row.gflops_executed)), low * memory);
  const frame = new Frame(width, 340, "Roofline");
  const x = logarithmic(low, high, frame.left, frame.right);
  const y = logarithmic(lowest, 2 * rate, frame.bottom, frame.top);
  frame.xAxis(x, "executed operations per tensor byte (flop/byte)");
  frame.yAxis(y, "executed arithmetic (GFLOP/s)");
  for (const [speed, dash, name] of [[memory, "", "memory"], [cache, "3 3", "cache"]]) {
    if (!speed) continue;
    const knee = Math.min(Math.max(rate / speed, low), high);
    const start = Math.max(low, lowest / speed);
    frame.line([[x(start), y(Math.min(rate, speed * start))], [x(knee), y(Math.min(rate, speed * knee))], [x(high), y(rate)]],
      { "stroke-dasharray": dash, "stroke-width": 1.4 });
    if (speed * start < rate) {
      frame.text(x(start) + 12, y(speed * start) - 2, `${name} ${digits(speed)} GB/s`, { class: "faint-text", "font-size": 11 });
    }
  }
  frame.text(frame.right, y(rate) - 5, `multiply-add ${digits(rate)} GFLOP/s`, { "text-anchor": "end", class: "faint-text",
    "font-size": 11 });
  scatter(frame, good, x, y, (row) => row.arithmetic_intensity, (row) => row.gflops_executed, looks);
  return frame;
}

function timeAndError(rows, width, looks) {
  const good = ranked(rows).filter((row) => row.relative_l2 > 0);
  if (!good.length) return null;
  const frame = new Frame(width, 340, "Time and error");
  const x = logarithmic(...slownessRange(good), frame.left, frame.right);
  const errors = good.map((row) => row.relative_l2);
  const gates = [...new Set(good.map((row) => row.gate).filter((gate) => gate !== null))];
  const y = logarithmic(0.5 * Math.min(...errors), 2 * Math.max(...errors, ...gates), frame.bottom, frame.top);
  frame.xAxis(x, "time over the layer's fastest");
  frame.yAxis(y, "relative L2 error against f64", (value) => value.toExponential(0));
  for (const gate of gates) {
    frame.line([[frame.left, y(gate)], [frame.right, y(gate)]], { "stroke-dasharray": "5 4" });
    frame.text(frame.right, y(gate) + 14, `gate ${gate.toExponential(0)}`, { "text-anchor": "end", class: "faint-text" });
  }
  scatter(frame, good, x, y, (row) => row.over_winner, (row) => row.relative_l2, looks);
  return frame;
}

function timeAndWorkspace(rows, width, looks) {
  const good = ranked(rows).filter((row) => row.workspace_bytes !== null);
  if (!good.length) return null;
  const frame = new Frame(width, 340, "Time and workspace");
  // Below 1 MiB the axis is linear, so that 0 has a place.
  const bent = (bytes) => (bytes < MIB ? bytes / MIB : 1 + Math.log2(bytes / MIB));
  const most = bent(Math.max(MIB, ...good.map((row) => row.workspace_bytes)));
  const line = linear(-0.3, most + 0.5, frame.left, frame.right);
  const x = (bytes) => line(bent(bytes));
  x.ticks = [0, 1, 4, 16, 64, 256, 1024, 4096].map((mib) => mib * MIB).filter((bytes) => bent(bytes) <= most + 0.5);
  const y = logarithmic(...slownessRange(good), frame.bottom, frame.top);
  frame.xAxis(x, "workspace (MiB)", (bytes) => String(bytes / MIB));
  frame.yAxis(y, "time over the layer's fastest");
  if (places(good).length === 1) {
    const front = good.filter((row) => row.on_front).sort((a, b) => a.workspace_bytes - b.workspace_bytes);
    const steps = front.flatMap((row, index) => [
      ...(index ? [[x(row.workspace_bytes), y(front[index - 1].over_winner)]] : []),
      [x(row.workspace_bytes), y(row.over_winner)]]);
    if (steps.length) frame.line([...steps, [frame.right, steps.at(-1)[1]]], { "stroke-width": 1.2 });
  }
  scatter(frame, good, x, y, (row) => row.workspace_bytes, (row) => row.over_winner, looks);
  return frame;
}

// Time of the network over threads or batch, for algorithms that can do every layer.
function scaling(rows, width, looks, column, label) {
  const good = ranked(rows);
  const values = [...new Set(good.map((row) => row[column]))].sort((a, b) => a - b);
  if (values.length < 2) return null;
  const needed = new Set(good.map((row) => `${row.layer} ${row.pass}`)).size;
  const lines = new Map();
  for (const name of new Set(good.map((row) => row.algorithm))) {
    for (const value of values) {
      const own = good.filter((row) => row.algorithm === name && row[column] === value);
      const sum = own.reduce((total, row) => total + row.count * row.full_median_ms, 0);
      if (own.length !== needed) continue;
      if (!lines.has(name)) lines.set(name, []);
      lines.get(name).push({ value, sum, row: own[0], suspect: own.some(isSuspect) });
    }
  }
  if (!lines.size) return null;
  const sums = [...lines.values()].flat().map((point) => point.sum);
  const frame = new Frame(width, 340, `Time over ${label}`);
  const x = logarithmic(0.9 * values[0], 1.1 * values.at(-1), frame.left, frame.right);
  x.ticks = values;
  const y = logarithmic(0.8 * Math.min(...sums), 1.2 * Math.max(...sums), frame.bottom, frame.top);
  frame.xAxis(x, label);
  frame.yAxis(y, "sum over layers by count (ms)");
  for (const [name, line] of lines) {
    const look = looks.get(name);
    frame.line(line.map((point) => [x(point.value), y(point.sum)]), { style: `stroke:${look.colour}` });
    for (const point of line) {
      const row = { ...point.row, sum_ms: point.sum };
      frame.mark(shape(look.marker, x(point.value), y(point.sum), look.colour, !look.library), row);
      if (point.suspect) frame.text(x(point.value) + 7, y(point.sum) - 4, SUSPECT, { class: "suspect-mark" });
    }
  }
  return frame;
}

// Title, question, width, how to draw; `free` is the filter that the chart does not obey.
const CHARTS = [
  { title: "Time by layer", question: "Bars are medians with their 95% intervals; a star marks the layer's winner, bars cut at the top have their time written.", wide: true, draw: timeByLayer },
  { title: "Speed-up", question: "Over the best record of a library, or over the winner where no library was measured; the winner is bold.", wide: true, draw: speedUp },
  { title: "Operations", question: "What each algorithm executes; the line is the direct method's count.", wide: true, draw: operations },
  { title: "Roofline", question: "How far is each record from what this machine was measured to do?", draw: roofline },
  { title: "Time and error", question: "What accuracy does speed cost?", draw: timeAndError },
  { title: "Time and workspace", question: "How much workspace is worth its bytes? Choose a layer to see its Pareto front.", draw: timeAndWorkspace },
  { title: "Threads", question: "How much faster do more threads make the network?", free: "threads",
    draw: (rows, width, looks) => scaling(rows, width, looks, "threads", "threads") },
  { title: "Batch", question: "How does time grow with the images a batch?", free: "batch",
    draw: (rows, width, looks) => scaling(rows, width, looks, "batch", "images a batch") },
];
