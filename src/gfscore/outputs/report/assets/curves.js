// The temperature: a slider over the temperatures that the audit stored, so that every number shown is one of its own.
function panel(models) {
  const [main] = models,
    place = byId("temperature"),
    curves = main.curves;
  if (!curves) {
    place.replaceChildren(make("p", {}, `This result holds no scores of ${main.name} by temperature.`));
    return;
  }
  const stops = curves.temperature,
    start = nearest(stops, main.temperature ?? 1);
  const slider = make("input", { type: "range", id: "slider", min: 0, max: stops.length - 1, step: 1, value: start });
  const output = make("output", { id: "at", for: "slider" });
  const chart = make("div", { class: "chart" }),
    metrics = make("div"),
    scores = make("div", {
      class: "scroll tall",
      tabindex: 0,
      role: "group",
      "aria-label": "Scores at the chosen temperature",
    });
  const named = { "The audit's": main.temperature, Calibrated: main.star };
  const buttons = Object.entries(named)
    .filter(([, t]) => stops.includes(t))
    .map(([name, t]) => [make("button", { type: "button" }, `${name}, ${temperatureText(t)}`), stops.indexOf(t)]);
  place.replaceChildren(
    make(
      "div",
      { class: "controls" },
      make("label", { for: "slider" }, "Temperature"),
      slider,
      output,
      ...buttons.map(([button]) => button),
    ),
    chart,
    make("div", { class: "pair" }, metrics, scores),
  );
  const marker = lines(main, chart);

  function show() {
    const k = Number(slider.value),
      t = temperatureText(stops[k]);
    output.textContent = t;
    slider.setAttribute("aria-valuetext", t);
    marker(k);
    metrics.replaceChildren(metricTable(models, stops[k]));
    scores.replaceChildren(scoreTable(main, k));
  }
  slider.addEventListener("input", show);
  for (const [button, k] of buttons)
    button.addEventListener("click", () => {
      slider.value = k;
      show();
    });
  show();
}

const nearest = (stops, t) =>
  stops.reduce((best, stop, k) => (Math.abs(Math.log(stop / t)) < Math.abs(Math.log(stops[best] / t)) ? k : best), 0);

function metricTable(models, t) {
  const head = make(
    "tr",
    {},
    make("th", { scope: "col" }, "metric"),
    ...models.map((model) => make("th", { scope: "col" }, short(model.name, 30))),
  );
  const rows = Object.entries(DATA.labels).map(([key, label]) =>
    make(
      "tr",
      {},
      make("th", { scope: "row" }, label),
      ...models.map((model) => {
        const k = model.curves?.temperature.indexOf(t) ?? -1;
        return make("td", { "data-metric": key }, k < 0 ? "–" : fixed(model.curves.metrics[key]?.[k], model.digits));
      }),
    ),
  );
  return make(
    "table",
    { class: "at" },
    make("caption", {}, `Metrics at ${temperatureText(t)}`),
    make("thead", {}, head),
    make("tbody", {}, ...rows),
  );
}

function scoreTable(model, k) {
  const { name, scores } = model.curves,
    at = scores.map((values) => values[k]);
  const all = name.length === model.classes.name.length,
    most = model.range[1] || 1;
  const which = all ? `Every ${model.part}, lowest first` : `The ${name.length} lowest of the audit, lowest first`;
  const rows = order(at).map((i) => {
    const bar = draw(
      "svg",
      { class: "bar", viewBox: "0 0 100 10", preserveAspectRatio: "none", "aria-hidden": "true" },
      draw("rect", { class: "main", width: Math.max(0, (100 * at[i]) / most), height: 10 }),
    );
    return make(
      "tr",
      {},
      make("th", { scope: "row" }, short(DATA.names[name[i]], 40)),
      make("td", { class: "number" }, fixed(at[i], model.digits)),
      make("td", {}, bar),
    );
  });
  const head = make(
    "tr",
    {},
    make("th", { scope: "col" }, model.part),
    make("th", { scope: "col", class: "number" }, "score"),
    make("th", { scope: "col" }, "of the largest possible"),
  );
  return make(
    "table",
    { class: "at" },
    make("caption", {}, which),
    make("thead", {}, head),
    make("tbody", {}, ...rows),
  );
}

// The class scores as lines over log T; gives back the function that moves the mark.
function lines(model, place) {
  const { temperature, name, scores } = model.curves,
    all = name.length === model.classes.name.length, // of many classes only the lowest are kept
    width = widthOf(place),
    height = 300;
  const left = 62,
    right = width - 130,
    bottom = height - 42,
    top = 8;
  const x = linear([Math.log(temperature[0]), Math.log(temperature.at(-1))], [left, right]);
  const y = linear([0, Math.max(...scores.flat()) || 1], [bottom, top]);
  const path = (values) =>
    `M${values.map((value, k) => `${x(Math.log(temperature[k])).toFixed(1)},${y(value).toFixed(1)}`).join("L")}`;
  const parts = DATA.plateau.map(([low, high]) =>
    draw("rect", {
      class: "plateau",
      x: x(Math.log(Math.max(low, temperature[0]))),
      width: Math.max(1, x(Math.log(Math.min(high, temperature.at(-1)))) - x(Math.log(Math.max(low, temperature[0])))),
      y: top,
      height: bottom - top,
    }),
  );
  for (const tick of ticks(0, Math.max(...scores.flat()) || 1))
    parts.push(
      draw("line", { class: "grid", x1: left, x2: right, y1: y(tick), y2: y(tick) }),
      draw("text", { class: "small", x: left - 6, y: y(tick) + 4, "text-anchor": "end" }, String(tick)),
    );
  for (const t of [0.01, 0.03, 0.1, 0.3, 1, 3, 10])
    if (t >= temperature[0] * 0.999 && t <= temperature.at(-1) * 1.001)
      parts.push(
        draw("text", { class: "small", x: x(Math.log(t)), y: bottom + 15, "text-anchor": "middle" }, String(t)),
      );
  parts.push(
    draw(
      "text",
      { x: (left + right) / 2, y: height - 6, "text-anchor": "middle" },
      DATA.plateau.length
        ? "temperature T (logarithmic); shaded: what the calibration found"
        : "temperature T (logarithmic)",
    ),
    draw(
      "text",
      { x: -(top + bottom) / 2, y: 12, "text-anchor": "middle", transform: "rotate(-90)" },
      all ? model.title : `${model.title}, the ${name.length} lowest of ${count(model.classes.name.length)}`,
    ),
  );
  const strokes = scores.map((values) => draw("path", { class: "line", d: path(values) }));
  const cursor = draw("line", { class: "cursor", y1: top, y2: bottom });
  const ends = ["worst", "main"].map((kind) => draw("text", { class: `label ${kind}`, x: right + 8 }));
  const svg = picture(width, height, `${model.title} by temperature`, [...parts, ...strokes, cursor, ...ends]);
  onHover(svg, (event) => {
    const box = svg.getBoundingClientRect(),
      scale = width / box.width;
    const t = Math.exp(
      linear(
        [left, right],
        [Math.log(temperature[0]), Math.log(temperature.at(-1))],
      )((event.clientX - box.left) * scale),
    );
    const k = nearest(temperature, t),
      level = (event.clientY - box.top) * scale;
    const i = order(scores.map((values) => Math.abs(y(values[k]) - level)))[0];
    return [DATA.names[name[i]], `${fixed(scores[i][k], model.digits)} at ${temperatureText(temperature[k])}`];
  });
  place.replaceChildren(svg);
  return (k) => {
    cursor.setAttribute("x1", x(Math.log(temperature[k])));
    cursor.setAttribute("x2", x(Math.log(temperature[k])));
    const sorted = order(scores.map((values) => values[k])),
      extremes = all ? [sorted[0], sorted.at(-1)] : [sorted[0]];
    strokes.forEach((stroke, i) =>
      stroke.setAttribute("class", i === extremes[0] ? "line worst" : i === extremes[1] ? "line main" : "line"),
    );
    let apart = y(scores[extremes[0]].at(-1)) - y(scores[extremes.at(-1)].at(-1));
    apart = all ? Math.max(0, 15 - apart) / 2 : 0;
    extremes.forEach((i, n) => {
      ends[n].setAttribute("y", y(scores[i].at(-1)) + 4 + (n ? -apart : apart));
      ends[n].textContent = `${n ? "highest" : "lowest"}: ${short(DATA.names[name[i]], 10)}`;
    });
  };
}
