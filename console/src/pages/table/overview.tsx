/** What a table, view or stream is at a glance: its figures, some rows, its columns. */
import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import { query, run, statements, type Row, type Value } from "../../api";
import { ago, bytes, count, dayAndClock, nameParts, typeName } from "../../format";
import { qualified, type Named } from "../../graph/actions";
import { href } from "../../router";
import { ResultGrid } from "../../ui/grid";
import { Card, Empty, Failure, Spinner, useAnswer } from "../../ui/parts";
import { List } from "./shared";

const number = (value: Value | undefined): number | null => (value === null || value === undefined || value === "" ? null : Number(value));

interface Figure { label: string; value: JSX.Element | string; note?: string; large?: boolean }

function rowsAndTime(row: Row, dynamic: boolean): Figure[] {
  const at = dynamic ? row["data_timestamp"] : row["created_on"];
  return [
    { label: "Rows", value: row["rows"] === undefined || row["rows"] === null ? "–" : count(number(row["rows"])), note: bytes(number(row["bytes"])), large: true },
    { label: dynamic ? "Data is from" : "Created", value: ago(at), note: dayAndClock(at) },
  ];
}

/** Of a stream: what it is on, and until when it must be consumed. */
function streamFigures(row: Row, waits: boolean | undefined): Figure[] {
  const base = nameParts(String(row["table_name"] ?? ""));
  const [database = "", schema = "", name = ""] = base;
  const stale = String(row["stale"]) === "true";
  return [
    { label: "Changes", value: waits === undefined ? "…" : waits ? "waiting" : "none waiting", note: "since it was last consumed" },
    { label: "On", value: base.length === 3 ? <a class="link" href={href("table", database, schema, name)}>{name}</a> : String(row["table_name"] ?? "–"), note: base.slice(0, -1).join(".") },
    { label: "Takes", value: String(row["mode"] ?? "default").toLowerCase().replaceAll("_", " ") === "default" ? "every change" : String(row["mode"]).toLowerCase().replaceAll("_", " ") },
    { label: "Stale", value: stale ? "yes" : ago(row["stale_after"]), note: stale ? "its changes are no longer kept: create it anew" : "if nobody consumes it" },
  ];
}

function figuresOf(kind: string, row: Row): Figure[] {
  const dynamic = kind === "DYNAMIC_TABLE";
  if (kind === "VIEW") return [...rowsAndTime(row, false).slice(1), { label: "Owner", value: String(row["owner"] ?? "–"), note: String(row["comment"] ?? "") }];
  if (!dynamic) return [...rowsAndTime(row, false), { label: "Owner", value: String(row["owner"] ?? "–"), note: String(row["comment"] ?? "") }, { label: "Change tracking", value: String(row["change_tracking"] ?? "–").toLowerCase() }];
  return [...rowsAndTime(row, true), { label: "Target lag", value: String(row["target_lag"]).toLowerCase(), note: `refreshed on ${row["warehouse"]}` }, { label: "Refresh mode", value: String(row["refresh_mode"]).toLowerCase(), note: String(row["refresh_mode_reason"] ?? "") }];
}

export function Figures({ node, row }: { node: Named; row: Row }): JSX.Element {
  const stream = node.kind === "STREAM";
  const waits = useAnswer(async () => (stream ? Boolean((await run("SELECT SYSTEM$STREAM_HAS_DATA(?)", [qualified(node)])).rows?.[0]?.[0]) : false), [node.name, stream, row["stale_after"]]);
  const figures = stream ? streamFigures(row, waits.error ? false : waits.value) : figuresOf(node.kind, row);
  return (
    <div class="grid-4">
      {figures.map(({ label, value, note = "", large = false }) => (
        <div class="card figure" key={label}><div class="label">{label}</div><div class={large ? "value" : "value words"}>{value}</div><div class="note ellipsis" title={note}>{note}</div></div>
      ))}
    </div>
  );
}

export function Preview({ node }: { node: Named }): JSX.Element {
  const { value, error } = useAnswer(() => run(`SELECT * FROM ${qualified(node)} LIMIT 500`, undefined, 500), [node.name]);
  const source = useMemo(() => (value?.columns ? { columns: value.columns, count: value.row_count ?? 0, first: value.rows ?? [], fetch: (offset: number, limit: number) => statements.rows(value.id, offset, limit) } : null), [value]);
  if (error) return <Failure error={error} />;
  if (!source) return <Spinner />;
  return source.count ? <div class="card preview" style={{ height: `${Math.min(420, 50 + source.count * 28)}px` }}><ResultGrid source={source} label="Preview" /></div> : <Card>{node.kind === "STREAM" ? <Empty icon="stream" title="Nothing is waiting">Changes show here until they are consumed.</Empty> : <Empty icon="table" title={node.kind === "VIEW" ? "No rows" : "No rows yet"} />}</Card>;
}

async function streamColumns(node: Named): Promise<Row[]> {
  return ((await run(`SELECT * FROM ${qualified(node)} LIMIT 0`, undefined, 1)).columns ?? []).map(({ name, type, nullable }) => ({ name, type, "null?": nullable ? "Y" : "N" }));
}

export function Columns({ node }: { node: Named }): JSX.Element {
  // A stream has the columns of what it is on, and three of its own.
  const { value, error } = useAnswer(() => (node.kind === "STREAM" ? streamColumns(node) : query(`DESCRIBE TABLE ${qualified(node)}`)), [node.name, node.kind]);
  return <Card title="Columns" body={false}><List of={{ value, error }} empty="No columns" columns={[
    ["name", "Name", (name) => <b style={{ fontWeight: 540 }}>{name}</b>], ["type", "Type", (type) => <code>{typeName(String(type))}</code>], ["null?", "Nulls", (yes) => (yes === "Y" ? "allowed" : "never")],
    ["default", "Default", (text) => (text ? <code>{text}</code> : "")], ["comment", "Comment"],
  ]} /></Card>;
}

