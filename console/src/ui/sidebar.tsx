import type { JSX } from "preact";
import { session, type Who } from "../api";
import { disconnect } from "../live";
import { href, place } from "../router";
import { switchTheme, theme, who as current } from "../state";
import { openPalette } from "./palette";
import { Icon, say } from "./parts";

const PAGES: [string, [string, string, string][]][] = [
  ["", [["home", "Home", "home"], ["graph", "Graph", "graph"], ["tables", "Tables", "table"], ["worksheet", "Worksheet", "worksheet"], ["design", "Design", "design"]]],
  ["Operate", [
    ["tasks", "Tasks", "task"], ["connectors", "Connectors", "connector"], ["channels", "Channels", "channel"],
    ["alerts", "Alerts", "alert"], ["queries", "Queries", "query"],
    ["playbooks", "Playbooks", "play"], ["backfills", "Backfills", "history"],
  ]],
  ["Govern", [["products", "Data products", "product"], ["people", "Users and roles", "people"]]],
];

export function Sidebar({ who }: { who: Who }): JSX.Element {
  const here = place.value.page === "table" ? "tables" : place.value.page;
  const choose = (event: Event): void => {
    const role = (event.target as HTMLSelectElement).value;
    session.use({ role }).then(
      (found) => { current.value = found; },
      (error: unknown) => say(String(error), true),
    );
  };
  const leave = (): void => {
    disconnect();
    session.logOut().finally(() => { current.value = null; });
  };
  return (
    <aside class="sidebar">
      <div class="brand"><img src="/favicon.svg" width="22" height="22" alt="" /><span>Snowmelt</span></div>
      <button type="button" class="plain small" onClick={openPalette} aria-label="Find… Ctrl K">
        <Icon name="search" size={14} /> <span class="wide-only">Find…</span> <kbd class="faint wide-only">Ctrl K</kbd>
      </button>
      {PAGES.map(([title, pages]) => (
        <nav class="nav" aria-label={title || "Main"} key={title}>
          {title ? <div class="nav-title">{title}</div> : null}
          {pages.map(([page, label, icon]) => (
            <a href={href(page)} key={page} aria-current={here === page ? "page" : undefined}>
              <Icon name={icon} /> <span class="label">{label}</span>
            </a>
          ))}
        </nav>
      ))}
      <div class="bottom">
        <div class="who">
          <div class="wide-only ellipsis" style={{ fontWeight: 560 }}>{who.user}</div>
          <label class="wide-only">
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
            <button type="button" class="plain small" onClick={leave} aria-label="Log out"><Icon name="out" size={14} /><span class="wide-only">Log out</span></button>
          </div>
        </div>
      </div>
    </aside>
  );
}
