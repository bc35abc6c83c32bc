// The charts with a point a record on two axes, and the list of all charts. Each takes the records that the filters leave,
// a width in pixels, and what is known of algorithms (looks), and returns a Frame, or null where there is nothing to draw.

// Points of records on two axes.
function scatter(frame, rows, x, y, xValue, yValue, looks) {
  for (const row of rows) {
    const look = looks.get(row.algorithm);
    frame.mark(shape(look.marker, x(xValue(row)), y(yValue(row)), look.colour, !look.library), row);
    if (isSuspect(row)) frame.text(x(xValue(row)) + 7, y(yValue(row)) - 4, signOf(row), { class: "suspect-mark" });
  }
}

// An axis of over_winner.
const slownessRange = (rows) => [0.92, Math.max(2.2, 1.1 * Math.max(...rows.map((row) => row.over_winner)))];

function roofline(rows, width, looks) {
  const good = ranked(rows).filter((row) => row.gflops_executed !== null && row.ceiling_gflops !== null
    && row.arithmetic_intensity !== null);
  if (!good.length) return null;
  const { ceiling_gflops: rate, ceiling_cache_gbs: cache } = good[0];
  const memory = Math.max(good[0].ceiling_read_gbs, good[0].ceiling_copy_gbs);
  // Behind a ceiling that a record beats, so that it was measured too low.
  // What bounds hot tensors is memory, or where they fit it the cache: either may be.
  const boundsOf = (row) => (row.bound === "memory" && row.cache !== "cold" ? ["memory", "cache"] : [row.bound]);
  const doubt = (bound) => (good.some((row) => row.suspect_ceiling && boundsOf(row).includes(bound)) ? "?" : "");
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
      frame.text(x(start) + 12, y(speed * start) - 2, `${name} ${digits(speed)} GB/s${doubt(name)}`, { class: "faint-text", "font-size": 11 });
    }
  }
  frame.text(frame.right, y(rate) - 5, `multiply-add ${digits(rate)} GFLOP/s${doubt("compute")}`, { "text-anchor": "end", class: "faint-text",
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
      lines.get(name).push({ value, sum, row: own[0], suspect: own.find(isSuspect) });
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
      if (point.suspect) frame.text(x(point.value) + 7, y(point.sum) - 4, signOf(point.suspect), { class: "suspect-mark" });
    }
  }
  return frame;
}

// Title, question, width, how to draw; `free` is the filter that the chart does not obey.
const CHARTS = [
  { title: "Time by layer", question: "Medians with their 95% intervals; a star marks the winner. Of up to six layers bars with names, cut where they are five times the winner's; of more a line each, on a logarithmic axis.", wide: true, draw: timeByLayer },
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
