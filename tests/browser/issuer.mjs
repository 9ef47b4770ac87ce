// An issuer of OpenID Connect: the certified package oidc-provider behind TLS, with its own forms for login and consent.
// A person logs in by any name; the name becomes `sub`.
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
const issuer = `https://localhost:${port}`;
const provider = new Provider(issuer, {
  clients: [{ client_id: "tidemark", client_secret: "a secret of the test", redirect_uris: [redirect], response_types: ["code"], grant_types: ["authorization_code"] }],
  pkce: { required: () => true },
  findAccount: (_, id) => ({ accountId: id, claims: () => ({ sub: id, email: `${id}@example.com` }) }),
  cookies: { keys: ["a key of the test"] },
});
createServer({ cert: readFileSync(certificate), key: readFileSync(key) }, provider.callback()).listen(Number(port), "127.0.0.1", () => console.log(`issuer  ${issuer}`));
