// The limits of a task on the page of its node, in a real browser.
//
// TIDEMARK_CONSOLE_URL   the console of a `tidemark up` whose node is called here
// TIDEMARK_TASK          NAMESPACE/NAME of an offline pod with a memory limit of 64 MiB and without a CPU limit
// TIDEMARK_CHROMIUM, TIDEMARK_MODULES, TIDEMARK_SCREENSHOTS   as in page.test.mjs
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { after, before, test } from "node:test";

const { TIDEMARK_CONSOLE_URL: CONSOLE, TIDEMARK_TASK: TASK, TIDEMARK_CHROMIUM, TIDEMARK_MODULES, TIDEMARK_SCREENSHOTS } = process.env;
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

test("the page of a node shows the limits of its task, by keyboard, in both languages, on a narrow screen", async () => {
  const page = await (await browser.newContext({ locale: "en-GB", viewport: { width: 320, height: 700 } })).newPage();
  page.setDefaultTimeout(PATIENCE_MS);
  await page.goto(new URL("/nodes/here", CONSOLE).href);
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
