"use strict";
// Draws the charts of the report with uPlot. The data is in the page; nothing is loaded.
(() => {
  const figures = JSON.parse(document.getElementById("data").textContent);
  const root = document.documentElement;
  const charts = []; // {plot, box, link}

  // What the units of axes look like. reports/format.go writes numbers the same way.
  const short = (v) => String(Number(v.toPrecision(3)));
  const si = (v) => {
    for (const [factor, prefix] of [[1e12, "T"], [1e9, "G"], [1e6, "M"], [1e3, "k"]]) {
      if (Math.abs(v) >= factor * 0.9995) return short(v / factor) + prefix;
    }
    return short(v);
  };
  const two = (n) => String(n).padStart(2, "0");
  const clock = (s, step) => {
    if (s < 0) return "-" + clock(-s, step);
    if (step !== undefined ? step < 1 : s < 9.95) return Math.floor(s / 60) + ":" + (s % 60).toFixed(1).padStart(4, "0");
    const n = Math.round(s);
    return n < 3600 ? Math.floor(n / 60) + ":" + two(n % 60)
      : Math.floor(n / 3600) + ":" + two(Math.floor(n / 60) % 60) + ":" + two(n % 60);
  };
  const duration = (s) => {
    const abs = Math.abs(s);
    if (abs === 0) return "0 s";
    if (abs < 0.9995e-3) return short(s * 1e6) + " µs";
    if (abs < 0.9995) return short(s * 1e3) + " ms";
    if (abs < 59.95) return short(s) + " s";
    return clock(s);
  };
  const grouped = (v) => Math.abs(v) < 10 && v % 1 !== 0 ? short(v) : Math.round(v).toLocaleString("en-US");
  const units = {
    count: { tick: si, value: grouped },
    instants: { tick: clock, value: clock },
    lengths: { tick: duration, value: duration },
    shares: { tick: (v) => short(100 * v) + "%", value: (v) => short(100 * v) + "%" },
  };
  const timeSteps = [0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1200, 1800, 3600, 7200, 10800, 21600, 43200, 86400];

  const colour = (name) => getComputedStyle(root).getPropertyValue(name).trim();

  const markRows = 3; // rows of names of marks above the data

  // Phases are shaded behind the data; their names, and those of marks, are written where
  // they fit. On every chart the phase under the cursor is also named in the legend.
  const backdrop = (panel) => (u) => {
    const { ctx, bbox } = u;
    const at = (x) => Math.min(Math.max(u.valToPos(x, "x", true), bbox.left), bbox.left + bbox.width);
    ctx.save();
    ctx.font = `600 ${11 * devicePixelRatio}px ${colour("--text")}`;
    ctx.textBaseline = "top";
    ctx.textAlign = "left";
    panel.bands.forEach((b, i) => {
      const from = at(b.from), to = at(b.to);
      if (to <= from) return;
      ctx.fillStyle = colour(i % 2 ? "--band2" : "--band1");
      ctx.fillRect(from, bbox.top, to - from, bbox.height);
      const width = ctx.measureText(b.name).width;
      if (width + 6 * devicePixelRatio < to - from) {
        ctx.fillStyle = colour("--faint");
        ctx.fillText(b.name, (from + to - width) / 2, bbox.top + 3 * devicePixelRatio);
      }
    });
    ctx.beginPath();
    ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
    ctx.clip();
    ctx.globalAlpha = 0.3;
    for (const s of panel.spreads || []) {
      ctx.beginPath();
      s.x.forEach((x, i) => ctx.lineTo(u.valToPos(x, "x", true), u.valToPos(s.high[i], "y", true)));
      for (let i = s.x.length - 1; i >= 0; i--) ctx.lineTo(u.valToPos(s.x[i], "x", true), u.valToPos(s.low[i], "y", true));
      ctx.fillStyle = s.color;
      ctx.fill();
    }
    ctx.restore();
  };
  const foreground = (panel) => (u) => {
    const { ctx, bbox } = u;
    ctx.save();
    ctx.font = `${10.5 * devicePixelRatio}px ${colour("--text")}`;
    ctx.textBaseline = "top";
    ctx.textAlign = "left";
    ctx.strokeStyle = colour("--faint");
    ctx.lineWidth = devicePixelRatio;
    ctx.setLineDash([3 * devicePixelRatio, 3 * devicePixelRatio]);
    const names = []; // {text, x}; marks in one place share a line of text
    for (const m of panel.marks) {
      const x = u.valToPos(m.at, "x", true);
      if (x < bbox.left || x > bbox.left + bbox.width) continue;
      const last = names[names.length - 1];
      if (last && x - last.x < 3 * devicePixelRatio) last.text += ", " + m.name;
      else names.push({ text: m.name, x });
      ctx.beginPath();
      ctx.moveTo(x, bbox.top + 18 * devicePixelRatio);
      ctx.lineTo(x, bbox.top + bbox.height);
      ctx.stroke();
    }
    ctx.setLineDash([]);
    ctx.lineWidth = 3 * devicePixelRatio;
    ctx.lineJoin = "round";
    ctx.strokeStyle = colour("--paper");
    ctx.fillStyle = colour("--faint");
    const taken = []; // right ends of the names in each row
    for (const { text, x } of names) {
      const width = ctx.measureText(text).width;
      const left = Math.max(Math.min(x + 4 * devicePixelRatio, bbox.left + bbox.width - width), bbox.left);
      let row = 0;
      while (row < markRows && taken[row] > left) row++;
      if (row === markRows) continue;
      const top = bbox.top + (18 + 13 * row) * devicePixelRatio;
      ctx.strokeText(text, left, top);
      ctx.fillText(text, left, top);
      taken[row] = left + width + 6 * devicePixelRatio;
    }
    ctx.restore();
  };

  const phaseAt = (panel, x) => {
    const b = panel.bands.find((b) => x >= b.from && x <= b.to);
    return b ? b.name + ", " : "";
  };

  // Marks that the cursor is on, as near as a hand gets.
  const marksAt = (u, panel, x) => {
    const reach = (u.scales.x.max - u.scales.x.min) * 0.008;
    const names = panel.marks.filter((m) => Math.abs(m.at - x) <= reach).map((m) => m.name);
    return names.length ? ": " + names.join(", ") : "";
  };

  // The series of a panel: x, then every layer. Of a stack the top layer comes first, so
  // that each is painted over the one above it.
  const seriesOf = (figure, panel) => {
    const y = units[figure.y.unit], x = units[figure.x.unit];
    const layers = panel.layers.map((l, i) => ({ ...l, below: l.stacked && i > 0 ? panel.layers[i - 1].y : null }));
    layers.sort((a, b) => Number(b.area) - Number(a.area));
    const stack = layers.filter((l) => l.stacked).reverse();
    const order = [...stack, ...layers.filter((l) => !l.stacked)];
    const series = [{
      label: figure.x.unit === "instants" ? "at" : figure.x.label,
      value: (u, v) => v == null ? "–" : phaseAt(panel, v) + x.value(v) + marksAt(u, panel, v),
    }];
    for (const l of order) {
      series.push({
        label: l.name,
        stroke: l.color,
        width: l.stacked ? 0 : l.area ? 1.5 : 2,
        fill: l.stacked ? l.color : l.area ? l.color + "4d" : undefined,
        fillTo: figure.y.log ? figure.y.min : 0,
        points: { show: panel.x.length === 1 },
        value: (u, v, s, i) => v == null || i == null ? "–" : y.value(l.below ? v - l.below[i] : v),
      });
    }
    return { series, data: [panel.x, ...order.map((l) => l.y)] };
  };

  // The round values of a logarithmic axis that lie between its ends, none too close to the
  // one before; of a stretch that has too few, evenly spread ones.
  const logSplits = (u, scale, round, min, max) => {
    let all = round.filter((v) => v >= min && v <= max);
    if (all.length < 2) all = [0, 1, 2, 3].map((i) => min * (max / min) ** (i / 3));
    const apart = scale === "x" ? 48 : 20;
    let last = -Infinity;
    return all.filter((v) => {
      const at = Math.abs(u.valToPos(v, scale) - u.valToPos(all[0], scale));
      if (at < last + apart) return false;
      last = at;
      return true;
    });
  };

  const axisOf = (axis, side) => {
    const a = {
      side, label: axis.label, labelSize: 22, labelFont: `12px ${colour("--text")}`, font: `12px ${colour("--text")}`, labelGap: 2,
      stroke: () => colour("--faint"),
      grid: { show: side === 3, stroke: () => colour("--rule"), width: 1 },
      ticks: { stroke: () => colour("--rule"), width: 1, size: 4 },
      size: side === 3 ? 56 : 34,
      space: side === 3 ? 40 : 70,
      values: (u, values, i, space, step) => values.map((v) => v == null ? "" : units[axis.unit].tick(v, step)),
    };
    if (axis.unit === "instants") a.incrs = timeSteps;
    if (axis.log) {
      const labels = new Map(axis.ticks.map((t) => [t.at, t.label]));
      a.splits = (u, i, min, max) => logSplits(u, side === 3 ? "y" : "x", [...labels.keys()], min, max);
      a.values = (u, splits) => splits.map((v) => v == null ? "" : labels.get(v) ?? units[axis.unit].tick(v));
    }
    if (side === 3) { // nothing is labelled above the data, where names are
      a.filter = a.grid.filter = a.ticks.filter = (u, splits) => splits.map((v) => v != null && v <= axis.max * 1.001 ? v : null);
    }
    return a;
  };

  // Charts with the same link show the same range.
  let linking = false;
  const follow = (link) => (u, key) => {
    if (key !== "x" || linking) return;
    linking = true;
    const { min, max } = u.scales.x;
    for (const c of charts) {
      if (c.link === link && c.plot !== u) c.plot.setScale("x", { min, max });
    }
    linking = false;
  };

  const options = (figure, panel, width) => {
    const room = panel.marks.length ? 0.27 : panel.bands.length ? 0.1 : 0.03; // above the data, for names
    const top = figure.y.log ? figure.y.min * (figure.y.max / figure.y.min) ** (1 / (1 - room)) : figure.y.max / (1 - room);
    return {
      width, height: 280,
      scales: {
        x: { time: false, distr: figure.x.log ? 3 : 1, min: figure.x.min, max: figure.x.max, range: (u, min, max) => min == null ? [figure.x.min, figure.x.max] : [min, max] },
        y: { distr: figure.y.log ? 3 : 1, range: () => [figure.y.min, top] },
      },
      axes: [axisOf(figure.x, 2), axisOf(figure.y, 3)],
      cursor: {
        drag: { x: true, y: false },
        sync: { key: figure.link, setSeries: false, scales: ["x", null], filters: { pub: (type) => type === "mousemove" || type === "mouseleave" } },
        bind: { dblclick: (u) => () => { u.setScale("x", { min: figure.x.min, max: figure.x.max }); return null; } },
      },
      legend: { live: true },
      hooks: { drawClear: [backdrop(panel)], draw: [foreground(panel)], setScale: [follow(figure.link)] },
    };
  };

  const widthOf = (box) => Math.max(Math.floor(box.clientWidth), 200);
  for (const box of document.querySelectorAll(".plot")) {
    const figure = figures.find((f) => f.id === box.dataset.figure);
    const panel = figure.panels[Number(box.dataset.panel)];
    const { series, data } = seriesOf(figure, panel);
    linking = true; // the first ranges are all the same
    const plot = new uPlot({ ...options(figure, panel, widthOf(box)), series }, data, box);
    plot.setScale("x", { min: figure.x.min, max: figure.x.max });
    linking = false;
    charts.push({ plot, box, link: figure.link });
  }

  const resize = () => {
    for (const { plot, box } of charts) {
      const width = widthOf(box);
      if (width !== plot.width) plot.setSize({ width, height: 280 });
    }
  };
  const redraw = () => charts.forEach(({ plot }) => plot.redraw(false, true));
  addEventListener("resize", resize);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);

  // Paper is white; its style sheet fits the charts to its width.
  let theme = null;
  addEventListener("beforeprint", () => {
    theme = root.dataset.theme ?? "";
    root.dataset.theme = "light";
    for (const { plot, box } of charts) {
      plot.setSize({ width: box.closest(".panels").classList.contains("n1") ? 720 : 440, height: 230 });
    }
    redraw();
  });
  addEventListener("afterprint", () => {
    if (theme) root.dataset.theme = theme; else delete root.dataset.theme;
    for (const { plot, box } of charts) plot.setSize({ width: widthOf(box), height: 280 });
    redraw();
  });

  const button = document.getElementById("theme");
  button.hidden = false;
  button.addEventListener("click", () => {
    const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = dark ? "light" : "dark";
    redraw();
  });
})();
