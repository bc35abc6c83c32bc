// Charts with a panel or a line a layer: times, operations, speed-up. Who wins, by how much and against which baseline
// stands in the records (rank, over_winner, speed_up): filters hide records and change none of it.

const PASS_SHORT = { forward: "F", backward_data: "BD", backward_filter: "BF" };
const MIB = 2 ** 20;

// Rows that can win: measured and right, and of repeats the one that stands for all.
const ranked = (rows) => rows.filter((row) => row.rank !== null);
const isWinner = (row) => row.rank === 1;
// Standings whose times are to be marked, and the letter that stands behind them.
const isSuspect = (row) => row.standing in embedded.suspect;
const signOf = (row) => embedded.suspect[row.standing] ?? "";
const winnerTime = (row) => row.full_median_ms / row.over_winner;

// Pixels that a text takes in the font of the charts; bold, since any may be a winner's.
const ruler = document.createElement("canvas").getContext("2d");
ruler.font = "bold 12px system-ui, sans-serif";
const textWidth = (text) => ruler.measureText(text).width;
const withoutDevice = (name) => name.replace(/\.(cpu|cuda)$/, "");

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

// Up to so many layers have a panel of bars each; more have a line each.
const MOST_PANELS = 6;
// A bar is cut where it is so many times the winner's.
const CUT = 5;

// A panel a layer with a bar for each algorithm, the name before and the value behind it; the first rank on top.
// `value` gives a bar's length; `extra` draws on it and returns the end of what it drew, if any.
function panels(groups, width, looks, { label, unit, value, cut, extra }) {
  const names = Math.max(...groups.flatMap((group) => group.rows.map((row) => textWidth(withoutDevice(row.algorithm)))));
  const columns = Math.max(1, Math.min(groups.length, Math.floor(width / 370)));
  const across = width / columns;
  const high = 16;
  const top = groups.length > 1 ? 22 : 4;
  const lines = [];
  for (let first = 0; first < groups.length; first += columns) lines.push(groups.slice(first, first + columns));
  const heights = lines.map((line) => top + high * Math.max(...line.map((group) => group.rows.length)) + 14);
  const frame = new Frame(width, heights.reduce((sum, one) => sum + one, 0) + 18, label, { left: 0, right: 0, top: 0, bottom: 0 });
  let y = 0;
  lines.forEach((line, index) => {
    line.forEach((group, column) => {
      const left = column * across;
      if (groups.length > 1) frame.text(left, y + 14, group.name, { "font-weight": 600 });
      const most = cut(group.rows);
      const scale = linear(0, most, left + names + 8, left + across - 74);
      [...group.rows].sort((a, b) => a.rank - b.rank).forEach((row, place) => {
        const at = y + top + high * place;
        const end = scale(Math.min(value(row), most));
        const look = looks.get(row.algorithm);
        const box = { x: scale(0), y: at + 1, width: Math.max(end - scale(0), 0.5), height: high - 3 };
        frame.text(left + names + 2, at + 11, withoutDevice(row.algorithm), { "text-anchor": "end", "font-weight": isWinner(row) ? 700 : 400 });
        frame.mark(element("rect", { ...box, fill: look.colour }), row);
        if (look.hatch) frame.svg.append(element("rect", { ...box, fill: `url(#hatch${look.hatch})`, "pointer-events": "none" }));
        if (value(row) > most) frame.line([[end - 8, at + high - 1], [end - 4, at]], { style: "stroke:var(--panel)", "stroke-width": 3 });
        const last = Math.max(end, extra(frame, scale, row, at + (high - 1) / 2, high - 3, most) ?? 0);
        const star = isWinner(row) ? " ★" : row.in_doubt ? " ~" : "";
        frame.text(last + 6, at + 11, `${digits(value(row))}${star}`, { class: "value", "pointer-events": "none" });
        if (isSuspect(row)) frame.text(left + across - 14, at + 11, signOf(row), { class: "suspect-mark" });
      });
    });
    y += heights[index];
  });
  frame.xLabel(unit);
  return frame;
}

// The text, cut so that it is at most so wide; the whole stands in its title.
function fitting(frame, x, y, text, room, attributes = {}) {
  let shown = text;
  while (shown.length > 4 && textWidth(shown) > room) shown = `${shown.slice(0, -2)}…`;
  const node = element("text", { x, y, ...attributes }, shown);
  if (shown !== text) node.append(element("title", {}, text));
  frame.svg.append(node);
}

// A line a layer with a mark for each algorithm on a logarithmic axis; at the right the winner's name.
function linesOf(groups, width, looks, { label, unit, value, extra }) {
  const high = groups.length <= 12 ? 30 : 20;
  const left = Math.min(0.34 * width, 14 + Math.max(...groups.map((group) => textWidth(group.name))));
  const wide = width > 700;
  const frame = new Frame(width, 60 + high * groups.length, label, { left, right: wide ? 190 : 16, top: 24, bottom: 36 });
  const values = groups.flatMap((group) => group.rows.map(value)).filter((one) => one > 0);
  const scale = logarithmic(0.93 * Math.min(...values), 1.07 * Math.max(...values), frame.left, frame.right);
  frame.xAxis(scale, unit);
  for (const tick of scale.ticks) frame.text(scale(tick), frame.top - 6, digits(tick), { "text-anchor": "middle", class: "faint-text" });
  groups.forEach((group, place) => {
    const y = frame.top + high * (place + 0.5);
    frame.svg.append(element("line", { class: "grid", x1: frame.left, x2: frame.right, y1: y, y2: y }));
    fitting(frame, frame.left - 8, y + 4, group.name, left - 10, { "text-anchor": "end" });
    // The winner last, so that none covers it.
    for (const row of [...group.rows].sort((a, b) => b.rank - a.rank)) {
      const look = looks.get(row.algorithm);
      const x = scale(value(row));
      extra(frame, scale, row, y, 8);
      frame.mark(shape(look.marker, x, y, look.colour, !look.library), row);
      if (isSuspect(row)) frame.text(x + 6, y - 4, signOf(row), { class: "suspect-mark" });
      if (!isWinner(row)) continue;
      frame.svg.append(element("circle", { class: "ink", cx: x, cy: y, r: 8, "pointer-events": "none" }));
      if (wide) fitting(frame, frame.right + 12, y + 4, `★ ${withoutDevice(row.algorithm)}`, 178);
    }
  });
  return frame;
}

function byLayer(rows, width, looks, what) {
  const groups = places(rows);
  if (!groups.length) return null;
  return groups.length <= MOST_PANELS ? panels(groups, width, looks, what) : linesOf(groups, width, looks, what);
}

function timeByLayer(rows, width, looks) {
  const interval = (frame, x, row, y, high, most = Infinity) => {
    if (row.full_ci_low_ms === null || row.full_median_ms > most) return 0;
    const last = Math.min(x(Math.min(row.full_ci_high_ms, most)), frame.right);
    frame.line([[x(row.full_ci_low_ms), y], [last, y]], { "stroke-width": 1.4, "pointer-events": "none" });
    return last;
  };
  return byLayer(ranked(rows), width, looks, { label: "Time by layer and algorithm", unit: "median time (ms)",
    value: (row) => row.full_median_ms, extra: interval,
    cut: (own) => Math.min(CUT * Math.max(...own.map(winnerTime)), Math.max(...own.map((row) => row.full_median_ms))) });
}

function operations(rows, width, looks) {
  const nominal = (frame, x, row, y, high) => frame.line(
    [[x(row.flops_nominal / 1e9), y - high / 2 - 1], [x(row.flops_nominal / 1e9), y + high / 2 + 2]],
    { "stroke-width": 1.6, "pointer-events": "none" });
  return byLayer(ranked(rows).filter((row) => row.flops_executed !== null), width, looks, {
    label: "Operations executed by layer and algorithm", unit: "operations (GFLOP)",
    value: (row) => row.flops_executed / 1e9, extra: nominal,
    cut: (own) => Math.max(...own.map((row) => Math.max(row.flops_executed, row.flops_nominal))) / 1e9 });
}

// Purple below 1, orange above, by the logarithm up to a factor of 4.
function speedColour(factor) {
  const share = Math.max(-1, Math.min(1, Math.log(factor) / Math.log(4)));
  const end = share < 0 ? [69, 39, 129] : [179, 88, 6];
  const middle = [246, 244, 240];
  const mix = middle.map((part, index) => Math.round(part + Math.abs(share) * (end[index] - part)));
  return { fill: `rgb(${mix.join(",")})`, ink: Math.abs(share) > 0.6 ? "#ffffff" : "#1c1c1c" };
}

// A line a layer, a column an algorithm.
function speedUp(rows, width, looks) {
  const good = ranked(rows);
  const groups = places(good);
  if (!groups.length) return null;
  const hasBaseline = good.some((row) => row.speed_up !== null);
  const factorOf = (row) => (hasBaseline ? row.speed_up : 1 / row.over_winner);
  const names = [...new Set(inOrder(good, looks).map((row) => row.algorithm))];
  const left = Math.min(Math.max(0.24 * width, 90), 14 + Math.max(...groups.map((group) => textWidth(group.name))));
  const head = 18 + 0.72 * Math.max(...names.map((name) => textWidth(withoutDevice(name))));
  const cell = Math.max(40, Math.min(90, (width - left - 0.7 * head) / names.length));
  const frame = new Frame(Math.max(width, left + cell * names.length + 0.7 * head), head + 21 * groups.length + 30,
    "Speed-up over the fastest record of a library by layer and algorithm", { left, top: head, bottom: 30, right: 0 });
  names.forEach((name, column) => {
    const x = frame.left + (column + 0.5) * cell;
    frame.text(x, frame.top - 8, withoutDevice(name), { transform: `rotate(-45 ${x} ${frame.top - 8})` });
  });
  groups.forEach((group, line) => {
    const y = frame.top + 21 * line;
    fitting(frame, frame.left - 6, y + 14, group.name, left - 8, { "text-anchor": "end" });
    names.forEach((name, column) => {
      const x = frame.left + column * cell;
      const row = group.rows.find((one) => one.algorithm === name);
      const factor = row ? factorOf(row) : null;
      if (factor === null) {
        frame.svg.append(element("rect", { x, y, width: cell - 2, height: 19, fill: "var(--empty)" }));
        return;
      }
      const colour = speedColour(factor);
      frame.mark(element("rect", { x, y, width: cell - 2, height: 19, fill: colour.fill }), row);
      frame.text(x + cell / 2 - 1, y + 14, `${factor.toFixed(2)}x${signOf(row) || (hasBaseline && row.baseline_suspect ? "?" : "")}`, { "text-anchor": "middle", "pointer-events": "none",
        style: `fill:${colour.ink}`, "font-weight": isWinner(row) ? 700 : 400 });
    });
  });
  frame.svg.append(element("text", { class: "faint-text", x: frame.left, y: frame.height - 8 },
    hasBaseline ? "time of the fastest library record over this one's; ?: that one was throttled or disturbed" : "time of the winner over this one's"));
  return frame;
}
