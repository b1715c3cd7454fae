// Robust accuracy over eps: all samples, the worst class, and the other classes behind them.
const NAMED = 12; // classes that all have their name at the end of their line
const NAME_GAP = 15; // pixels from one name to the next

function robustness(models) {
  const place = byId("robust");
  if (!place) return;
  const [first, second] = models,
    known = [first, ...(second && second.robust && second.robust.title === first.robust?.title ? [second] : [])];
  place.replaceChildren(...(first.robust ? [robustPicture(known, place)] : []));
}

// The curves that stand out, from the front to the back, each with the name at its end.
function robustLines(models) {
  const [main, beside] = models,
    found = [
      { ...main.robust.whole, kind: "main", text: beside ? short(main.name, 18) : "all samples" },
      { ...main.robust.worst, kind: "worst", text: `worst: ${DATA.names[main.robust.worst.name]}` },
    ];
  if (beside)
    found.push(
      { ...beside.robust.whole, kind: "beside", text: short(beside.name, 18) },
      { ...beside.robust.worst, kind: "beside second", text: `worst: ${DATA.names[beside.robust.worst.name]}` },
    );
  found.forEach((line, i) => Object.assign(line, { robust: models[i < 2 ? 0 : 1].robust }));
  return found;
}

function robustPicture(models, place) {
  const [main] = models,
    robust = main.robust,
    width = Math.max(300, Math.min(980, place.clientWidth || 860)),
    height = 340;
  const left = 52,
    right = width - Math.min(150, width * 0.3),
    top = 10,
    bottom = height - 46;
  const most = Math.max(...models.map((model) => model.robust.eps.at(-1)));
  const x = linear([0, most], [left, right]),
    y = linear([0, 1], [bottom, top]);
  const at = (eps, value) => `${x(eps).toFixed(1)},${y(value).toFixed(1)}`;
  const through = (line, { eps, joined }) =>
    `M${[...(joined ? [at(0, line.clean)] : []), ...line.value.map((value, k) => at(eps[k], value))].join("L")}`;
  const area = (low, high, kind) => {
    const ahead = low.map((value, k) => at(robust.eps[k], value)),
      back = high.map((value, k) => at(robust.eps[k], value)).reverse();
    return draw("path", { class: `band ${kind}`, d: `M${[...ahead, ...back].join("L")}z` });
  };
  const parts = robustAxes(robust, x, y, [left, right, top, bottom]);
  if (robust.spread) parts.push(area(...robust.spread, "spread"));
  for (const line of robust.classes) parts.push(draw("path", { class: "line class", d: through(line, robust) }));
  for (const kind of ["whole", "worst"])
    if (robust[kind].low[0] != null) parts.push(area(robust[kind].low, robust[kind].high, kind));
  const head = x(robust.eps[robust.at]);
  parts.push(draw("line", { class: "cursor", x1: head, x2: head, y1: top, y2: bottom }));
  const lines = robustLines(models);
  for (const line of lines)
    parts.push(
      draw("path", { class: `line ${line.kind}`, d: through(line, line.robust) }),
      draw("circle", { class: `open ${line.kind}`, cx: x(0), cy: y(line.clean), r: 4 }),
      draw("circle", {
        class: line.kind,
        cx: x(line.robust.eps[line.robust.at]),
        cy: y(line.value[line.robust.at]),
        r: 4.5,
      }),
    );
  const faint = robust.classes.map((line) => ({ ...line, kind: "faint", text: DATA.names[line.name] }));
  const named = models.length === 1 && robust.classes.length < NAMED && width > 560 ? [...lines, ...faint] : lines;
  parts.push(...robustNames(named, y, right, width, [top, bottom]));
  const label = `Robust accuracy by ${robust.title}, of all samples, of the worst ${main.part} and of the others`;
  const svg = picture(width, height, label, parts);
  return onHover(svg, (event) => {
    const box = svg.getBoundingClientRect(),
      scale = width / box.width;
    const eps = linear([left, right], [0, most])((event.clientX - box.left) * scale);
    const k = order(robust.eps.map((value) => Math.abs(value - eps)))[0];
    const near = order([...lines, ...faint].map((line) => Math.abs(y(line.value[k]) - (event.clientY - box.top) * scale)));
    const line = [...lines, ...faint][near[0]],
      ends = line.low?.[k] == null ? "" : ` [${lowerEnd(100 * line.low[k], 1)} %, ${upperEnd(100 * line.high[k], 1)} %]`;
    return [line.text, `${percent(line.value[k])}${ends} at eps = ${line.robust?.labels[k] ?? robust.labels[k]}`];
  });
}

function robustAxes(robust, x, y, [left, right, top, bottom]) {
  const parts = [0, 0.2, 0.4, 0.6, 0.8, 1].flatMap((tick) => [
    draw("line", { class: "grid", x1: left, x2: right, y1: y(tick), y2: y(tick) }),
    draw("text", { class: "small", x: left - 6, y: y(tick) + 4, "text-anchor": "end" }, `${Math.round(100 * tick)} %`),
  ]);
  const taken = [];
  for (const eps of [0, robust.eps[robust.at], ...robust.shown.map((k) => robust.eps[k])]) {
    if (taken.some((other) => Math.abs(x(other) - x(eps)) < 26)) continue;
    taken.push(eps);
    const text = String(Number(eps.toPrecision(4)));
    parts.push(draw("text", { class: "small", x: x(eps), y: bottom + 15, "text-anchor": "middle" }, text));
  }
  parts.push(
    draw("text", { x: (left + right) / 2, y: bottom + 36, "text-anchor": "middle" }, robust.title),
    draw("text", { x: -(top + bottom) / 2, y: 12, "text-anchor": "middle", transform: "rotate(-90)" }, "robust accuracy"),
  );
  return parts;
}

// Names at the right ends of their lines, moved apart where they would lie on each other.
function robustNames(lines, y, right, width, [top, bottom]) {
  const ends = lines.map((line) => y(line.value.at(-1))),
    sorted = order(ends),
    places = [];
  let free = top;
  for (const i of sorted) {
    places[i] = Math.max(ends[i], free);
    free = places[i] + NAME_GAP;
  }
  let most = bottom;
  for (const i of [...sorted].reverse()) {
    places[i] = Math.min(places[i], most);
    most = places[i] - NAME_GAP;
  }
  const room = Math.floor((width - right - 20) / 7);
  return lines.flatMap((line, i) => [
    draw("line", { class: "leader", x1: right + 2, x2: right + 14, y1: ends[i], y2: places[i] }),
    draw(
      "text",
      { class: `${line.kind === "faint" ? "" : "label "}${line.kind}`, x: right + 18, y: places[i] + 4 },
      short(line.text, room),
    ),
  ]);
}
