"use strict";
// A key makes the choice of the first question that is still open; the last one sends the form.
const form = document.querySelector("form.label");
let sent = false;
document.addEventListener("keydown", (event) => {
  if (sent || event.ctrlKey || event.altKey || event.metaKey || event.repeat) return;
  if (event.key === "b") {
    const back = document.querySelector("a.back");
    if (back) { sent = true; back.click(); }
    return;
  }
  if (!form) return;
  if (event.key === "x") {
    sent = true;
    form.querySelector("button[name=cannot]").click();
    return;
  }
  const isOpen = (one) => !one.querySelector("input:checked");
  const questions = [...form.querySelectorAll("fieldset")];
  const question = questions.find(isOpen);
  if (!question) return;
  const choice = [...question.querySelectorAll("input")].find((one) => one.dataset.key === event.key);
  if (!choice) return;
  event.preventDefault();
  choice.checked = true;
  if (!questions.some(isOpen)) {
    sent = true;
    form.requestSubmit(form.querySelector("button[name=save]"));
  }
});
addEventListener("pageshow", () => { sent = false; });
