/** What a table is made from and who reads it; of a column, when it is asked for. */
import type { JSX } from "preact";
import { useMemo, useState } from "preact/hooks";
import { query, run, type Row, type Value } from "../../api";
import { fullName, qualified, type Named } from "../../graph/actions";
import { Diagram } from "../../ui/diagram";
import { Card, Empty, Failure, Spinner, useAnswer } from "../../ui/parts";
import { RelativeLink, relatives } from "./relatives";
import { List } from "./shared";

interface End { object: string; domain: string; column: string | null }
interface Flow { source: End; target: End; influences: string[] }

async function columnFlows(node: Named, column: string): Promise<Flow[]> {
  const name = `${qualified(node)}."${column.replaceAll('"', '""')}"`;
  const ways = await Promise.all(["UPSTREAM", "DOWNSTREAM"].map((way) => run("SELECT SYSTEM$LINEAGE(?, ?)", [name, way])));
  return ways.flatMap((found) => (JSON.parse(String(found.rows?.[0]?.[0])) as { edges: Flow[] }).edges);
}

const idOf = (end: End): string => `${end.object}\u0000${end.column ?? ""}`;

function ColumnLineage({ node, column }: { node: Named; column: string }): JSX.Element {
  const { value, error } = useAnswer(() => columnFlows(node, column), [node.name, column]);
  const drawn = useMemo(() => {
    const ends = new Map((value ?? []).flatMap((flow) => [flow.source, flow.target]).map((end) => [idOf(end), end]));
    const focus = fullName(node);
    return {
      nodes: [...ends].map(([id, end]) => ({ id, title: end.column ?? "which rows there are", sub: end.object, tone: end.object === focus ? "accent" : end.domain === "EXTERNAL" ? "source" : "" })),
      edges: (value ?? []).map((flow) => ({ source: idOf(flow.source), target: idOf(flow.target) })),
    };
  }, [value]);
  if (error) return <Failure error={error} />;
  if (!value) return <Spinner />;
  if (!value.length) return <Empty title="Nothing is known of where it comes from or goes" />;
  return (
    <>
      <Diagram label={`Lineage of ${column}`} nodes={drawn.nodes} edges={drawn.edges} />
      <div class="scroll-x" tabIndex={0}><table class="list"><thead><tr><th>From</th><th>To</th><th>How</th></tr></thead>
        <tbody>{value.map((flow, index) => <tr key={index}><td>{flow.source.object}.{flow.source.column ?? "…"}</td><td>{flow.target.object}{flow.target.column ? `.${flow.target.column}` : ": which rows there are"}</td><td class="muted">{flow.influences.join(", ").toLowerCase().replaceAll("_", " ")}</td></tr>)}</tbody></table></div>
    </>
  );
}

export function Lineage({ node }: { node: Named }): JSX.Element {
  const up = useAnswer(() => relatives(node, "UPSTREAM"), [node.name]);
  const down = useAnswer(() => relatives(node, "DOWNSTREAM"), [node.name]);
  const shown = [["name", "Object", (_: Value, row: Row) => <RelativeLink of={row} />], ["kind", "Kind"], ["distance", "Steps"]] as [string, string][];
  const columns = useAnswer(() => query(`DESCRIBE TABLE ${qualified(node)}`), [node.name]);
  const [column, setColumn] = useState("");
  return (
    <>
    <Card title="Of one column" more={<select aria-label="Column" value={column} onChange={(event) => setColumn(event.currentTarget.value)}>
      <option value="">choose a column</option>{(columns.value ?? []).map((row) => <option key={String(row["name"])}>{row["name"]}</option>)}</select>} body={false}>
      {column ? <ColumnLineage node={node} column={column} key={column} /> : <div class="body muted">Where its values come from, what decides them, and what they flow into.</div>}
    </Card>
    <div class="grid-2">
      <Card title="Made from" body={false}><List of={up} empty="Nothing: it is a source" columns={shown} /></Card>
      <Card title="Read by" body={false}><List of={down} empty="Nothing reads it" columns={shown} /></Card>
    </div>
    </>
  );
}
