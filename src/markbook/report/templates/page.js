"use strict";
(function () {
  const get = (id) => document.getElementById(id);
  const all = (what, inside) => Array.from((inside || document).querySelectorAll(what));
  const number = (cell) => { const found = /^[-+]?[\d,]*\.?\d+/.exec(cell.replace("\u2212", "-")); return found ? Number(found[0].replace(/,/g, "")) : NaN; };
  const order = (one, other) => {
    const a = number(one), b = number(other);
    if (isNaN(a) !== isNaN(b)) return isNaN(a) ? 1 : -1;
    return isNaN(a) || a === b ? one.localeCompare(other, undefined, { numeric: true }) : a - b;
  };
  const sort = (head, at) => {
    const body = head.closest("table").tBodies[0], falls = head.getAttribute("aria-sort") === "ascending";
    for (const one of head.parentNode.children) one.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", falls ? "descending" : "ascending");
    const rows = Array.from(body.rows).map((row) => [row.cells[at] ? row.cells[at].textContent.trim() : "", row]);
    rows.sort((one, other) => (falls ? order(other[0], one[0]) : order(one[0], other[0])));
    body.append(...rows.map((one) => one[1]));
  };
  for (const head of all("main > section > .scroll thead th, .fold thead th")) {
    const table = head.closest("table"), button = document.createElement("button");
    if (table.tBodies[0].rows.length < 3 || !head.textContent) continue;
    button.className = "sort";
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => sort(head, head.cellIndex));
  }
  const show = () => {
    const aim = location.hash.length > 1 ? get(decodeURIComponent(location.hash.slice(1))) : null;
    if (!aim) return;
    for (let at = aim; at; at = at.parentElement) if (at.tagName === "DETAILS") at.open = true;
    aim.hidden = false;
    aim.scrollIntoView();
  };
  addEventListener("hashchange", show);
  addEventListener("beforeprint", () => { for (const one of all(".fold")) one.open = true; });
  const text = get("f-text"), topic = get("f-topic"), model = get("f-model"), result = get("f-status");
  if (!text) { show(); return; }
  const problems = all(".problem");
  for (const problem of problems) problem.addEventListener("toggle", () => {
    const body = problem.querySelector(".body");
    if (!problem.open || body.querySelector(".link")) return;
    const link = document.createElement("a");
    link.className = "link";
    link.href = "#" + problem.id;
    link.textContent = "Link to this";
    body.prepend(link);
  });
  const words = new Map();
  const said = (problem) => {
    if (!words.has(problem)) words.set(problem, problem.textContent.toLowerCase());
    return words.get(problem);
  };
  const fits = (problem) => {
    if (topic && topic.value !== "" && problem.dataset.topic !== topic.value) return false;
    const found = problem.dataset.status.trim().split(" ");
    const some = model.value === "" ? found : [found[Number(model.value)]];
    if (result.value === "differ") {
      if (new Set(found).size < 2) return false;
    } else if (result.value !== "" && !some.includes(result.value)) return false;
    const wanted = text.value.trim().toLowerCase();
    return wanted === "" || wanted.split(/\s+/).every((word) => said(problem).includes(word));
  };
  const filter = () => {
    let shown = 0;
    for (const problem of problems) {
      problem.hidden = !fits(problem);
      if (!problem.hidden) shown += 1;
    }
    const count = get("f-count"), size = problems.length;
    count.textContent = (shown === size ? String(size) : shown + " of " + size) + " " + count.dataset.items;
    get("f-none").hidden = shown > 0;
  };
  let waiting = 0;
  text.addEventListener("input", () => { clearTimeout(waiting); waiting = setTimeout(filter, 120); });
  for (const one of [topic, model, result]) if (one) one.addEventListener("change", filter);
  document.querySelector(".filters").addEventListener("submit", (event) => event.preventDefault());
  show();
})();
