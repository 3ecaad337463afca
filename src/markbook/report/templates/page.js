"use strict";
(function () {
  const get = (id) => document.getElementById(id);
  const text = get("f-text"), topic = get("f-topic"), model = get("f-model"), result = get("f-status");
  const problems = Array.from(document.querySelectorAll(".problem"));
  const words = new Map();
  const said = (problem) => {
    if (!words.has(problem)) words.set(problem, problem.textContent.toLowerCase());
    return words.get(problem);
  };
  const fits = (problem) => {
    if (topic && topic.value !== "" && problem.dataset.topic !== topic.value) return false;
    const all = problem.dataset.status.trim().split(" ");
    const some = model.value === "" ? all : [all[Number(model.value)]];
    if (result.value === "differ") {
      if (new Set(all).size < 2) return false;
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
    const count = get("f-count"), all = problems.length;
    count.textContent = (shown === all ? String(all) : shown + " of " + all) + " " + count.dataset.items;
    get("f-none").hidden = shown > 0;
  };
  let waiting = 0;
  text.addEventListener("input", () => { clearTimeout(waiting); waiting = setTimeout(filter, 120); });
  for (const one of [topic, model, result]) if (one) one.addEventListener("change", filter);
  document.querySelector(".filters").addEventListener("submit", (event) => event.preventDefault());
  const open = () => {
    const aim = location.hash.length > 1 ? get(location.hash.slice(1)) : null;
    if (aim && aim.classList.contains("problem")) { aim.hidden = false; aim.open = true; aim.scrollIntoView(); }
  };
  addEventListener("hashchange", open);
  open();
})();
