"use strict";
// The page of a plan. What it shows is in `plan` and `runs`, which are JSON, and in arrays of 32-bit integers behind each of them.
// `selected` is the one thing that all views mark: a layer, with a task or a tensor of it, or neither.

const $ = id => document.getElementById(id);
const cssColor = name => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
let plan, layerOf, start, pred; // of tasks
let known = [];                 // further facts: {name, value}
let runs = [];                  // the timelines: {name, unit, count of runs, workers: [Int32Array of 4 numbers a span], end, byLayer, elapsed}
let run = 0;
let selected = {layer: -1, task: -1, root: -1};
const SPAN = 4; // kind, task, begin, end

// decode reads the data of the page.
async function decode() {
  const text = $("data").textContent.trim();
  const binary = atob(text), bytes = new Uint8Array(binary.length);
  for (let i = 0; i < bytes.length; i++) bytes[i] = binary.charCodeAt(i);
  $("data").remove();
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  const buffer = await new Response(stream).arrayBuffer();
  const {head, take, at} = section(buffer, 0);
  plan = head;
  layerOf = take(plan.tasks);
  start = take(plan.tasks + 1);
  pred = take(plan.edges);
  takeRuns(section(buffer, at()));
  distinguish();
}

// distinguish adds to the labels of layers that have the same one, such as parts of a backward pass, what only one of them writes.
function distinguish() {
  const alike = new Map();
  for (const l of plan.layers) alike.set(l.label, (alike.get(l.label) || []).concat(l));
  const written = l => l.access.filter(a => a.perm !== "read").map(a => a.root);
  for (const layers of alike.values()) {
    if (layers.length === 1) continue;
    const all = layers.flatMap(written);
    for (const l of layers) {
      const own = written(l).find(root => all.indexOf(root) === all.lastIndexOf(root));
      l.label += own === undefined ? `, task ${l.first}` : ", " + plan.roots[own].name;
    }
  }
}

// section returns the JSON at a place of a buffer, a function that takes the next integers behind it, and one that says where those are.
function section(buffer, at) {
  const length = new DataView(buffer).getUint32(at, true);
  const head = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, at + 4, length)));
  at += 4 + length + (-length & 3);
  const take = n => { const a = new Int32Array(buffer, at, n); at += 4 * n; return a; };
  return {head, take, at: () => at};
}

function takeRuns({head, take}) {
  known = head.facts;
  runs = head.timelines.map(t => measured(t, take));
}

// measured returns a timeline with the time of each layer, as a mean of the runs: of all workers, and from the first to the last span.
function measured(t, take) {
  const n = plan.layers.length, r = {name: t.name, unit: t.unit, count: t.spans.length ? t.spans[0].length : 0, end: 0, byLayer: new Float64Array(n), elapsed: new Float64Array(n)};
  r.workers = t.spans.map(counts => take(SPAN * counts.reduce((sum, k) => sum + k, 0)));
  const at = r.workers.map(() => 0), first = new Int32Array(n), last = new Int32Array(n); // where the next run of each worker begins, and the run of each layer
  for (let run = 0; run < r.count; run++) {
    first.fill(0x7fffffff);
    last.fill(0);
    r.workers.forEach((spans, w) => {
      let i = at[w];
      for (at[w] += SPAN * t.spans[w][run]; i < at[w]; i += SPAN) {
        if (spans[i] !== 0) continue;
        const layer = layerOf[spans[i + 1]], begin = spans[i + 2], end = spans[i + 3];
        r.byLayer[layer] += end - begin;
        if (begin < first[layer]) first[layer] = begin;
        if (end > last[layer]) last[layer] = end;
      }
      if (i > 0) r.end = Math.max(r.end, spans[i - 1]);
    });
    for (let i = 0; i < n; i++) if (last[i] > first[i]) r.elapsed[i] += last[i] - first[i];
  }
  for (let i = 0; i < n; i++) {
    r.byLayer[i] *= t.unit / Math.max(r.count, 1);
    r.elapsed[i] *= t.unit / Math.max(r.count, 1);
  }
  return r;
}

// Numbers as people read them.
function seconds(s) {
  const a = Math.abs(s);
  if (a === 0) return "0";
  if (a < 1e-6) return (s * 1e9).toPrecision(3) + " ns";
  if (a < 1e-3) return (s * 1e6).toPrecision(4) + " µs";
  return a < 1 ? (s * 1e3).toPrecision(4) + " ms" : s.toPrecision(4) + " s";
}
// ticks returns where marks of an axis of times lie, and their texts, which have one unit.
function ticks(from, to, unit) {
  const raw = (to - from) / 8 * unit, power = Math.pow(10, Math.floor(Math.log10(raw))), most = to * unit;
  const step = [1, 2, 5, 10].map(k => k * power).find(s => s >= raw);
  const [scale, name] = most < 1e-6 ? [1e9, "ns"] : most < 1e-3 ? [1e6, "µs"] : most < 1 ? [1e3, "ms"] : [1, "s"];
  const digits = Math.max(0, Math.min(9, -Math.floor(Math.log10(step * scale) + 1e-9))), out = [];
  for (let k = Math.ceil(from * unit / step); k * step <= most; k++) out.push({at: k * step / unit, text: k === 0 ? "0" : (k * step * scale).toFixed(digits) + " " + name});
  return out;
}
function count(n, unit) {
  const steps = ["", "k", "M", "G", "T", "P"];
  let i = 0;
  for (; Math.abs(n) >= 1000 && i + 1 < steps.length; i++) n /= 1000;
  return (i === 0 ? String(+n.toPrecision(4)) : n.toPrecision(3)) + " " + (steps[i] + unit).trim();
}
function bytes(n) {
  const steps = ["bytes", "KiB", "MiB", "GiB", "TiB"];
  let i = 0;
  for (; n >= 1024 && i + 1 < steps.length; i++) n /= 1024;
  return (i === 0 ? n : n.toPrecision(4)) + " " + steps[i];
}
const phaseColor = layer => plan.colors[plan.layers[layer].phase] || plan.colors[""];

// over returns the color of letters that can be read on a color, which is #rrggbb.
function over(color) {
  const [r, g, b] = [1, 3, 5].map(i => (parseInt(color.slice(i, i + 2), 16) / 255) ** 2.2);
  return 0.21 * r + 0.72 * g + 0.07 * b > 0.3 ? "#1f2328" : "#fff";
}

// element makes an element with attributes and children. Texts are never parsed as HTML.
function element(name, attrs, ...children) {
  const svg = ["svg", "g", "rect", "path", "text", "title", "defs", "marker"].includes(name);
  const e = svg ? document.createElementNS("http://www.w3.org/2000/svg", name) : document.createElement(name);
  for (const k in attrs) {
    if (k === "onclick") e.onclick = attrs[k]; else e.setAttribute(k, attrs[k]);
  }
  e.append(...children);
  return e;
}

// context returns the context of a canvas with as many pixels as the screen has, and its size.
function context(canvas, height) {
  const ratio = window.devicePixelRatio || 1;
  const width = canvas.clientWidth;
  height = height || canvas.clientHeight;
  if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
  }
  const c = canvas.getContext("2d");
  c.setTransform(ratio, 0, 0, ratio, 0, 0);
  c.clearRect(0, 0, width, height);
  c.font = "11px system-ui, Helvetica, Arial, sans-serif";
  return {c, width, height};
}

function tip(event, text) {
  const t = $("tip");
  t.hidden = !text;
  if (!text) return;
  t.textContent = text;
  t.style.left = Math.min(event.clientX + 14, window.innerWidth - t.offsetWidth - 8) + "px";
  t.style.top = Math.min(event.clientY + 14, window.innerHeight - t.offsetHeight - 8) + "px";
}

// select marks a layer, a task or a tensor everywhere.
function select(what) {
  selected = {layer: -1, task: -1, root: -1, ...what};
  if (selected.task >= 0) selected.layer = layerOf[selected.task];
  bringIntoView();
  draw();
  detail();
}

const touches = (layer, root) => plan.layers[layer].access.some(a => a.root === root);
const marked = layer => layer === selected.layer || selected.root >= 0 && touches(layer, selected.root);

// ---- The timeline.

const time = {canvas: null, last: null, from: 0, to: 1, lane: 26, gap: 8, left: 70, axis: 18};

function timeX(unit, width) { return time.left + (unit - time.from) / (time.to - time.from) * (width - time.left - 8); }
function timeAt(x, width) { return time.from + (x - time.left) / (width - time.left - 8) * (time.to - time.from); }

// firstSpan returns the first span of a worker that ends behind a time: spans follow each other.
function firstSpan(spans, at) {
  let lo = 0, hi = spans.length / SPAN;
  while (lo < hi) {
    const mid = (lo + hi) >> 1;
    if (spans[mid * SPAN + 3] < at) lo = mid + 1; else hi = mid;
  }
  return lo;
}

function drawTime() {
  if (runs.length === 0) return;
  const r = runs[run];
  const height = r.workers.length * (time.lane + time.gap) + time.axis;
  time.canvas.style.height = Math.min(height, 320) + "px";
  const {c, width} = context(time.canvas, Math.min(height, 320));
  const ink = cssColor("--ink"), weak = cssColor("--weak"), wait = cssColor("--wait"), accent = cssColor("--accent");
  // The color of a layer is a number, so that a pixel in which many spans lie shows what takes most of its time; what is marked is seen at its lower end.
  const colors = [wait, accent, ...new Set(plan.layers.map((_, i) => phaseColor(i)))];
  const colorOf = plan.layers.map((_, i) => marked(i) ? 1 : colors.indexOf(phaseColor(i)));
  const perUnit = (width - time.left - 8) / (time.to - time.from);
  r.workers.forEach((spans, worker) => {
    const y = worker * (time.lane + time.gap), parts = new Float64Array(colors.length);
    c.fillStyle = ink;
    c.fillText("worker " + worker, 4, y + time.lane / 2 + 4);
    let pixel = -1; // that has narrow spans, which are not drawn yet
    const flush = () => {
      if (pixel < 0) return;
      c.fillStyle = colors[parts.indexOf(Math.max(...parts))];
      c.fillRect(pixel, y, 1, time.lane);
      if (parts[1] > 0) {
        c.fillStyle = accent;
        c.fillRect(pixel, y + time.lane - 6, 1, 6);
      }
      parts.fill(0);
      pixel = -1;
    };
    for (let i = firstSpan(spans, time.from) * SPAN; i < spans.length && spans[i + 2] <= time.to; i += SPAN) {
      const x = Math.max(time.left + (spans[i + 2] - time.from) * perUnit, time.left), end = Math.min(time.left + (spans[i + 3] - time.from) * perUnit, width - 8), w = end - x;
      const layer = layerOf[spans[i + 1]], color = spans[i] > 0 ? 0 : colorOf[layer];
      if (w < 1) {
        if (Math.floor(x) !== pixel) {
          flush();
          pixel = Math.floor(x);
        }
        parts[color] += Math.max(w, 1e-6);
        continue;
      }
      flush();
      c.fillStyle = colors[color];
      c.fillRect(x, y, w, time.lane);
      if (w > 3) {
        c.strokeStyle = spans[i + 1] === selected.task ? accent : "#0004";
        c.lineWidth = spans[i + 1] === selected.task ? 2.5 : 0.6;
        c.strokeRect(x + 0.5, y + 0.5, w - 1, time.lane - 1);
      }
      if (w > 34) {
        c.save();
        c.beginPath();
        c.rect(x, y, w - 2, time.lane);
        c.clip();
        c.fillStyle = color < 2 ? "#fff" : "#1f2328";
        c.fillText(color === 0 ? "waits" : plan.layers[layer].label, x + 4, y + time.lane / 2 + 4);
        c.restore();
      }
    }
    flush();
  });
  // The axis.
  const y = height - time.axis;
  c.strokeStyle = c.fillStyle = weak;
  c.textAlign = "center";
  for (const {at, text} of ticks(time.from, time.to, r.unit)) {
    const x = timeX(at, width);
    c.fillRect(x, 0, 0.4, y);
    c.fillText(text, x, y + 13);
  }
  c.textAlign = "left";
}

// spanAt returns where the span at a point is: {worker, i}, or null.
function spanAt(event) {
  const r = runs[run], box = time.canvas.getBoundingClientRect();
  const worker = Math.floor((event.clientY - box.top) / (time.lane + time.gap));
  const spans = r.workers[worker];
  if (!spans || event.clientX - box.left < time.left) return null;
  const at = timeAt(event.clientX - box.left, box.width), i = firstSpan(spans, at) * SPAN;
  return i < spans.length && spans[i + 2] <= at ? {worker, i} : null;
}

function describeSpan(s) {
  const r = runs[run], spans = r.workers[s.worker], [kind, task, begin, end] = spans.subarray(s.i, s.i + SPAN);
  const label = `task ${task}: ${plan.layers[layerOf[task]].label}`;
  const when = `${seconds(begin * r.unit)} to ${seconds(end * r.unit)}, ${seconds((end - begin) * r.unit)}`;
  if (kind === 0) return `${label}\n${when}`;
  return (kind === 1 ? "waits for all workers, who share " : `waits for worker ${kind - 2}: `) + `${label}\n${when}`;
}

function setTime(from, to) {
  const end = runs[run].end, length = Math.min(Math.max(to - from, 20), Math.max(end, 20));
  time.from = Math.max(0, Math.min(from, end - length));
  time.to = time.from + length;
  drawTime();
}

function showRun(number) {
  run = number;
  $("runs").value = number;
  setTime(0, runs[run].end);
}

// listRuns shows which timelines there are.
function listRuns() {
  $("time").hidden = runs.length === 0;
  $("runs").replaceChildren(...runs.map((r, i) => element("option", {value: i}, `${r.name}, ${r.count > 1 ? r.count + " runs, " : ""}${seconds(r.end * r.unit)}`)));
  $("newest").textContent = known.slice(0, 2).map(f => `${f.name} ${f.value}`).join(", ");
}

// changeRuns shows other timelines, at the same place.
function changeRuns(content) {
  const whole = !runs.length || time.from === 0 && time.to >= runs[run].end, {from, to} = time;
  takeRuns(section(content, 0));
  listRuns();
  legend();
  time.last = null;
  if (runs.length) {
    showRun(Math.min(run, runs.length - 1));
    if (!whole) setTime(from, to);
  }
  draw();
  detail();
  facts();
}

function startTime() {
  time.canvas = document.querySelector("#time canvas");
  listRuns();
  $("runs").onchange = e => { showRun(+e.target.value); draw(); detail(); };
  $("fit").onclick = () => setTime(0, runs[run].end);
  if (runs.length) time.to = runs[0].end || 1;
  let drag = null;
  time.canvas.onwheel = e => {
    e.preventDefault();
    const box = time.canvas.getBoundingClientRect(), at = timeAt(e.clientX - box.left, box.width), by = Math.exp(e.deltaY * 0.002);
    setTime(at - (at - time.from) * by, at + (time.to - at) * by);
  };
  time.canvas.onpointerdown = e => { drag = {x: e.clientX, from: time.from, to: time.to, moved: false}; time.canvas.setPointerCapture(e.pointerId); };
  time.canvas.onpointermove = e => {
    if (drag) {
      const box = time.canvas.getBoundingClientRect(), by = (drag.x - e.clientX) / (box.width - time.left - 8) * (drag.to - drag.from);
      drag.moved = drag.moved || Math.abs(drag.x - e.clientX) > 3;
      if (drag.moved) setTime(drag.from + by, drag.to + by);
      return;
    }
    const s = spanAt(e);
    tip(e, s && describeSpan(s));
  };
  time.canvas.onpointerup = e => {
    if (drag && !drag.moved) {
      time.last = spanAt(e);
      if (time.last) select({task: runs[run].workers[time.last.worker][time.last.i + 1]});
    }
    drag = null;
  };
  time.canvas.onpointerleave = e => tip(e, null);
  document.addEventListener("keydown", e => {
    const by = {ArrowLeft: -1, ArrowRight: 1}[e.key];
    if (!by || !time.last || e.target.matches("input, select")) return;
    const spans = runs[run].workers[time.last.worker];
    time.last = {worker: time.last.worker, i: Math.max(0, Math.min(time.last.i + by * SPAN, spans.length - SPAN))};
    if (spans[time.last.i + 2] < time.from || spans[time.last.i + 3] > time.to) {
      const half = (time.to - time.from) / 2, at = spans[time.last.i + 2];
      setTime(at - half, at + half);
    }
    select({task: spans[time.last.i + 1]});
  });
}

// ---- The graph.

const graph = {limit: 200, groups: null, boxes: [], arrows: [], size: null, view: null};

// layoutGraph makes boxes: one for all updates by an operator, which would be a row of boxes that hides the rest, and one
// for each other layer. If there are more than 200 layers, all layers of a node in a phase have one box.
function layoutGraph() {
  const byNode = plan.layers.length > 200;
  const keys = new Map(), boxOf = [];
  graph.groups = [];
  plan.layers.forEach((l, i) => {
    const key = l.phase === "update" && l.operator ? "updates by " + l.operator : byNode && l.node ? l.phase + "\n" + l.node : "layer " + i;
    if (!keys.has(key)) {
      keys.set(key, graph.groups.length);
      graph.groups.push([]);
    }
    boxOf.push(keys.get(key));
    graph.groups[boxOf[i]].push(i);
  });
  const keyOf = [...keys.keys()], shown = Math.min(graph.limit, graph.groups.length);
  const g = new dagre.graphlib.Graph();
  g.setGraph({nodesep: 14, ranksep: 26, marginx: 12, marginy: 12});
  g.setDefaultEdgeLabel(() => ({}));
  graph.groups.slice(0, shown).forEach((layers, i) => {
    const first = plan.layers[layers[0]], tasks = layers.reduce((n, l) => n + plan.layers[l].end - plan.layers[l].first, 0);
    const name = keyOf[i].startsWith("updates by ") ? keyOf[i] : byNode && first.node ? first.node : first.label, note = `${tasks} ${tasks === 1 ? "task" : "tasks"}` + (layers.length > 1 ? `, ${layers.length} layers` : "");
    g.setNode(String(i), {name, note, width: 6.2 * Math.max(name.length, note.length) + 18, height: 34});
  });
  const edges = new Map();
  for (const [from, to, root] of plan.arrows) {
    const a = boxOf[from], b = boxOf[to], key = a + " " + b;
    if (a !== b && a < shown && b < shown && !edges.has(key)) edges.set(key, {a, b, root});
  }
  // An edge that skips many ranks, as from a layer to its backward pass, would push boxes far apart. If other edges hold both boxes, it is a curve over the layout.
  const rank = new Int32Array(shown), ascending = [...edges.values()].sort((x, y) => x.a - y.a);
  for (const {a, b} of ascending) if (a < b) rank[b] = Math.max(rank[b], rank[a] + 1);
  const skips = e => rank[e.b] - rank[e.a] > 4;
  const near = ascending.filter(e => !skips(e)), held = new Set(near.map(e => e.b)), holding = new Set(near.flatMap(e => [e.a, e.b]));
  const curves = ascending.filter(e => skips(e) && held.has(e.b) && holding.has(e.a)), bent = new Set(curves);
  for (const e of ascending) if (!bent.has(e)) g.setEdge(String(e.a), String(e.b), {root: e.root});
  dagre.layout(g);
  const svg = document.querySelector("#graph svg");
  svg.replaceChildren(element("defs", {}, element("marker", {id: "head", viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 9, markerHeight: 9, markerUnits: "userSpaceOnUse", orient: "auto"},
    element("path", {d: "M0 0L8 4L0 8z", fill: "#8b949e"}))));
  const arrow = (from, to, root, kind, d) => {
    const path = element("path", {class: kind, d, "marker-end": "url(#head)"}, element("title", {}, plan.roots[root].name));
    svg.append(path);
    return {path, from, to};
  };
  graph.arrows = curves.map(({a, b, root}) => {
    const from = g.node(String(a)), to = g.node(String(b)), x = from.x + from.width / 2, y = to.x + to.width / 2, out = Math.max(x, y) + 30 + Math.abs(to.y - from.y) / 5;
    return arrow(a, b, root, "arrow far", `M${x.toFixed(1)} ${from.y.toFixed(1)}C${out.toFixed(1)} ${from.y.toFixed(1)} ${out.toFixed(1)} ${to.y.toFixed(1)} ${y.toFixed(1)} ${to.y.toFixed(1)}`);
  }).concat(g.edges().map(e => arrow(+e.v, +e.w, g.edge(e).root, "arrow", g.edge(e).points.map((p, i) => (i ? "L" : "M") + p.x.toFixed(1) + " " + p.y.toFixed(1)).join(""))));
  graph.boxes = graph.groups.slice(0, shown).map((layers, i) => {
    const n = g.node(String(i));
    const rect = element("rect", {class: "box", x: n.x - n.width / 2, y: n.y - n.height / 2, width: n.width, height: n.height, rx: 5, fill: phaseColor(layers[0]),
      onclick: () => select({layer: layers[0]})}, element("title", {}, layers.map(l => plan.layers[l].label).join("\n")));
    const text = (t, dy, color) => element("text", {x: n.x, y: n.y + dy, "text-anchor": "middle", style: "fill:" + color}, t);
    svg.append(rect, text(n.name, -3, "#1f2328"), text(n.note, 11, "#59636e"));
    return rect;
  });
  const far = curves.map(e => [e.a, e.b].map(i => g.node(String(i)))).map(([a, b]) => Math.max(a.x + a.width / 2, b.x + b.width / 2) + 30 + (b.y - a.y) / 5);
  graph.size = {w: Math.max(g.graph().width, ...far), h: g.graph().height};
  if (!graph.view) graph.view = firstView();
  setGraph();
  $("more").replaceChildren();
  if (shown < graph.groups.length) {
    $("more").append(`${shown} of ${graph.groups.length} boxes `, element("button", {onclick: () => { graph.limit += 200; layoutGraph(); draw(); }}, "200 more"));
  }
}

// firstView is the whole graph if that can be read, or the place at the top with the most boxes.
function firstView() {
  const box = document.querySelector("#graph svg").getBoundingClientRect(), w = box.width || 1100, h = box.height || 700, {size} = graph;
  if (size.w <= 1.3 * w && size.h <= 1.3 * h) return wholeGraph();
  const places = graph.boxes.map(rect => ["x", "y", "width"].map(k => +rect.getAttribute(k))).filter(([, y]) => y < h);
  const seen = from => places.filter(([x, , width]) => x >= from && x + width <= from + w).length;
  const most = places.reduce((best, [x]) => seen(x - 12) > seen(best) ? x - 12 : best, 0);
  return {x: most, y: 0, w, h};
}

const wholeGraph = () => ({x: 0, y: 0, w: Math.max(graph.size.w, 400), h: Math.max(graph.size.h, 260)});

function setGraph() {
  const v = graph.view;
  document.querySelector("#graph svg").setAttribute("viewBox", `${v.x} ${v.y} ${v.w} ${v.h}`);
}

// bringIntoView moves the graph so that the box of the selected layer is in the middle, unless it is in view.
function bringIntoView() {
  const i = selected.layer < 0 || !graph.groups ? -1 : graph.groups.findIndex(layers => layers.includes(selected.layer)), rect = graph.boxes[i];
  if (!rect) return;
  const [x, y, w, h] = ["x", "y", "width", "height"].map(k => +rect.getAttribute(k)), v = graph.view;
  if (x >= v.x && y >= v.y && x + w <= v.x + v.w && y + h <= v.y + v.h) return;
  graph.view = {...v, x: x + w / 2 - v.w / 2, y: y + h / 2 - v.h / 2};
  setGraph();
}

function startGraph() {
  const svg = document.querySelector("#graph svg");
  $("whole").onclick = () => { graph.view = wholeGraph(); setGraph(); };
  let drag = null;
  svg.onwheel = e => {
    e.preventDefault();
    const box = svg.getBoundingClientRect(), v = graph.view, by = Math.exp(e.deltaY * 0.0015);
    const px = (e.clientX - box.left) / box.width, py = (e.clientY - box.top) / box.height;
    graph.view = {x: v.x + v.w * (1 - by) * px, y: v.y + v.h * (1 - by) * py, w: v.w * by, h: v.h * by};
    setGraph();
  };
  svg.onpointerdown = e => { drag = {x: e.clientX, y: e.clientY, view: graph.view}; };
  svg.onpointermove = e => {
    if (!drag) return;
    const box = svg.getBoundingClientRect(), k = Math.max(graph.view.w / box.width, graph.view.h / box.height);
    graph.view = {...drag.view, x: drag.view.x - (e.clientX - drag.x) * k, y: drag.view.y - (e.clientY - drag.y) * k};
    setGraph();
  };
  svg.onpointerup = svg.onpointerleave = () => { drag = null; };
}

function drawGraph() {
  if (!graph.groups) {
    layoutGraph();
    bringIntoView();
  }
  const on = graph.groups.map(layers => layers.some(marked));
  graph.boxes.forEach((rect, i) => rect.classList.toggle("selected", on[i]));
  graph.arrows.forEach(a => a.path.classList.toggle("selected", selected.root < 0 && (on[a.from] || on[a.to])));
}

// ---- Memory.

const memory = {left: 70, bottom: 46, top: 8, needed: null};

function memoryPlace(width, height) {
  const w = width - memory.left - 10, h = height - memory.bottom - memory.top;
  return {x: task => memory.left + (task + 1) / (plan.tasks + 2) * w, y: b => memory.top + h * (1 - b / Math.max(plan.arena, 1))};
}

// neededBytes returns how many bytes are live at each task, from the one before the first on.
function neededBytes() {
  const change = new Float64Array(plan.tasks + 3);
  for (const r of plan.roots) {
    if (!r.arena) continue;
    change[r.first + 1] += r.bytes;
    change[r.last + 2] -= r.bytes;
  }
  for (let i = 1; i < change.length; i++) change[i] += change[i - 1];
  return change;
}

function drawMemory() {
  const {c, width, height} = context(document.querySelector("#memory canvas")), at = memoryPlace(width, height);
  const weak = cssColor("--weak"), ink = cssColor("--ink"), accent = cssColor("--accent");
  memory.needed = memory.needed || neededBytes();
  for (const [i, r] of plan.roots.entries()) {
    if (!r.arena) continue;
    const on = i === selected.root || selected.root < 0 && selected.layer >= 0 && touches(selected.layer, i);
    const x = at.x(r.first), y = at.y(r.off + r.bytes), w = Math.max(at.x(r.last + 1) - x, 1), h = Math.max(at.y(r.off) - y, 0.7);
    const full = on || selected.layer < 0 && selected.root < 0;
    c.globalAlpha = full ? 0.85 : 0.3;
    c.fillStyle = plan.kinds[r.kind].color;
    c.fillRect(x, y, w, h);
    if (on) {
      c.globalAlpha = 1;
      c.strokeStyle = accent;
      c.lineWidth = 2;
      c.strokeRect(x, y, w, h);
    }
    if (w > 40 && h > 12) {
      c.globalAlpha = 1;
      c.fillStyle = full ? over(plan.kinds[r.kind].color) : ink;
      c.save();
      c.beginPath();
      c.rect(x, y, w - 2, h);
      c.clip();
      c.fillText(r.name, x + 3, y + h / 2 + 4);
      c.restore();
    }
  }
  c.globalAlpha = 1;
  c.strokeStyle = ink;
  c.lineWidth = 1.2;
  c.beginPath();
  for (let i = 0; i < plan.tasks + 2;) { // of all tasks in a pixel, the one that needs most
    const x = at.x(i - 1);
    let most = 0;
    for (; i < plan.tasks + 2 && at.x(i - 1) < x + 1; i++) most = Math.max(most, memory.needed[i]);
    c.lineTo(x, at.y(most));
    c.lineTo(at.x(i - 1), at.y(most));
  }
  c.stroke();
  c.fillStyle = weak;
  c.textAlign = "right";
  for (let k = 0; k <= 4; k++) c.fillText(bytes(plan.arena * k / 4), memory.left - 6, at.y(plan.arena * k / 4) + 4);
  c.textAlign = "center";
  const step = [1, 2, 5, 10].map(k => k * 10 ** Math.max(0, Math.floor(Math.log10(plan.tasks / 10)))).find(s => plan.tasks / s <= 12);
  for (let task = 0; task < plan.tasks; task += step) c.fillText((task === 0 ? "task " : "") + task, at.x(task), height - memory.bottom + 13);
  c.textAlign = "left";
  let x = memory.left;
  for (const k of plan.kinds) {
    c.fillStyle = k.color;
    c.fillRect(x, height - 20, 11, 11);
    c.fillStyle = weak;
    c.fillText(k.name, x + 16, height - 11);
    x += c.measureText(k.name).width + 34;
  }
  c.fillText("line: bytes that are needed; tasks from left to right", x, height - 11);
}

function rootAt(event) {
  const canvas = document.querySelector("#memory canvas"), box = canvas.getBoundingClientRect(), at = memoryPlace(box.width, box.height);
  const x = event.clientX - box.left, y = event.clientY - box.top;
  return plan.roots.findIndex(r => r.arena && x >= at.x(r.first) && x <= Math.max(at.x(r.last + 1), at.x(r.first) + 1) && y >= at.y(r.off + r.bytes) && y <= at.y(r.off));
}

// ---- The roofline.

function drawRoofline() {
  const m = plan.machine, canvas = document.querySelector("#roofline canvas");
  const points = m && runs.length ? plan.layers.map((l, i) => ({i, x: l.flops / l.bytes, y: l.flops / runs[run].elapsed[i]})).filter(p => p.x > 0 && p.y > 0 && isFinite(p.x) && isFinite(p.y)) : [];
  $("noroofline").textContent = points.length ? "" : "The page has no work of tasks, no rates of the machine, or no run.";
  const {c, width, height} = context(canvas);
  if (!points.length) return;
  const xs = points.map(p => p.x).concat(m.rate / m.bandwidth), ys = points.map(p => p.y).concat(m.rate);
  const lx = Math.log10(Math.min(...xs)) - 0.3, hx = Math.log10(Math.max(...xs)) + 0.5, ly = Math.log10(Math.min(...ys)) - 0.3, hy = Math.log10(Math.max(...ys)) + 0.3;
  const left = 90, bottom = 40, X = v => left + (Math.log10(v) - lx) / (hx - lx) * (width - left - 20), Y = v => height - bottom - (Math.log10(v) - ly) / (hy - ly) * (height - bottom - 14);
  const weak = cssColor("--weak"), ink = cssColor("--ink"), accent = cssColor("--accent");
  c.fillStyle = c.strokeStyle = weak;
  for (let e = Math.ceil(lx); e <= hx; e++) { c.fillRect(X(10 ** e), 14, 0.3, height - bottom - 14); c.fillText(count(10 ** e, "op/byte"), X(10 ** e) - 14, height - bottom + 14); }
  for (let e = Math.ceil(ly); e <= hy; e++) { c.fillRect(left, Y(10 ** e), width - left - 20, 0.3); c.fillText(count(10 ** e, "op/s"), 8, Y(10 ** e) + 4); }
  c.strokeStyle = ink;
  c.lineWidth = 1.6;
  c.beginPath();
  c.moveTo(X(10 ** lx), Y(Math.max(10 ** lx * m.bandwidth, 10 ** ly)));
  c.lineTo(X(m.rate / m.bandwidth), Y(m.rate));
  c.lineTo(X(10 ** hx), Y(m.rate));
  c.stroke();
  roofline.points = points.map(p => ({i: p.i, x: X(p.x), y: Y(p.y)}));
  for (const p of roofline.points) {
    c.beginPath();
    c.arc(p.x, p.y, marked(p.i) ? 7 : 4.5, 0, 7);
    c.fillStyle = marked(p.i) ? accent : phaseColor(p.i);
    c.fill();
    c.strokeStyle = "#777";
    c.lineWidth = 0.8;
    c.stroke();
  }
  c.fillStyle = weak;
  c.fillText("operations for each byte that a layer moves, and operations a second from its first to its last span; the line is what the machine can do with tensors in memory", left, height - 8);
}
const roofline = {points: []};
function pointAt(event) {
  const box = document.querySelector("#roofline canvas").getBoundingClientRect(), x = event.clientX - box.left, y = event.clientY - box.top;
  let best = null;
  for (const p of roofline.points) {
    const d = Math.hypot(p.x - x, p.y - y);
    if (d < 10 && (!best || d < best.d)) best = {d, i: p.i};
  }
  return best ? best.i : -1;
}

// ---- What is known, and what is selected.

function facts() {
  const row = (name, value) => element("tr", {}, element("td", {}, name), element("td", {}, String(value)));
  const claims = ["Every task touches elements that its tensors have.", "Of two tasks that touch the same bytes, one of which writes them, one is over before the other begins: by the dependencies, and by the queues and waits of the workers.",
    "Tensors that share memory are never needed at the same time.", "Each task stands in one queue, or is shared by all workers, and all queues come to their ends.", "Arguments, element types and shapes are those of the operators' signatures."];
  $("facts").replaceChildren(
    element("h3", {}, plan.fault ? "The plan has a fault" : "The plan is proved"),
    plan.fault ? element("p", {}, plan.fault) : element("ul", {}, ...claims.map(t => element("li", {}, t))),
    element("table", {}, ...known.map(f => row(f.name, f.value)), row("hash", plan.hash), row("target", plan.target), row("layers", plan.layers.length), row("tasks", plan.tasks), row("dependencies", plan.edges), row("workers", plan.workers),
      row("arena", bytes(plan.arena)), row("lower bound of the arena", bytes(plan.lower)), row("variables", bytes(plan.variables))));
}

function detail() {
  const out = $("detail");
  const link = (text, what) => element("a", {onclick: () => select(what)}, text);
  const list = (title, items) => items.length ? [element("h3", {}, title), element("ul", {}, ...items.slice(0, 40).map(i => element("li", {}, ...i)), ...(items.length > 40 ? [element("li", {}, `${items.length - 40} more`)] : []))] : [];
  const rootLine = a => [`${a.perm} `, link(plan.roots[a.root].name, {root: a.root}), ` ${plan.roots[a.root].type} [${plan.roots[a.root].shape.join(", ")}]`];
  if (selected.root >= 0) {
    const r = plan.roots[selected.root];
    out.replaceChildren(element("h2", {}, r.name), element("p", {}, `${r.type} [${r.shape.join(", ")}], ${bytes(r.bytes)}, ${plan.kinds[r.kind].name}, ${r.use}`),
      element("p", {}, r.arena ? `at byte ${r.off} of the arena, from task ${r.first} to task ${r.last}` : "in memory of its own"),
      ...list("layers", plan.layers.flatMap((l, i) => touches(i, selected.root) ? [[link(l.label, {layer: i}), " " + l.access.filter(a => a.root === selected.root).map(a => a.perm).join(", ")]] : [])));
    return;
  }
  if (selected.layer < 0) {
    const most = plan.layers.map((l, i) => i).sort((a, b) => runs.length ? runs[run].byLayer[b] - runs[run].byLayer[a] : 0).slice(0, 12);
    out.replaceChildren(element("h2", {}, "Nothing is selected"), element("p", {class: "note"}, "Click a box, a span, a tensor or a point."),
      ...(runs.length ? list("layers that take most time", most.map(i => [link(plan.layers[i].label, {layer: i}), " " + seconds(runs[run].byLayer[i])])) : []));
    return;
  }
  const l = plan.layers[selected.layer], o = plan.operators[l.operator], parts = [element("h2", {}, l.label)];
  const line = t => parts.push(element("div", {}, t));
  line(`${l.phase || "built-in"}, ${l.end - l.first} ${l.end - l.first === 1 ? "task" : "tasks"} from ${l.first} on, grid ${l.grid}`);
  if (runs.length) line(`${seconds(runs[run].byLayer[selected.layer])} of all workers ${runs[run].count > 1 ? `in a run, as a mean of ${runs[run].count}` : "in the run that is shown"}`);
  if (l.flops) line(`${count(l.flops, " operations")}, ${bytes(l.bytes || 0)} moved`);
  if (selected.task >= 0) {
    const t = selected.task, preds = Array.from(pred.subarray(start[t], start[t + 1]));
    parts.push(element("h3", {}, `task ${t}` + (l.end - l.first > 1 ? `, tile ${t - l.first + 1}` : "")));
    for (const [w, spans] of (runs.length ? runs[run].workers : []).entries()) {
      let ranges = 0, ran = 0, waited = 0;
      for (let i = 0; i < spans.length; i += SPAN) {
        if (spans[i + 1] !== t) continue;
        if (spans[i] > 0) waited += spans[i + 3] - spans[i + 2]; else { ranges++; ran += spans[i + 3] - spans[i + 2]; }
      }
      const all = runs[run].count > 1 ? `, in ${runs[run].count} runs together` : "";
      if (ranges > 0) line(`worker ${w} runs ${ranges === 1 ? "it" : ranges + " ranges of it"} for ${seconds(ran * runs[run].unit)}${all}`);
      if (waited > 0) line(`worker ${w} waits for it for ${seconds(waited * runs[run].unit)}${all}`);
    }
    parts.push(...list("waits for", preds.map(p => [link(`task ${p}: ${plan.layers[layerOf[p]].label}`, {task: p})])));
  }
  parts.push(...list("tensors", l.access.map(rootLine)));
  if (l.attrs && l.attrs !== "{}") parts.push(element("h3", {}, "attributes"), element("pre", {}, JSON.stringify(JSON.parse(l.attrs), null, 1)));
  if (o) parts.push(element("h3", {}, l.operator), element("p", {}, o.doc), ...(o.formula ? [element("h3", {}, "formula"), element("pre", {}, o.formula.join("\n"))] : []));
  parts.push(...list("before it", plan.arrows.filter(a => a[1] === selected.layer).map(a => [link(plan.layers[a[0]].label, {layer: a[0]}), " by " + plan.roots[a[2]].name])),
    ...list("behind it", plan.arrows.filter(a => a[0] === selected.layer).map(a => [link(plan.layers[a[1]].label, {layer: a[1]}), " by " + plan.roots[a[2]].name])));
  out.replaceChildren(...parts);
}

// ---- The page.

const views = {graph: drawGraph, memory: drawMemory, roofline: drawRoofline, facts: () => {}};
let view = "graph";
function show(name) {
  view = name;
  for (const v in views) $(v).classList.toggle("shown", v === name);
  document.querySelectorAll("nav button").forEach(b => b.setAttribute("aria-selected", b.dataset.view === name));
  draw();
}
function draw() {
  views[view]();
  drawTime();
}

// legend shows what the colors of layers and spans mean.
function legend() {
  const phases = [...new Set(plan.layers.map(l => plan.colors[l.phase] ? l.phase : ""))];
  const items = phases.map(p => [plan.colors[p], p || "built-in"]);
  if (runs.length) items.push([cssColor("--wait"), "waits"]);
  $("legend").replaceChildren(...items.concat([[cssColor("--accent"), "selected"]]).flatMap(([color, name]) => [element("i", {style: "background:" + color}), name]));
}

async function main() {
  await decode();
  $("proof").textContent = plan.fault ? "has a fault" : "proved";
  $("proof").className = plan.fault ? "fault" : "proved";
  $("summary").textContent = `${plan.layers.length} layers, ${plan.tasks} tasks, ${plan.workers} ${plan.workers === 1 ? "worker" : "workers"}, ${bytes(plan.arena + plan.variables)}`;
  const names = new Map();
  plan.roots.forEach((r, i) => names.set(r.name, {root: i}));
  plan.layers.forEach((l, i) => names.set(l.label, {layer: i}));
  $("names").append(...[...names.keys()].slice(0, 2000).map(n => element("option", {value: n})));
  $("search").onchange = e => {
    const text = e.target.value, key = names.has(text) ? text : [...names.keys()].find(n => n.includes(text));
    if (text && key) select(names.get(key));
  };
  startGraph();
  startTime();
  legend();
  facts();
  const m = document.querySelector("#memory canvas"), p = document.querySelector("#roofline canvas");
  m.onmousemove = e => { const i = rootAt(e); tip(e, i < 0 ? null : `${plan.roots[i].name}\n${bytes(plan.roots[i].bytes)}, tasks ${plan.roots[i].first} to ${plan.roots[i].last}`); };
  m.onclick = e => { const i = rootAt(e); if (i >= 0) select({root: i}); };
  p.onmousemove = e => { const i = pointAt(e); tip(e, i < 0 ? null : plan.layers[i].label); };
  p.onclick = e => { const i = pointAt(e); if (i >= 0) select({layer: i}); };
  m.onmouseleave = p.onmouseleave = e => tip(e, null);
  document.querySelectorAll("nav button").forEach(b => { b.onclick = () => show(b.dataset.view); });
  document.addEventListener("keydown", e => { if (e.key === "Escape") select({}); });
  window.addEventListener("resize", draw);
  const link = new URLSearchParams(location.hash.slice(1)); // #view=memory&run=1&layer=3
  if (runs[+link.get("run")]) showRun(+link.get("run"));
  show(views[link.get("view")] ? link.get("view") : "graph");
  detail();
  for (const k of ["layer", "task", "root"]) if (link.has(k)) select({[k]: +link.get(k)});
  document.body.dataset.ready = Math.round(performance.now());
  await follow(changeRuns);
}

window.addEventListener("error", e => fail(e.message));
window.addEventListener("unhandledrejection", e => fail(e.reason));
function fail(reason) {
  document.body.dataset.failed = String(reason);
  $("failure").hidden = false;
  $("failure").textContent = `This page cannot be shown: ${reason}`;
}
main();
