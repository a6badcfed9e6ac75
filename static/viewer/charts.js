// Draws each table of the charts page as lines. The table stays where it is: it is the chart's data, and its words.
"use strict";

(function () {
  const COLOURS = 8;  // --c0 to --c7
  // Four dashes and three marks: twelve lines differ without their colours.
  const DASHES = [[], [8, 4], [2, 3], [10, 3, 2, 3]];
  const MARKS = ["circle", "square", "triangle"];
  const compact = new Intl.NumberFormat("en", { notation: "compact", maximumSignificantDigits: 3 });
  const AXES = {
    count: (value) => compact.format(value),
    share: (value) => `${compact.format(value * 100)} %`,
    micros: (value) => `$${compact.format(value / 1e6)}`,
    milliseconds: (value) => (value < 1000 ? `${compact.format(value)} ms` : `${compact.format(value / 1000)} s`),
  };
  const plots = [];

  function colour(name) {
    return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  }

  function colourOf(place) {
    return colour(`--c${place % COLOURS}`);
  }

  function mark(context, place, x, y, size) {
    context.beginPath();
    const shape = MARKS[place % MARKS.length];
    if (shape === "circle") context.arc(x, y, size, 0, 2 * Math.PI);
    else if (shape === "square") context.rect(x - size, y - size, 2 * size, 2 * size);
    else {
      context.moveTo(x, y - 1.3 * size);
      context.lineTo(x + 1.2 * size, y + size);
      context.lineTo(x - 1.2 * size, y + size);
      context.closePath();
    }
    context.fill();
  }

  // Every known number gets its mark: one between two gaps has no line.
  function marks(plot, series) {
    const context = plot.ctx;
    context.save();
    context.setLineDash([]);
    context.fillStyle = colourOf(series - 1);
    plot.data[series].forEach((value, at) => {
      if (value === null) return;
      const x = plot.valToPos(plot.data[0][at], "x", true), y = plot.valToPos(value, "y", true);
      mark(context, series - 1, x, y, 3 * uPlot.pxRatio);
    });
    context.restore();
  }

  function key(canvas, place) {
    const context = canvas.getContext("2d");
    context.clearRect(0, 0, canvas.width, canvas.height);
    context.strokeStyle = context.fillStyle = colourOf(place);
    context.lineWidth = 4;
    context.setLineDash(DASHES[place % DASHES.length].map((length) => 2 * length));
    context.beginPath();
    context.moveTo(0, canvas.height / 2);
    context.lineTo(canvas.width, canvas.height / 2);
    context.stroke();
    mark(context, place, canvas.width / 2, canvas.height / 2, 7);
  }

  function read(table) {
    const rows = [...table.tBodies[0].rows];
    const names = [...table.tHead.rows[0].cells].slice(1).map((cell) => cell.textContent);
    const exact = (cell) => (cell.dataset.exact === "" ? null : Number(cell.dataset.exact));
    return {
      names,
      times: rows.map((row) => Number(row.cells[0].dataset.at)),
      columns: names.map((_, place) => rows.map((row) => exact(row.cells[place + 1]))),
      texts: names.map((_, place) => rows.map((row) => row.cells[place + 1].textContent)),
    };
  }

  function legend(list, data) {
    const entries = data.names.map((name, place) => {
      const button = document.createElement("button"), canvas = document.createElement("canvas");
      const word = document.createElement("span"), now = document.createElement("span");
      button.type = "button";
      button.setAttribute("aria-pressed", "true");
      [canvas.width, canvas.height] = [68, 24];
      canvas.setAttribute("aria-hidden", "true");
      [word.className, now.className, word.textContent] = ["name", "now", name];
      button.append(canvas, word, now);
      button.addEventListener("click", () => toggle(place, button.getAttribute("aria-pressed") !== "true"));
      list.append(document.createElement("li"));
      list.lastChild.append(button);
      key(canvas, place);
      return { button, canvas, now };
    });
    list.hidden = false;
    return entries;
  }

  // A line is hidden, or shown, in all charts.
  function toggle(place, isShown) {
    for (const { plot, entries } of plots) {
      plot.setSeries(place + 1, { show: isShown });
      entries[place].button.setAttribute("aria-pressed", String(isShown));
    }
  }

  function moment(seconds, step) {
    const said = new Date(seconds * 1000).toISOString();
    return step >= 86400 || said.slice(11, 16) === "00:00" ? said.slice(5, 10) : said.slice(11, 16);
  }

  function axes(unit) {
    const shared = {
      stroke: () => colour("--body-quiet-color"),
      grid: { stroke: () => colour("--hairline-color"), width: 1 },
      ticks: { show: false },
      font: "11px system-ui, sans-serif",
    };
    return [
      { ...shared, space: 60, size: 26, values: (plot, splits, axis, space, step) => splits.map((each) => moment(each, step)) },
      { ...shared, size: 62, values: (plot, splits) => splits.map(AXES[unit]) },
    ];
  }

  function draw(figure) {
    const data = read(figure.querySelector("table"));
    const place = figure.querySelector(".plot");
    place.hidden = false;
    const entries = legend(figure.querySelector(".legend"), data);
    const say = (plot) => {
      const at = plot.cursor.idx;
      entries.forEach(({ now }, series) => { now.textContent = at == null ? "" : data.texts[series][at]; });
    };
    const lines = data.names.map((label, series) => ({
      label,
      stroke: () => colourOf(series),
      width: 1.75,
      dash: DASHES[series % DASHES.length],
      points: { show: false },
    }));
    const options = {
      width: place.clientWidth - 6,
      height: 212,
      tzDate: (seconds) => uPlot.tzDate(new Date(seconds * 1000), "Etc/UTC"),
      scales: { y: { range: (plot, least, most) => [0, most > 0 ? most * 1.08 : 1] } },
      axes: axes(figure.dataset.unit),
      series: [{}, ...lines],
      legend: { show: false },
      cursor: { y: false, drag: { x: false, y: false }, points: { show: false }, sync: { key: "charts" } },
      hooks: { drawSeries: [marks], setCursor: [say] },
    };
    const plot = new uPlot(options, [data.times, ...data.columns], place);
    figure.drawn = plot;
    plots.push({ plot, entries });
    new ResizeObserver(() => plot.setSize({ width: place.clientWidth - 6, height: 212 })).observe(place);
  }

  function redraw() {
    for (const { plot, entries } of plots) {
      plot.redraw(false);
      entries.forEach(({ canvas }, place) => key(canvas, place));
    }
  }

  document.querySelectorAll("figure.chart").forEach(draw);
  // The colours are those of the theme, which is changed while one looks.
  new MutationObserver(redraw).observe(document.documentElement, { attributeFilter: ["data-theme"] });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
})();
