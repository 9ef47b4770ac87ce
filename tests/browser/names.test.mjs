// Markup in names and texts of the cluster, in a real browser.
//
// TIDEMARK_CONSOLE_URL   a console with --write
// TIDEMARK_MARKUP        in settings that are refused, a reason, a condition and an event
// TIDEMARK_CHROMIUM, TIDEMARK_MODULES   as in page.test.mjs
import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { join } from "node:path";
import { after, before, test } from "node:test";

const { TIDEMARK_CONSOLE_URL: CONSOLE, TIDEMARK_MARKUP: MARKUP, TIDEMARK_CHROMIUM, TIDEMARK_MODULES } = process.env;
const { chromium } = createRequire(join(TIDEMARK_MODULES, "package.json"))("playwright-core");
const FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"];
const PATIENCE_MS = 60_000;

let browser;
before(async () => {
  browser = await chromium.launch({ executablePath: TIDEMARK_CHROMIUM, args: FLAGS });
  const headers = { "content-type": "application/json", "x-tidemark-console": "1" };
  const answer = await fetch(new URL("api/v1/overrides", CONSOLE), { method: "POST", headers, body: JSON.stringify({ cpuPercent: 40, lastsSeconds: 600, reason: MARKUP }) });
  assert.equal(answer.status, 200);
});
after(() => browser?.close());

for (const path of ["/", "/?view=table", "/pools", `/pools/${encodeURIComponent(MARKUP)}`, "/offline", "/nodes/web-1", "/decisions", "/settings"]) {
  test(`is text at ${path}`, async () => {
    // Without the policy of the page, so that nothing but the page itself keeps the markup from running.
    const context = await browser.newContext({ locale: "en-GB", bypassCSP: true });
    const page = await context.newPage();
    page.setDefaultTimeout(PATIENCE_MS);
    await page.goto(CONSOLE.replace(/\/$/, "") + path);
    await page.getByText(MARKUP).first().waitFor({ state: "attached" });
    assert.equal(await page.locator("img, main script").count(), 0);
    assert.equal(await page.evaluate(() => globalThis.hit), undefined);
    await context.close();
  });
}
