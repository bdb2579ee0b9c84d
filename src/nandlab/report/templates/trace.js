// SPDX-License-Identifier: GPL-2.0-or-later
// Draws the timeline and the accesses over the chip from the arrays in #data; both show one range.
"use strict";
const D = JSON.parse(document.getElementById("data").textContent);
const ROW = 16, GAP = 22, AXIS = 20, CHIP_HEIGHT = 260, PICK_PX = 4;
const array = (Kind, text) => new Kind(Uint8Array.from(atob(text), c => c.charCodeAt(0)).buffer);
const start = array(Float64Array, D.start), latency = array(Float64Array, D.latency);
const lane = array(Uint16Array, D.lane), depth = array(Uint8Array, D.depth);
const event = array(Uint8Array, D.event), cause = array(Uint8Array, D.cause);
const path = array(Uint32Array, D.path), object = array(Float64Array, D.object);
const size = array(Uint32Array, D.size);
const time = document.getElementById("time"), chip = document.getElementById("chip");
const tip = document.getElementById("tip"), n = D.count;
const flash = new Uint8Array(n), depths = new Array(D.lanes.length).fill(0);
let end = 1;
for (let i = 0; i < n; i++) {
  flash[i] = /^FLASH_(READ|PROGRAM|ERASE)$/.test(D.events[event[i]]) ? 1 : 0;
  end = Math.max(end, start[i] + latency[i]);
  depths[lane[i]] = Math.max(depths[lane[i]], depth[i] + 1);
}
const top_of = [];
let height = AXIS;
for (const d of depths) { top_of.push(height + GAP - 4); height += GAP + d * ROW; }
let from = 0, to = end;

const style = name => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const ms = ns => (ns / 1e6).toLocaleString("en", { maximumFractionDigits: 6 });

function prepare(canvas, high) {
  const wide = canvas.clientWidth, scale = window.devicePixelRatio || 1;
  canvas.style.height = high + "px";
  canvas.width = wide * scale;
  canvas.height = high * scale;
  const c = canvas.getContext("2d");
  c.setTransform(scale, 0, 0, scale, 0, 0);
  c.clearRect(0, 0, wide, high);
  c.font = "12px system-ui, Arial, sans-serif";
  return [c, wide];
}

// Ticks at 1, 2 or 5 times a power of ten, some 90 px apart at least.
function axis(c, wide, high) {
  const least = (to - from) * 90 / wide, power = 10 ** Math.floor(Math.log10(least));
  const step = [1, 2, 5, 10].map(f => f * power).find(s => s >= least);
  c.fillStyle = style("--soft");
  c.strokeStyle = style("--line");
  for (let t = Math.ceil(from / step) * step; t <= to; t += step) {
    const x = (t - from) * wide / (to - from);
    c.beginPath(); c.moveTo(x, AXIS - 6); c.lineTo(x, high); c.stroke();
    const text = ms(t) + " ms";
    if (x + c.measureText(text).width < wide) c.fillText(text, x + 3, 12);
  }
}

function drawTime() {
  const [c, wide] = prepare(time, height + 6), scale = wide / (to - from);
  axis(c, wide, height + 6);
  const drawn = new Map();
  for (let i = 0; i < n; i++) {
    const until = start[i] + latency[i];
    if (until < from || start[i] > to) continue;
    const x = Math.max(0, (start[i] - from) * scale);
    const w = Math.max(1, Math.min(wide, (until - from) * scale) - x);
    const row = lane[i] * 256 + depth[i], pixel = Math.floor(x + w);
    if (w <= 1 && drawn.get(row) === pixel) continue; // nothing of it would be seen
    drawn.set(row, pixel);
    const y = top_of[lane[i]] + depth[i] * ROW;
    c.fillStyle = D.colours[event[i]];
    c.fillRect(x, y, w, ROW - 2);
    const text = w > 40 ? label(i) : "";
    if (text && c.measureText(text).width < w - 6) {
      c.fillStyle = "#fff";
      c.fillText(text, x + 3, y + ROW - 5);
    }
  }
  c.fillStyle = style("--ink");
  D.lanes.forEach((name, l) => c.fillText(name, 3, top_of[l] - 4));
}

function drawChip() {
  const high = CHIP_HEIGHT + AXIS, [c, wide] = prepare(chip, high);
  axis(c, wide, high);
  const scale = wide / (to - from), block = CHIP_HEIGHT / D.blocks;
  for (let i = 0; i < n; i++) {
    if (!flash[i] || start[i] + latency[i] < from || start[i] > to) continue;
    const x = (start[i] - from) * scale, w = Math.max(2, latency[i] * scale);
    const y = AXIS + (Math.floor(object[i] / D.pages_per_block) - D.first_block) * block;
    c.fillStyle = D.colours[event[i]];
    c.fillRect(x, Math.min(y, high - 2), w, Math.max(2, block));
  }
}

const label = i => D.named[i] || D.events[event[i]].toLowerCase();
let asked = false;
function draw() {
  if (asked) return;
  asked = true;
  requestAnimationFrame(() => {
    asked = false;
    drawTime();
    drawChip();
    document.getElementById("range").textContent =
      `${ms(from)} to ${ms(to)} ms` + (n < D.all ? `; the first ${n.toLocaleString("en")} of ` +
      `${D.all.toLocaleString("en")} events, trace.pftrace has all` : "");
  });
}

function show(a, b) {
  const length = Math.min(end, Math.max(100, b - a));
  from = Math.max(0, Math.min(a, end - length));
  to = from + length;
  draw();
}
function zoom(factor, at) { show(at - (at - from) * factor, at + (to - at) * factor); }
const middle = () => (from + to) / 2, step = () => (to - from) / 4;
const actions = {
  in: () => zoom(0.5, middle()), out: () => zoom(2, middle()), all: () => show(0, end),
  left: () => show(from - step(), to - step()), right: () => show(from + step(), to + step()),
};
for (const b of document.querySelectorAll("[data-do]"))
  b.addEventListener("click", actions[b.dataset.do]);
const keys = { ArrowLeft: "left", ArrowRight: "right", "+": "in", "-": "out", 0: "all" };
time.addEventListener("keydown", e => {
  if (keys[e.key]) { actions[keys[e.key]](); e.preventDefault(); }
});

// The event under the pointer: in the timeline of its row, on the chip the nearest.
function under(canvas, x, y) {
  const wide = canvas.clientWidth, t = from + x * (to - from) / wide;
  const slack = PICK_PX * (to - from) / wide;
  let best = -1, off = Infinity;
  for (let i = 0; i < n; i++) {
    const away = Math.max(start[i] - t, t - start[i] - latency[i], 0);
    if (away > slack) continue;
    let dy;
    if (canvas === time) {
      const row = y - top_of[lane[i]] - depth[i] * ROW;
      dy = row >= 0 && row < ROW ? 0 : Infinity;
    } else {
      const at = AXIS + (Math.floor(object[i] / D.pages_per_block) - D.first_block + 0.5) *
        CHIP_HEIGHT / D.blocks;
      dy = flash[i] && Math.abs(y - at) <= PICK_PX + 2 ? Math.abs(y - at) : Infinity;
    }
    const distance = dy + away / slack;
    if (distance < off) { off = distance; best = i; }
  }
  return best;
}
function tell(canvas, e) {
  const box = canvas.getBoundingClientRect();
  const i = under(canvas, e.clientX - box.left, e.clientY - box.top);
  tip.style.display = i < 0 ? "none" : "block";
  if (i < 0) return;
  const lines = [label(i), `${ms(start[i])} ms, for ${(latency[i] / 1e3).toLocaleString("en")} µs`];
  if (D.events[event[i]].startsWith("FLASH"))
    lines.push(`page ${object[i]}, block ${Math.floor(object[i] / D.pages_per_block)}`);
  else if (size[i]) lines.push(`size ${size[i].toLocaleString("en")}`);
  if (D.paths[path[i]]) lines.push(D.paths[path[i]]);
  if (D.causes[cause[i]]) lines.push("cause: " + D.causes[cause[i]]);
  tip.textContent = "";
  for (const line of lines) tip.append(line, document.createElement("br"));
  tip.style.left = Math.min(e.clientX + 12, window.innerWidth - tip.offsetWidth - 4) + "px";
  tip.style.top = Math.min(e.clientY + 12, window.innerHeight - tip.offsetHeight - 4) + "px";
}
for (const canvas of [time, chip]) {
  let held = null;
  canvas.addEventListener("wheel", e => {
    if (!e.ctrlKey && Math.abs(e.deltaX) > Math.abs(e.deltaY)) {
      const by = e.deltaX * (to - from) / canvas.clientWidth;
      show(from + by, to + by);
    } else {
      const x = e.clientX - canvas.getBoundingClientRect().left;
      zoom(e.deltaY > 0 ? 1.25 : 0.8, from + x * (to - from) / canvas.clientWidth);
    }
    e.preventDefault();
  }, { passive: false });
  canvas.addEventListener("pointerdown", e => {
    held = e.clientX;
    canvas.setPointerCapture(e.pointerId);
  });
  canvas.addEventListener("pointermove", e => {
    if (held === null) { tell(canvas, e); return; }
    const by = (held - e.clientX) * (to - from) / canvas.clientWidth;
    held = e.clientX;
    show(from + by, to + by);
  });
  for (const kind of ["pointerup", "pointercancel"])
    canvas.addEventListener(kind, () => { held = null; });
  canvas.addEventListener("pointerleave", () => { tip.style.display = "none"; });
}
let unfolded = [];
addEventListener("beforeprint", () => {
  unfolded = [...document.querySelectorAll("details:not([open])")];
  for (const e of unfolded) e.open = true;
  drawTime();
  drawChip();
});
addEventListener("afterprint", () => { for (const e of unfolded) e.open = false; draw(); });
window.addEventListener("resize", draw);
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
draw();
