// A page of another site, served from this machine: a browser by itself keeps pages of other networks away from loopback,
// and then a test shows nothing of the console.
import { createServer } from "node:http";

export const NAMES_FLAG = "--host-resolver-rules=MAP *.example 127.0.0.1";

// The page, and close().
export async function openOtherSite(browser, body = "<title>other</title>") {
  const server = createServer((_, answer) => answer.writeHead(200, { "content-type": "text/html" }).end(body));
  await new Promise((listens) => server.listen(0, "127.0.0.1", listens));
  const context = await browser.newContext({ ignoreHTTPSErrors: true });
  const page = await context.newPage();
  const close = async () => {
    await context.close();
    server.closeAllConnections();
    await new Promise((over) => server.close(over));
  };
  return { page, close, url: `http://other.example:${server.address().port}/` };
}
