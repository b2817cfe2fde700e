"use strict";
// Draws the samples of a running cluster as they come. A sample is an object with at_s, the
// figures by name, the marks of what has happened since the one before it, and the faults under
// way. A figure that is not there is one that nobody can tell, and leaves a gap. The event "end"
// says why no more samples will come.
(() => {
  const { source, charts, keep } = JSON.parse(document.getElementById("data").textContent);
  const state = document.getElementById("state"), marks = document.querySelector("#marks tbody");
  const underWay = document.getElementById("under-way"), faults = document.getElementById("faults");
  const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const clock = (s) => Math.floor(s / 60) + ":" + String(Math.floor(s % 60)).padStart(2, "0");
  let samples = [];

  const whole = []; // what the ticks of counts may be apart
  for (let unit = 1; unit < 1e9; unit *= 10) whole.push(unit, 2 * unit, 5 * unit);
  const height = (box) => box.clientHeight || 260;

  const plots = charts.map((chart, n) => {
    const box = document.querySelector(`[data-chart="${n}"]`);
    const axis = { stroke: () => colour("--faint"), grid: { stroke: () => colour("--rule"), width: 1 }, ticks: { show: false } };
    return new uPlot({
      width: box.clientWidth, height: height(box), legend: { show: false },
      scales: { x: { time: false }, y: { range: (u, min, max) => [0, Math.max(1, max * 1.05)] } },
      axes: [{ ...axis, values: (u, at) => at.map(clock) }, { ...axis, size: 70, incrs: whole, values: (u, at) => at.map((v) => v.toLocaleString("en-US")) }],
      series: [{}, ...chart.series.map((s) => ({ label: s.name, stroke: s.color, width: 2, points: { show: false } }))],
    }, [[], ...chart.series.map(() => [])], box);
  });
  addEventListener("resize", () => plots.forEach((p) => p.setSize({ width: p.root.parentNode.clientWidth, height: height(p.root.parentNode) })));

  const draw = () => {
    const last = samples[samples.length - 1];
    plots.forEach((p, n) => p.setData([samples.map((s) => s.at_s), ...charts[n].series.map((c) => samples.map((s) => s.figures[c.key] ?? null))]));
    for (const now of document.querySelectorAll("[data-now]")) now.textContent = last.figures[now.dataset.now]?.toLocaleString("en-US") ?? "";
    underWay.hidden = !last.faults;
    faults.replaceChildren(...(last.faults ?? []).map((what) => Object.assign(document.createElement("li"), { textContent: what })));
    const phase = last.phase ? ` · phase ${last.phase}` : "";
    state.textContent = ended || `${clock(last.at_s)} since the start${phase} · ${last.leader ? last.leader + " leads" : "no leader"}`;
  };
  let due = false, ended = "";
  const stream = new EventSource(source);
  stream.onopen = () => { samples = []; marks.replaceChildren(); };
  stream.onerror = () => { state.textContent = "not connected: is the cluster still served?"; };
  stream.addEventListener("end", (event) => {
    stream.close();
    ended = state.textContent = event.data;
  });
  stream.onmessage = (event) => {
    const sample = JSON.parse(event.data);
    samples.push(sample);
    samples = samples.slice(-keep);
    for (const mark of sample.marks ?? []) {
      const row = marks.insertRow(0);
      row.insertCell().textContent = clock(sample.at_s);
      const what = document.createElement("th");
      what.textContent = mark;
      row.append(what);
    }
    if (due) return; // many come at once at the start
    due = true;
    requestAnimationFrame(() => { due = false; draw(); });
  };
})();
