import type { JSX } from "preact";
import { useEffect } from "preact/hooks";
import { ApiError, onLoggedOut, session } from "./api";
import { connect, disconnect } from "./live";
import { LogIn } from "./pages/login";
import { KeptWorksheet, Pages } from "./pages";
import { Sidebar } from "./ui/sidebar";
import { Palette } from "./ui/palette";
import { place, replace } from "./router";
import { who } from "./state";
import { Confirmation } from "./ui/dialog";
import { Spinner, Toast } from "./ui/parts";

function loggedOut(): void {
  disconnect();
  who.value = null;
}

async function begin(): Promise<void> {
  const link = new URLSearchParams(location.hash.replace(/^#/, "")).get("link");
  if (link) {
    // What logs in once does not stay in the address, nor in the history.
    replace("#/home");
  }
  try {
    who.value = link ? await session.logIn({ link }) : await session.current();
  } catch (error) {
    if (link && error instanceof ApiError) {
      who.value = await session.current().catch(() => null);
      return;
    }
    who.value = null;
  }
}

export function App(): JSX.Element {
  const found = who.value;
  useEffect(() => {
    onLoggedOut(loggedOut);
    void begin();
  }, []);
  const user = found?.user;
  useEffect(() => {
    if (user) connect(loggedOut);
    return disconnect;
  }, [user]);
  if (found === undefined) return <Spinner />;
  if (found === null) return <LogIn />;
  return (
    <div class="frame">
      <Sidebar who={found} />
      <main class="main" id="main" tabIndex={-1}>
        {place.value.page === "worksheet" ? null : <Pages key={found.role} />}
        <KeptWorksheet key={found.user} />
      </main>
      <Palette />
      <Confirmation />
      <Toast />
    </div>
  );
}
