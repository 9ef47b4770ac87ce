// The page of the console in a real browser: what a person sees and does, by mouse and by keyboard.
//
// TIDEMARK_CONSOLE_URL   the console
// TIDEMARK_CHROMIUM      the browser
// TIDEMARK_MODULES       the directory of node_modules
// TIDEMARK_SCREENSHOTS   where screenshots go
// TIDEMARK_TOKEN         of the API server: the page must not have it
// TIDEMARK_DOC_IMAGES    where one picture of each page goes, for docs/; not set: none is made
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { connect, createServer } from "node:net";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { docImage } from "./doc_image.mjs";
import { press, type } from "./keyboard.mjs";
import { looksGood } from "./looks.mjs";
import { NAMES_FLAG, openOtherSite } from "./other_site.mjs";

const { TIDEMARK_CONSOLE_URL: URL_OF_CONSOLE, TIDEMARK_CHROMIUM, TIDEMARK_MODULES, TIDEMARK_SCREENSHOTS, TIDEMARK_TOKEN } = process.env;
const require = createRequire(join(TIDEMARK_MODULES, "package.json"));
const { chromium } = require("playwright-core");
const axe = readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");

const FLAGS = [NAMES_FLAG, "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"];
const PATIENCE_MS = 300_000; // as tests/support/patience.py
const origin = new URL(URL_OF_CONSOLE).origin;

let browser;
before(async () => {
  browser = await chromium.launch({ executablePath: TIDEMARK_CHROMIUM, args: FLAGS, timeout: PATIENCE_MS });
});
after(() => browser?.close());

// A page with its errors and its requests watched.
async function open(path, { locale = "en-GB", dark = false, width = 1280, height = 900, clock = false, at = URL_OF_CONSOLE } = {}) {
  const context = await browser.newContext({ locale, colorScheme: dark ? "dark" : "light", viewport: { width, height }, bypassCSP: false });
  const page = await context.newPage();
  page.setDefaultTimeout(PATIENCE_MS);
  if (clock) await page.clock.install();
  page.problems = [];
  page.on("console", (message) => ["error", "warning"].includes(message.type()) && page.problems.push(message.text()));
  page.on("pageerror", (error) => page.problems.push(String(error)));
  page.on("request", (request) => {
    if (!request.url().startsWith(new URL(at).origin) && !request.url().startsWith("data:")) page.problems.push(`request to ${request.url()}`);
  });
  await page.goto(at.replace(/\/$/, "") + path);
  return page;
}

async function close(page) {
  assert.deepEqual(page.problems, []);
  await page.context().close();
}

async function ready(page) {
  await page.locator(".count", { hasText: /240/ }).waitFor();
  await page.locator(".tank-head strong").first().waitFor();
}

// No finding of any level. axe is added through the debugger, which the page's policy does not concern.
async function accessible(page, what) {
  if (await page.evaluate(() => !("axe" in globalThis))) await page.evaluate(axe);
  const { violations } = await page.evaluate(() => globalThis.axe.run(document, { resultTypes: ["violations"] }));
  const told = violations.map((each) => `${each.id}: ${each.help}: ${each.nodes.map((node) => node.target.join(" ")).join(", ")}`);
  assert.deepEqual(told, [], what);
}

// What `read` answers, once `good` is true of it.
async function eventually(read, good) {
  let found = await read();
  for (const deadline = Date.now() + PATIENCE_MS; !good(found) && Date.now() < deadline; found = await read()) await new Promise((wake) => setTimeout(wake, 500));
  return found;
}

async function screenshot(page, name) {
  await page.screenshot({ path: join(TIDEMARK_SCREENSHOTS, `${name}.png`), fullPage: true });
}

describe("the page Now", () => {
  test("shows the nodes and sums of the cluster", async () => {
    const page = await open("/");
    await ready(page);
    const api = await (await fetch(`${origin}/api/v1/summary`)).json();
    assert.equal(api.sums.nodes, 240);
    const shown = await page.locator(".tank").first().locator(".legend dd").first().innerText();
    const cores = Number(shown.replace(/,/g, "").match(/[\d.]+/)[0]);
    assert.ok(Math.abs(cores - api.sums.cpu.online / 1000) < 1, `${shown} for ${api.sums.cpu.online}`);
    await page.locator(".uplot canvas").waitFor();
    await docImage(page, "now");
    await screenshot(page, "now-light");
    await close(page);
  });

  test("shows a node without reports as unknown, not as 0", async () => {
    const page = await open("/?view=table&q=web-017");
    const row = page.locator("tbody tr");
    await row.waitFor();
    assert.match(await row.innerText(), /no report/);
    assert.match(await row.locator("td").nth(3).innerText(), /unknown/);
    await close(page);
  });

  test("shows a node whose agent ended as unknown, with the age of its last report", async () => {
    const page = await open("/?view=table&q=web-029");
    const row = page.locator("tbody tr");
    await row.filter({ hasText: "stale" }).waitFor();
    assert.match(await row.locator("td").nth(3).innerText(), /unknown/);
    await page.goto(`${origin}/nodes/web-029`);
    await page.locator(".facts", { hasText: /stale[\s\S]*(1 h|\d+ min) ago/ }).waitFor();
    assert.match(await page.locator(".pair").first().innerText(), /Online\s+unknown/);
    await close(page);
  });

  test("moves on the map by keyboard and opens a node", async () => {
    const page = await open("/");
    await ready(page);
    await page.locator(".map canvas").focus();
    const detail = page.locator("#map-detail");
    await detail.filter({ hasText: "database-006" }).waitFor();
    await page.keyboard.press("ArrowRight");
    await detail.filter({ hasText: "database-012" }).waitFor();
    await page.keyboard.press("End");
    await detail.filter({ hasText: "web-239" }).waitFor();
    await page.keyboard.press("Enter");
    await page.locator("h1", { hasText: "web-239" }).waitFor();
    assert.equal(await page.evaluate(() => document.activeElement.tagName), "H1", "the heading has the focus");
    await close(page);
  });

  test("reads a value of the chart by arrow keys, by the mouse and in a table", async () => {
    const page = await open("/");
    await ready(page);
    await page.locator(".uplot canvas").waitFor();
    const chart = page.getByRole("slider", { name: "Use in the last hour" });
    const line = page.locator(".hour .map-detail");
    await chart.focus();
    await page.keyboard.press("ArrowLeft"); // the latest point
    const latest = await line.innerText();
    const [, time, online] = latest.match(/^([\d:]+) · Offline .* cores · Online ([\d.,]+) cores · Water line .* cores$/);
    assert.equal(await chart.getAttribute("aria-valuetext"), latest);
    const { cpu } = await (await fetch(`${origin}/api/v1/history`)).json();
    assert.ok(cpu.online.some((each) => Math.abs(each / 1000 - Number(online.replace(",", ""))) < 1), `${online} of ${cpu.online}`);
    await page.keyboard.press("ArrowLeft");
    await line.filter({ hasNotText: time }).waitFor();
    await page.locator(".hour summary").click();
    await accessible(page, "the chart as a table");
    assert.match(await page.locator(".hour tbody tr", { hasText: time }).innerText(), new RegExp(`${time}\\s.*${online} cores`));
    const box = await page.locator(".hour .u-over").boundingBox();
    await page.mouse.move(box.x + box.width - 2, box.y + 20);
    await line.filter({ hasNotText: "Point at" }).waitFor();
    await page.mouse.move(0, 0);
    await line.filter({ hasText: "Point at" }).waitFor();
    await close(page);
  });

  test("reaches everything by Tab and shows where the focus is", async () => {
    const page = await open("/");
    await ready(page);
    const seen = [];
    for (let i = 0; i < 60; ++i) {
      await page.keyboard.press("Tab");
      const here = await page.evaluate(() => {
        const element = document.activeElement;
        return element === document.body ? "" : `${element.tagName} ${element.getAttribute("aria-label") ?? element.textContent.trim().slice(0, 30)} ${getComputedStyle(element).outlineStyle}`;
      });
      if (here === "" || here === seen[0]) break;
      seen.push(here);
    }
    for (const wanted of [/^A Skip/, /^A Pools/, /^A Offline/, /^BUTTON Search/, /^BUTTON .*中文|切换/, /^BUTTON Dark/, /^INPUT Filter/, /^SELECT Pool/, /^BUTTON Table/, /^CANVAS/]) {
      assert.ok(seen.some((each) => wanted.test(each)), `${wanted} in ${seen.join(" | ")}`);
    }
    assert.deepEqual(seen.filter((each) => each.endsWith(" none")), [], "each shows its focus");
    await close(page);
  });

  test("finds a node by / and opens it", async () => {
    const page = await open("/");
    await ready(page);
    await page.keyboard.press("/");
    await page.keyboard.type("web-10");
    await page.locator("[role=option]", { hasText: "web-100" }).waitFor();
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("Enter");
    await page.locator("h1", { hasText: "web-101" }).waitFor();
    await close(page);
  });

  test("finds a task and an online workload by / and opens them", async () => {
    const page = await open("/");
    await ready(page);
    const option = (text) => page.locator("[role=option]", { hasText: text });
    await page.keyboard.press("/");
    await page.keyboard.type("TASK-101");
    await option("jobs/task-101").waitFor();
    await page.keyboard.press("Enter");
    await page.locator("h1", { hasText: "Offline" }).waitFor();
    await page.locator(".count", { hasText: /^1 of 1/ }).waitFor();
    assert.match(await page.locator(".card").last().locator("tbody").innerText(), /task-101[\s\S]*web-101/);
    await page.locator("h1").focus();
    await page.keyboard.press("/");
    await page.keyboard.type("deployment/w");
    await option("shop/Deployment/web").filter({ hasText: "Workload" }).waitFor();
    await page.keyboard.press("Enter");
    await page.getByRole("region", { name: "shop/Deployment/web" }).waitFor();
    await page.keyboard.press("/");
    await page.keyboard.type("nothing-has-this-name");
    await page.locator("dialog [role=status]", { hasText: "Nothing found" }).waitFor();
    await close(page);
  });

  test("sorts and filters the table", async () => {
    const page = await open("/?view=table");
    await ready(page);
    await page.getByRole("button", { name: "Online" }).click();
    const first = await page.locator("tbody tr:not(.space) td").nth(3).innerText();
    await page.getByRole("button", { name: "Online" }).click();
    const last = await page.locator("tbody tr:not(.space) td").nth(3).innerText();
    assert.ok(Number(first) > Number(last), `${first} > ${last}`);
    await page.getByRole("searchbox").fill("database");
    await page.locator(".count", { hasText: "40" }).waitFor();
    assert.match(page.url(), /q=database/);
    await close(page);
  });
});

describe("other pages", () => {
  test("the node page shows every term of the offer and the node's task", async () => {
    const page = await open("/nodes/web-101");
    const rows = page.locator(".waterfall tr");
    await rows.first().waitFor();
    const text = await page.locator(".waterfall").innerText();
    for (const term of ["Capacity", "Margin above the water line", "Reserved", "Online pods", "Offered to Kubernetes"]) assert.match(text, new RegExp(term));
    assert.match(text, /\[TM-BATCH-\d+\]/, "reasons have their ids");
    await page.locator("tbody", { hasText: "task-101" }).waitFor();
    await page.getByRole("button", { name: "Memory", exact: true }).click();
    await page.locator(".waterfall", { hasText: "GiB" }).waitFor();
    const { findings } = await (await fetch(`${origin}/api/v1/problems`)).json();
    const about = findings.find((each) => each.severity !== "ok" && each.groups.some((group) => group.names.length > 0));
    const named = await open(`/nodes/${about.groups.find((group) => group.names.length > 0).names[0]}`);
    await named.locator(".problem", { hasText: about.what }).first().waitFor();
    await close(named);
    await screenshot(page, "node-light");
    await close(page);
  });

  test("the node page shows what YARN is offered and holds there, and what is unknown or contested", async () => {
    const page = await open("/nodes/database-024");
    const yarn = page.locator(".card", { has: page.locator("h2", { hasText: /^YARN$/ }) });
    await yarn.locator("tbody tr", { hasText: "spark" }).filter({ hasText: /2\.00\s*4\.0 GiB/ }).waitFor();
    await yarn.getByText(/another program set the total.*TM-YARN-011/).waitFor();
    assert.match(await yarn.innerText(), /database-024:45454[\s\S]*YARN containers\s+Unknown: this console was given no record/);
    await page.goto(`${origin}/nodes/database-018`);
    await yarn.getByText("What YARN holds is unknown").waitFor();
    await page.goto(`${origin}/nodes/web-101`);
    await page.locator(".waterfall").waitFor();
    assert.equal(await yarn.count(), 0, "YARN has nothing to do with this node");
    await close(page);
  });

  test("the node page shows a reason with ; in it as one text", async () => {
    const page = await open("/pools");
    await page.route("**/api/v1/nodes/web-001", async (route) => {
      const answer = await route.fetch();
      const json = await answer.json();
      json.conditions.find(({ type }) => type === "TidemarkIsolation").message = "cpuSuppress: enforce (1 file); oomOrder: off; mark 3; ordered by ann: cpuSuppress; batchLimits: off";
      await route.fulfill({ response: answer, json });
    });
    await page.goto(`${origin}/nodes/web-001`);
    const said = page.locator(".card", { has: page.locator("h2", { hasText: "What the agent enforces" }) }).locator("li");
    await said.first().waitFor();
    assert.deepEqual(await said.allInnerTexts(), ["cpuSuppress: enforce (1 file)", "oomOrder: off", "mark 3", "ordered by ann: cpuSuppress; batchLimits: off"]);
    await page.unrouteAll({ behavior: "ignoreErrors" });
    await close(page);
  });

  test("the node page explains a past minute, and says that no record is here", async () => {
    const page = await open("/nodes/web-101");
    await page.locator(".waterfall").waitFor();
    await page.getByText("this console was given no record of an agent").first().waitFor();
    await page.goto(`${origin}/nodes/web-101?at=${Math.floor(Date.now() / 1000)}`);
    await page.locator("h2", { hasText: "Why it offered this at" }).waitFor();
    await page.locator(".waterfall", { hasText: "Offered to Kubernetes" }).waitFor();
    await page.goto(`${origin}/nodes/web-101?at=1000000000`);
    await page.getByText("The terms are unknown").waitFor();
    await page.getByRole("button", { name: "Now", exact: true }).click();
    await page.locator(".waterfall").waitFor();
    await close(page);
  });

  test("evictions are counted by class and job, with the core-hours that were lost", async () => {
    const page = await open("/offline?phase=abnormal");
    const training = page.locator(".card").first().locator("tbody tr", { hasText: "training" });
    await training.waitFor();
    const cells = await training.locator("td").allInnerTexts();
    assert.ok(cells.includes("2") && cells.includes("16.0"), `two evictions, 2 × 4 cores × 2 h: ${cells}`);
    assert.match(await page.locator(".card", { hasText: "Most evicted jobs" }).locator("tbody").innerText(), /night/);
    await page.locator(".count", { hasText: /^1 of 1/ }).waitFor();
    assert.match(await page.locator(".card").last().locator("tbody").innerText(), /broken-1[\s\S]*failed[\s\S]*exit code 3/);
    assert.equal(await page.getByRole("button", { name: "End task" }).count(), 0, "a read-only console has no such button");
    await close(page);
  });

  test("online services are listed by business and workload, and what is unknown says so", async () => {
    const page = await open("/online");
    const web = page.getByRole("button", { name: "shop/Deployment/web" });
    await web.waitFor();
    const row = page.locator("tbody tr", { has: web });
    assert.match(await row.innerText(), /shop[\s\S]*20[\s\S]*19 \/ 20/);
    await screenshot(page, "online-light");
    await web.focus();
    await page.keyboard.press("Enter");
    await page.waitForURL(/workload=/);
    const pod = page.locator("tbody tr", { hasText: "web-1" }).first();
    await pod.waitFor();
    await page.getByText("no record here").first().waitFor();
    assert.match(await pod.innerText(), /unknown/);
    await page.goto(`${origin}/online?workload=shop/Deployment/gone`);
    await page.getByText("This workload has no pod any more").waitFor();
    await close(page);
  });

  test("an online service shows the use that the manager learned, by hour", async () => {
    const online = async () => (await (await fetch(`${origin}/api/v1/online?workload=shop/Deployment/web`)).json()).workloads[0];
    const web = await eventually(online, ({ hoursSeen }) => hoursSeen > 0);
    const used = web.members.map((each) => each.cpuUsed).filter((each) => each !== null);
    const hour = web.cpuP95.indexOf(Math.max(...web.cpuP95)); // null counts as 0
    assert.ok(Math.abs(web.cpuP95[hour] / Math.max(...used) - 1) < 0.1, `${web.cpuP95[hour]} of ${used}`);
    const page = await open("/online?workload=shop/Deployment/web");
    const card = page.getByRole("region", { name: "shop/Deployment/web" });
    await card.getByRole("img", { name: new RegExp(`${String(hour).padStart(2, "0")}:00`) }).waitFor();
    await card.locator("details summary").first().click();
    await card.locator("tbody tr", { hasText: `${String(hour).padStart(2, "0")}:00` }).first().waitFor();
    await close(page);
  });

  test("offline work is counted by class, with the reason of what waits", async () => {
    const page = await open("/offline?phase=waiting");
    await page.locator(".count", { hasText: "12" }).waitFor();
    const text = await page.locator("main").innerText();
    for (const word of ["spark", "transcode", "training", "Insufficient kubernetes.io/batch-cpu"]) assert.ok(text.includes(word), word);
    await screenshot(page, "offline-light");
    await close(page);
  });

  test("decisions are filtered by node and person by keyboard, and exported", async () => {
    const page = await open("/decisions?range=all");
    await page.locator(".count", { hasText: /entries/ }).waitFor();
    await page.locator("tbody", { hasText: "journal" }).waitFor({ state: "attached" });
    await screenshot(page, "decisions-light");
    await type(page.getByRole("textbox", { name: "Node" }), "web-100", 200); // as slowly as a person: the page is drawn anew meanwhile
    await page.keyboard.press("Enter");
    await page.waitForURL(/node=web-100/);
    await page.locator("tbody a", { hasText: "web-100" }).first().waitFor();
    await page.waitForFunction(() => [...document.querySelectorAll("tbody tr:not(.space) td:nth-child(3)")].every((each) => /web-100/.test(each.textContent)));
    const text = await page.locator("tbody").innerText();
    assert.match(text, /\[TM-[A-Z]+-\d+\]/, "each decision has the id of its reason");
    const [file] = await Promise.all([page.waitForEvent("download"), press(page.getByRole("link", { name: "CSV" }))]);
    const csv = readFileSync(await file.path(), "utf8");
    assert.match(csv, /^time,source,by,object/);
    const lines = csv.split("\r\n").slice(1, -1);
    assert.ok(lines.length > 0 && lines.every((line) => line.includes("web-100")), "the export has the filter of the page");
    const [clicked] = await Promise.all([page.waitForEvent("download"), page.getByRole("link", { name: "JSON" }).click()]);
    const { decisions } = JSON.parse(readFileSync(await clicked.path(), "utf8"));
    assert.ok(decisions.length >= lines.length && decisions.every((each) => each.node === "web-100"), "the same by a click, as JSON");
    await type(page.getByRole("textbox", { name: "Person or process" }), "nobody@nowhere");
    await page.keyboard.press("Enter");
    await page.locator(".count", { hasText: /^0/ }).waitFor();
    await close(page);
  });

  test("decisions go back page by page, and between two times", async () => {
    const page = await open("/decisions?range=all");
    await page.locator("tbody").waitFor();
    const read = async (more = "") => (await (await fetch(`${origin}/api/v1/decisions?limit=100${more}`)).json()).decisions;
    await press(page.getByRole("button", { name: "Older" }));
    await page.waitForURL(/until=\d+/);
    assert.equal(await page.evaluate(() => document.activeElement.tagName), "H1");
    const until = Number(new URL(page.url()).searchParams.get("until"));
    assert.ok(until <= (await read()).at(-1).at + 1, "not later than the rows before");
    const older = await read(`&until=${until}`);
    await page.locator(".count", { hasText: new RegExp(`\\b${older.length} entries`) }).waitFor();
    await page.getByRole("button", { name: "Newest" }).click();
    await page.waitForURL((url) => !url.searchParams.has("until"));
    await page.getByLabel("To", { exact: true }).fill("2001-01-01T00:00:00");
    await page.getByLabel("To", { exact: true }).blur();
    await page.locator(".count", { hasText: /^0 entries/ }).waitFor();
    await page.getByLabel("From", { exact: true }).fill("2001-01-01T00:00:00");
    await page.getByLabel("To", { exact: true }).fill("");
    await page.getByLabel("To", { exact: true }).blur();
    await page.waitForURL((url) => url.searchParams.get("since") > 0 && !url.searchParams.has("until"));
    await page.locator(".count", { hasText: "100 entries" }).waitFor();
    await page.getByRole("button", { name: "Hour", exact: true }).click();
    await page.waitForURL((url) => !url.searchParams.has("since"));
    await close(page);
  });

  test("settings show who runs which revision and what an edit changed", async () => {
    const page = await open("/settings");
    await page.locator("table:visible").first().waitFor();
    const api = await (await fetch(`${origin}/api/v1/settings`)).json();
    assert.equal(api.current.revision, api.revisions[0].number, "the manager took the edit");
    assert.equal(api.revisions.reduce((sum, each) => sum + each.nodes, 0), 240, "each node has one revision");
    await page.getByLabel("Before").selectOption(String(api.revisions[1].number));
    const diff = page.locator(".diff").filter({ hasText: "cpu: 75" });
    await diff.waitFor();
    assert.match(await diff.locator(".diff-plus").innerText(), /cpu: 75/);
    assert.match(await diff.locator(".diff-minus").innerText(), /cpu: 80/);
    await docImage(page, "settings");
    await screenshot(page, "settings-light");
    await close(page);
  });

  test("the calendar shows a week with ramps, a freeze and a holiday, and moves by week", async () => {
    const page = await open("/calendar?pool=database");
    await page.locator(".span-rampingUp").first().waitFor();
    await page.locator(".uplot canvas").waitFor();
    const tomorrow = new Date(Date.now() + 86400_000);
    if (tomorrow.getUTCDay() !== 1) await page.locator(".day .span-frozen").first().waitFor();
    assert.match(await page.locator(".rest", { hasText: "Wed" }).innerText(), /holiday/);
    await docImage(page, "calendar");
    await screenshot(page, "calendar-light");
    const title = await page.locator(".card h2").first().innerText();
    await page.getByRole("button", { name: "Week after" }).click();
    await page.waitForFunction((before) => document.querySelector(".card h2")?.textContent !== before, title);
    assert.match(page.url(), /at=\d+/);
    await page.getByRole("button", { name: "This week" }).click();
    await page.locator(".card h2", { hasText: title }).waitFor();
    await close(page);
  });

  test("the platform shows components, the leader, kernels and refused kernel files", async () => {
    const page = await open("/platform");
    await page.locator("table", { hasText: "tidemark-agent-2" }).waitFor();
    const text = await page.locator("main").innerText();
    for (const word of ["0.1.0", "tidemark-manager-0", "6.1", "6.12", "effective: cpu.idle, memory.low; refused: io.weight", "no agent reported", "No webhook of Tidemark is registered"]) assert.ok(text.includes(word), word);
    const lost = page.locator(".card", { has: page.locator("h2", { hasText: "Lost with a newer kernel" }) });
    assert.match(await lost.innerText(), /memory\.low[\s\S]*6\.12 cannot use, and agents on 6\.1 can/);
    await page.route("**/api/v1/platform", async (route) => {
      const answer = await route.fetch();
      const json = await answer.json();
      await route.fulfill({ response: answer, json: { ...json, kernels: json.kernels.filter(({ family }) => family === "6.1") } });
    });
    await lost.getByText("nothing to compare").waitFor();
    assert.match(await lost.innerText(), /cpu\.bvt_warp_ns[\s\S]*memory\.min[\s\S]*Kernel 6\.1 lacks these files/);
    await page.unrouteAll({ behavior: "ignoreErrors" });
    await lost.getByText("6.12 cannot use").waitFor();
    await docImage(page, "platform");
    await screenshot(page, "platform-light");
    await close(page);
  });

  test("a support bundle holds what the pages show, and no secret", async () => {
    const page = await open("/platform");
    const [file] = await Promise.all([page.waitForEvent("download"), page.getByRole("button", { name: "Download" }).click()]);
    const text = readFileSync(await file.path(), "utf8");
    const bundle = JSON.parse(text);
    assert.equal(bundle.summary.sums.nodes, 240);
    assert.ok(bundle.decisions.decisions.length > 0 && bundle.platform.kernels.length === 2 && bundle.settings.revisions.length >= 2);
    assert.doesNotMatch(text, new RegExp(TIDEMARK_TOKEN), "the token of the API server");
    assert.doesNotMatch(text, /BEGIN [A-Z ]*(KEY|CERTIFICATE)/);
    await close(page);
  });

  test("YARN shows what is offered, held, unknown and contested", async () => {
    const page = await open("/yarn");
    await page.locator("a", { hasText: "blue" }).waitFor();
    const row = (name) => page.locator("tbody tr", { hasText: name });
    assert.match(await row("database-018").innerText(), /unknown/, "of an absent ResourceManager it is unknown what it holds");
    assert.match(await row("database-024").innerText(), /TM-YARN-011/);
    assert.doesNotMatch(await row("database-006").innerText(), /unknown/);
    await docImage(page, "yarn");
    await screenshot(page, "yarn-light");
    await close(page);
  });

  test("join and leave show the node without an agent and what is left on the node that is off", async () => {
    const page = await open("/join");
    const card = (title) => page.locator(".card", { has: page.locator("h2", { hasText: title }) });
    await card("Not in yet").locator("a", { hasText: "web-017" }).waitFor();
    const off = card("Draining and off").locator("tbody tr", { hasText: "web-005" });
    await off.waitFor();
    assert.match(await off.innerText(), /no$/, "its task still runs");
    assert.equal(await card("Draining and off").locator("tbody tr").count(), 1);
    assert.equal(await page.getByRole("checkbox").count(), 0, "a read-only console gives no order");
    await docImage(page, "join");
    await screenshot(page, "join-light");
    await close(page);
  });

  test("an unknown page and an unknown node say so", async () => {
    const page = await open("/nodes/nowhere");
    await page.getByRole("alert").filter({ hasText: "nowhere" }).waitFor();
    page.problems = page.problems.filter((each) => !/404/.test(each)); // the browser logs the answer
    await close(page);
    assert.equal((await fetch(`${origin}/nothing`)).status, 404);
  });
});

describe("a change in the cluster", () => {
  test("appears without a reload", async () => {
    const page = await open("/");
    await ready(page);
    await page.evaluate(() => (globalThis.kept = true));
    await fetch(process.env.TIDEMARK_CHANGE_URL, { method: "POST" });
    await page.locator(".count", { hasText: "241" }).waitFor();
    assert.equal(await page.evaluate(() => globalThis.kept), true);
    await fetch(process.env.TIDEMARK_CHANGE_URL, { method: "DELETE" });
    await page.locator(".count", { hasText: "240" }).waitFor();
    await close(page);
  });
});

describe("a page that loses the console", () => {
  const change = (method) => fetch(process.env.TIDEMARK_CHANGE_URL, { method });

  test("says for how long the connection is lost, and then shows what happened meanwhile", async () => {
    const page = await open("/", { clock: true });
    await ready(page);
    await page.context().setOffline(true);
    await page.clock.fastForward("05:00");
    await page.locator(".warnings", { hasText: /connection lost, data is (5 min|3\d\d s) old/ }).waitFor();
    await page.locator(".count", { hasText: "240" }).waitFor();
    await change("POST");
    await page.context().setOffline(false);
    await page.clock.runFor(5000);
    await page.locator(".count", { hasText: "241" }).waitFor();
    await page.locator(".connection-live").waitFor();
    assert.equal(await page.locator(".warnings p").count(), 0);
    await change("DELETE");
    await page.locator(".count", { hasText: "240" }).waitFor();
    page.problems = page.problems.filter((each) => !/ERR_INTERNET_DISCONNECTED/.test(each));
    await close(page);
  });

  test("notices a network that drops all packets, while no connection ends", async () => {
    const sockets = new Set();
    let cut = false;
    const proxy = createServer((from) => {
      const to = connect(Number(new URL(origin).port), "127.0.0.1");
      for (const [one, other] of [[from, to], [to, from]]) {
        sockets.add(one);
        one.on("error", () => {}).on("close", () => other.destroy());
        one.pipe(other);
        if (cut) one.pause();
      }
    });
    await new Promise((listens) => proxy.listen(0, "127.0.0.1", listens));
    const network = (drops) => {
      cut = drops;
      for (const each of sockets) drops ? each.pause() : each.resume();
    };
    const page = await open("/", { clock: true, at: `http://127.0.0.1:${proxy.address().port}/` });
    await ready(page);
    network(true);
    for (let i = 0; i < 6; ++i) await page.clock.fastForward(10_000); // in steps: the machine does not sleep
    await page.locator(".warnings", { hasText: "connection lost" }).waitFor();
    await change("POST");
    await page.clock.fastForward("04:00");
    await page.locator(".warnings", { hasText: /data is (5 min|3\d\d s) old/ }).waitFor();
    await page.locator(".count", { hasText: "240" }).waitFor();
    network(false);
    await page.locator(".count", { hasText: "241" }).waitFor();
    await page.locator(".connection-live").waitFor();
    await change("DELETE");
    await page.locator(".count", { hasText: "240" }).waitFor();
    await close(page);
    for (const each of sockets) each.destroy();
    await new Promise((over) => proxy.close(over));
  });

  test("connects anew after the machine slept", async () => {
    const page = await open("/", { clock: true });
    await ready(page);
    const [again] = await Promise.all([page.waitForRequest(/api\/v1\/stream/), page.clock.fastForward("08:00:00")]);
    assert.ok(again);
    await page.locator(".connection-live").waitFor();
    await change("POST");
    await page.locator(".count", { hasText: "241" }).waitFor();
    await change("DELETE");
    await page.locator(".count", { hasText: "240" }).waitFor();
    await close(page);
  });
});

describe("a stream that ends", () => {
  const change = (method) => fetch(process.env.TIDEMARK_CHANGE_URL, { method });

  test("as the console plans it is opened anew, with the frames after the last one", async () => {
    const page = await open("/pools");
    await page.locator(".connection-live").waitFor();
    const summary = await (await fetch(`${origin}/api/v1/summary`)).json();
    const body = `id: x-1\nevent: delta\ndata: ${JSON.stringify({ rows: [], gone: [], summary })}\n\nevent: again\ndata: {}\n\n`;
    await page.route(/stream$/, (route) => route.fulfill({ contentType: "text/event-stream", body }));
    await Promise.all([page.waitForRequest(/stream\?after=x-1$/), page.goto(`${origin}/`)]);
    await ready(page);
    await close(page);
  });

  test("is no lost connection while the browser resumes it", async () => {
    const sockets = new Set();
    const proxy = createServer((from) => {
      const to = connect(Number(new URL(origin).port), "127.0.0.1");
      for (const [one, other] of [[from, to], [to, from]]) {
        sockets.add(one);
        one.on("error", () => {}).on("close", () => other.destroy());
        one.pipe(other);
      }
    });
    await new Promise((listens) => proxy.listen(0, "127.0.0.1", listens));
    const page = await open("/", { at: `http://127.0.0.1:${proxy.address().port}/` });
    await ready(page);
    await page.evaluate(() => {
      globalThis.seen = [];
      new MutationObserver(() => globalThis.seen.push(document.querySelector(".warnings")?.textContent ?? "", document.querySelector(".connection").className)).observe(document.body, { subtree: true, childList: true, attributes: true });
    });
    await Promise.all([page.waitForRequest(/stream/), sockets.forEach((each) => each.destroy())]);
    await change("POST");
    await page.locator(".count", { hasText: "241" }).waitFor();
    await change("DELETE");
    await page.locator(".count", { hasText: "240" }).waitFor();
    const seen = new Set(await page.evaluate(() => globalThis.seen));
    assert.deepEqual(seen, new Set(["", "connection connection-live"]));
    page.problems = page.problems.filter((each) => !/net::ERR_/.test(each));
    await close(page);
    for (const each of sockets) each.destroy();
    await new Promise((over) => proxy.close(over));
  });

  test("with a hidden tab goes on where it was when the tab is shown", async () => {
    const page = await open("/");
    await ready(page);
    const hide = (hidden) =>
      page.evaluate((value) => {
        Object.defineProperty(document, "hidden", { configurable: true, get: () => value });
        document.dispatchEvent(new Event("visibilitychange"));
      }, hidden);
    await Promise.all([page.waitForEvent("requestfailed", (request) => request.url().endsWith("/stream")), hide(true)]);
    await change("POST");
    await Promise.all([page.waitForRequest(/stream\?after=/), hide(false)]);
    await page.locator(".count", { hasText: "241" }).waitFor();
    await change("DELETE");
    await page.locator(".count", { hasText: "240" }).waitFor();
    await close(page);
  });
});

describe("the code of other pages", () => {
  test("is loaded behind the first page, so that they open without the console", async () => {
    const page = await open("/");
    await Promise.all([page.waitForResponse(/assets\/further-/), ready(page)]);
    await page.context().setOffline(true);
    await page.getByRole("link", { name: "Platform" }).click();
    await page.locator("h1", { hasText: "Platform" }).waitFor();
    await page.getByRole("alert").filter({ hasText: "Cannot show this" }).waitFor();
    await page.context().setOffline(false);
    await page.locator("table", { hasText: "tidemark-agent-2" }).waitFor();
    page.problems = page.problems.filter((each) => !/ERR_INTERNET_DISCONNECTED/.test(each));
    await close(page);
  });

  test("may be missing: the page says so and can be loaded again", async () => {
    const page = await open("/");
    await page.route(/assets\/further-/, (route) => route.abort());
    await page.goto(`${origin}/platform`);
    await page.getByRole("alert").filter({ hasText: "Cannot show this" }).waitFor();
    await page.unroute(/assets\/further-/);
    await page.getByRole("button", { name: "Load the page again" }).click();
    await page.locator("h1", { hasText: "Platform" }).waitFor();
    page.problems = page.problems.filter((each) => !/ERR_FAILED/.test(each));
    await close(page);
  });
});

describe("an answer that stays away", () => {
  test("is shown as old, with its age and why", async () => {
    const page = await open("/pools");
    await page.locator("h2 a", { hasText: "web" }).waitFor();
    await page.route("**/api/v1/pools", (route) => route.fulfill({ status: 503, contentType: "application/problem+json", body: JSON.stringify({ type: "about:blank", title: "t", status: 503, detail: "too busy" }) }));
    await page.locator(".warnings", { hasText: /api\/v1\/pools has not answered for \d+ s.*too busy/ }).waitFor();
    assert.equal(await page.locator("h2 a", { hasText: "web" }).count(), 1);
    await page.unroute("**/api/v1/pools");
    await page.locator(".warnings p").waitFor({ state: "detached" });
    page.problems = page.problems.filter((each) => !/503/.test(each));
    await close(page);
  });
});

const PAGES = ["/", "/?view=table", "/nodes/web-100", "/nodes/database-024", "/pools", "/pools/web", "/offline", "/online", "/online?workload=shop/Deployment/web", "/decisions?range=all", "/settings", "/calendar?pool=database", "/platform", "/yarn", "/spark", "/join"];

describe("each page at three widths, in both languages and themes", () => {
  for (const path of PAGES) {
    test(path, async () => {
      const page = await open(path);
      await page.locator(".card").first().waitFor();
      if (/online|decisions|settings|calendar|platform|yarn|join/.test(path)) await page.locator("table:visible").first().waitFor();
      if (path.startsWith("/?") || path === "/") await ready(page);
      if (path.startsWith("/nodes")) await page.locator(".waterfall").waitFor();
      await looksGood(page, path === "/" ? "now" : path, accessible);
      await close(page);
    });
  }
});

// Behind the others: the day has a point each minute, and the first one may be of a time before the pods.
test("pools show their line, and a pool its week and its orders", async () => {
  const page = await open("/pools");
  await page.locator("h2 a", { hasText: "web" }).click();
  await page.locator("h1", { hasText: "web" }).waitFor();
  await page.locator(".uplot canvas").first().waitFor();
  assert.match(await page.locator(".changes").innerText(), /night \(open\)/);
  const orders = page.locator(".card", { has: page.locator("h2", { hasText: "Orders" }) });
  assert.match(await orders.locator("tbody tr").innerText(), /off\s+web-005\s+1\s+✓ in force\s+unknown\s+until the next order\s+label tidemark.io\/state/);
  const rollout = page.locator(".card", { has: page.locator("h2", { hasText: "Rollout of the settings" }) });
  await rollout.getByText(/revision \d+: In force on \d+ of \d+ nodes/).first().waitFor();
  const { nodes, revisions } = await (await fetch(`${origin}/api/v1/settings?pool=web`)).json();
  assert.deepEqual([nodes, revisions.reduce((sum, each) => sum + each.nodes, 0)], [200, 200], "only nodes of the pool are counted");
  const day = page.locator(".card", { has: page.locator("h2", { hasText: "The last day" }) });
  await day.locator(".uplot canvas").waitFor();
  const history = await eventually(async () => (await fetch(`${origin}/api/v1/history?pool=web`)).json(), ({ cpu }) => cpu.sold.at(-1) > 0);
  assert.ok(history.cpu.sold.at(-1) > 0 && history.stepSeconds === 60, JSON.stringify(history.cpu.sold));
  await docImage(page, "pool");
  await screenshot(page, "pool-light");
  await close(page);
});

describe("both languages and themes", () => {
  test("the search dialog has no finding", async () => {
    const page = await open("/");
    await ready(page);
    await page.keyboard.press("/");
    await page.locator("[role=option]").first().waitFor();
    await accessible(page, "search");
    await close(page);
  });

  test("Chinese is drawn with a Chinese font and has the words of the glossary", async () => {
    const page = await open("/", { locale: "zh-CN" });
    await ready(page);
    const text = await page.locator("body").innerText();
    for (const word of ["水位线", "离线", "在线"]) assert.ok(text.includes(word), word);
    const widths = await page.evaluate(() => {
      const pen = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
      pen.font = "40px sans-serif";
      const ink = (glyph) => {
        pen.clearRect(0, 0, 80, 80);
        pen.fillText(glyph, 10, 60);
        return pen.getImageData(0, 0, 80, 80).data.filter((value, i) => i % 4 === 3 && value > 0).length;
      };
      return [ink("水"), ink("离"), ink("\uFFFF")];
    });
    assert.notEqual(widths[0], widths[1], "two characters look different");
    await close(page);
  });

  test("the language and the theme can be changed, and stay", async () => {
    const page = await open("/");
    await ready(page);
    await page.getByRole("button", { name: "切换到中文" }).click();
    await page.locator("h1", { hasText: "现状" }).waitFor();
    await page.getByRole("button", { name: "深色" }).click();
    await page.locator("html[data-theme=dark]").waitFor();
    await page.reload();
    await page.locator("h1", { hasText: "现状" }).waitFor();
    await close(page);
  });
});

describe("the server", () => {
  test("refuses another host and a page of another site", async () => {
    const page = await open("/");
    await ready(page);
    const headers = (await page.request.get(`${origin}/`)).headers();
    assert.match(headers["content-security-policy"], /default-src 'none'.*script-src 'self'/);
    await close(page);
    const other = await openOtherSite(browser);
    await other.page.goto(other.url);
    const failures = [];
    other.page.on("requestfailed", (request) => failures.push(request.failure().errorText));
    const seen = await other.page.evaluate(async (at) => {
      const read = await fetch(`${at}/api/v1/summary`).then((answer) => `read ${answer.status}`, () => "refused");
      const unread = await fetch(`${at}/api/v1/summary`, { mode: "no-cors" }).then((answer) => answer.type, () => "refused");
      const stream = await new Promise((over) => {
        const source = new EventSource(`${at}/api/v1/stream`);
        source.onopen = () => over("open");
        source.onerror = () => over("refused");
      });
      return { read, stream, unread };
    }, origin);
    assert.deepEqual(seen, { read: "refused", stream: "refused", unread: "refused" });
    for (const deadline = Date.now() + PATIENCE_MS; failures.length < 3 && Date.now() < deadline; ) await other.page.waitForTimeout(50); // they are told late
    assert.deepEqual(failures, ["net::ERR_FAILED", "net::ERR_BLOCKED_BY_RESPONSE.NotSameOrigin", "net::ERR_FAILED"], "by the headers of the answer");
    await other.close();
  });

  test("is in no frame of another site", async () => {
    const other = await openOtherSite(browser, `<iframe src="${origin}/"></iframe>`);
    const [refused] = await Promise.all([other.page.waitForEvent("requestfailed"), other.page.goto(other.url)]);
    assert.deepEqual([refused.url(), refused.failure().errorText], [`${origin}/`, "net::ERR_BLOCKED_BY_RESPONSE"]);
    await other.close();
  });

  test("does not answer under a name that an attacker gives to this machine", async () => {
    const context = await browser.newContext();
    const page = await context.newPage();
    const answer = await page.goto(`http://attacker.example:${new URL(origin).port}/`);
    assert.equal(answer.status(), 421);
    assert.equal(await page.evaluate(() => fetch("/api/v1/summary").then((got) => got.status)), 421);
    await context.close();
  });
});
