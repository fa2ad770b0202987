import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { session, type Who } from "../api";
import { connected, disconnect } from "../live";
import { href, place } from "../router";
import { switchTheme, theme, who as current } from "../state";
import { openPalette } from "./palette";
import { Icon, say, wordsOf } from "./parts";
import { PAGES } from "./places";

function Account({ who }: { who: Who }): JSX.Element {
  const choose = (event: Event): void => {
    const role = (event.target as HTMLSelectElement).value;
    session.use({ role }).then(
      (found) => { current.value = found; },
      (error: unknown) => say(wordsOf(error), true),
    );
  };
  const leave = (): void => {
    disconnect();
    session.logOut().finally(() => { current.value = null; });
  };
  return (
    <div class="who">
      <div class="ellipsis" style={{ fontWeight: 560 }}>{who.user}</div>
      <label>
        <span class="visually-hidden">Role</span>
        <select value={who.role} onChange={choose}>
          {who.roles.map((role) => <option key={role} value={role}>{role}</option>)}
        </select>
      </label>
      <div style={{ display: "flex", gap: "4px" }}>
        <button type="button" class="plain small" onClick={switchTheme}
          aria-label={theme.value === "dark" ? "Use light colours" : "Use dark colours"}>
          <Icon name={theme.value === "dark" ? "sun" : "moon"} size={14} />
        </button>
        <button type="button" class="plain small" onClick={leave}><Icon name="out" size={14} />Log out</button>
      </div>
    </div>
  );
}

/** The pages and who is logged in; in a narrow window one line, and a button that opens the rest. */
export function Sidebar({ who }: { who: Who }): JSX.Element {
  const at = place.value;
  const here = at.page === "table" ? "tables" : at.page;
  const [open, setOpen] = useState(false);
  useEffect(() => setOpen(false), [at]);
  return (
    <aside class={`sidebar${open ? " open" : ""}`} onKeyDown={(event) => { if (event.key === "Escape") setOpen(false); }}>
      <div class="top">
        <a class="brand" href={href("home")}><img src="/favicon.svg" width="22" height="22" alt="" /><span>Snowmelt</span></a>
        <button type="button" class="plain small find" onClick={openPalette} aria-label="Find… Ctrl K">
          <Icon name="search" size={14} /> <span>Find…</span> <kbd class="faint">Ctrl K</kbd>
        </button>
        <button type="button" class="menu" aria-expanded={open} aria-controls="menu" onClick={() => setOpen(!open)}><Icon name="menu" /><span class="visually-hidden">Menu</span></button>
      </div>
      <div class="rest" id="menu">
        {PAGES.map(([title, pages]) => (
          <nav class="nav" aria-label={title || "Main"} key={title}>
            {title ? <div class="nav-title">{title}</div> : null}
            {pages.map(({ page, label, icon }) => (
              <a href={href(page)} key={page} aria-current={here === page ? "page" : undefined}>
                <Icon name={icon} /> <span class="label">{label}</span>
              </a>
            ))}
          </nav>
        ))}
        <div class="bottom">
          {connected.value ? null : <div class="offline" role="status"><span class="spinner" />No connection: things are shown as they were</div>}
          <Account who={who} />
        </div>
      </div>
    </aside>
  );
}
