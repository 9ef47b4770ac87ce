// Who is logged in, and the form for it. On a laptop the console has no login.
import { signal } from "@preact/signals";
import { useState } from "preact/hooks";
import type { Session } from "@api";
import { read, send } from "./api";
import { t, type Key } from "./i18n";
import { Title, Words } from "./parts";
import { query } from "./router";

export const session = signal<Session | null>(null); // null: not asked yet
const RETRY_MS = 2000;

export const mustLogIn = () => session.value !== null && session.value.login && session.value.user === null;

export async function askSession() {
  try {
    session.value = await read<Session>("/api/v1/session");
  } catch {
    // the console is away: the stream shows it
  }
}

// Renews the session while the page is open. `entered` runs once, when there is nothing to log in for.
export function keepSession(entered: () => void) {
  let inside = false;
  session.subscribe((next) => {
    if (!next || inside || mustLogIn()) return;
    inside = true;
    entered();
  });
  const again = async () => {
    await askSession();
    setTimeout(() => void again(), session.value === null ? RETRY_MS : 1000 * session.value.askSeconds);
  };
  void again();
}

export async function logOut() {
  await send<Session>("/api/v1/logout", {});
  location.reload();
}

const REFUSALS = ["state", "issuer", "token", "account", "often"]; // of the answer /?login=…

export function LoginForm() {
  const issuer = session.value?.issuer ?? null;
  const refusal = REFUSALS.find((each) => each === query.value.get("login"));
  const [token, setToken] = useState("");
  const [error, setError] = useState("");
  const [sending, setSending] = useState(false);
  const enter = async () => {
    setSending(true);
    setError("");
    try {
      const next = await send<Session>("/api/v1/login", { token: token.trim() });
      setToken("");
      session.value = next;
    } catch (failure) {
      setError(t("loginFailed", { why: (failure as Error).message }));
    }
    setSending(false);
  };
  return (
    <form
      class="card login"
      onSubmit={(event) => {
        event.preventDefault();
        void enter();
      }}
    >
      <Title>{t("loginTitle")}</Title>
      {refusal && (
        <p class="failure" role="alert">
          {t(`loginRefused_${refusal}` as Key)}
        </p>
      )}
      {issuer && (
        <>
          <a class="order issuer" href="/login/oidc" target="_self">
            {t("loginIssuer", { issuer })}
          </a>
          <p class="note">{t("loginOr")}</p>
        </>
      )}
      <label>
        {t("loginToken")}
        <input type="password" autocomplete="off" spellcheck={false} required value={token} onInput={(event) => setToken(event.currentTarget.value)} />
      </label>
      <p class="note">
        <Words text={t("loginHelp")} />
      </p>
      {error && (
        <p class="failure" role="alert">
          {error}
        </p>
      )}
      <div class="buttons">
        <button type="submit" class="order" disabled={sending}>
          {t("login")}
        </button>
      </div>
    </form>
  );
}
