// Who is logged in, and the form for it. On a laptop the console has no login.
import { signal } from "@preact/signals";
import { useState } from "preact/hooks";
import type { Session } from "@api";
import { read, send } from "./api";
import { t } from "./i18n";
import { Title, Words } from "./parts";

export const session = signal<Session | null>(null); // null: not asked yet
const RENEW_MS = 5 * 60_000;
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
    setTimeout(() => void again(), session.value === null ? RETRY_MS : RENEW_MS);
  };
  void again();
}

export async function logOut() {
  await send<Session>("/api/v1/logout", {});
  location.reload();
}

export function LoginForm() {
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
