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

  const height = 280, rowHeight = 13, firstRow = 18; // of a chart; of names of marks above the data, and where they begin

  // Marks in one place share a line of text. Narrow charts have one row of names, so that these
  // leave the data its room; the names that find no place are in the legend under the mouse.
  const ruler = document.createElement("canvas").getContext("2d");
  const placed = (u, panel) => {
    const [min, max] = u.view, width = u.bbox?.width ? u.bbox.width / devicePixelRatio : u.width - 70; // before the first layout, about
    const rows = u.width < 490 ? 1 : 3;
    ruler.font = `10.5px ${colour("--text")}`;
    const names = [], kept = [];
    for (const m of panel.marks) {
      const x = (m.at - min) / (max - min) * width;
      if (!(x >= 0 && x <= width)) continue;
      const last = names[names.length - 1];
      if (last && x - last.x < 3) {
        last.text += ", " + m.name;
        last.at.push(m.at);
      } else names.push({ text: m.name, x, at: [m.at] });
    }
    // A mark's line comes down from the row of its name, and runs through no other.
    const through = (a, b) => a.row < b.row && a.x > b.left - 2 && a.x < b.right + 2;
    const apart = (a, b) => (a.row !== b.row || a.right + 6 < b.left || b.right + 6 < a.left) && !through(a, b) && !through(b, a);
    for (const n of names) {
      const length = ruler.measureText(n.text).width;
      n.left = Math.max(Math.min(n.x + 4, width - length), 0);
      n.right = n.left + length;
      n.row = 0;
      while (n.row < rows && !kept.every((o) => apart(n, o))) n.row++;
      if (n.row < rows && length <= width) kept.push(n);
      else n.text = "";
    }
    const used = Math.max(0, ...kept.map((n) => n.row + 1));
    for (const n of names) if (!n.text) n.row = used;
    return { names, rows: used };
  };

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
    const { names } = placed(u, panel);
    for (const n of names) for (const at of n.at) {
      const x = u.valToPos(at, "x", true);
      ctx.beginPath();
      ctx.moveTo(x, bbox.top + (firstRow + rowHeight * n.row) * devicePixelRatio);
      ctx.lineTo(x, bbox.top + bbox.height);
      ctx.stroke();
    }
    ctx.strokeStyle = colour("--ink");
    for (const l of panel.limits || []) {
      const y = u.valToPos(l.at, "y", true);
      if (y < bbox.top || y > bbox.top + bbox.height) continue;
      ctx.beginPath();
      ctx.moveTo(bbox.left, y);
      ctx.lineTo(bbox.left + bbox.width, y);
      ctx.stroke();
      ctx.fillStyle = colour("--ink");
      ctx.fillText(l.name, bbox.left + bbox.width - ctx.measureText(l.name).width - 2, y - 13 * devicePixelRatio);
    }
    ctx.setLineDash([]);
    for (const c of panel.crosses || []) {
      const x = u.valToPos(c.x, "x", true), arm = 5 * devicePixelRatio;
      const y = c.y == null ? bbox.top + arm : u.valToPos(c.y, "y", true);
      if (x < bbox.left - 1 || x > bbox.left + bbox.width + 1) continue;
      for (const [style, width] of [[colour("--paper"), 4], [c.color, 2]]) {
        ctx.strokeStyle = style;
        ctx.lineWidth = width * devicePixelRatio;
        ctx.beginPath();
        ctx.moveTo(x - arm, y - arm);
        ctx.lineTo(x + arm, y + arm);
        ctx.moveTo(x - arm, y + arm);
        ctx.lineTo(x + arm, y - arm);
        ctx.stroke();
      }
    }
    ctx.lineWidth = 3 * devicePixelRatio;
    ctx.lineJoin = "round";
    ctx.strokeStyle = colour("--paper");
    ctx.fillStyle = colour("--faint");
    for (const { text, left, row } of names) {
      if (!text) continue;
      const x = bbox.left + left * devicePixelRatio, top = bbox.top + (firstRow + rowHeight * row) * devicePixelRatio;
      ctx.strokeText(text, x, top);
      ctx.fillText(text, x, top);
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

  // What of an axis is in view. A logarithmic one begins before its data, and ends behind it.
  const inView = ({ view: [low, high], data: [all] }, axis) =>
    axis.log && all.length ? [Math.max(low, all[0]), Math.min(high, all[all.length - 1])] : [low, high];

  // What a legend says of a layer before anything is hovered over: the highest value in view,
  // unless the figure has a better word.
  const summary = (u, figure, layer) => {
    if (layer.summary) return layer.summary;
    const y = units[figure.y.unit], all = u.data[0];
    let most = null;
    layer.y.forEach((v, i) => {
      if (v == null || all[i] < u.view[0] || all[i] > u.view[1]) return;
      const own = layer.below ? v - layer.below[i] : v;
      if (most == null || own > most) most = own;
    });
    return most == null ? "–" : "max " + y.value(most);
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
      value: (u, v) => v == null ? inView(u, figure.x).map(x.value).join(" to ") : phaseAt(panel, v) + x.value(v) + marksAt(u, panel, v),
    }];
    for (const l of order) {
      series.push({
        label: l.name,
        stroke: l.color,
        width: l.stacked || l.scattered ? 0 : l.area ? 1.5 : 2,
        spanGaps: Boolean(l.dotted),
        fill: l.stacked ? l.color : l.area ? l.color + "4d" : undefined,
        fillTo: figure.y.log ? figure.y.min : 0,
        points: { show: panel.x.length === 1 || Boolean(l.dotted), size: 7, fill: l.color },
        value: (u, v, s, i) => i == null ? summary(u, figure, l) : v == null ? "–" : y.value(l.below ? v - l.below[i] : v),
      });
    }
    return { series, data: [panel.x, ...order.map((l) => l.y)] };
  };

  // The labelled values of an axis that lie between its ends, none too close to the one before;
  // of a stretch that has too few, evenly spread ones.
  const labelledSplits = (u, scale, round, min, max) => {
    let all = round.filter((v) => v >= min && v <= max);
    if (all.length < 2) all = [0, 1, 2, 3].map((i) => u.scales[scale].distr === 3 ? min * (max / min) ** (i / 3) : min + (max - min) * i / 3);
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
    if (axis.ticks) {
      const labels = new Map(axis.ticks.map((t) => [t.at, t.label]));
      a.splits = (u, i, min, max) => labelledSplits(u, side === 3 ? "y" : "x", [...labels.keys()], min, max);
      a.values = (u, splits) => splits.map((v) => v == null ? "" : labels.get(v) ?? units[axis.unit].tick(v));
      a.filter = (u, splits) => splits; // uPlot itself labels powers of ten
    }
    if (side === 3) { // nothing is labelled above the data, where names are
      a.filter = a.grid.filter = a.ticks.filter = (u, splits) => splits.map((v) => v != null && v <= (u.top ?? axis.max) * 1.001 ? v : null);
    }
    return a;
  };

  // show sets what a chart is zoomed in on. The range of its values depends on it (u.view), and
  // uPlot asks for that before it has set the new scale.
  const show = (u, min, max) => {
    u.view = [min, max];
    u.setScale("x", { min, max });
    u.setLegend({ idx: null }, false); // what is highest in view
  };
  // Charts with the same link show the same stretch.
  const showAll = (link, min, max) => charts.filter((c) => c.link === link).forEach((c) => show(c.plot, min, max));

  const atPoints = (figure, panel, [low, high]) => { // where a line only joins points, a stretch ends at two
    if (!panel.layers.some((l) => l.dotted)) return [low, high];
    const before = panel.x.findLastIndex((x) => x <= low), after = panel.x.findIndex((x) => x >= high);
    return [before > 0 ? panel.x[before] : figure.x.min, after >= 0 && after < panel.x.length - 1 ? panel.x[after] : figure.x.max];
  };

  const selected = (figure, panel) => (u) => {
    const { left, width } = u.select, ends = [left, left + width].map((at) => u.posToVal(at, "x"));
    if (width >= 2) showAll(figure.link, ...atPoints(figure, panel, ends));
    u.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
  };

  // The point nearest to the cursor as drawn. uPlot takes the nearest value: on a logarithmic axis another.
  const nearest = (u, series, index, x) => {
    const all = u.data[0], away = (i) => Math.abs(u.valToPos(all[i], "x") - u.valToPos(x, "x"));
    return [index + 1, index - 1].reduce((best, i) => all[i] != null && away(i) < away(best) ? i : best, index);
  };

  const options = (figure, panel, width) => {
    // The highest value in view, and what is free above it for names. Charts side by side have
    // one scale until they are zoomed in, and then each its own.
    const range = (u, low, high) => {
      u.view ??= [figure.x.min, figure.x.max];
      const zoomed = u.view[0] > figure.x.min || u.view[1] < figure.x.max;
      u.top = zoomed && high > figure.y.min ? Math.min(high, figure.y.max) : figure.y.max;
      const names = panel.bands.length ? firstRow + rowHeight * placed(u, panel).rows + 4 : 8;
      const room = Math.min(names / (height - 56), 0.4), bottom = figure.y.min;
      return [bottom, figure.y.log ? bottom * (u.top / bottom) ** (1 / (1 - room)) : u.top / (1 - room)];
    };
    return {
      width, height,
      scales: {
        x: { time: false, distr: figure.x.log ? 3 : 1, range: (u) => u.view ??= [figure.x.min, figure.x.max] },
        y: { distr: figure.y.log ? 3 : 1, range },
      },
      axes: [axisOf(figure.x, 2), axisOf(figure.y, 3)],
      cursor: {
        dataIdx: nearest,
        drag: { x: true, y: false, setScale: false },
        sync: { key: figure.link, setSeries: false, scales: ["x", null], filters: { pub: (type) => type === "mousemove" || type === "mouseleave" } },
        bind: { dblclick: () => () => { showAll(figure.link, figure.x.min, figure.x.max); return null; } },
      },
      legend: { live: true },
      hooks: { drawClear: [backdrop(panel)], draw: [foreground(panel)], setSelect: [selected(figure, panel)] },
    };
  };

  const widthOf = (box) => Math.max(Math.floor(box.clientWidth), 200);
  for (const box of document.querySelectorAll(".plot")) {
    const figure = figures.find((f) => f.id === box.dataset.figure);
    const panel = figure.panels[Number(box.dataset.panel)];
    const { series, data } = seriesOf(figure, panel);
    const plot = new uPlot({ ...options(figure, panel, widthOf(box)), series }, data, box);
    charts.push({ plot, box, link: figure.link, figure, panel });
  }

  const resize = () => {
    for (const { plot, box } of charts) {
      const width = widthOf(box);
      if (width !== plot.width) plot.setSize({ width, height });
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
    for (const { plot, box } of charts) plot.setSize({ width: widthOf(box), height });
    redraw();
  });

  // A button for every phase zooms each chart of time in on its own stretch of it.
  const zooms = document.querySelector(".zooms");
  const phases = [...new Set(charts.flatMap((c) => c.link === "time" ? c.panel.bands.map((b) => b.name) : []))];
  if (phases.length > 1) {
    zooms.hidden = false;
    zooms.append("Zoom:");
    for (const name of ["whole run", ...phases]) {
      const b = document.createElement("button");
      b.type = "button";
      b.textContent = name;
      b.addEventListener("click", () => {
        for (const c of charts.filter((c) => c.link === "time")) {
          const band = c.panel.bands.find((b) => b.name === name);
          show(c.plot, band ? band.from : c.figure.x.min, band ? band.to : c.figure.x.max);
        }
      });
      zooms.append(b);
    }
  }

  // The contents: the sections, then the charts.
  const contents = document.querySelector(".contents");
  const entry = (target, text) => {
    const a = document.createElement("a");
    a.href = "#" + target.id;
    a.textContent = text;
    contents.append(a);
  };
  document.querySelectorAll("main section > h2, main section > div > h2").forEach((h, i) => {
    h.id ||= "section-" + (i + 1);
    entry(h, h.textContent);
  });
  const line = document.createElement("span");
  line.className = "of";
  contents.append(line);
  document.querySelectorAll("figure[id]").forEach((f) => entry(f, f.querySelector("figcaption").firstChild.textContent));

  const button = document.getElementById("theme");
  button.hidden = false;
  button.addEventListener("click", () => {
    const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = dark ? "light" : "dark";
    redraw();
  });
})();
