// Rows, pins, lines and the view are one selection.
const find = (selector) => [...document.querySelectorAll(selector)];
const root = document.documentElement;
let viewer = null;

function select(row, from) {
  const again = root.dataset.selected === row && from !== "view";
  const chosen = again ? "" : row;
  root.dataset.selected = chosen;
  for (const tr of find("table.intervals tr[id]")) {
    tr.classList.toggle("selected", tr.id === chosen);
    tr.querySelector(".pick").setAttribute("aria-pressed", tr.id === chosen);
  }
  for (const mark of find("[data-row]")) mark.classList.toggle("selected", mark.dataset.row === chosen);
  for (const plot of find("svg.plot")) plot.classList.toggle("chosen", !!chosen && !!plot.querySelector(`g[data-row="${chosen}"]`));
  viewer?.select(chosen);
  if (from === "pin" && chosen) document.getElementById(chosen).scrollIntoView({ block: "nearest" });
}

for (const tr of find("table.intervals tr[id]")) {
  tr.addEventListener("click", (event) => {
    if (!event.target.closest("a") && !String(getSelection())) select(tr.id, "row");
  });
}
for (const pin of find("a.pin")) pin.addEventListener("click", () => select(pin.dataset.row, "pin"));
for (const link of find("ol.widths a")) link.addEventListener("click", () => select(link.hash.slice(1), "view"));
addEventListener("keydown", (event) => {
  if (event.key === "Escape" && root.dataset.selected) select(root.dataset.selected, "row");
});

const digits = document.getElementById("digits");
if (digits) {
  digits.hidden = false;
  digits.addEventListener("click", () => {
    const all = digits.getAttribute("aria-pressed") !== "true";
    digits.setAttribute("aria-pressed", all);
    for (const item of find("table.intervals data[value]")) {
      item.dataset.short ??= item.textContent;
      item.textContent = all ? item.getAttribute("value").replace(/^-/, "\u2212") : item.dataset.short;
    }
  });
}

// One plot for each moment, of which a slider shows one.
const slider = document.getElementById("moments");
if (slider) {
  const input = slider.querySelector("input");
  const show = () => {
    for (const plot of find(".moment")) plot.hidden = plot.dataset.moment !== input.value;
    slider.querySelector("output").textContent = find(`.moment[data-moment="${input.value}"]`)[0].dataset.time;
  };
  slider.hidden = false;
  input.addEventListener("input", show);
}

root.dataset.viewer = "none";

// Takes whatever opens a view; without one the page is complete as it is.
export function attach(open) {
  const box = document.getElementById("viewer");
  const content = JSON.parse(document.getElementById("view-data").textContent);
  open(box, content, select).then((opened) => {
    viewer = opened;
    root.dataset.viewer = opened.kind;
    if (root.dataset.selected) opened.select(root.dataset.selected);
  });
}
