/** Lists of objects of one kind, each with its detail and what can be done with it. */
import type { ComponentChildren, JSX } from "preact";
import { useState } from "preact/hooks";
import { query, type Row, type Value } from "../api";
import { ago, bytes, count, duration } from "../format";
import { deeds, perform, type Named } from "../graph/actions";
import { useLive } from "../live";
import { href, place } from "../router";
import { Action, Badge, Card, Empty, Failure, Head, Icon, Spinner, useAnswer } from "../ui/parts";

type Show = (row: Row) => ComponentChildren;
interface Kind {
  title: string; icon: string; kind: string; ask: () => Promise<Row[]>; topics: string[]; none: [string, string];
  columns: [string, Show, boolean?][]; detail: (row: Row) => [string, Value | undefined, boolean?][]; page?: (row: Row) => string; more?: (node: Named, row: Row) => JSX.Element;
}

const text = (key: string): Show => (row) => row[key];
const since = (key: string): Show => (row) => <span class="muted">{ago(row[key])}</span>;
const state = (key: string): Show => (row) => (row[key] ? <Badge state={String(row[key])} /> : null);
const home: Show = (row) => <span class="muted">{row["database_name"]}.{row["schema_name"]}</span>;
const nodeOf = (kind: string, row: Row): Named => ({ kind, database: String(row["database_name"] ?? ""), schema: String(row["schema_name"] ?? ""), name: String(row["name"]) });

function Runs({ node, of }: { node: Named; of: string }): JSX.Element {
  const found = useAnswer(() => query(`SELECT * FROM TABLE("${node.database}".INFORMATION_SCHEMA.${of}_HISTORY(${of}_NAME => ?, RESULT_LIMIT => 20))`, [node.name]), [node.name]);
  useLive(["tasks"], found.again, 3000);
  if (found.error) return <Failure error={found.error} />;
  if (!found.value) return <Spinner />;
  if (!found.value.length) return <Empty icon="history" title="It has not run yet" />;
  return (
    <div class="scroll-x"><table class="list">
      <thead><tr><th>State</th><th>Scheduled</th><th>Completed</th><th>Message</th></tr></thead>
      <tbody>{found.value.map((row, index) => <tr key={index}><td><Badge state={String(row["state"])} /></td><td class="muted">{ago(row["scheduled_time"])}</td><td class="muted">{ago(row["completed_time"])}</td><td class="clip ellipsis" title={String(row["error_message"] ?? row["sql_error_message"] ?? "")}>{row["error_message"] ?? row["sql_error_message"]}</td></tr>)}</tbody>
    </table></div>
  );
}

function Lists({ of }: { of: Kind }): JSX.Element {
  const { value, error, again } = useAnswer(of.ask, [of.title]);
  useLive(of.topics, again, 3000);
  const [search, setSearch] = useState("");
  const named = place.value.query.get("name");
  const [picked, setPicked] = useState<string | null>(null);
  const key = (row: Row): string => [row["database_name"], row["schema_name"], row["table_name"], row["name"]].join(".");
  const found = (value ?? []).filter((row) => key(row).toLowerCase().includes(search.toLowerCase()));
  const chosen = found.find((row) => (picked ? key(row) === picked : named !== null && row["name"] === named));
  return (
    <>
      <Head title={of.title} badge={value ? <span class="muted">{count(value.length)}</span> : null}>
        <input type="search" placeholder="Filter" aria-label={`Filter ${of.title.toLowerCase()}`} value={search} onInput={(event) => setSearch(event.currentTarget.value)} />
      </Head>
      <div class="content">
        {error ? <Failure error={error} /> : null}
        {!value && !error ? <Spinner /> : null}
        {value && !value.length ? <Card><Empty icon={of.icon} title={of.none[0]}>{of.none[1]}</Empty></Card> : null}
        {found.length ? (
          <Card body={false}><div class="scroll-x"><table class="list">
            <thead><tr><th>Name</th>{of.columns.map(([label, , right]) => <th key={label} class={right ? "number" : ""}>{label}</th>)}</tr></thead>
            <tbody>{found.slice(0, 1000).map((row) => (
              <tr key={key(row)} aria-selected={chosen === row}>
                <td>{of.page ? <a class="link" href={of.page(row)}>{row["name"]}</a> : <button type="button" class="plain small" style={{ padding: 0, color: "var(--accent)" }} onClick={() => setPicked(key(row))}>{row["name"]}</button>}</td>
                {of.columns.map(([label, show, right]) => <td key={label} class={right ? "number" : "clip ellipsis"}>{show(row)}</td>)}
              </tr>
            ))}</tbody>
          </table></div></Card>
        ) : value?.length ? <Card><Empty icon="search" title="Nothing has that name" /></Card> : null}
        {chosen && !of.page ? (
          <Card title={String(chosen["name"])} more={<>{deeds(nodeOf(of.kind, chosen)).map((deed) => <Action key={deed.label} label={deed.label} icon={deed.icon} kind="small" act={() => perform(deed).then(again)} />)}
            <button type="button" class="plain small" aria-label="Close" onClick={() => setPicked("")}><Icon name="close" size={14} /></button></>}>
            <dl class="meta">{of.detail(chosen).filter(([, one]) => one !== null && one !== undefined && one !== "").map(([label, one, code]) => <><dt key={label}>{label}</dt><dd>{code ? <pre class="code" tabIndex={0} style={{ padding: "8px 12px", background: "var(--sunken)", borderRadius: "6px", whiteSpace: "pre-wrap" }}>{one}</pre> : String(one)}</dd></>)}</dl>
            {of.more ? <div style={{ marginTop: "16px" }}>{of.more(nodeOf(of.kind, chosen), chosen)}</div> : null}
          </Card>
        ) : null}
      </div>
    </>
  );
}

const TABLES: Kind = {
  title: "Tables", icon: "table", kind: "TABLE", topics: ["objects", "rows", "refreshes"], none: ["No tables yet", "CREATE TABLE makes one; a connector brings some."],
  ask: async () => (await query("SHOW OBJECTS IN ACCOUNT")).filter((row) => row["schema_name"] !== "INFORMATION_SCHEMA"),
  page: (row) => href("table", String(row["database_name"]), String(row["schema_name"]), String(row["name"])),
  columns: [["Schema", home], ["Kind", (row) => (row["is_dynamic"] === "Y" ? <span class="badge running bare">dynamic table</span> : <span class="badge bare">{String(row["kind"]).toLowerCase()}</span>)], ["Rows", (row) => count(row["rows"] as number | null), true], ["Size", (row) => bytes(row["bytes"] as number | null), true], ["Owner", text("owner")], ["Created", since("created_on")]],
  detail: () => [],
};
const TASKS: Kind = {
  title: "Tasks", icon: "task", kind: "TASK", topics: ["tasks", "objects"], none: ["No tasks yet", "CREATE TASK runs a statement by schedule, or when a stream has data."],
  ask: () => query("SHOW TASKS IN ACCOUNT"),
  columns: [["Schema", home], ["State", state("state")], ["Schedule", (row) => row["schedule"] ?? <span class="faint">after others</span>], ["Warehouse", text("warehouse")], ["Last committed", since("last_committed_on")]],
  detail: (row) => [["Schedule", row["schedule"]], ["When", row["condition"], true], ["After", row["predecessors"] === "[]" ? null : row["predecessors"]], ["Suspended because", row["last_suspended_reason"]], ["Statement", row["definition"], true]],
  more: (node) => <Runs node={node} of="TASK" />,
};
const ALERTS: Kind = {
  title: "Alerts", icon: "alert", kind: "ALERT", topics: ["tasks", "objects"], none: ["No alerts yet", "CREATE ALERT does something when a query has rows."],
  ask: () => query("SHOW ALERTS IN ACCOUNT"),
  columns: [["Schema", home], ["State", state("state")], ["Schedule", text("schedule")], ["Warehouse", text("warehouse")]],
  detail: (row) => [["If", row["condition"], true], ["Then", row["action"], true], ["Runbook", row["runbook"]]],
  more: (node) => <Runs node={node} of="ALERT" />,
};
const CONNECTORS: Kind = {
  title: "Connectors", icon: "connector", kind: "CONNECTOR", topics: ["rows", "objects"], none: ["No connectors yet", "CREATE CONNECTOR brings every change of a PostgreSQL or MariaDB database in."],
  ask: () => query("SHOW CONNECTORS IN ACCOUNT"),
  columns: [["Schema", home], ["State", state("state")], ["Source", (row) => `${String(row["type"]).toLowerCase()} ${row["host"]}:${row["port"]}/${row["database"]}`], ["Changes", (row) => count(row["changes"] as number | null), true], ["Dead letters", (row) => count(row["dead_letters"] as number | null), true], ["Last landed", since("last_landed_at")]],
  detail: (row) => [["Error", row["error"]], ["Warning", row["warning"]], ["Tables", row["tables"]], ["Into", row["target_name"]], ["Slot", row["slot"]], ["Log kept by the source", row["slot_bytes"] === null ? null : bytes(row["slot_bytes"] as number)], ["Position", row["position"]], ["Snapshot by", row["snapshot_by"]]],
};
const CHANNELS: Kind = {
  title: "Channels", icon: "channel", kind: "CHANNEL", topics: ["rows"], none: ["No channels yet", "A streaming client opens one and sends rows through it."],
  ask: () => query("SHOW CHANNELS IN ACCOUNT"),
  columns: [["Schema", home], ["Table", text("table_name")], ["Offset token", text("offset_token")], ["Created", since("created_on")]],
  detail: (row) => [["Table", row["table_name"]], ["Offset token", row["offset_token"]], ["Client sequencer", row["client_sequencer"]], ["Row sequencer", row["row_sequencer"]]],
};
const PRODUCTS: Kind = {
  title: "Data products", icon: "product", kind: "DATA_PRODUCT", topics: ["objects", "refreshes", "quality"], none: ["No data products yet", "CREATE DATA PRODUCT names tables, who owns them and how fresh they are."],
  ask: () => query("SHOW DATA PRODUCTS IN ACCOUNT"),
  columns: [["Schema", home], ["Owner", text("product_owner")], ["Domain", text("domain")], ["Freshness", (row) => (typeof row["freshness"] === "number" ? duration(row["freshness"]) : row["freshness"])], ["Availability", text("availability")], ["Quality", text("quality")]],
  detail: (row) => [["Objects", row["objects"]], ["Contract", row["contract"]], ["Consumers", row["consumers"]], ["Description", row["comment"]], ["Tags", row["tags"]], ["Personal data", row["pii"]]],
};

export const Tables = (): JSX.Element => <Lists of={TABLES} />;
export const Tasks = (): JSX.Element => <Lists of={TASKS} />;
export const Alerts = (): JSX.Element => <Lists of={ALERTS} />;
export const Connectors = (): JSX.Element => <Lists of={CONNECTORS} />;
export const Channels = (): JSX.Element => <Lists of={CHANNELS} />;
export const Products = (): JSX.Element => <Lists of={PRODUCTS} />;
