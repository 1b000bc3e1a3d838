// Before anything is painted: the theme that was chosen last, else the system's.
"use strict";
(() => {
  const kept = localStorage.getItem("theme");
  if (kept === "dark" || kept === "light") document.documentElement.dataset.theme = kept;
})();
