// What a page gains by a script: it stays current, curves are read together, patches are copied. It reads without one.
"use strict";
const $ = (what, where = document) => where.querySelector(what);
const $$ = (what, where = document) => [...where.querySelectorAll(what)];
document.documentElement.classList.add("js");

// --- live: the server says that something changed; the page is asked for again and what differs is put in place
const run = document.body.dataset.run, said = $("#said"), light = $("#live");
if (run && location.pathname !== `/runs/${run}`) history.replaceState(null, "", `/runs/${run}`); // after a form
let refreshing = false, again = false;

async function refresh() {
  if (refreshing) { again = true; return; }
  refreshing = true;
  try {
    const answer = await fetch(location.href, { headers: { "X-Part": "1" } });
    if (answer.ok) put(new DOMParser().parseFromString(await answer.text(), "text/html"));
  } catch { /* the stream says when the server is back */ }
  refreshing = false;
  if (again) { again = false; refresh(); }
}

function put(next) {
  document.title = next.title;
  for (const old of $$("[data-live]")) {
    const fresh = next.getElementById(old.id);
    if (!fresh || fresh.isEqualNode(old)) continue;
    if (old.tagName === "TBODY") rows(old, fresh);
    else {
      const open = $$("details[open] > summary", old).map((one) => one.textContent);
      const held = old.contains(document.activeElement) && document.activeElement.matches("input, select, svg.chart");
      if (held && document.activeElement.matches("input, select")) continue;
      old.replaceChildren(...fresh.childNodes);
      for (const one of $$("details > summary", old)) if (open.includes(one.textContent)) one.parentNode.open = true;
      if (run) tell("The page was updated: " + ($("h2", old)?.textContent ?? ""));
    }
  }
  sift(); dress();
}

function rows(old, fresh) {
  const known = new Map($$("tr", old).map((row) => [row.id, row])), news = [];
  [...fresh.children].forEach((row, place) => {
    const mine = known.get(row.id);
    let now = mine;
    if (!mine || !same(mine, row)) {
      now = document.adoptNode(row);
      now.classList.add("fresh");
      if (mine?.dataset.verdict !== row.dataset.verdict) news.push(`${row.dataset.name}: ${row.dataset.verdict}`);
      const held = mine?.contains(document.activeElement);
      if (mine) mine.replaceWith(now);
      if (held) $("a", now)?.focus();
    }
    if (old.children[place] !== now) old.insertBefore(now, old.children[place] ?? null);
    known.delete(row.id);
  });
  for (const row of known.values()) row.remove();
  if (news.length) tell(news.length > 3 ? `${news.length} runs changed` : news.join("; "));
}

function same(one, other) {
  const bare = (row) => { const copy = row.cloneNode(true); copy.classList.remove("fresh"); copy.hidden = false; copy.removeAttribute("hidden"); $("time", copy)?.replaceChildren(); return copy; };
  return bare(one).isEqualNode(bare(other));
}

function tell(what) { said.textContent = what; }

if (document.body.dataset.version) {
  const stream = new EventSource("/events?since=" + document.body.dataset.version);
  const show = (on) => { light.hidden = false; light.classList.toggle("off", !on); light.textContent = on ? "live" : "not connected"; };
  stream.onopen = () => show(true);
  stream.onerror = () => show(false);
  stream.addEventListener("changed", (event) => {
    if (!run || JSON.parse(event.data).runs.includes(run)) refresh();
  });
}

// --- the board: words that are typed sift the rows at once
const search = $("#q");
function sift() {
  if (!search) return;
  const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
  for (const row of $$("#runs tr")) row.hidden = !words.every((word) => row.dataset.text.includes(word));
}
search?.addEventListener("input", sift);
document.addEventListener("keydown", (event) => {
  if (event.key === "/" && search && !event.target.matches("input, select")) { event.preventDefault(); search.focus(); }
  if (event.key === "Escape") shut();
});
setInterval(() => {
  for (const one of $$("time[datetime]")) {
    const seconds = Math.max(0, (Date.now() - Date.parse(one.dateTime)) / 1000);
    const [size, unit] = [[86400, "d"], [3600, "h"], [60, "min"]].find(([size]) => seconds >= size) ?? [0, ""];
    one.textContent = size ? `${Math.floor(seconds / size)} ${unit} ago` : "just now";
  }
}, 15000);

// --- curves: one cross-hair for all, a drag to zoom, arrow keys
const groups = (chart) => $$(".h", chart);
function cross(step, from) {
  for (const chart of $$("svg.chart")) {
    let best = null, apart = Infinity;
    for (const one of groups(chart)) {
      const distance = Math.abs(one.dataset.step - step);
      one.classList.remove("on");
      if (distance < apart) { apart = distance; best = one; }
    }
    const width = (chart.dataset.last - chart.dataset.first) / 24;
    if (best && (chart === from || apart <= width)) best.classList.add("on");
  }
}
function clear() { for (const one of $$(".h.on")) one.classList.remove("on"); }
document.addEventListener("pointerover", (event) => {
  const at = event.target.closest?.(".h");
  if (at) cross(+at.dataset.step, at.closest("svg")); else if (!event.target.closest?.("svg.chart")) clear();
});
document.addEventListener("keydown", (event) => {
  const chart = event.target.closest?.("svg.chart"), move = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
  if (!chart || !move) return;
  event.preventDefault();
  const every = groups(chart), now = every.findIndex((one) => one.classList.contains("on"));
  const next = every[Math.min(every.length - 1, Math.max(0, now < 0 ? (move > 0 ? 0 : every.length - 1) : now + move))];
  cross(+next.dataset.step, chart);
  tell($("text", next).textContent);
});
let drag = null;
document.addEventListener("pointerdown", (event) => {
  const chart = event.target.closest?.("svg.chart");
  if (!chart || !$(".view") || event.pointerType === "touch" || event.button) return;
  const box = document.createElementNS("http://www.w3.org/2000/svg", "rect");
  box.setAttribute("class", "zoom");
  drag = { chart, box, from: place(chart, event) };
});
document.addEventListener("pointermove", (event) => {
  if (!drag) return;
  const to = place(drag.chart, event), [a, b] = [Math.min(drag.from.x, to.x), Math.max(drag.from.x, to.x)];
  for (const [name, value] of Object.entries({ x: a, y: 22, width: b - a, height: 124 })) drag.box.setAttribute(name, value);
  if (b - a > 4 && !drag.box.parentNode) drag.chart.append(drag.box);
});
document.addEventListener("pointerup", (event) => {
  if (!drag) return;
  const { chart, box, from } = drag, to = place(chart, event);
  drag = null;
  box.remove();
  if (Math.abs(to.x - from.x) > 8) look({ from: Math.floor(Math.min(from.step, to.step)), to: Math.ceil(Math.max(from.step, to.step)) });
});
function place(chart, event) {
  const x = new DOMPoint(event.clientX, event.clientY).matrixTransform(chart.getScreenCTM().inverse()).x;
  const inside = Math.min(432, Math.max(46, x)), first = +chart.dataset.first, last = +chart.dataset.last;
  return { x: inside, step: first + (inside - 46) / 386 * (last - first) };
}
function look(change) {
  const address = new URL(location.href);
  for (const [name, value] of Object.entries(change)) value === "" ? address.searchParams.delete(name) : address.searchParams.set(name, value);
  history.pushState(null, "", address);
  refresh();
}
document.addEventListener("change", (event) => { if (event.target.matches(".view select")) event.target.form.requestSubmit(); });
addEventListener("popstate", () => { if (run) refresh(); });

// --- copy, and the playbook beside the run
function dress() {
  for (const pre of $$("pre.diff, .command > code")) {
    if (pre.dataset.dressed) continue;
    pre.dataset.dressed = "1";
    const button = Object.assign(document.createElement("button"), { type: "button", className: "copy", textContent: "Copy" });
    button.addEventListener("click", async () => {
      try { await navigator.clipboard.writeText(pre.textContent); button.textContent = "Copied"; tell("Copied"); } catch { button.textContent = "Not allowed"; }
      setTimeout(() => { button.textContent = "Copy"; }, 1500);
    });
    if (pre.tagName === "CODE") { pre.after(button); continue; }
    const box = Object.assign(document.createElement("div"), { className: "diffbox" });
    pre.replaceWith(box);
    box.append(pre, button);
  }
}
const beside = $("#beside");
let opener = null;
function shut() { if (beside && !beside.hidden) { beside.hidden = true; opener?.focus(); } }
document.addEventListener("click", async (event) => {
  const link = event.target.closest?.("a[href^='/playbooks/']");
  if (!beside || !link || event.metaKey || event.ctrlKey || event.shiftKey || event.button) return;
  event.preventDefault();
  opener = link.closest("#beside") ? opener : link;
  const address = new URL(link.href), next = new DOMParser().parseFromString(await (await fetch(address)).text(), "text/html");
  const close = Object.assign(document.createElement("button"), { type: "button", className: "close", textContent: "Close" });
  close.addEventListener("click", shut);
  beside.replaceChildren(close, ...$$(".prose", next));
  beside.hidden = false;
  beside.scrollTop = 0;
  close.focus();
  if (address.hash) document.getElementById(address.hash.slice(1))?.scrollIntoView();
});
dress(); sift();
