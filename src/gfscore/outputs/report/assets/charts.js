// Pictures of the class profile and of all models, as SVG in the page's own colours.
const ALL_ROWS = 60; // classes; of more only the ends have a row
const ENDS = 12;

const span = (values) =>
  values
    .filter((value) => value != null)
    .reduce(([low, high], v) => [Math.min(low, v), Math.max(high, v)], [Infinity, -Infinity]);

function linear([low, high], [from, to]) {
  const unit = (to - from) / (high - low || 1);
  return (value) => from + (value - low) * unit;
}

function ticks(low, high) {
  const raw = (high - low || 1) / 6;
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = power * [1, 2, 5, 10].find((factor) => factor * power >= raw);
  const found = [];
  for (let k = Math.ceil(low / step - 1e-9); k * step <= high + step * 1e-9; k += 1)
    found.push(Number((k * step).toPrecision(12)));
  return found;
}

function picture(width, height, label, children) {
  return draw("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": label }, ...children);
}

function widthOf(element) {
  return Math.max(460, Math.min(980, element.clientWidth || 860));
}

function axis(x, low, high, top, bottom, title) {
  const marks = ticks(low, high).flatMap((tick) => [
    draw("line", { class: "grid", x1: x(tick), x2: x(tick), y1: top, y2: bottom }),
    draw(
      "text",
      { class: "small", x: x(tick), y: bottom + 15, "text-anchor": "middle" },
      String(tick).replace("-", "−"),
    ),
  ]);
  const middle = (x(low) + x(high)) / 2;
  return [...marks, draw("text", { x: middle, y: bottom + 34, "text-anchor": "middle" }, title)];
}

const scoreTitle = (model) => `${model.title} (scale ${model.range[0]} to ${Number(model.range[1].toPrecision(4))})`;
const order = (values) => values.map((_, index) => index).sort((a, b) => values[a] - values[b]);

function classTip(model, i) {
  const c = model.classes;
  const lines = [
    DATA.names[c.name[i]],
    `${model.name}: ${estimate(c.score[i], c.low[i], c.high[i], model)}`,
    `n = ${count(c.n[i])}, clean accuracy ${percent(c.accuracy[i])}`,
  ];
  if (c.confused[i] != null) lines.push(`most confused with ${DATA.names[c.confused[i]]} (${percent(c.share[i])})`);
  return lines;
}

// One class of one model: its interval, and a diamond where it may be the worst.
function mark(model, i, x, y, kind) {
  const c = model.classes;
  const parts = [];
  if (c.low[i] != null)
    parts.push(draw("line", { class: `interval ${kind}`, x1: x(c.low[i]), x2: x(c.high[i]), y1: y, y2: y }));
  const at = x(c.score[i]);
  if (kind === "beside") parts.push(draw("rect", { class: "beside", x: at - 4, y: y - 4, width: 8, height: 8 }));
  else if (c.worst[i]) parts.push(draw("path", { class: "worst", d: `M${at},${y - 7}l7,7l-7,7l-7,-7z` }));
  else parts.push(draw("circle", { class: "main", cx: at, cy: y, r: 5 }));
  return parts;
}

function rowsOf(models, shown, width, domain, label, withAxis) {
  const [main, beside] = models;
  const row = beside ? 32 : 23,
    names = Math.min(200, width * 0.26),
    numbers = 165,
    top = 6;
  const bottom = top + row * shown.length;
  const x = linear(domain, [names + 12, width - numbers - 12]);
  const places = beside && new Map(beside.classes.name.map((name, i) => [name, i]));
  const parts = withAxis ? axis(x, ...domain, top, bottom, scoreTitle(main)) : [];
  parts.push(draw("line", { class: "mean", x1: x(main.mean), x2: x(main.mean), y1: top, y2: bottom }));
  shown.forEach((i, k) => {
    const name = main.classes.name[i],
      y = top + row * (k + 0.5),
      other = places?.get(name);
    const upper = other === undefined ? y : y - 7;
    const group = draw(
      "g",
      { class: "row" },
      draw("rect", { class: "hit", x: 0, y: y - row / 2, width, height: row }),
      draw("text", { x: names, y: y + 4, "text-anchor": "end" }, short(DATA.names[name], Math.floor(names / 7))),
      ...mark(main, i, x, upper, main.classes.worst[i] ? "worst" : "main"),
      draw(
        "text",
        { x: width - numbers, y: upper + 4 },
        estimate(main.classes.score[i], main.classes.low[i], main.classes.high[i], main),
      ),
    );
    if (other !== undefined) {
      const c = beside.classes;
      group.append(
        ...mark(beside, other, x, y + 8, "beside"),
        draw(
          "text",
          { class: "second", x: width - numbers, y: y + 12 },
          estimate(c.score[other], c.low[other], c.high[other], beside),
        ),
      );
    }
    onHover(group, () => [...classTip(main, i), ...(other === undefined ? [] : classTip(beside, other).slice(1))]);
    parts.push(group);
  });
  return picture(width, bottom + (withAxis ? 42 : 4), label, parts);
}

// All classes from the lowest up as a curve with a band; for so many that rows would not help.
function curveOf(models, sorted, width, domain) {
  const [main, beside] = models;
  const c = main.classes,
    height = 260,
    left = 46,
    bottom = height - 40;
  const x = linear([0, sorted.length - 1], [left, width - 12]),
    y = linear(domain, [bottom, 8]);
  const at = (values, i, k) => `${x(k).toFixed(1)},${y(values[i]).toFixed(1)}`;
  const parts = ticks(...domain).flatMap((tick) => [
    draw("line", { class: "grid", x1: left, x2: width - 12, y1: y(tick), y2: y(tick) }),
    draw("text", { class: "small", x: left - 6, y: y(tick) + 4, "text-anchor": "end" }, String(tick)),
  ]);
  if (c.low[0] != null) {
    const ahead = sorted.map((i, k) => at(c.low, i, k)),
      back = sorted.map((i, k) => at(c.high, i, k)).reverse();
    parts.push(draw("path", { class: "band", d: `M${[...ahead, ...back].join("L")}z` }));
  }
  if (beside) {
    const places = new Map(beside.classes.name.map((name, i) => [name, i]));
    sorted.forEach((i, k) => {
      const other = places.get(c.name[i]);
      if (other !== undefined)
        parts.push(
          draw("circle", {
            class: "beside",
            cx: x(k).toFixed(1),
            cy: y(beside.classes.score[other]).toFixed(1),
            r: 1.5,
          }),
        );
    });
  }
  parts.push(draw("path", { class: "curve", d: `M${sorted.map((i, k) => at(c.score, i, k)).join("L")}` }));
  parts.push(
    draw(
      "text",
      { x: (left + width) / 2, y: height - 8, "text-anchor": "middle" },
      `${count(sorted.length)} in order, from the lowest ${main.title} up`,
    ),
  );
  const svg = picture(width, height, `${main.title} of all ${count(sorted.length)}, from the lowest up`, parts);
  return onHover(svg, (event) => {
    const box = svg.getBoundingClientRect(),
      place = ((event.clientX - box.left) / box.width) * width;
    const k = Math.round(linear([left, width - 12], [0, sorted.length - 1])(place));
    return classTip(main, sorted[Math.max(0, Math.min(sorted.length - 1, k))]);
  });
}

function profile(models) {
  const [main, beside] = models,
    place = byId("profile"),
    width = widthOf(place);
  const sorted = order(main.classes.score),
    many = sorted.length > ALL_ROWS;
  const ends = models.flatMap((model) => [
    ...span([...model.classes.score, ...model.classes.low, ...model.classes.high]),
  ]);
  const domain = span(ends),
    margin = 0.03 * (domain[1] - domain[0] || 1);
  domain[0] = Math.max(Math.min(0, domain[0]), domain[0] - margin);
  domain[1] += margin;
  const worst = main.classes.worst.reduce((sum, value) => sum + value, 0);
  const pair = beside ? ` Squares: ${beside.name}.` : "";
  byId("profile-note").textContent =
    `Point: mean of the samples; line: its interval. Diamonds may be the worst (${count(worst)} of ${count(sorted.length)}). Dashed: mean of all.${pair}`;
  const rows = (shown, label, withAxis) => rowsOf(models, shown, width, domain, label, withAxis);
  if (!many) {
    place.replaceChildren(
      rows(sorted, `${main.title} of each ${main.part} with its interval, from the lowest up`, true),
    );
    return;
  }
  place.replaceChildren(
    curveOf(models, sorted, width, domain),
    make("h3", {}, `The ${ENDS} lowest`),
    rows(sorted.slice(0, ENDS), `The ${ENDS} lowest with their intervals`, false),
    make("h3", {}, `The ${ENDS} highest`),
    rows(sorted.slice(-ENDS), `The ${ENDS} highest with their intervals`, true),
  );
}

// A row per model, from its worst class to its best; a click chooses it.
function spread(chosen, choose) {
  const place = byId("spread");
  if (!place) return;
  const width = widthOf(place),
    row = 24,
    names = Math.min(230, width * 0.3),
    top = 6;
  const spans = DATA.models.map((model) => span(model.classes.score));
  const domain = [Math.min(0, ...spans.map(([low]) => low)), Math.max(...spans.map(([, high]) => high)) * 1.03];
  const x = linear(domain, [names + 12, width - 20]),
    bottom = top + row * spans.length;
  const parts = axis(x, ...domain, top, bottom, scoreTitle(DATA.models[0]));
  DATA.models.forEach((model, i) => {
    const y = top + row * (i + 0.5),
      [low, high] = spans[i],
      kind = i === chosen[0] ? "worst" : i === chosen[1] ? "beside" : "main";
    const group = draw(
      "g",
      { class: "row choice", "data-choose": i },
      draw("rect", { class: "hit", x: 0, y: y - row / 2, width, height: row }),
      draw(
        "text",
        { class: i === chosen[0] ? "strong" : "", x: names, y: y + 4, "text-anchor": "end" },
        short(model.name, Math.floor(names / 7)),
      ),
      draw("line", { class: `range ${kind}`, x1: x(low), x2: x(high), y1: y, y2: y }),
      draw("circle", { class: kind, cx: x(model.mean), cy: y, r: 5 }),
    );
    group.addEventListener("click", () => choose(i));
    const lowest = DATA.names[model.classes.name[order(model.classes.score)[0]]];
    parts.push(
      onHover(group, () => [
        model.name,
        `worst: ${lowest} ${scoreText(low, model)}`,
        `mean ${scoreText(model.mean, model)}, best ${scoreText(high, model)}`,
      ]),
    );
  });
  place.replaceChildren(picture(width, bottom + 42, "Worst, mean and best score of each model", parts));
}
