"use strict";
(function () {
  const keys = { j: "next", n: "next", ArrowRight: "next", k: "prev", p: "prev", ArrowLeft: "prev", u: "up" };
  const live = document.querySelector("[data-renew]");
  const renew = () => { if (document.activeElement.closest("form")) setTimeout(renew, 1000); else location.reload(); };
  if (live) setTimeout(renew, 1000 * live.dataset.renew);
  addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.shiftKey) return;
    if (event.target.closest("input, select, textarea, pre, .scroll")) return;
    const link = keys[event.key] && document.querySelector('a[rel="' + keys[event.key] + '"]');
    if (event.key === "/" && document.querySelector("input[type=search]")) {
      event.preventDefault();
      document.querySelector("input[type=search]").focus();
    } else if (link) link.click();
  });
})();
