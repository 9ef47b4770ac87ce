// An issuer of OpenID Connect: the certified package oidc-provider behind TLS, with its own forms for login and consent.
// A person logs in by any name; the name becomes `sub`. ID tokens live as long as in no real issuer, so that a test sees
// their end. POST /leave/NAME: the person has left, and gets no further token. GET /revoked: how many refresh tokens were revoked.
//
//   node issuer.mjs PORT REDIRECT_ADDRESS CERTIFICATE KEY
//
// TIDEMARK_MODULES   the directory with node_modules
import { readFileSync } from "node:fs";
import { createServer } from "node:https";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const [port, redirect, certificate, key] = process.argv.slice(2);
const { default: Provider } = await import(pathToFileURL(join(process.env.TIDEMARK_MODULES, "node_modules/oidc-provider/lib/index.js")));
const left = new Set();
const issuer = `https://localhost:${port}`;
const provider = new Provider(issuer, {
  clients: [{ client_id: "tidemark", client_secret: "a secret of the test", redirect_uris: [redirect], response_types: ["code"], grant_types: ["authorization_code", "refresh_token"] }],
  scopes: ["openid", "email", "profile", "offline_access"],
  ttl: { IdToken: 20 },
  rotateRefreshToken: true,
  pkce: { required: () => true },
  findAccount: (_, id) => (left.has(id) ? undefined : { accountId: id, claims: () => ({ sub: id, email: `${id}@example.com` }) }),
  cookies: { keys: ["a key of the test"] },
  features: { revocation: { enabled: true } },
});
let revoked = 0;
provider.on("refresh_token.destroyed", () => revoked++);
const callback = provider.callback();
createServer({ cert: readFileSync(certificate), key: readFileSync(key) }, (request, answer) => {
  const [, verb, name] = request.url.split("/");
  if (verb === "revoked") return answer.writeHead(200).end(String(revoked));
  if (request.method !== "POST" || verb !== "leave") return callback(request, answer);
  left.add(name);
  answer.writeHead(204).end();
}).listen(Number(port), "127.0.0.1", () => console.log(`issuer  ${issuer}`));
