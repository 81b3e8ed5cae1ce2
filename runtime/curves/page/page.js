"use strict";
// The page of trainings: `runs` is what package curves wrote. There is a chart for each name of a curve.

const colors = ["#4e79a7", "#f28e2b", "#59a14f", "#e15759", "#b07aa1", "#76b7b2", "#9c755f", "#edc948"];
const $ = id => document.getElementById(id);
const cssColor = name => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
let runs, charts = [];
const hidden = new Set();

async function decode() {
  const bytes = Uint8Array.from(atob($("data").textContent.trim()), c => c.charCodeAt(0));
  const text = await new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).text();
  take(JSON.parse(text));
}

function take(list) {
  runs = list;
  for (const r of runs) {
    r.curves = r.curves || [];
    for (const c of r.curves) c.values = (c.values || []).map(v => typeof v === "number" ? v : null), c.steps = c.steps || []; // NaN and infinities have no place
  }
}

function element(name, attrs, ...children) {
  const e = document.createElement(name);
  for (const k in attrs) if (k.startsWith("on")) e[k] = attrs[k]; else e.setAttribute(k, attrs[k]);
  e.append(...children);
  return e;
}
const format = v => v === null || v === undefined ? "-" : Math.abs(v) >= 1e5 || v !== 0 && Math.abs(v) < 1e-3 ? v.toExponential(3) : String(+v.toPrecision(5));

// smoothed is the exponential moving average of values, with less weight at the beginning, as Adam corrects its averages.
function smoothed(values, share) {
  let sum = 0, weight = 0;
  return values.map(v => {
    if (v === null) return null;
    sum = share * sum + (1 - share) * v;
    weight = share * weight + (1 - share);
    return sum / weight;
  });
}

function summary() {
  const names = charts.map(c => c.name), title = c => c.name + (c.unit ? ", " + c.unit : "");
  const head = element("tr", {}, element("th", {}, "run"), element("th", {}, "steps"), ...charts.map(c => element("th", {}, "last " + title(c))));
  const rows = runs.map((r, i) => {
    const steps = Math.max(0, ...r.curves.map(c => c.steps.length ? c.steps[c.steps.length - 1] : 0));
    const last = names.map(n => { const c = r.curves.find(c => c.name === n); return element("td", {}, c && c.values.length ? format(c.values[c.values.length - 1]) : "-"); });
    const row = element("tr", {class: "run", onclick: () => {
      if (!hidden.delete(i)) hidden.add(i);
      row.classList.toggle("hidden", hidden.has(i));
      draw();
    }}, element("td", {}, element("i", {style: "background:" + colors[i % colors.length]}), r.name), element("td", {}, String(steps)), ...last);
    row.classList.toggle("hidden", hidden.has(i));
    return row;
  });
  $("runs").replaceChildren(element("table", {}, head, ...rows));
}

// data returns what uPlot draws: the steps of all runs that are shown, and for each run its values, raw and smoothed.
function data(chart) {
  const share = +$("smooth").value, from = +$("from").value;
  const tables = [[[]]];
  const series = [{}];
  runs.forEach((r, i) => {
    const c = r.curves.find(c => c.name === chart.name);
    if (!c || hidden.has(i)) return;
    const keep = c.steps.findIndex(s => s >= from), first = keep < 0 ? c.steps.length : keep;
    const log = v => chart.log && v !== null && v <= 0 ? null : v;
    const raw = c.values.map(log);
    tables.push([c.steps.slice(first), raw.slice(first), smoothed(raw, share).slice(first)]);
    const color = colors[i % colors.length];
    series.push({label: r.name, chip: color, stroke: color + (share > 0 ? cssColor("--raw") : ""), width: 1, value: (_, v) => format(v), points: {show: c.steps.length < 40}},
      {label: r.name + ", smooth", stroke: color, width: share > 0 ? 2 : 0, value: (_, v) => format(v), points: {show: false}});
  });
  return {series, table: tables.length > 1 ? uPlot.join(tables.slice(1)) : [[]]};
}

// read shows the values of all runs at the step under the cursor.
function read(chart, u) {
  const at = u.cursor.idx;
  if (at === null || at === undefined || !u.data[0].length) {
    chart.readout.replaceChildren("\u00a0");
    return;
  }
  chart.readout.replaceChildren(`step ${u.data[0][at]}: `, ...u.series.slice(1).map((s, i) => i % 2 === 0 && u.data[i + 1][at] != null ?
    element("span", {}, element("i", {style: "background:" + s.chip}), format(u.data[i + 1][at]) + " ") : ""));
}

function drawChart(chart) {
  const {series, table} = data(chart), ink = cssColor("--weak"), grid = {stroke: cssColor("--line"), width: 0.6}, font = "11px system-ui, Helvetica, Arial, sans-serif";
  const old = chart.plot, shown = old && old.scales.x, steps = old && old.data[0];
  const zoomed = old && steps.length && (shown.min > steps[0] || shown.max < steps[steps.length - 1]);
  if (old) old.destroy();
  chart.plot = new uPlot({
    width: chart.box.clientWidth - 16, height: 270, series, legend: {show: false}, hooks: {setCursor: [u => read(chart, u)]},
    cursor: {sync: {key: "steps"}}, scales: {x: {time: false}, y: chart.log ? {distr: 3, range: (_, low, high) => low > 0 ? [low / 1.15, high * 1.15] : [0.1, 1]} : {}},
    axes: [{stroke: ink, grid, ticks: grid, size: 30, incrs: [1, 2, 5, 10, 20, 50, 100, 200, 500, 1e3, 2e3, 5e3, 1e4, 2e4, 5e4, 1e5, 2e5, 5e5, 1e6, 1e7, 1e8], label: "step", labelSize: 14, labelGap: 0, labelFont: font, font}, {stroke: ink, grid, ticks: grid, size: 70, font, values: (_, ticks) => ticks.map(t => t === null ? "" : format(t))}],
  }, table, chart.body);
  if (zoomed) chart.plot.setScale("x", {min: shown.min, max: shown.max});
}

function draw() { charts.forEach(drawChart); }

// addCharts adds a chart for each name of a curve that has none.
function addCharts() {
  for (const r of runs) for (const {name, unit, log} of r.curves) {
    if (charts.some(c => c.name === name)) continue;
    const c = {name, unit, log: !!log};
    const box = element("input", {type: "checkbox", onchange: e => { c.log = e.target.checked; drawChart(c); }});
    box.checked = c.log;
    c.body = element("div", {});
    c.readout = element("div", {class: "readout"}, "\u00a0");
    c.box = element("div", {class: "chart"}, element("h2", {}, c.name + (c.unit ? ", " + c.unit : ""), element("label", {}, box, " logarithmic")), c.body, c.readout);
    $("charts").append(c.box);
    charts.push(c);
  }
}

function show() {
  addCharts();
  summary();
  draw();
}

async function main() {
  await decode();
  show();
  $("smooth").oninput = $("from").onchange = draw;
  window.addEventListener("resize", draw);
  document.body.dataset.ready = Math.round(performance.now());
  await follow(changed => {
    take(JSON.parse(new TextDecoder().decode(changed)));
    show();
  });
}

window.addEventListener("error", e => fail(e.message));
window.addEventListener("unhandledrejection", e => fail(e.reason));
function fail(reason) {
  document.body.dataset.failed = String(reason);
  $("failure").hidden = false;
  $("failure").textContent = `This page cannot be shown: ${reason}`;
}
main();
