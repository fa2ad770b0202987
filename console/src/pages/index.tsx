/** Which page is shown. The larger ones come when they are first wanted. */
import type { ComponentType, JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { place } from "../router";
import { Empty, Failure, Spinner } from "../ui/parts";
import { Home } from "./home";

const LATER: Record<string, () => Promise<ComponentType>> = {
  graph: async () => (await import("./graph")).GraphPage,
  table: async () => (await import("./table")).TablePage,
  tables: async () => (await import("./lists")).Tables,
  tasks: async () => (await import("./lists")).Tasks,
  connectors: async () => (await import("./lists")).Connectors,
  channels: async () => (await import("./lists")).Channels,
  alerts: async () => (await import("./lists")).Alerts,
  products: async () => (await import("./lists")).Products,
  queries: async () => (await import("./queries")).Queries,
  playbooks: async () => (await import("./playbooks")).Playbooks,
  backfills: async () => (await import("./backfills")).Backfills,
  design: async () => (await import("./design")).DesignPage,
  people: async () => (await import("./people")).People,
};

function Later({ load }: { load: () => Promise<ComponentType> }): JSX.Element {
  const [found, setFound] = useState<{ Page: ComponentType } | null>(null);
  const [error, setError] = useState<unknown>(null);
  useEffect(() => {
    let here = true;
    load().then((Page) => { if (here) setFound({ Page }); }, (problem: unknown) => { if (here) setError(problem); });
    return () => { here = false; };
  }, [load]);
  if (error) return <div class="content"><Failure error={error} /></div>;
  return found ? <found.Page /> : <Spinner />;
}

const TITLES: Record<string, string> = { people: "Users and roles", products: "Data products" };

const loadWorksheet = async (): Promise<ComponentType> => (await import("./worksheet")).Worksheet;

/** Worksheets stay when somebody looks at another page: what runs goes on, and results are there afterwards. */
export function KeptWorksheet(): JSX.Element | null {
  const here = place.value.page === "worksheet";
  const [wanted, setWanted] = useState(here);
  useEffect(() => {
    if (!here) return;
    setWanted(true);
    document.title = "Worksheet · Snowmelt";
  }, [here]);
  return wanted ? <div class="kept" hidden={!here}><Later load={loadWorksheet} /></div> : null;
}

export function Pages(): JSX.Element {
  const { page, parts } = place.value;
  // Of one table nothing stays on the page of another.
  const one = page === "table" ? parts.slice(0, 3).join("\u0000") : "";
  useEffect(() => {
    const title = TITLES[page] ?? (page === "table" ? parts[2] : undefined) ?? page[0]?.toUpperCase() + page.slice(1);
    document.title = `${title} · Snowmelt`;
    document.getElementById("main")?.scrollTo(0, 0);
  }, [page, one]);
  if (page === "home") return <Home />;
  const load = LATER[page];
  return load ? <Later load={load} key={`${page}\u0000${one}`} /> : <Empty icon="search" title="There is no such page" />;
}
