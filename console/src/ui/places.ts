/** The pages, as they are listed at the side and found by name. */
export interface PlaceName { page: string; label: string; icon: string }

const of = (page: string, label: string, icon: string): PlaceName => ({ page, label, icon });

export const PAGES: [string, PlaceName[]][] = [
  ["", [of("home", "Home", "home"), of("graph", "Graph", "graph"), of("tables", "Tables", "table"), of("worksheet", "Worksheet", "worksheet"), of("design", "Design", "design")]],
  ["Operate", [
    of("tasks", "Tasks", "task"), of("connectors", "Connectors", "connector"), of("channels", "Channels", "channel"),
    of("alerts", "Alerts", "alert"), of("queries", "Queries", "query"),
    of("playbooks", "Playbooks", "play"), of("backfills", "Backfills", "history"),
  ]],
  ["Govern", [of("products", "Data products", "product"), of("people", "Users and roles", "people")]],
];
