"use strict";
document.documentElement.classList.add("js");
(() => {
  const root = document.documentElement;
  const themes = ["auto", "light", "dark"];
  const remember = (theme) => { try { localStorage.setItem("patchq-theme", theme); } catch { /* no storage: for this visit only */ } };
  const recall = () => { try { return localStorage.getItem("patchq-theme"); } catch { return null; } };
  const show = (theme) => {
    if (theme === "auto") root.removeAttribute("data-theme"); else root.dataset.theme = theme;
    const button = document.getElementById("theme");
    if (button) button.textContent = `Theme: ${theme}`;
  };
  let theme = themes.includes(recall()) ? recall() : "auto";
  show(theme);
  document.addEventListener("DOMContentLoaded", () => {
    show(theme);
    document.getElementById("theme").addEventListener("click", () => {
      theme = themes[(themes.indexOf(theme) + 1) % themes.length];
      remember(theme);
      show(theme);
    });
  });
})();
