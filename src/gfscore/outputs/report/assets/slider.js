// The temperature: a slider over the temperatures that the audit stored, so that every number shown is one of its own.
const DATA = JSON.parse(document.getElementById("data").textContent);
const fixed = (value, digits) => (value == null ? "–" : value.toFixed(digits).replace("-", "−"));
const temperatureText = (t) => `T = ${Number(t.toPrecision(3))}`;

const nearest = (stops, t) =>
  stops.reduce((best, stop, k) => (Math.abs(Math.log(stop / t)) < Math.abs(Math.log(stops[best] / t)) ? k : best), 0);

function tableOf(caption, headings, rows) {
  const cells = (row) =>
    row.map((text, k) => (k ? make("td", { "data-l": headings[k] }, text) : make("th", { scope: "row" }, text)));
  return make(
    "table",
    { class: "stops" },
    make("caption", {}, caption),
    make("thead", {}, make("tr", {}, ...headings.map((text) => make("th", { scope: "col" }, text)))),
    make("tbody", {}, ...rows.map(([key, ...row]) => make("tr", { "data-key": key }, ...cells(row)))),
  );
}

function slider(place, model, number) {
  const stops = model.temperature,
    id = `slider-${number}`;
  const input = make("input", { type: "range", id, min: 0, max: stops.length - 1, step: 1 });
  const output = make("output", { for: id }),
    metrics = make("div"),
    scores = make("div");
  const cursor = place.querySelector(".cursor");
  const named = [
    ["The audit's", model.at],
    ["Calibrated", model.star],
  ].filter(([, t]) => t != null && stops.includes(t));
  const buttons = named.map(([name, t]) => {
    const button = make("button", { type: "button" }, `${name}, ${temperatureText(t)}`);
    button.addEventListener("click", () => {
      input.value = stops.indexOf(t);
      show();
    });
    return button;
  });
  function show() {
    const k = Number(input.value),
      t = temperatureText(stops[k]);
    output.textContent = t;
    input.setAttribute("aria-valuetext", t);
    const across = (100 * Math.log(stops[k] / stops[0])) / Math.log(stops.at(-1) / stops[0]);
    for (const end of ["x1", "x2"]) cursor?.setAttribute(end, `${across}%`);
    metrics.replaceChildren(
      tableOf(
        `Metrics at ${t}`,
        ["metric", "value"],
        model.metrics.map(({ key, name, digits, values }) => [key, name, fixed(values[k], digits)]),
      ),
    );
    const order = model.scores.map((values, i) => i).sort((a, b) => model.scores[a][k] - model.scores[b][k]);
    scores.replaceChildren(
      tableOf(
        model.all ? `Every ${model.part} at ${t}, lowest first` : `The ${order.length} lowest of the audit at ${t}`,
        [model.part, "score"],
        order.map((i) => ["score", DATA.names[model.names[i]], fixed(model.scores[i][k], model.digits)]),
      ),
    );
  }
  input.addEventListener("input", show);
  input.value = nearest(stops, model.at ?? 1);
  show();
  const controls = make("div", { class: "controls" }, make("label", { for: id }, "Temperature"), input, output, ...buttons);
  return [controls, make("div", { class: "pair" }, metrics, scores)];
}

document.querySelectorAll("section.model").forEach((section) => {
  const number = section.dataset.model ?? "0",
    model = DATA.models[Number(number)],
    place = section.querySelector("section.temperature");
  if (!model || !place) return;
  const details = make("details", {}, make("summary", {}, "Numbers at any temperature: move a slider"));
  details.addEventListener("toggle", () => {
    if (details.open && details.childElementCount === 1) details.append(...slider(place, model, number));
  });
  place.append(details);
});
