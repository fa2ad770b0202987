/** For one refresh: which rows of its sources changed, and which rows of the table each of these changes made. */
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { run } from "../api";
import { count } from "../format";
import { qualified, type Named } from "../graph/actions";
import { Badge, Card, Empty, Failure, Spinner, useAnswer } from "../ui/parts";

interface Change { number: number; count: number; row: (string | null)[] }
interface Changed { columns: string[]; changes: Change[]; inserted: number | null; deleted: number | null }
interface Overview { sources: (Changed & { name: string })[]; hidden_sources: boolean; rows: Changed }
interface Effect { rows: Changed }
interface Picked { source: string; numbers: number[] }

async function ask<T>(sql: string, binds: string[]): Promise<T> {
  return JSON.parse(String((await run(sql, binds)).rows?.[0]?.[0])) as T;
}

const sign = (change: Change): string => `${change.count > 0 ? "+" : "−"}${Math.abs(change.count) > 1 ? Math.abs(change.count) : ""}`;
const keyOf = (change: Change): string => JSON.stringify([change.count > 0, change.row]);

const Sign = ({ of }: { of: Change }): JSX.Element => <span class="changes"><span class={of.count > 0 ? "in" : "out"}>{sign(of)}</span></span>;

function Rows({ of, label, none = "No rows changed.", picked, pick, lit }: {
  of: Changed; label: string; none?: string; picked?: number[]; pick?: (number: number) => void; lit?: Set<string> | null;
}): JSX.Element {
  if (of.inserted === null) return <Empty title="Too many rows changed to show them" />;
  if (!of.changes.length) return <div class="body muted">{none}</div>;
  const total = (of.inserted ?? 0) + (of.deleted ?? 0);
  return (
    <div class="scroll-x"><table class="list" aria-label={label}>
      <thead><tr><th><span class="visually-hidden">Came or went</span></th>{of.columns.map((name) => <th key={name}>{name}</th>)}</tr></thead>
      <tbody>{of.changes.map((change) => (
        <tr key={change.number} class={lit?.has(keyOf(change)) ? "lit" : ""} aria-selected={picked?.includes(change.number)}>
          <td>{pick ? (
            <button type="button" class="small" aria-pressed={picked?.includes(change.number)} aria-label={`What ${sign(change)} ${change.row.join(", ")} changed`} onClick={() => pick(change.number)}><Sign of={change} /></button>
          ) : <Sign of={change} />}</td>
          {change.row.map((text, index) => <td key={index} class="clip ellipsis mono">{text ?? <span class="faint">NULL</span>}</td>)}
        </tr>
      ))}</tbody>
    </table>{of.changes.length < total && of.changes.length >= 200 ? <p class="faint" style={{ padding: "8px 16px" }}>The first {count(of.changes.length)} of {count(total)} changes.</p> : null}</div>
  );
}

function Made({ node, query, picked, table }: { node: Named; query: string; picked: Picked; table: Changed }): JSX.Element {
  const { value, error, busy } = useAnswer(
    () => ask<Effect>("SELECT SYSTEM$REFRESH_CHANGES(?, ?, ?, ?)", [qualified(node), query, picked.source, picked.numbers.join()]),
    [node.name, query, picked.source, picked.numbers.join()],
  );
  if (error) return <Failure error={error} />;
  if (!value || busy) return <Spinner label="Computing without it" />;
  const made = value.rows.changes.filter((one) => one.count > 0);
  const undone = value.rows.changes.filter((one) => one.count < 0);
  return (
    <>
      <Card title={`Rows of ${node.name} that it made`} more={<Badge state={made.length || undone.length ? "ok" : "idle"}>{made.length || undone.length ? "changed" : "nothing changed"}</Badge>} body={false}>
        <Rows of={{ ...value.rows, changes: made }} label="Rows that the change made" />
      </Card>
      <Card title="Without it there would be" body={false}><Rows of={{ ...value.rows, changes: undone }} label="Rows without the change" none="No other rows." /></Card>
      <Card title={`All rows of ${node.name} that the refresh changed`} body={false}><Rows of={table} label="Rows that the refresh changed" lit={new Set(value.rows.changes.map(keyOf))} /></Card>
    </>
  );
}

export function Changes({ node, query, about }: { node: Named; query: string; about: string }): JSX.Element {
  const { value, error } = useAnswer(() => ask<Overview>("SELECT SYSTEM$REFRESH_CHANGES(?, ?)", [qualified(node), query]), [node.name, query]);
  const [picked, setPicked] = useState<Picked | null>(null);
  if (error) return <Failure error={error} />;
  if (!value) return <Spinner label="Reading the changes" />;
  const toggle = (source: string) => (number: number): void => setPicked((before) => {
    const own = before?.source === source ? before.numbers : [];
    const next = own.includes(number) ? own.filter((one) => one !== number) : [...own, number];
    return next.length ? { source, numbers: next } : null;
  });
  return (
    <>
    <p class="muted">{about}</p>
    <div class="grid-2" style={{ alignItems: "start" }}>
      <div style={{ display: "grid", gap: "16px" }}>
        {value.sources.map((one) => (
          <Card key={one.name} title={`Changed in ${one.name}`} more={<span class="changes"><span class="in">+{count(one.inserted)}</span><span class="out">−{count(one.deleted)}</span></span>} body={false}>
            <Rows of={one} label={`Changes of ${one.name}`} picked={picked?.source === one.name ? picked.numbers : []} {...(value.hidden_sources ? {} : { pick: toggle(one.name) })} />
          </Card>
        ))}
        {value.sources.length ? null : <Card><Empty title="No row of a source changed" /></Card>}
        {value.hidden_sources ? <p class="muted">There are sources that your role may not read. What a change made needs all of them.</p> : <p class="faint">Choose a change, or both halves of an update, to see what it made: the query is computed with it and without it.</p>}
      </div>
      <div style={{ display: "grid", gap: "16px" }}>
        {picked ? <Made node={node} query={query} picked={picked} table={value.rows} /> : (
          <Card title={`Rows of ${node.name} that changed`} more={<span class="changes"><span class="in">+{count(value.rows.inserted)}</span><span class="out">−{count(value.rows.deleted)}</span></span>} body={false}>
            <Rows of={value.rows} label="Rows that the refresh changed" />
          </Card>
        )}
      </div>
    </div>
    </>
  );
}
