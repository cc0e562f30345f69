// The tab "Diagnosis" of TensorBoard. Text of runs reaches the page as text, or escaped by the server.

const at = (path) => new URL(path, import.meta.url);
const EVERY_MS = 2000;
let chosen = null;
let shown = "";

const make = (tag, words = {}, ...inside) => {
  const made = document.createElement(tag);
  Object.assign(made, words);
  made.append(...inside);
  return made;
};

const get = async (path) => {
  const answer = await fetch(at(path), { credentials: "same-origin" });
  return answer.json();
};

export async function render() {
  document.documentElement.lang = "en";
  document.title = "Diagnosis";
  document.head.append(make("link", { rel: "stylesheet", href: at("./style.css") }));
  const runs = make("tbody");
  const head = make("tr", {}, ...["Verdict", "Run"].map((name) => make("th", { scope: "col", textContent: name })));
  const table = make("table", { className: "index" }, make("thead", {}, head), runs);
  const note = make("p", { className: "small soft", role: "status", textContent: "hrmdoc reads the runs …" });
  const page = make("main", { id: "page" });
  document.body.append(make("div", { className: "page" }, note, table, page));
  for (;;) {
    try {
      await renew(runs, note, page);
    } catch (error) {
      note.textContent = `TensorBoard does not answer: ${error}`;
    }
    await new Promise((done) => setTimeout(done, EVERY_MS));
  }
}

async function renew(runs, note, page) {
  const found = await get("./runs");
  if (found.error) {
    note.textContent = found.error;
    return;
  }
  note.textContent = told(found);
  if (!found.runs.some((run) => run.key === chosen)) chosen = found.runs[0]?.key ?? null;
  const focused = document.activeElement?.dataset?.key;
  runs.replaceChildren(...found.runs.map((run) => row(run, () => {
    chosen = run.key;
    renew(runs, note, page);
  })));
  if (focused) runs.querySelector(`button[data-key="${focused}"]`)?.focus();
  const run = found.runs.find((one) => one.key === chosen);
  if (run && shown !== `${run.key} ${run.version}`) {
    const answer = await get(`./run?key=${encodeURIComponent(run.key)}`);
    if (answer.html === undefined || run.key !== chosen) return;
    shown = `${run.key} ${run.version}`;
    page.innerHTML = answer.html;
  }
}

function told(found) {
  if (!found.searched) return `hrmdoc reads the runs … ${found.runs.length} so far`;
  if (!found.runs.length) return "There is no run below the folder yet.";
  const sick = found.runs.filter((run) => ["critical", "warning"].includes(run.verdict)).length;
  return `${found.runs.length} run${found.runs.length === 1 ? "" : "s"}, ${sick} with findings`;
}

function row(run, choose) {
  const name = make("button", { type: "button", textContent: run.name, onclick: choose });
  name.dataset.key = run.key;
  name.setAttribute("aria-pressed", String(run.key === chosen));
  name.style.cssText = "all:unset;cursor:pointer;font-weight:600;text-decoration:underline";
  const verdict = make("span", { className: `status ${run.verdict}`, textContent: run.verdict.replace("_", " ") });
  const cell = make("td", {}, name, make("br"), run.said);
  if (run.cause) cell.append(make("br"), make("span", { className: "soft", textContent: run.cause }));
  if (run.live) cell.append(make("span", { className: "soft", textContent: ` · ${run.step}, going on` }));
  const made = make("tr", {}, make("td", { className: "s" }, verdict), cell);
  made.dataset.name = run.name;
  return made;
}
