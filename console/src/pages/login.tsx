import "./login.css";
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { session } from "../api";
import { signedToken } from "../keys";
import { who } from "../state";
import { Failure } from "../ui/parts";

type Way = "password" | "token" | "key";
const WAYS: [Way, string][] = [["password", "Password"], ["token", "Token"], ["key", "Key pair"]];

export function LogIn(): JSX.Element {
  const [way, setWay] = useState<Way>("password");
  const [user, setUser] = useState("");
  const [secret, setSecret] = useState("");
  const [error, setError] = useState<unknown>(null);
  const [busy, setBusy] = useState(false);
  const submit = async (event: Event): Promise<void> => {
    event.preventDefault();
    setBusy(true);
    setError(null);
    try {
      const secrets: Record<string, string> = { user };
      if (way === "password") secrets["password"] = secret;
      else if (way === "token") secrets["token"] = secret.trim();
      else secrets["jwt"] = await signedToken(user, secret);
      who.value = await session.logIn(secrets);
    } catch (problem) {
      setError(problem);
      setBusy(false);
    }
  };
  return (
    <main class="login">
      <form class="card" onSubmit={(event) => void submit(event)}>
        <div class="title">
          <img src="/favicon.svg" width="36" height="36" alt="" />
          <h1>Log in to Snowmelt</h1>
          <p class="muted">With the user that you connect clients with.</p>
        </div>
        <div class="ways" role="radiogroup" aria-label="Log in with">
          {WAYS.map(([value, label]) => (
            <label key={value}>
              <input type="radio" name="way" checked={way === value} onChange={() => { setWay(value); setSecret(""); }} />
              {label}
            </label>
          ))}
        </div>
        <label class="field">User
          <input name="user" autocomplete="username" autoFocus required value={user} onInput={(event) => setUser(event.currentTarget.value)} />
        </label>
        {way === "key" ? (
          <div class="key">
            <label class="field">Private key
              <textarea name="key" rows={5} required spellcheck={false} placeholder="-----BEGIN PRIVATE KEY-----" value={secret} aria-describedby="about-key"
                onInput={(event) => setSecret(event.currentTarget.value)} />
            </label>
            <label class="button small choose">Choose its file
              <input class="visually-hidden" type="file" accept=".pem,.p8,.key" onChange={(event) => { void event.currentTarget.files?.[0]?.text().then(setSecret); }} />
            </label>
            <span class="faint" id="about-key">It signs a token here, and does not leave this page.</span>
          </div>
        ) : (
          <label class="field">{way === "password" ? "Password" : "Access token"}
            <input name="secret" type="password" required autocomplete={way === "password" ? "current-password" : "off"} value={secret}
              onInput={(event) => setSecret(event.currentTarget.value)} />
          </label>
        )}
        {error ? <Failure error={error} /> : null}
        <button type="submit" class="primary" disabled={busy}>{busy ? <span class="spinner" /> : "Log in"}</button>
      </form>
    </main>
  );
}
