// Pages of one machine in a real browser: what its agent measured, limited and wrote.
//
// TIDEMARK_CONSOLE_URL   the console of a `tidemark up` whose node is called here, with the pods of test_machine.py
// TIDEMARK_TASK          NAMESPACE/NAME of an offline pod with a memory limit of 64 MiB and without a CPU limit
// TIDEMARK_EVICTED       an offline pod that POST at TIDEMARK_EVICT_URL evicts
// TIDEMARK_CHROMIUM, TIDEMARK_MODULES, TIDEMARK_SCREENSHOTS, TIDEMARK_DOC_IMAGES   as in page.test.mjs
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { docImage } from "./doc_image.mjs";

const { TIDEMARK_CONSOLE_URL: CONSOLE, TIDEMARK_TASK: TASK, TIDEMARK_EVICTED, TIDEMARK_EVICT_URL, TIDEMARK_CHROMIUM, TIDEMARK_MODULES, TIDEMARK_SCREENSHOTS } = process.env;
const require = createRequire(join(TIDEMARK_MODULES, "package.json"));
const { chromium } = require("playwright-core");
const axe = readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");
const FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"];
const PATIENCE_MS = 240_000; // the agent writes its record each half minute

let browser;
before(async () => {
  browser = await chromium.launch({ executablePath: TIDEMARK_CHROMIUM, args: FLAGS });
});
after(() => browser?.close());

async function open(path, width = 1280, height = 900) {
  const page = await (await browser.newContext({ locale: "en-GB", viewport: { width, height } })).newPage();
  page.setDefaultTimeout(PATIENCE_MS);
  await page.goto(new URL(path, CONSOLE).href);
  return page;
}

test("the page of a node shows the limits of its task, by keyboard, in both languages, on a narrow screen", async () => {
  const page = await open("/nodes/here", 320, 700);
  const task = page.locator("summary", { hasText: TASK });
  await task.filter({ hasText: /✓ in force: \d/ }).waitFor();
  await task.focus();
  await page.keyboard.press("Enter");
  const limits = page.getByRole("group", { name: `Limits of ${TASK}` });
  const row = (file) => limits.locator("tbody tr", { hasText: file }).filter({ hasText: "the whole task" });
  assert.match(await row("memory.limit_in_bytes").innerText(), /64 MiB[\s\S]*✓ in force[\s\S]*\[TM-LIMIT-001\]/);
  assert.match(await row("cpu.cfs_quota_us").innerText(), /no limit[\s\S]*\[TM-LIMIT-\d+\]/);
  await page.keyboard.press("Tab");
  assert.equal(await limits.evaluate((table) => table === document.activeElement), true, "the table is scrolled by keyboard");
  for (const language of ["en", "zh-CN"]) {
    if (language !== "en") await page.locator(".actions button[lang]").click();
    await page.locator(`html[lang=${language}]`).waitFor();
    const wide = await page.evaluate(() => document.documentElement.scrollWidth);
    assert.ok(wide <= 320, `${language} is ${wide} px wide`);
    await page.evaluate(axe);
    const { violations } = await page.evaluate(() => globalThis.axe.run(document, { resultTypes: ["violations"] }));
    assert.deepEqual(violations.map((each) => `${each.id}: ${each.nodes.map((node) => node.target.join(" ")).join(", ")}`), [], language);
  }
  await page.getByText("生效中").first().waitFor();
  await page.screenshot({ path: join(TIDEMARK_SCREENSHOTS, "limits.png"), fullPage: true });
});

test("the page of a node shows what its agent measured", async () => {
  const page = await open("/nodes/here");
  await page.getByRole("button", { name: "Memory", exact: true }).click();
  await page.locator(".waterfall tr", { hasText: "Offered to Kubernetes" }).filter({ hasText: /[\d.]+ [GM]iB/ }).waitFor();
  const rows = page.locator(".card", { has: page.locator("h2", { hasText: "Offline tasks" }) }).locator("tbody tr", { hasText: "running" });
  await rows.filter({ hasText: /nightly.*report.*64 MiB\s*[4-6]\d(\.\d)? MiB/ }).waitFor();
  assert.equal(await rows.count(), 4);
  await docImage(page, "node");
});

test("online services show the use of each workload, now and by hour", async () => {
  const page = await open("/online");
  const web = page.locator("tbody tr", { hasText: "default/StatefulSet/web" });
  await web.filter({ hasText: /shop2\s*0\.\d+\s*0\.20\s*[\d.]+ MiB\s*2 \/ 2/ }).locator(".hours").waitFor();
  assert.match(await page.locator("tbody").first().innerText(), /search\s+1\s+1[\s\S]*shop\s+2\s+3/);
  await docImage(page, "online");
});

test("offline work shows each class, and the eviction of a task", async () => {
  const page = await open("/offline");
  await page.locator("tbody tr", { hasText: TIDEMARK_EVICTED }).filter({ hasText: "running" }).waitFor();
  assert.equal((await fetch(TIDEMARK_EVICT_URL, { method: "POST" })).status, 204);
  await page.locator(".card", { hasText: "Most evicted jobs" }).locator("tbody tr", { hasText: "encode" }).waitFor();
  const tasks = page.locator(".card").last();
  await tasks.locator("tbody tr", { hasText: "archive" }).filter({ hasText: /waiting[\s\S]*1\.0 PiB wanted/ }).waitFor();
  await tasks.locator("tbody tr", { hasText: "broken" }).filter({ hasText: /failed[\s\S]*exit code 3/ }).waitFor();
  const classes = await page.locator(".card").first().locator("tbody").innerText();
  for (const word of ["transcode", "report", "training"]) assert.ok(classes.includes(word), word);
  await docImage(page, "offline");
});

test("decisions show what manager and agent wrote, and fit into the window", async () => {
  const page = await open("/decisions?range=all");
  const rows = page.locator("tbody tr");
  await rows.filter({ hasText: /agent here[\s\S]*CgroupFile\/\S+memory\.limit_in_bytes/ }).first().waitFor();
  await rows.filter({ hasText: /journal[\s\S]*\[TM-NODE-001\]/ }).first().waitFor();
  const hidden = await page.locator(".table").evaluate((table) => table.scrollWidth - table.clientWidth);
  assert.equal(hidden, 0, "no column is out of sight");
  await docImage(page, "decisions");
});
