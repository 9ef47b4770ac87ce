// Objects as the API server has them: what an order of the page did, whatever the page shows.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";

const { TIDEMARK_TEST_SERVER: SERVER, TIDEMARK_TEST_TOKEN_FILE } = process.env;

// null: there is no such object.
export async function object(path) {
  const answer = await fetch(SERVER + path, { headers: { authorization: `Bearer ${readFileSync(TIDEMARK_TEST_TOKEN_FILE, "utf8").trim()}` } });
  if (answer.status === 404) return null;
  assert.equal(answer.status, 200, path);
  return answer.json();
}
