// Login to the console by an issuer of OpenID Connect, in a real browser, with a real API server that trusts the issuer.
//
// TIDEMARK_CLUSTER_URL   a console behind TLS
// TIDEMARK_ISSUER_URL    the issuer
// TIDEMARK_CHROMIUM, TIDEMARK_MODULES, TIDEMARK_SCREENSHOTS   as in page.test.mjs
import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";

const { TIDEMARK_CLUSTER_URL: CONSOLE, TIDEMARK_ISSUER_URL: ISSUER, TIDEMARK_CHROMIUM, TIDEMARK_MODULES, TIDEMARK_SCREENSHOTS } = process.env;
const require = createRequire(join(TIDEMARK_MODULES, "package.json"));
const { chromium } = require("playwright-core");

const FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"];
const PATIENCE_MS = 60_000;
const ID_TOKEN_MS = 20_000; // as in issuer.mjs
const CACHED_MS = 15_000; // the API server keeps what it found about a token for 10 s

let browser;
const lasting = {}; // two sessions whose ID tokens end while the other tests run
before(async () => {
  browser = await chromium.launch({ executablePath: TIDEMARK_CHROMIUM, args: FLAGS });
  for (const name of ["page", "other"]) {
    lasting[name] = await open();
    await logIn(lasting[name], "ann");
    await lasting[name].getByText("oidc:ann").waitFor();
  }
  await lasting.other.route("**/api/v1/session", (route) => route.abort()); // it gets no further token
  lasting.first = await cookies(lasting.page);
  lasting.over = Date.now() + ID_TOKEN_MS + CACHED_MS;
});
after(() => browser?.close());

async function open(path = "/") {
  const context = await browser.newContext({ locale: "en-GB", ignoreHTTPSErrors: true });
  const page = await context.newPage();
  page.setDefaultTimeout(PATIENCE_MS);
  await page.goto(CONSOLE.replace(/\/$/, "") + path);
  return page;
}
// Up to the form of the issuer.
async function begin(page) {
  await page.getByRole("link", { name: /Log in by localhost/ }).click();
  await page.waitForURL(`${ISSUER}/interaction/**`);
}
async function logIn(page, name) {
  await begin(page);
  await page.locator("input[name=login]").fill(name);
  await page.locator("input[name=password]").fill("any");
  await page.locator("button[type=submit]").click();
  await page.getByRole("button", { name: /Continue/ }).click();
}
// Those of the console: the issuer has the same host.
const cookies = async (page) => (await page.context().cookies(CONSOLE)).filter((each) => each.name.includes("tidemark"));

describe("login by an issuer", () => {
  test("gives a session, and a write carries the person's ID token", async () => {
    const page = await open("/pools/default");
    await page.screenshot({ path: join(TIDEMARK_SCREENSHOTS, "oidc-login.png") });
    await logIn(page, "ann");
    await page.waitForURL(CONSOLE);
    await page.getByText("oidc:ann").waitFor();
    const all = await cookies(page);
    assert.deepEqual(all.map((each) => [each.name, each.httpOnly, each.secure, each.sameSite]), [["__Host-tidemark", true, true, "Strict"]], "the login cookie is gone");
    assert.equal(new URL(page.url()).search, "", "no code stays in the address");
    const written = await page.evaluate(async () => {
      const headers = { "content-type": "application/json", "x-tidemark-console": "1" };
      const answer = await fetch("/api/v1/overrides", { method: "POST", headers, body: JSON.stringify({ cpuPercent: 40, lastsSeconds: 600, reason: "by the issuer" }) });
      return [answer.status, await answer.json()];
    });
    assert.equal(written[0], 200, JSON.stringify(written[1]));
    assert.equal(written[1].override.by, "oidc:ann");
    await page.reload();
    await page.getByText("oidc:ann").waitFor();
    const revoked = async () => Number(await (await page.context().request.get(`${ISSUER}/revoked`)).text());
    assert.equal(await revoked(), 0);
    await page.getByRole("button", { name: "Log out" }).click();
    await page.getByRole("heading", { name: "Log in to Tidemark" }).waitFor();
    for (let i = 0; i < 100 && (await revoked()) === 0; i++) await page.waitForTimeout(100);
    assert.equal(await revoked(), 1, "the refresh token of the session is over at the issuer");
    await page.context().close();
  });

  test("of a person without rights is refused with a reason", async () => {
    const page = await open();
    await logIn(page, "eve");
    await page.getByRole("alert").filter({ hasText: "may not list nodes and pods" }).waitFor();
    assert.deepEqual(await cookies(page), []);
    await page.context().close();
  });

  test("that the person cancels is refused", async () => {
    const page = await open();
    await begin(page);
    await page.getByRole("link", { name: /Cancel/ }).click();
    await page.getByRole("alert").filter({ hasText: "issuer refused the login" }).waitFor();
    assert.deepEqual(await cookies(page), []);
    await page.context().close();
  });

  test("of another browser gives no session to this one", async () => {
    // The victim opens the link that the issuer gave to the browser of an attacker.
    const attacker = await open();
    let link = "";
    attacker.on("request", (request) => {
      if (request.url().includes("/login/callback")) link = request.url();
    });
    await logIn(attacker, "ann");
    await attacker.getByText("oidc:ann").waitFor();
    assert.match(link, /code=.*state=|state=.*code=/);

    const victim = await open();
    await begin(victim);
    await victim.goto(link);
    await victim.getByRole("alert").filter({ hasText: "began in another browser" }).waitFor();
    assert.deepEqual(await cookies(victim), []);
    assert.equal(await victim.evaluate(() => fetch("/api/v1/summary").then((got) => got.status)), 401);
    await victim.context().close();
    await attacker.context().close();
  });

  test("does not redirect to another site, whatever the address says", async () => {
    const context = await browser.newContext({ ignoreHTTPSErrors: true });
    for (const path of ["/login/callback?code=c&state=s&redirect=https://evil.example/", "/login/callback//evil.example?state=s", "/login/callback?error=x&next=//evil.example"]) {
      const answer = await context.request.get(CONSOLE.replace(/\/$/, "") + path, { maxRedirects: 0 });
      const to = answer.headers().location ?? "/";
      assert.match(to, /^\/(\?login=[a-z]+)?$/, path);
    }
    const begun = await context.request.get(`${CONSOLE}login/oidc?redirect_uri=https://evil.example/`, { maxRedirects: 0 });
    const to = new URL(begun.headers().location);
    assert.equal(to.origin, ISSUER);
    assert.equal(to.searchParams.get("redirect_uri"), `${CONSOLE}login/callback`);
    assert.equal(to.searchParams.get("code_challenge_method"), "S256");
    await context.close();
  });

  test("gives a session that outlives its ID token, until the issuer ends it", async () => {
    const { page, other, first, over } = lasting;
    await page.waitForTimeout(Math.max(0, over - Date.now()));
    const write = (from) =>
      from.evaluate(async () => {
        const headers = { "content-type": "application/json", "x-tidemark-console": "1" };
        const answer = await fetch("/api/v1/overrides", { method: "POST", headers, body: JSON.stringify({ cpuPercent: 41, lastsSeconds: 600, reason: "later" }) });
        return answer.status;
      });
    assert.equal(await write(other), 403, "the API server refuses an ID token that is over");
    assert.equal(await write(page), 200);
    assert.notDeepEqual(await cookies(page), first);
    const left = await page.context().request.post(`${ISSUER}/leave/ann`);
    assert.equal(left.status(), 204);
    await page.getByRole("heading", { name: "Log in to Tidemark" }).waitFor();
    assert.deepEqual(await cookies(page), []);
    await other.context().close();
    await page.context().close();
  });
});
