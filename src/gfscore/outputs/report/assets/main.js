// Which models are shown. Blocks of words stand in the page already: the chosen ones are unhidden.
let chosen = [0];

function render() {
  const models = chosen.map((index) => DATA.models[index]);
  for (const block of document.querySelectorAll("[data-model]")) {
    const place = chosen.indexOf(Number(block.dataset.model));
    block.hidden = place < 0;
    block.parentElement.classList.toggle("two", chosen.length === 2);
    if (place === 1) block.parentElement.append(block); // what stands beside comes second, also to be read aloud
  }
  hideTip();
  robustness(models);
  profile(models);
  spread(chosen, choose);
  panel(models);
  classTable(models);
}

function choose(index) {
  byId("model").value = String(index);
  changed();
}

function changed() {
  const main = Number(byId("model").value),
    beside = byId("beside").value;
  chosen = beside === "" || Number(beside) === main ? [main] : [main, Number(beside)];
  render();
}

if (byId("model")) {
  byId("model").value = "0"; // a reload may have kept another choice
  byId("beside").value = "";
  byId("model").addEventListener("change", changed);
  byId("beside").addEventListener("change", changed);
}
render();
let waiting;
addEventListener("resize", () => {
  clearTimeout(waiting);
  waiting = setTimeout(() => {
    robustness(chosen.map((index) => DATA.models[index]));
    profile(chosen.map((index) => DATA.models[index]));
    spread(chosen, choose);
  }, 150);
});
