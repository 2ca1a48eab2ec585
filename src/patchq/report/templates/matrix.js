document.addEventListener("DOMContentLoaded", () => {
  const grid = document.getElementById("grid");
  const frame = grid.closest(".frame");
  const stage = grid.closest(".stage");
  const panel = document.getElementById("panel");
  const content = document.getElementById("panel-content");
  const rows = [...grid.tBodies[0].rows];
  const target = (cell) => cell.querySelector("a") ?? cell;
  let opener = null;

  // -- the panel: the address names what is open, so that links, history and mail work alike
  const open = () => {
    const article = document.getElementById(location.hash.slice(1));
    opener?.removeAttribute("aria-current");
    const shown = Boolean(article?.classList.contains("article"));
    panel.hidden = !shown;
    stage.classList.toggle("opened", shown);
    if (!shown) return;
    const copy = article.cloneNode(true);
    copy.removeAttribute("id");
    content.replaceChildren(copy);
    panel.scrollTop = 0;
    opener = [...grid.querySelectorAll("a")].find((link) => link.hash === location.hash) ?? null;
    if (opener) {
      opener.setAttribute("aria-current", "true");
      settle(opener);
      reveal(opener);
    }
  };
  const close = () => {
    if (panel.hidden) return;
    const back = opener;
    history.pushState(null, "", location.pathname + location.search);
    open();
    back?.focus();
  };
  addEventListener("hashchange", open);
  addEventListener("popstate", open);
  document.getElementById("close").addEventListener("click", close);
  document.addEventListener("keydown", (event) => { if (event.key === "Escape") close(); });

  // -- the keyboard: one stop for Tab, arrows from cell to cell
  const settle = (element) => {
    grid.querySelectorAll("[tabindex='0']").forEach((other) => { other.tabIndex = -1; });
    element.tabIndex = 0;
  };
  const reveal = (element) => {
    const cell = element.closest("td, th");
    const box = cell.getBoundingClientRect();
    const view = frame.getBoundingClientRect();
    const head = grid.tHead.rows[0].cells[0].getBoundingClientRect();
    if (cell.cellIndex) {
      const left = view.left + head.width;
      if (box.left < left) frame.scrollLeft -= left - box.left + 4;
      if (box.right > view.right) frame.scrollLeft += box.right - view.right + 4;
    }
    if (cell.closest("tbody")) {
      const top = view.top + head.height;
      if (box.top < top) frame.scrollTop -= top - box.top + 4;
      if (box.bottom > view.bottom) frame.scrollTop += box.bottom - view.bottom + 4;
    }
  };
  grid.setAttribute("role", "grid");
  grid.querySelectorAll("td").forEach((cell) => cell.setAttribute("role", "gridcell"));
  grid.querySelectorAll("th, td").forEach((cell) => { target(cell).tabIndex = -1; });
  const steps = {
    ArrowLeft: (r, c) => [r, c - 1], ArrowRight: (r, c) => [r, c + 1], ArrowUp: (r, c) => [r - 1, c], ArrowDown: (r, c) => [r + 1, c],
    Home: (r, c, shown, event) => [event.ctrlKey ? 0 : r, 0],
    End: (r, c, shown, event) => [event.ctrlKey ? shown.length - 1 : r, shown[r].cells.length - 1],
    PageUp: (r, c) => [Math.max(0, r - 8), c], PageDown: (r, c, shown) => [Math.min(shown.length - 1, r + 8), c],
  };
  grid.addEventListener("keydown", (event) => {
    const cell = event.target.closest("th, td");
    if (event.key === " " && event.target.matches("a")) {
      event.preventDefault();
      event.target.click();
      return;
    }
    if (!cell || !steps[event.key] || event.altKey || event.metaKey) return;
    event.preventDefault();
    const shown = [grid.tHead.rows[0], ...rows.filter((row) => !row.hidden)];
    const [row, column] = steps[event.key](shown.indexOf(cell.parentElement), cell.cellIndex, shown, event);
    const next = shown[row]?.cells[column];
    if (!next) return;
    settle(target(next));
    target(next).focus({ preventScroll: true });
    reveal(target(next));
  });
  grid.addEventListener("focusin", (event) => { if (event.target.tabIndex === -1) settle(event.target); });

  // -- filters
  const search = document.getElementById("search");
  const kind = document.getElementById("kind");
  const chips = [...document.querySelectorAll("button.chip")];
  const count = document.getElementById("count");
  const filter = () => {
    const words = search.value.trim().toLowerCase().split(/\s+/).filter(Boolean);
    const verdicts = chips.filter((chip) => chip.getAttribute("aria-pressed") === "true").map((chip) => chip.dataset.word);
    let shown = 0;
    for (const row of rows) {
      const signs = [...row.querySelectorAll(".sign")];
      const fits = (sign) => !verdicts.length || verdicts.includes(sign.dataset.word);
      row.hidden = !(words.every((word) => row.dataset.text.includes(word))
        && (!kind.value || row.dataset.kind === kind.value.slice(1))
        && (!verdicts.length || signs.some(fits)));
      signs.forEach((sign) => sign.classList.toggle("dim", !fits(sign)));
      shown += row.hidden ? 0 : 1;
    }
    count.textContent = shown === rows.length ? `${shown} patches` : `${shown} of ${rows.length} patches`;
    document.getElementById("none").hidden = shown > 0;
    const stop = grid.querySelector("[tabindex='0']");
    if (!stop || stop.closest("tr").hidden) settle(target(grid.tHead.rows[0].cells[1] ?? grid.tHead.rows[0].cells[0]));
  };
  search.addEventListener("input", filter);
  kind.addEventListener("change", filter);
  chips.forEach((chip) => chip.addEventListener("click", () => {
    chip.setAttribute("aria-pressed", String(chip.getAttribute("aria-pressed") !== "true"));
    filter();
  }));
  document.getElementById("filters").addEventListener("submit", (event) => event.preventDefault());

  filter();
  frame.scrollLeft = frame.scrollWidth; // the newest bases first
  open();
});
