"use strict";
/* The overview's filters, the pages of launches (unpacked when they are opened), and the keyboard. */
(() => {
  const one = selector => document.querySelector(selector);
  const all = (selector, within) => [...(within || document).querySelectorAll(selector)];
  const overview = one("#overview"), kernel = one("#kernel"), body = one("#launches tbody");
  const rows = body ? all("tr", body) : [];
  const opened = new Map();
  const filter = { verdicts: new Set(), text: "", code: "", state: "" };
  let chosen = -1;

  // ---------------------------------------------------------------------------------------------- data
  async function unpack(id) {
    if (!("DecompressionStream" in window)) throw new Error("This browser is too old to unpack the page; any from 2023 on can.");
    const bytes = Uint8Array.from(atob(one("#" + id).textContent), character => character.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    return JSON.parse(await new Response(stream).text());
  }

  function shard(number) {
    if (!opened.has(number)) opened.set(number, unpack("shard-" + number));
    return opened.get(number);
  }

  const told = one("#told");
  let quiet = 0;
  function tell(text) {
    told.textContent = text;
    clearTimeout(quiet);
    quiet = setTimeout(() => { told.textContent = ""; }, 2200);
  }

  function make(tag, attributes, ...children) {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes || {})) element.setAttribute(name, value);
    element.append(...children);
    return element;
  }

  // -------------------------------------------------------------------------------------------- filters
  const shown = () => rows.filter(row => !row.hidden);

  function matches(row) {
    if (filter.verdicts.size && !filter.verdicts.has(row.dataset.verdict)) return false;
    if (filter.text && !filter.text.split(/\s+/).every(word => row.dataset.search.includes(word))) return false;
    if (!filter.code && !filter.state) return true;
    return row.dataset.states.split(" ").some(each => {
      const [code, state] = each.split(":");
      return (!filter.code || code === filter.code) && (!filter.state || state === filter.state) && code;
    });
  }

  function apply() {
    for (const row of rows) row.hidden = !matches(row);
    const count = shown().length;
    one("#count").textContent = count === rows.length ? count + (count === 1 ? " launch" : " launches") : count + " of " + rows.length + " launches";
    one("#nothing").hidden = count > 0 || !rows.length;
    for (const chip of all(".chip")) chip.setAttribute("aria-pressed", filter.verdicts.has(chip.dataset.verdict));
    for (const head of all("th.c button")) head.setAttribute("aria-pressed", head.dataset.code === filter.code);
    choose(-1);
    remember();
  }

  /* What is shown stands in the address, so that a link leads others to the same rows. */
  const FIELDS = { q: "#search", code: "#code", state: "#state", order: "#order" };

  function remember() {
    if (!["", "#overview"].includes(location.hash) && !location.hash.startsWith("#?")) return;
    const said = new URLSearchParams();
    if (filter.verdicts.size) said.set("verdict", [...filter.verdicts].join(","));
    for (const [name, field] of Object.entries(FIELDS)) if (one(field).value.trim()) said.set(name, one(field).value.trim());
    const text = said.toString();
    history.replaceState(null, "", text ? "#?" + text : location.pathname + location.search);
  }

  function recall(text) {
    const said = new URLSearchParams(text);
    filter.verdicts = new Set((said.get("verdict") || "").split(",").filter(Boolean));
    for (const [name, field] of Object.entries(FIELDS)) {
      one(field).value = said.get(name) || "";
      if (one(field).selectedIndex === -1) one(field).value = "";
    }
    filter.text = one("#search").value.trim().toLowerCase();
    filter.code = one("#code").value;
    filter.state = one("#state").value;
    rows.sort(ORDERS[one("#order").value]);
    if (body) body.append(...rows);
    apply();
  }

  function toggle(verdict) {
    if (!filter.verdicts.delete(verdict)) filter.verdicts.add(verdict);
    apply();
  }

  function clear() {
    filter.verdicts.clear();
    filter.text = filter.code = filter.state = "";
    for (const field of ["#search", "#code", "#state"]) one(field).value = "";
    apply();
  }

  const RANK = { error: 0, refuted: 1, undecided: 2, proved: 3 };
  const ORDERS = {
    "": (a, b) => RANK[a.dataset.verdict] - RANK[b.dataset.verdict] || a.dataset.place - b.dataset.place,
    checked: (a, b) => a.dataset.place - b.dataset.place,
    name: (a, b) => a.querySelector("a").textContent.localeCompare(b.querySelector("a").textContent),
    time: (a, b) => b.dataset.time - a.dataset.time,
  };

  function order(name) {
    rows.sort(ORDERS[name]);
    body.append(...rows);
    choose(-1);
    remember();
  }

  // --------------------------------------------------------------------------------------------- choice
  function choose(number) {
    const visible = shown();
    for (const row of rows) row.classList.remove("chosen");
    chosen = Math.max(-1, Math.min(number, visible.length - 1));
    if (chosen < 0) return;
    visible[chosen].classList.add("chosen");
    const link = visible[chosen].querySelector("a");
    link.focus({ preventScroll: true });
    visible[chosen].scrollIntoView({ block: "nearest" });
  }

  // ---------------------------------------------------------------------------------------------- routes
  let current = null;

  async function route() {
    const said = location.hash.slice(1);
    const hash = said.startsWith("?") ? "" : decodeURIComponent(said);
    if (hash === "main") { one("#main").focus(); return; }
    const [id, part] = hash.split(":");
    const row = id.startsWith("k-") ? document.getElementById("row-" + id) : null;
    if (row) { await open(row, part); return; }
    const before = current;
    current = null;
    kernel.hidden = true;
    overview.hidden = false;
    if (said.startsWith("?") && !before) recall(said.slice(1));
    else remember();
    if (before) {
      const number = shown().indexOf(before);
      if (number >= 0) choose(number);
      before.scrollIntoView({ block: "center", behavior: "instant" });
    }
  }

  async function open(row, part) {
    if (current !== row) {
      let found;
      try {
        found = (await shard(Number(row.dataset.shard)));
      } catch (error) {
        kernel.replaceChildren(make("p", { class: "notice" }, String(error.message || error)));
        kernel.hidden = false; overview.hidden = true;
        return;
      }
      current = row;
      show(row, found);
      overview.hidden = true;
      kernel.hidden = false;
      window.scrollTo({ top: 0, behavior: "instant" });
      const title = kernel.querySelector("h1");
      if (!part) title.focus({ preventScroll: true });
    }
    if (part) {
      const target = document.getElementById(part) || document.getElementById(row.dataset.id + "-" + part);
      for (let each = target; each; each = each.parentElement.closest("details")) if (each.tagName === "DETAILS") each.open = true;
      if (target) { target.scrollIntoView(); if (target.tabIndex >= -1) target.focus({ preventScroll: true }); }
    }
  }

  function show(row, found) {
    const data = found.kernels[row.dataset.id];
    kernel.innerHTML = data.html;
    kernel.prepend(way(row));
    for (const figure of all("[data-drawing]", kernel)) {
      const drawing = data.drawings.find(each => each.finding === Number(figure.dataset.drawing));
      if (drawing) window.tileverify.draw(figure, drawing);
    }
    for (const figure of all("[data-example]", kernel)) window.tileverify.draw(figure, data.drawings[Number(figure.dataset.example)]);
    for (const figure of all("[data-difference]", kernel)) window.tileverify.drawDifference(figure, data.difference);
    for (const text of all("[data-text]", kernel)) text.textContent = data.playback[text.dataset.text];
    for (const button of all(".copy", kernel)) button.addEventListener("click", () => copy(data.playback[button.dataset.playback]));
    const panes = one("[data-panes]");
    if (panes) fillPanes(panes, data, found);
    for (const link of all("button[data-line]", kernel)) link.addEventListener("click", () => reveal(link.dataset.file, Number(link.dataset.line)));
    document.title = kernel.querySelector("h1").textContent + " · tileverify";
  }

  function way(row) {
    const visible = shown(), at = visible.indexOf(row);
    const step = (offset, words) => { const other = visible[at + offset]; return other && at >= 0 ? make("a", { href: "#" + other.dataset.id, rel: offset < 0 ? "prev" : "next" }, words) : ""; };
    const jump = make("span", { class: "jump" });
    for (const section of all("section[id]", kernel)) jump.append(make("a", { href: "#" + row.dataset.id + ":" + section.id }, section.querySelector("h2").textContent));
    const place = at >= 0 ? make("span", { class: "quiet" }, (at + 1) + " of " + visible.length) : "";
    return make("nav", { class: "way", "aria-label": "Launches and sections" }, make("a", { href: "#overview" }, "← All launches"), step(-1, "Previous"), step(1, "Next"), place, jump);
  }

  // ----------------------------------------------------------------------------------------------- panes
  const MARKS = { proved: "✓", refuted: "✗", undecided: "?" };

  function line(number, content, mark) {
    const state = mark ? mark[0] : "";
    const element = make("div", state ? { class: state, title: mark[1] } : {});
    const text = make("span");
    text.innerHTML = content || " ";
    const sign = make("s", { "aria-hidden": "true" }, MARKS[state] || "");
    element.append(make("u", { "aria-hidden": "true" }, String(number)), sign, text);
    if (mark) element.append(make("span", { class: "hidden" }, mark[1]));
    return element;
  }

  function pane(title, side, lines, kind) {
    const list = make("div", { class: "lines", tabindex: "0", role: "region", "aria-label": title }, ...lines);
    return make("div", { class: kind }, make("header", {}, make("span", {}, title), make("span", {}, side)), list);
  }

  function fillPanes(panes, data, found) {
    const sources = make("div", {});
    const of = new Map();
    data.panes.forEach((each, file) => {
      const html = found.sources[each.file], lines = [];
      each.shown.forEach(([first, last], number) => {
        if (first > 1 || number) lines.push(make("div", { class: "gap" }, "⋯"));
        for (let n = first; n <= last; n++) {
          const element = line(n, html[n - 1], each.marks[n]);
          of.set(file + ":" + n, element);
          lines.push(element);
        }
      });
      sources.append(pane(each.file, "source", lines, "pane"));
    });
    const made = new Map();
    const ir = data.ir === null ? null : found.ir[data.ir];
    const irLines = ir ? ir.html.map((content, n) => {
      const element = line(n + 1, content, null), from = ir.from[n];
      if (from) {
        const key = from.join(":"), source = of.get(key);
        if (source) {
          if (!made.has(key)) made.set(key, []);
          made.get(key).push(element);
          element.classList.add("linked");
          element.addEventListener("click", () => light(source, [element], source));
        }
      }
      return element;
    }) : [];
    for (const [key, parts] of made) {
      const source = of.get(key);
      source.classList.add("linked");
      source.addEventListener("click", () => light(source, parts, parts[0]));
    }
    panes.append(sources);
    if (ir) panes.append(pane("Tile IR", irLines.length + " lines", irLines, "pane ir"));

    function light(source, parts, target) {
      for (const each of all(".lit", panes)) each.classList.remove("lit");
      for (const each of [source, ...(made.get([...of].find(([, element]) => element === source)[0]) || parts)]) each.classList.add("lit");
      const list = target.parentElement;
      list.scrollTo({ top: target.offsetTop - list.clientHeight / 3 });
    }

    revealer = (file, number) => {
      const element = of.get(data.panes.findIndex(each => each.file === file) + ":" + number);
      if (!element) return;
      one("#source").scrollIntoView();
      const parts = made.get(data.panes.findIndex(each => each.file === file) + ":" + number) || [];
      light(element, parts, element);
      if (parts.length) { const list = parts[0].parentElement; list.scrollTo({ top: parts[0].offsetTop - list.clientHeight / 3 }); }
    };
  }

  let revealer = () => {};
  const reveal = (file, number) => revealer(file, number);

  // ---------------------------------------------------------------------------------------------- actions
  async function copy(text) {
    try {
      await navigator.clipboard.writeText(text);
    } catch {
      const field = make("textarea", {});
      field.value = text;
      document.body.append(field);
      field.select();
      document.execCommand("copy");
      field.remove();
    }
    tell("Copied");
  }

  async function save() {
    const text = await unpack("report");
    const link = make("a", { download: "tileverify-report.json", href: URL.createObjectURL(new Blob([text], { type: "application/json" })) });
    link.click();
    URL.revokeObjectURL(link.href);
  }

  const THEMES = ["", "dark", "light"];
  function theme(next) {
    if (next) document.documentElement.dataset.theme = next; else delete document.documentElement.dataset.theme;
    try { localStorage.setItem("tileverify-theme", next); } catch { /* a page from a file may have no storage */ }
  }
  function turn() {
    const now = document.documentElement.dataset.theme || "";
    const dark = matchMedia("(prefers-color-scheme: dark)").matches;
    const next = now === "" ? (dark ? "light" : "dark") : now === (dark ? "light" : "dark") ? (dark ? "dark" : "light") : "";
    theme(THEMES.includes(next) ? next : "");
    tell(next ? "Colours: " + next : "Colours: as the system");
  }

  function finding(offset) {
    const found = all(".finding", kernel);
    if (!found.length) return;
    const at = found.indexOf(document.activeElement.closest(".finding"));
    const target = found[at < 0 && offset < 0 ? found.length - 1 : Math.max(0, Math.min(at + offset, found.length - 1))];
    target.scrollIntoView();
    target.focus({ preventScroll: true });
  }

  function move(offset) {
    if (!current) { choose(chosen < 0 ? (offset > 0 ? 0 : shown().length - 1) : chosen + offset); return; }
    const visible = shown(), other = visible[visible.indexOf(current) + offset];
    if (other) location.hash = other.dataset.id;
  }

  const back = () => { if (current) location.hash = "overview"; };
  const only = verdict => { if (!current && one('.chip[data-verdict="' + verdict + '"]')) toggle(verdict); };
  const KEYS = {
    j: () => move(1), k: () => move(-1), u: back, Escape: back,
    Enter: () => { const row = shown()[chosen]; if (!current && row) location.hash = row.dataset.id; },
    n: () => finding(1), N: () => finding(-1),
    "/": () => { back(); setTimeout(() => one("#search").focus(), 0); },
    p: () => only("proved"), r: () => only("refuted"), d: () => only("undecided"), e: () => only("error"),
    a: () => { if (!current) clear(); },
    c: () => { const button = kernel.querySelector(".copy"); if (current && button) button.click(); },
    t: turn, "?": () => one("#help").showModal(),
  };

  document.addEventListener("keydown", event => {
    const typing = event.target.matches("input:not([type=range]):not([type=checkbox]), select, textarea");
    if (typing && event.key === "Escape") { event.target.blur(); return; }
    if (typing || event.ctrlKey || event.metaKey || event.altKey || one("#help").open) return;
    if (event.key === "Enter" && event.target.matches("a, button, summary, input")) return;
    const action = KEYS[event.key];
    if (action) { event.preventDefault(); action(); }
  });

  // ------------------------------------------------------------------------------------------------ start
  try { theme(localStorage.getItem("tileverify-theme") || ""); } catch { /* no storage */ }
  one("#theme").addEventListener("click", turn);
  one("#keys").addEventListener("click", () => one("#help").showModal());
  one("#save").addEventListener("click", save);
  one("#filters").addEventListener("submit", event => event.preventDefault());
  one("#search").addEventListener("input", event => { filter.text = event.target.value.trim().toLowerCase(); apply(); });
  one("#code").addEventListener("change", event => { filter.code = event.target.value; apply(); });
  one("#state").addEventListener("change", event => { filter.state = event.target.value; apply(); });
  one("#order").addEventListener("change", event => order(event.target.value));
  one("#reset").addEventListener("click", clear);
  for (const chip of all(".chip")) chip.addEventListener("click", () => toggle(chip.dataset.verdict));
  for (const head of all("th.c button")) head.addEventListener("click", () => {
    filter.code = filter.code === head.dataset.code ? "" : head.dataset.code;
    one("#code").value = filter.code;
    apply();
  });
  window.addEventListener("hashchange", route);
  window.addEventListener("beforeprint", () => { for (const each of all("details:not(.playback)", kernel)) each.open = true; });
  if (!location.hash.startsWith("#?")) apply();
  route();
  document.documentElement.dataset.ready = "yes";
})();
