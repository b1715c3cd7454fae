// The table of classes: sorts by a click on a heading, finds by name, and shows more on demand.
const FIRST = 25; // rows before all are asked for
const ON_PAPER = 100; // of so many at most, all are printed
const view = { key: "score", down: false, query: "", all: false };

function columnsOf(models) {
  const [main, beside] = models,
    c = main.classes;
  const places = new Map(beside?.classes.name.map((name, i) => [name, i]));
  const other = (values, i) => values[places.get(c.name[i])];
  const columns = [
    { key: "name", title: main.part, value: (i) => DATA.names[c.name[i]], text: (i) => DATA.names[c.name[i]] },
    { key: "n", title: "n", value: (i) => c.n[i], text: (i) => count(c.n[i]) },
    { key: "score", title: "score", value: (i) => c.score[i], text: (i) => scoreText(c.score[i], main) },
    { key: "low", title: "lower end", value: (i) => c.low[i], text: (i) => lowerEnd(c.low[i], main.digits) },
    { key: "high", title: "upper end", value: (i) => c.high[i], text: (i) => upperEnd(c.high[i], main.digits) },
    { key: "std", title: "std", value: (i) => c.std[i], text: (i) => fixed(c.std[i], main.digits) },
    { key: "accuracy", title: main.accuracy, value: (i) => c.accuracy[i], text: (i) => percent(c.accuracy[i]) },
    ...c.shares.map(({ title, value, text }) => ({
      key: title,
      title,
      value: (i) => value[i],
      text: (i) => text[i],
    })),
    {
      key: "share",
      title: "most confused with",
      value: (i) => c.share[i],
      text: (i) => (c.confused[i] == null ? "–" : `${DATA.names[c.confused[i]]} (${percent(c.share[i])})`),
    },
    { key: "worst", title: "may be the worst", value: (i) => c.worst[i], text: (i) => (c.worst[i] ? "yes" : "no") },
  ];
  if (!beside) return columns;
  const b = beside.classes,
    label = short(beside.name, 30);
  columns.splice(3, 0, {
    key: "beside",
    title: `score, ${label}`,
    value: (i) => other(b.score, i),
    text: (i) => estimate(other(b.score, i), other(b.low, i), other(b.high, i), beside),
  });
  return columns;
}

function compare(a, b) {
  if (a == null || b == null) return (a == null) - (b == null); // what has no number comes last
  return typeof a === "string" ? a.localeCompare(b, "en", { numeric: true }) : a - b;
}

function classTable(models) {
  const [main] = models,
    columns = columnsOf(models),
    place = byId("classes");
  const search = make("input", { type: "search", id: "search", autocomplete: "off" }),
    status = make("p", { role: "status", id: "found" });
  const more = make("button", { type: "button", id: "more" });
  const body = make("tbody"),
    heads = columns.map((column) => {
      const button = make("button", { type: "button", "data-sort": column.key }, column.title);
      button.addEventListener("click", () => {
        view.down = view.key === column.key && !view.down;
        view.key = column.key;
        fill();
      });
      return make("th", { scope: "col" }, button);
    });
  search.value = view.query;
  search.addEventListener("input", () => {
    view.query = search.value;
    fill();
  });
  more.addEventListener("click", () => {
    view.all = !view.all;
    fill();
  });

  function fill() {
    const column = columns.find(({ key }) => key === view.key) ?? columns[2];
    const wanted = view.query.trim().toLowerCase();
    const found = order(main.classes.score).filter((i) => columns[0].text(i).toLowerCase().includes(wanted));
    found.sort(
      (a, b) =>
        compare(column.value(a), column.value(b)) *
        (view.down && column.value(a) != null && column.value(b) != null ? -1 : 1),
    );
    const shown = view.all ? found : found.slice(0, FIRST);
    heads.forEach((head, k) =>
      head.setAttribute("aria-sort", columns[k] !== column ? "none" : view.down ? "descending" : "ascending"),
    );
    body.replaceChildren(
      ...shown.map((i) =>
        make(
          "tr",
          { class: main.classes.worst[i] ? "candidate" : "" },
          ...columns.map((each, k) => make(k ? "td" : "th", k ? {} : { scope: "row" }, each.text(i))),
        ),
      ),
    );
    status.textContent = `${count(shown.length)} of ${count(found.length)} shown`;
    more.hidden = found.length <= FIRST;
    more.textContent = view.all ? `Show ${FIRST}` : `Show all ${count(found.length)}`;
  }

  const table = make(
    "table",
    { class: "classes" },
    make("caption", {}, `${main.name}. `, make("span", { class: "screen" }, "A click on a heading sorts.")),
    make("thead", {}, make("tr", {}, ...heads)),
    body,
  );
  place.replaceChildren(
    make("div", { class: "controls" }, make("label", { for: "search" }, "Find by name"), search, status, more),
    make("div", { class: "scroll", tabindex: 0, role: "group", "aria-label": "Table of classes" }, table),
  );
  fill();
  const asked = view.all;
  window.onbeforeprint = () => {
    view.all ||= main.classes.name.length <= ON_PAPER;
    fill();
  };
  window.onafterprint = () => {
    view.all = asked;
    fill();
  };
}
