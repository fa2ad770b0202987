/** Lists of objects of one kind, each with its detail and what can be done with it. */
import type { ComponentChildren, JSX } from "preact";
import { useMemo, useState } from "preact/hooks";
import { getJson, query, quoted, type Row, type Value } from "../api";
import { ago, bytes, count, duration, instant, short } from "../format";
import { deeds, perform, type Named } from "../graph/actions";
import { keyOfRow, type GraphData } from "../graph/model";
import { useLive } from "../live";
import { go, href, place } from "../router";
import { Sql } from "../sql/shown";
import { Chart } from "../ui/chart";
import { Beside, Detail, Listing, PickName, type ListColumn } from "../ui/listing";
import { Action, Badge, Card, Empty, Failure, Head, Spinner, useAnswer } from "../ui/parts";

interface Fact { label: string; value: Value | undefined; sql?: boolean }
interface Kind {
  title: string; page: string; icon: string; kind: string; ask: () => Promise<Row[]>; topics: string[]; none: [string, string];
  columns: ListColumn[]; facts: (row: Row) => Fact[]; link?: (row: Row) => string; more?: (node: Named, row: Row) => JSX.Element;
}

const column = (label: string, key: string, show?: (row: Row) => ComponentChildren): ListColumn => ({ label, show: show ?? ((row) => row[key]), by: (row) => row[key] });
const number = (label: string, key: string, say: (value: number | null) => string = count): ListColumn => ({ label, show: (row) => say(row[key] as number | null), by: (row) => row[key], right: true });
const since = (label: string, key: string): ListColumn => column(label, key, (row) => <span class="muted">{ago(row[key])}</span>);
const state = (key = "state"): ListColumn => column("State", key, (row) => (row[key] ? <Badge state={String(row[key])} /> : null));
const minor = (of: ListColumn): ListColumn => ({ ...of, minor: true });
const home: ListColumn = { label: "Schema", minor: true, show: (row) => <span class="muted">{row["database_name"]}.{row["schema_name"]}</span>, by: (row) => `${row["database_name"]}.${row["schema_name"]}` };
const fact = (label: string, value: Value | undefined, sql = false): Fact => ({ label, value, sql });
const nodeOf = (kind: string, row: Row): Named => ({ kind, database: String(row["database_name"] ?? ""), schema: String(row["schema_name"] ?? ""), name: String(row["name"]), state: String(row["state"] ?? "") });

function Runs({ node, of }: { node: Named; of: string }): JSX.Element {
  const found = useAnswer(() => query(`SELECT * FROM TABLE(${quoted(node.database ?? "")}.INFORMATION_SCHEMA.${of}_HISTORY(${of}_NAME => ?, RESULT_LIMIT => 100)) WHERE schema_name = ? LIMIT 20`, [node.name, node.schema]), [node.name]);
  useLive(["tasks"], found.again, 3000);
  if (found.error) return <Failure error={found.error} />;
  if (!found.value) return <Spinner />;
  if (!found.value.length) return <Empty icon="history" title="It has not run yet" />;
  return (
    <div class="scroll-x" tabIndex={0}><table class="list tight">
      <thead><tr><th>State</th><th>Scheduled</th><th>Completed</th><th>Message</th></tr></thead>
      <tbody>{found.value.map((row, index) => <tr key={index}><td><Badge state={String(row["state"])} /></td><td class="muted">{ago(row["scheduled_time"])}</td><td class="muted">{ago(row["completed_time"])}</td><td class="clip ellipsis" title={String(row["error_message"] ?? row["sql_error_message"] ?? "")}>{row["error_message"] ?? row["sql_error_message"]}</td></tr>)}</tbody>
    </table></div>
  );
}

/** What a channel committed, by minute: of the last fourteen days, as far as there are so many rows. */
function Committed({ row }: { row: Row }): JSX.Element {
  const [table, channel] = [String(row["table_name"]), String(row["name"])];
  const found = useAnswer(() => query(
    `SELECT * FROM TABLE(${quoted(String(row["database_name"]))}.INFORMATION_SCHEMA.SNOWPIPE_STREAMING_CHANNEL_HISTORY(TABLE_NAME => ?, CHANNEL_NAME => ?, RESULT_LIMIT => 240)) WHERE schema_name = ?`, [quoted(table), channel, String(row["schema_name"])],
  ), [table, channel]);
  useLive(["rows"], found.again, 3000);
  const drawn = useMemo(() => {
    const minutes = [...(found.value ?? [])].reverse();
    return { times: minutes.map((one) => (instant(one["created_on"])?.getTime() ?? 0) / 1000), lines: [{ label: "Rows", values: minutes.map((one) => Number(one["rows_inserted"])), color: "--flow", bars: true }] };
  }, [found.value]);
  if (found.error) return <Failure error={found.error} />;
  if (!found.value) return <Spinner />;
  const total = (key: string): number => (found.value ?? []).reduce((sum, one) => sum + Number(one[key] ?? 0), 0);
  const latest = found.value[0];
  if (!latest) return <Empty icon="channel" title="It has committed no rows yet" />;
  return (
    <section class="committed" aria-label="What it committed">
      {drawn.times.length > 1 ? <Chart times={drawn.times} lines={drawn.lines} format={short} height={110} label="Rows that it committed, by minute" /> : null}
      <Facts facts={[
        fact("Rows committed", count(total("rows_inserted"))), fact("Rows refused", total("rows_error_count") ? count(total("rows_error_count")) : null), fact("Last commit", ago(latest["created_on"])),
        fact("Seen after", latest["average_latency_ms"] === null ? null : duration(Number(latest["average_latency_ms"]) / 1000)), fact("Last error", latest["last_error_message"]),
      ]} />
    </section>
  );
}

function Facts({ facts }: { facts: Fact[] }): JSX.Element {
  return (
    <dl class="meta">{facts.filter(({ value }) => value !== null && value !== undefined && value !== "").map(({ label, value, sql }) => (
      <><dt key={label}>{label}</dt><dd>{sql ? <Sql text={String(value)} /> : String(value)}</dd></>
    ))}</dl>
  );
}

function Lists({ of }: { of: Kind }): JSX.Element {
  const { value, error, again } = useAnswer(of.ask, [of.title]);
  useLive(of.topics, again, 3000);
  const [search, setSearch] = useState("");
  const picked = place.value.query.get("of");
  const pick = (key: string | null): void => go(key === null || key === picked ? href(of.page) : `${href(of.page)}?of=${encodeURIComponent(key)}`);
  const words = search.toLowerCase().split(/\s+/).filter(Boolean);
  const found = (value ?? []).filter((row) => words.every((word) => `${keyOfRow(row)} ${row["kind"] ?? ""}`.toLowerCase().includes(word)));
  const chosen = of.link ? undefined : (value ?? []).find((row) => keyOfRow(row) === picked);
  const name: ListColumn = {
    label: "Name", by: (row) => row["name"],
    show: (row) => (of.link ? <a class="link" href={of.link(row)}>{row["name"]}</a> : <PickName name={String(row["name"])} picked={chosen === row} pick={() => pick(keyOfRow(row))} />),
  };
  return (
    <>
      <Head title={of.title} badge={value ? <span class="muted">{found.length < value.length ? `${count(found.length)} of ` : ""}{count(value.length)}</span> : null}>
        <input type="search" placeholder="Filter" aria-label={`Filter ${of.title.toLowerCase()}`} value={search} onInput={(event) => setSearch(event.currentTarget.value)} />
      </Head>
      <div class="content">
        {error ? <Failure error={error} /> : null}
        {!value && !error ? <Spinner /> : null}
        {value && !value.length ? <Card><Empty icon={of.icon} title={of.none[0]}>{of.none[1]}</Empty></Card> : null}
        {value && picked && !chosen && !of.link ? <p class="muted">{picked} does not exist, or your role may not know of it.</p> : null}
        <Beside detail={chosen ? (
          <Detail title={String(chosen["name"])} close={() => pick(null)} key={keyOfRow(chosen)}
            acts={deeds(nodeOf(of.kind, chosen)).map((deed) => <Action key={deed.label} label={deed.label} icon={deed.icon} kind="small" act={() => perform(deed).then(again)} />)}>
            <Facts facts={of.facts(chosen)} />
            {of.more ? of.more(nodeOf(of.kind, chosen), chosen) : null}
          </Detail>
        ) : null}>
          {found.length ? <Card body={false}><Listing rows={found} label={of.title} columns={[name, ...of.columns]} keyOf={keyOfRow} picked={picked} {...(of.link ? {} : { pick })} /></Card>
            : value?.length ? <Card><Empty icon="search" title="Nothing has that name" /></Card> : null}
        </Beside>
      </div>
    </>
  );
}

/** Tables with how they stand: what the graph knows of each. */
async function tables(): Promise<Row[]> {
  const [objects, graph] = await Promise.all([query("SHOW OBJECTS IN ACCOUNT"), getJson<GraphData>("/graph")]);
  const nodes = new Map(graph.nodes.map((node) => [`${node.database}.${node.schema}.${node.name}`, node]));
  return objects.filter((row) => row["schema_name"] !== "INFORMATION_SCHEMA").map((row) => {
    const node = nodes.get(keyOfRow(row));
    return {
      ...row, kind: row["is_dynamic"] === "Y" ? "dynamic table" : String(row["kind"]).toLowerCase(),
      state: node && node.state !== "ok" ? node.state : row["is_dynamic"] === "Y" ? "fresh" : null,
      behind: node?.behind ?? null, limit: node?.limit ?? null,
    };
  });
}

const TABLES: Kind = {
  title: "Tables", page: "tables", icon: "table", kind: "TABLE", topics: ["objects", "rows", "refreshes", "time"], none: ["No tables yet", "CREATE TABLE makes one; a connector brings some."],
  ask: tables,
  link: (row) => href("table", String(row["database_name"]), String(row["schema_name"]), String(row["name"])),
  columns: [
    home, column("Kind", "kind", (row) => <span class={`badge bare${row["kind"] === "dynamic table" ? " running" : ""}`}>{row["kind"]}</span>), state(),
    { label: "Behind", right: true, by: (row) => row["behind"], show: (row) => (typeof row["limit"] === "number" ? `${duration(row["behind"] as number | null)} of ${duration(row["limit"])}` : <span class="faint">–</span>) },
    number("Rows", "rows"), number("Size", "bytes", bytes), minor(column("Owner", "owner")), minor(since("Created", "created_on")),
  ],
  facts: () => [],
};
/** Tasks and alerts with how their last run went: what the graph knows of each. */
async function withRuns(sql: string): Promise<Row[]> {
  const [rows, graph] = await Promise.all([query(sql), getJson<GraphData>("/graph")]);
  const nodes = new Map(graph.nodes.map((node) => [keyOfRow({ database_name: node.database, schema_name: node.schema, name: node.name }), node]));
  return rows.map((row) => { const node = nodes.get(keyOfRow(row)); return { ...row, last_run: node?.last_run ?? null, last_run_at: node?.last_run_at ?? null }; });
}

/** What makes a task run: its schedule, the tasks before it, or, without both, that its condition holds. */
export const beginsBy = (row: Row): string => (row["schedule"] ? String(row["schedule"]) : row["predecessors"] && row["predecessors"] !== "[]" ? "after others" : row["condition"] ? "when there is something to do" : "by hand");
const lastRun: ListColumn = { label: "Last run", by: (row) => row["last_run_at"], show: (row) => (row["last_run"] ? <><Badge state={String(row["last_run"])} /> <span class="muted">{ago(row["last_run_at"])}</span></> : <span class="faint">never</span>) };

const TASKS: Kind = {
  title: "Tasks", page: "tasks", icon: "task", kind: "TASK", topics: ["tasks", "objects"], none: ["No tasks yet", "CREATE TASK runs a statement by schedule, or when a stream has data."],
  ask: () => withRuns("SHOW TASKS IN ACCOUNT"),
  columns: [home, state(), { label: "Runs", by: beginsBy, show: (row) => (row["schedule"] ? row["schedule"] : <span class="muted">{beginsBy(row)}</span>) }, lastRun, minor(column("Warehouse", "warehouse"))],
  facts: (row) => [fact("Schedule", row["schedule"]), fact("When", row["condition"], true), fact("After", row["predecessors"] === "[]" ? null : row["predecessors"]), fact("Suspended because", row["last_suspended_reason"]), fact("Owner", row["owner"]), fact("Statement", row["definition"], true)],
  more: (node) => <Runs node={node} of="TASK" />,
};
const ALERTS: Kind = {
  title: "Alerts", page: "alerts", icon: "alert", kind: "ALERT", topics: ["tasks", "objects"], none: ["No alerts yet", "CREATE ALERT does something when a query has rows."],
  ask: () => withRuns("SHOW ALERTS IN ACCOUNT"),
  columns: [home, state(), column("Schedule", "schedule"), lastRun, minor(column("Warehouse", "warehouse"))],
  facts: (row) => [fact("If", row["condition"], true), fact("Then", row["action"], true), fact("Runbook", row["runbook"])],
  more: (node) => <Runs node={node} of="ALERT" />,
};
const CONNECTORS: Kind = {
  title: "Connectors", page: "connectors", icon: "connector", kind: "CONNECTOR", topics: ["rows", "objects", "time"], none: ["No connectors yet", "CREATE CONNECTOR brings every change of a PostgreSQL or MariaDB database in."],
  ask: () => query("SHOW CONNECTORS IN ACCOUNT"),
  columns: [home, state(), { label: "Source", show: (row) => `${String(row["type"]).toLowerCase()} ${row["host"]}:${row["port"]}/${row["database"]}`, by: (row) => `${row["host"]}/${row["database"]}` }, number("Changes", "changes"), number("Dead letters", "dead_letters"), since("Last landed", "last_landed_at")],
  facts: (row) => [fact("Error", row["error"]), fact("Warning", row["warning"]), fact("Tables", row["tables"]), fact("Into", row["target_name"]), fact("Slot", row["slot"]), fact("Log kept by the source", row["slot_bytes"] === null ? null : bytes(row["slot_bytes"] as number)), fact("Position", row["position"]), fact("Snapshot by", row["snapshot_by"])],
};
const CHANNELS: Kind = {
  title: "Channels", page: "channels", icon: "channel", kind: "CHANNEL", topics: ["rows"], none: ["No channels yet", "A streaming client opens one and sends rows through it."],
  ask: () => query("SHOW CHANNELS IN ACCOUNT"),
  columns: [home, column("Table", "table_name"), column("Offset token", "offset_token"), since("Created", "created_on")],
  facts: (row) => [fact("Table", row["table_name"]), fact("Offset token", row["offset_token"]), fact("Client sequencer", row["client_sequencer"]), fact("Row sequencer", row["row_sequencer"])],
  more: (_, row) => <><Committed row={row} /><a class="button small" style={{ justifySelf: "start" }} href={href("table", String(row["database_name"]), String(row["schema_name"]), String(row["table_name"]))}>Open its table</a></>,
};
const PRODUCTS: Kind = {
  title: "Data products", page: "products", icon: "product", kind: "DATA_PRODUCT", topics: ["objects", "refreshes", "quality", "time"], none: ["No data products yet", "CREATE DATA PRODUCT names tables, who owns them and how fresh they are."],
  ask: () => query("SHOW DATA PRODUCTS IN ACCOUNT"),
  columns: [home, column("Owner", "product_owner"), column("Domain", "domain"), column("Freshness", "freshness", (row) => (typeof row["freshness"] === "number" ? duration(row["freshness"]) : row["freshness"])), column("Availability", "availability"), column("Quality", "quality")],
  facts: (row) => [fact("Objects", row["objects"]), fact("Contract", row["contract"]), fact("Consumers", row["consumers"]), fact("Description", row["comment"]), fact("Tags", row["tags"]), fact("Personal data", row["pii"])],
};

export const Tables = (): JSX.Element => <Lists of={TABLES} />;
export const Tasks = (): JSX.Element => <Lists of={TASKS} />;
export const Alerts = (): JSX.Element => <Lists of={ALERTS} />;
export const Connectors = (): JSX.Element => <Lists of={CONNECTORS} />;
export const Channels = (): JSX.Element => <Lists of={CHANNELS} />;
export const Products = (): JSX.Element => <Lists of={PRODUCTS} />;
