// Tables that sort, find and choose. Everything stands in the page already: rows are moved, hidden and shown.
const FIRST = 25; // rows before all are asked for
const SVG = "http://www.w3.org/2000/svg";
document.documentElement.classList.add("js");

function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children); // text stays text
  return element;
}

const count = (n) => n.toLocaleString("en");
const rowsOf = (table) => [...table.tBodies[0].rows];

// A cell by its number, or by its text where it does not begin with one; a dash has nothing to be sorted by.
function value(row, column) {
  const text = row.cells[column].textContent.trim();
  if (text === "–") return null;
  const number = parseFloat(text.replace("−", "-").replaceAll(",", ""));
  return column === 0 || Number.isNaN(number) ? text : number;
}

function compare(a, b) {
  if (a == null || b == null) return (a == null) - (b == null); // what has no number comes last
  return typeof a === typeof b && typeof a === "number" ? a - b : String(a).localeCompare(String(b), "en", { numeric: true });
}

function sortable(table, changed) {
  const heads = [...table.tHead.rows[0].cells];
  heads.forEach((head, column) => {
    const button = make("button", { type: "button" }, ...head.childNodes);
    head.dataset.name = button.textContent; // what paper shows instead of the button
    head.replaceChildren(button);
    button.addEventListener("click", () => {
      const down = head.getAttribute("aria-sort") === "ascending";
      for (const other of heads) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      const rows = rowsOf(table).map((row) => [value(row, column), row]);
      rows.sort(([a], [b]) => compare(a, b) * (down && a != null && b != null ? -1 : 1));
      table.tBodies[0].append(...rows.map(([, row]) => row));
      changed();
    });
  });
}

// Find by name, and 25 rows until all are asked for.
function searchable(table, number) {
  const state = { query: "", all: false };
  const search = make("input", { type: "search", id: `find-${number}`, autocomplete: "off" });
  const status = make("p", { role: "status" }),
    more = make("button", { type: "button" });
  function show() {
    const rows = rowsOf(table),
      found = rows.filter((row) => row.cells[0].textContent.toLowerCase().includes(state.query));
    const kept = new Set(state.all ? found : found.slice(0, FIRST));
    for (const row of rows) row.hidden = !kept.has(row);
    status.textContent = `${count(kept.size)} of ${count(found.length)} shown`;
    more.hidden = found.length <= FIRST;
    more.textContent = state.all ? `Show ${FIRST}` : `Show all ${count(found.length)}`;
  }
  search.addEventListener("input", () => {
    state.query = search.value.trim().toLowerCase();
    show();
  });
  more.addEventListener("click", () => {
    state.all = !state.all;
    show();
  });
  const label = make("label", { for: search.id }, "Find by name");
  table.closest(".scroll").before(make("div", { class: "controls" }, label, search, status, more));
  show();
  return show;
}

document.querySelectorAll("table.classes").forEach((table, number) => {
  const long = rowsOf(table).length > 12;
  sortable(table, long ? searchable(table, number) : () => {});
});

const LOOKS = 8; // of lines: of more models only the chosen have one, each another while there are any

function recolour(part) {
  const pictures = part.matches("ul") ? [part] : [...part.querySelectorAll("figure")];
  for (const picture of pictures)
    [...picture.querySelectorAll("[data-model].chosen")].forEach((line, place) => {
      for (let look = 0; look < LOOKS; look++) line.classList.toggle(`k${look}`, look === place % LOOKS);
    });
}

// Models are chosen by boxes in their table: the others are hidden, on the screen only, and lines get their colours.
function choosable(table) {
  const status = make("p", { role: "status" }),
    all = make("button", { type: "button" }, "Show all models");
  const boxes = rowsOf(table).map((row) => {
    const name = row.cells[0].textContent,
      box = make("input", { type: "checkbox", "aria-label": `Choose ${name}`, "data-choose": row.dataset.model });
    row.cells[0].prepend(box);
    box.addEventListener("change", show);
    return box;
  });
  function show() {
    const chosen = new Set(boxes.filter((box) => box.checked).map((box) => box.dataset.choose));
    for (const each of document.querySelectorAll("[data-model]")) {
      const own = chosen.has(each.dataset.model);
      each.classList.toggle("chosen", own);
      if (!each.closest("table.models") && !each.closest(".crowd")) each.hidden = chosen.size > 0 && !own;
    }
    document.querySelectorAll(".crowd > *").forEach(recolour); // each list, and each picture
    status.textContent = chosen.size ? `${chosen.size} of ${boxes.length} models chosen` : "Tick models to see only these.";
    all.hidden = chosen.size === 0;
  }
  all.addEventListener("click", () => {
    for (const box of boxes) box.checked = false;
    show();
  });
  for (const box of boxes) box.checked = false; // a reload may have kept some
  table.closest(".scroll").before(make("div", { class: "controls" }, status, all));
  sortable(table, () => {});
  show();
}

document.querySelectorAll("table.models").forEach(choosable);
