"use strict";
document.documentElement.classList.add("js");
const themes = ["auto", "light", "dark"];
const kept = (() => { try { return localStorage.getItem("patchq-theme"); } catch { return null; } })();
let theme = themes.includes(kept) ? kept : "auto";
const wear = () => {
  if (theme === "auto") delete document.documentElement.dataset.theme; else document.documentElement.dataset.theme = theme;
};
wear();

document.addEventListener("DOMContentLoaded", () => {
  const $ = (id) => document.getElementById(id);
  const make = (tag, name, text) => {
    const element = document.createElement(tag);
    if (name) element.className = name;
    if (text !== undefined) element.textContent = text;
    return element;
  };
  const toggle = $("theme");
  const say = () => { toggle.textContent = `Theme: ${theme}`; };
  say();
  toggle.addEventListener("click", () => {
    theme = themes[(themes.indexOf(theme) + 1) % themes.length];
    try { localStorage.setItem("patchq-theme", theme); } catch { /* for this visit only */ }
    wear();
    say();
  });
  const grid = $("grid");
  if (!grid) return;
  const frame = $("frame"), app = $("app"), panel = $("panel"), content = $("content");
  const rows = [...grid.querySelectorAll("tr[data-name]")];
  const target = (cell) => cell.querySelector("a") ?? cell;

  // -- evidence: kept as the text of a noscript, so that a page of thousands of cells opens at once
  const evidence = $("articles").textContent;
  const parse = (text) => [...new DOMParser().parseFromString(text, "text/html").body.children];
  const article = (id) => {
    const at = id ? evidence.indexOf(` id="${id}"`) : -1;
    if (at < 0) return null;
    const start = evidence.lastIndexOf("<article", at);
    return document.importNode(parse(evidence.slice(start, evidence.indexOf("</article>", at) + 10))[0], true);
  };

  // -- diffs
  let texts = null;
  const diff = (number) => {
    texts ??= JSON.parse($("diffs").textContent);
    return texts[number];
  };
  const KINDS = { "+": "add", "-": "del", "@": "at", "\\": "note" };
  const lineKind = (line) => /^(diff|index|---|\+\+\+|old mode|new mode|new file|deleted file|similarity|rename|copy|GIT binary) ?/.test(line) ? "file" : KINDS[line[0]] ?? "";
  const paint = (text, twice) => {
    const pre = make("pre");
    pre.tabIndex = 0;
    const lines = text.split("\n");
    let head = null; // of a file whose content has not begun: its lines become one, the path
    const begin = (path) => { head = make("span", "path", path); pre.append(head); };
    for (const [number, line] of lines.entries()) {
      if (!twice) {
        const begins = /^--- /.test(line) && /^\+\+\+ /.test(lines[number + 1] ?? "");
        if (/^diff /.test(line)) begin(line.replace(/^diff \S+ "?a\/.* "?b\/|^diff \S+ /, ""));
        else if (!head && begins && /^@@ /.test(lines[number + 2] ?? "")) begin("");
        if (/^diff |^index [0-9a-f]+\.\./.test(line)) continue;
        if (head && (begins || /^\+\+\+ /.test(line))) {
          if (!/^\S+ \/dev\/null/.test(line)) head.textContent = line.slice(4).replace(/^"?[ab]\//, "").replace(/[\t"].*$/, "");
          if (!begins) head = null;
          continue;
        }
        pre.append(make("span", lineKind(line), line));
        continue;
      }
      const outer = KINDS[line[0]] ?? "";
      const row = make("span", line[0] === "@" ? "at" : `twice ${outer}`);
      row.append(make("b", outer, line.slice(0, 1) || " "), make("span", lineKind(line.slice(1)), line.slice(1)));
      pre.append(row);
    }
    return pre;
  };
  const showDiff = (section) => {
    const { here, before, change, base } = section.dataset;
    const views = [["Patch", here, false]];
    if (change !== undefined) views.push([`Changed since ${base}`, change, true]);
    if (before !== undefined) views.push([`On ${base}`, before, false]);
    const bar = make("div", "views");
    bar.setAttribute("role", "group");
    bar.setAttribute("aria-label", "Which diff");
    const place = make("div", "text");
    const choose = (index) => {
      [...bar.children].forEach((button, n) => button.setAttribute("aria-pressed", String(n === index)));
      place.replaceChildren(paint(diff(views[index][1]), views[index][2]));
    };
    views.forEach(([label], index) => {
      const button = make("button", "", label);
      button.type = "button";
      button.addEventListener("click", () => choose(index));
      bar.append(button);
    });
    section.replaceChildren(views.length > 1 ? bar : make("h4", "", "Diff"), place);
    choose(views.length > 1 && change !== undefined ? 1 : 0);
  };

  // -- the panel: the address names what is open, so that links, history and mail work alike
  let opener = null;
  const open = () => {
    const found = article(location.hash.slice(1));
    opener?.removeAttribute("aria-current");
    panel.hidden = !found;
    app.classList.toggle("opened", Boolean(found));
    if (!found) { measure(); return; }
    found.removeAttribute("id");
    const about = article(found.dataset.about)?.querySelector(".about");
    if (about) found.querySelector(".commands, .steps").before(about);
    found.querySelectorAll(".diff").forEach(showDiff);
    content.replaceChildren(found);
    panel.scrollTop = 0;
    $("opened").textContent = found.querySelector("h3").textContent;
    measure();
    opener = [...grid.querySelectorAll("a")].find((link) => link.hash === location.hash) ?? null;
    if (!opener) return;
    if (opener.closest(".away")) unfold(true);
    const group = opener.closest("tbody");
    if (group && opener.closest("tr").hidden) fold(group, false);
    opener.setAttribute("aria-current", "true");
    settle(opener);
    reveal(opener);
  };
  const close = () => {
    if (panel.hidden) return;
    const back = opener;
    history.pushState(null, "", location.pathname + location.search);
    open();
    back?.focus({ preventScroll: true });
  };
  addEventListener("hashchange", open);
  addEventListener("popstate", open);
  $("close").addEventListener("click", close);
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape") close();
    if (event.key === "/" && !event.target.closest("input, select, textarea")) { event.preventDefault(); search.focus(); }
  });
  document.addEventListener("click", async (event) => {
    const button = event.target.closest("[data-copy]");
    if (!button) return;
    const code = button.parentElement.querySelector("code");
    try { await navigator.clipboard.writeText(code.textContent); } catch {
      getSelection().selectAllChildren(code);
      document.execCommand("copy");
    }
    button.textContent = "Copied";
    setTimeout(() => { button.textContent = "Copy"; }, 1500);
  });

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
    if (!cell.closest("tbody")) return;
    if (frame.classList.contains("scrolls")) {
      const top = view.top + head.height;
      if (box.top < top) frame.scrollTop -= top - box.top + 4;
      if (box.bottom > view.bottom) frame.scrollTop += box.bottom - view.bottom + 4;
    } else {
      const bottom = panel.hidden || matchMedia("(min-width: 1100px)").matches ? innerHeight : panel.getBoundingClientRect().top;
      if (box.top < head.height) scrollBy(0, box.top - head.height - 4);
      else if (box.bottom > bottom) scrollBy(0, box.bottom - bottom + 4);
    }
  };
  const toNewest = () => { // the newest base that was judged at the right edge
    const heads = [...grid.tHead.rows[0].cells].slice(1).filter((cell) => cell.offsetParent);
    const last = heads.findLast((cell) => !cell.classList.contains("blank")) ?? heads.at(-1);
    if (last) frame.scrollLeft = last.offsetLeft + last.offsetWidth - frame.clientWidth;
  };
  const measure = () => {
    const scrolled = frame.classList.contains("scrolls");
    const wide = grid.scrollWidth > frame.clientWidth + 1;
    if (wide === scrolled) return;
    frame.classList.toggle("scrolls", wide);
    if (wide) toNewest();
  };
  const unfolded = () => grid.classList.contains("unfolded");
  const unfold = (wanted) => {
    grid.classList.toggle("unfolded", wanted);
    $("unfold").setAttribute("aria-pressed", String(wanted));
    $("unfold").textContent = wanted ? "Show fewer bases" : $("unfold").dataset.more;
    grid.classList.toggle("many", [...grid.tHead.rows[0].cells].filter((cell) => wanted || !cell.classList.contains("away")).length > 9);
    measure();
    toNewest();
  };
  if ($("unfold")) {
    $("unfold").dataset.more = $("unfold").textContent;
    $("unfold").addEventListener("click", () => unfold(!unfolded()));
  }
  new ResizeObserver(() => requestAnimationFrame(measure)).observe(app);
  grid.setAttribute("role", "grid");
  grid.querySelectorAll("td").forEach((cell) => cell.setAttribute("role", "gridcell"));
  grid.querySelectorAll("thead th, tr[data-name] > *").forEach((cell) => { target(cell).tabIndex = -1; });
  grid.addEventListener("pointerover", (event) => {
    const link = event.target.closest("a[aria-label]");
    if (link && !link.title) link.title = link.getAttribute("aria-label");
  });
  const steps = {
    ArrowLeft: (r, c) => [r, c - 1], ArrowRight: (r, c) => [r, c + 1], ArrowUp: (r, c) => [r - 1, c], ArrowDown: (r, c) => [r + 1, c],
    Home: (r, c, shown, last, event) => [event.ctrlKey ? 0 : r, 0],
    End: (r, c, shown, last, event) => [event.ctrlKey ? shown.length - 1 : r, last],
    PageUp: (r, c) => [Math.max(0, r - 8), c], PageDown: (r, c, shown) => [Math.min(shown.length - 1, r + 8), c],
  };
  grid.addEventListener("keydown", (event) => {
    if (event.target.closest(".group")) return;
    const cell = event.target.closest("th, td");
    if (event.key === " " && event.target.matches("a")) {
      event.preventDefault();
      event.target.click();
      return;
    }
    if (!cell || !steps[event.key] || event.altKey || event.metaKey) return;
    event.preventDefault();
    const shown = [grid.tHead.rows[0], ...[...grid.querySelectorAll("tr[data-name]")].filter((row) => !row.hidden)];
    const cells = (row) => [...row.cells].filter((each) => unfolded() || !each.classList.contains("away"));
    const here = cells(cell.parentElement);
    const [row, column] = steps[event.key](shown.indexOf(cell.parentElement), here.indexOf(cell), shown, here.length - 1, event);
    const next = shown[row] && cells(shown[row])[column];
    if (!next) return;
    settle(target(next));
    target(next).focus({ preventScroll: true });
    reveal(target(next));
  });
  grid.addEventListener("focusin", (event) => { if (event.target.tabIndex === -1 && event.target !== grid) settle(event.target); });

  // -- groups and order
  const NONE = { kind: "none given", file: "no file in common", root: "by themselves" };
  const heads = new Map([...grid.tBodies].map((body) => [body.querySelector("tr[data-name]").dataset.outcome, body]));
  const outcomes = [...heads.keys()];
  const series = new Map(rows.map((row, number) => [row, number]));
  const fold = (body, folded) => {
    body.querySelector("button").setAttribute("aria-expanded", String(!folded));
    filter();
  };
  const bodyOf = (title, count) => {
    const body = make("tbody");
    const row = make("tr", "group");
    const head = make("th");
    head.colSpan = grid.tHead.rows[0].cells.length;
    head.scope = "rowgroup";
    const button = make("button", "", `${title} `);
    button.type = "button";
    button.setAttribute("aria-expanded", "true");
    button.append(make("span", "n", count));
    head.append(button);
    row.append(head);
    body.append(row);
    return body;
  };
  const arrange = () => {
    const by = $("group").value, order = $("sort").value;
    const worth = (row) => order === "age" ? -row.dataset.age : order === "order" ? 0 : row.dataset[order] || "￿";
    const sorted = [...rows].sort((one, other) => {
      const a = worth(one), b = worth(other);
      return (a < b ? -1 : a > b ? 1 : 0) || series.get(one) - series.get(other);
    });
    const groups = new Map();
    if (by === "outcome") outcomes.forEach((title) => groups.set(title, []));
    for (const row of sorted) {
      const key = by ? row.dataset[by] : "";
      if (!groups.has(key)) groups.set(key, []);
      groups.get(key).push(row);
    }
    const keys = [...groups.keys()];
    if (by !== "outcome") keys.sort((a, b) => !a - !b || groups.get(b).length - groups.get(a).length || (a < b ? -1 : 1));
    [...grid.tBodies].forEach((body) => body.remove());
    for (const key of keys) {
      const title = by === "root" && key ? `${key.replace(/\.patch$/, "")} and what stands on it` : key || NONE[by];
      const body = by === "outcome" ? heads.get(key) : by ? bodyOf(title, groups.get(key).length) : make("tbody");
      if (by === "root") groups.get(key).sort((a, b) => (b.dataset.name + ".patch" === key) - (a.dataset.name + ".patch" === key));
      body.append(...groups.get(key));
      grid.append(body);
    }
    filter();
  };
  grid.addEventListener("click", (event) => {
    const button = event.target.closest(".group button");
    if (button) fold(button.closest("tbody"), button.getAttribute("aria-expanded") === "true");
  });

  // -- filters
  const search = $("search"), kind = $("kind"), count = $("count");
  const chips = [...document.querySelectorAll("button.chip")];
  const filter = () => {
    const words = search.value.trim().toLowerCase().split(/\s+/).filter(Boolean);
    const verdicts = chips.filter((chip) => chip.getAttribute("aria-pressed") === "true").map((chip) => chip.dataset.word);
    const narrowed = words.length || verdicts.length || kind.value;
    const fits = (sign) => !verdicts.length || verdicts.includes(sign.dataset.word);
    let shown = 0;
    for (const body of grid.tBodies) {
      const folded = !narrowed && body.querySelector("button")?.getAttribute("aria-expanded") === "false";
      let some = 0;
      for (const row of body.querySelectorAll("tr[data-name]")) {
        const signs = [...row.querySelectorAll("[data-word]")];
        const fit = words.every((word) => row.dataset.text.includes(word))
          && (!kind.value || row.dataset.kind === kind.value.slice(1))
          && (!verdicts.length || signs.some(fits));
        row.hidden = !fit || folded;
        signs.forEach((sign) => sign.classList.toggle("dim", !fits(sign)));
        some += fit ? 1 : 0;
      }
      body.hidden = !some;
      shown += some;
    }
    count.textContent = narrowed ? `${shown} of ${rows.length} patches` : "";
    $("none").hidden = shown > 0;
    const stop = grid.querySelector("[tabindex='0']");
    if (!stop || stop.closest("tr").hidden) settle(target(grid.tHead.querySelector("th:not(.corner, .away)") ?? grid.tHead.rows[0].cells[0]));
  };
  search.addEventListener("input", filter);
  kind.addEventListener("change", filter);
  $("group").addEventListener("change", arrange);
  $("sort").addEventListener("change", arrange);
  chips.forEach((chip) => chip.addEventListener("click", () => {
    chip.setAttribute("aria-pressed", String(chip.getAttribute("aria-pressed") !== "true"));
    filter();
  }));
  $("filters").addEventListener("submit", (event) => event.preventDefault());

  // -- paper: what is not fine, below the grid
  addEventListener("beforeprint", () => {
    $("paper").replaceChildren(...parse(evidence)[0].querySelectorAll(".article:not(.fine, .index)"));
  });
  addEventListener("afterprint", () => $("paper").replaceChildren());

  grid.querySelectorAll("[data-folded]").forEach((button) => { if (rows.length > 12) button.setAttribute("aria-expanded", "false"); });
  filter();
  measure();
  open();
});
