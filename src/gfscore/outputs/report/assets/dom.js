// Elements, numbers and the tooltip. Every text goes in as text: a name is never taken for markup.
const DATA = JSON.parse(document.getElementById("data").textContent);
const SVG = "http://www.w3.org/2000/svg";

const byId = (id) => document.getElementById(id);

function filled(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

const make = (tag, attributes = {}, ...children) => filled(document.createElement(tag), attributes, children);
const draw = (tag, attributes = {}, ...children) => filled(document.createElementNS(SVG, tag), attributes, children);

// As the tables of the page write them: a dash where there is no number, and a true minus.
const fixed = (value, digits) => (value == null ? "–" : value.toFixed(digits).replace("-", "−"));
// Ends of intervals, and certified radii, are rounded outward: what is shown holds when they do.
const roundedTo = (value, digits, side) => {
  if (value == null) return "–";
  const near = Number(value.toFixed(digits));
  return fixed(side * (near - value) > 1e-11 ? near - side * 10 ** -digits : near, digits);
};
const lowerEnd = (value, digits) => roundedTo(value, digits, 1);
const upperEnd = (value, digits) => roundedTo(value, digits, -1);
const scoreText = (value, model) => (model.certified ? lowerEnd : fixed)(value, model.digits);
const percent = (share) => `${fixed(100 * share, 1)} %`;
const count = (n) => n.toLocaleString("en");
const short = (text, length) => (text.length <= length ? text : `${text.slice(0, length - 1)}…`);
const temperatureText = (t) => `T = ${Number(t.toPrecision(3))}`;

function estimate(value, low, high, model) {
  const number = scoreText(value, model);
  if (value == null || low == null) return number;
  return `${number} [${lowerEnd(low, model.digits)}, ${upperEnd(high, model.digits)}]`;
}

function showTip(event, lines) {
  const tip = byId("tip");
  tip.replaceChildren(...lines.map((line) => make("div", {}, line)));
  tip.hidden = false;
  const room = document.documentElement.clientWidth - tip.offsetWidth - 8;
  tip.style.left = `${Math.max(4, Math.min(event.clientX + 14, room)) + scrollX}px`;
  tip.style.top = `${event.clientY + 16 + scrollY}px`;
}

const hideTip = () => {
  byId("tip").hidden = true;
};

function onHover(element, lines) {
  element.addEventListener("mousemove", (event) => showTip(event, lines(event)));
  element.addEventListener("mouseleave", hideTip);
  return element;
}
