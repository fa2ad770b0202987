/** One look at a result: bars by name, or a line over time. */
import type { JSX } from "preact";
import { useEffect, useMemo, useState } from "preact/hooks";
import type { Column, Value } from "../api";
import { count, instant, short } from "../format";
import { Chart } from "../ui/chart";
import type { Source } from "../ui/grid";
import { Empty, Spinner } from "../ui/parts";

/** Bars, and points of a line. */
const MOST = 40;
const DRAWN = 5000;
const isNumber = (column: Column): boolean => column.kind === "NUMBER" || column.kind === "FLOAT";
const isTime = (column: Column): boolean => column.kind.startsWith("TIMESTAMP") || column.kind === "DATE";

/** Which columns a chart begins with: the first that names or dates something, and the first number that is not it. */
export function chosen(columns: Column[]): { x: number; y: number } | null {
  const time = columns.findIndex(isTime);
  const name = columns.findIndex((column) => !isNumber(column));
  const x = time >= 0 ? time : name >= 0 ? name : 0;
  const y = columns.findIndex((column, index) => isNumber(column) && index !== x);
  return y < 0 ? null : { x, y };
}

/** The rows to draw: those that came with the answer, and more of a longer one. */
function useRows(source: Source): Value[][] | null {
  const [more, setMore] = useState<Value[][] | null>(null);
  const all = source.first.length >= Math.min(source.count, DRAWN);
  useEffect(() => {
    if (all) return undefined;
    let here = true;
    source.fetch(0, DRAWN).then((rows) => { if (here) setMore(rows); }, () => { if (here) setMore(source.first); });
    return () => { here = false; };
  }, [source]);
  return all ? source.first : more;
}

export function QuickChart({ source }: { source: Source }): JSX.Element {
  const rows = useRows(source);
  return rows ? <Drawn columns={source.columns} rows={rows} count={source.count} /> : <Spinner label="Reading rows" />;
}

function Drawn({ columns, rows, count: all }: { columns: Column[]; rows: Value[][]; count: number }): JSX.Element {
  const first = useMemo(() => chosen(columns), [columns]);
  const [x, setX] = useState(first?.x ?? 0);
  const [y, setY] = useState(first?.y ?? 0);
  const across = columns[x];
  const line = useMemo(() => {
    if (!across || !isTime(across)) return null;
    const points = rows
      .map((row) => [(instant(row[x])?.getTime() ?? Number.NaN) / 1000, Number(row[y])] as const)
      .filter(([at, value]) => !Number.isNaN(at) && !Number.isNaN(value))
      .sort((a, b) => a[0] - b[0]);
    return {
      times: points.map(([at]) => at),
      lines: [{ label: columns[y]?.name ?? "", values: points.map(([, value]) => value), color: "--accent", fill: "--accent-soft" }],
    };
  }, [rows, x, y]);
  if (!first) return <Empty icon="graph" title="Nothing to draw">A chart needs a column with numbers.</Empty>;
  const bars = rows.slice(0, MOST).map((row) => ({ name: String(row[x] ?? "NULL"), value: Number(row[y] ?? 0) }));
  const largest = Math.max(...bars.map((bar) => Math.abs(bar.value)), 1e-12);
  const choose = (label: string, value: number, set: (index: number) => void, only?: (column: Column) => boolean): JSX.Element => (
    <label class="muted">{label}{" "}
      <select value={value} onChange={(event) => set(Number(event.currentTarget.value))}>
        {columns.map((column, index) => (only && !only(column) ? null : <option value={index} key={index}>{column.name}</option>))}
      </select>
    </label>
  );
  return (
    <div class="quick">
      <div class="choices">
        {choose("Across", x, setX)}
        {choose("Value", y, setY, isNumber)}
        {line ? rows.length < all ? <span class="faint">the first {count(rows.length)} of {count(all)} rows</span> : null
          : all > MOST ? <span class="faint">the first {MOST} of {count(all)} rows</span> : null}
      </div>
      {line ? <Chart times={line.times} lines={line.lines} height={240} format={short} label={`${columns[y]?.name} over ${across?.name}`} /> : (
        <svg width="100%" height={bars.length * 24 + 8} role="img" aria-label={`${columns[y]?.name} by ${across?.name}`}>
          {bars.map((bar, index) => (
            <g key={index} transform={`translate(0 ${index * 24})`}>
              <text x="140" y="16" text-anchor="end">{bar.name.length > 22 ? `${bar.name.slice(0, 21)}…` : bar.name}</text>
              <svg x="148" width="70%" height="24"><rect y="4" height="16" rx="3" width={`${(100 * Math.abs(bar.value)) / largest}%`} fill="var(--accent)" opacity={bar.value < 0 ? 0.45 : 0.85} /></svg>
              <text x="99%" y="16" text-anchor="end">{short(bar.value)}</text>
            </g>
          ))}
        </svg>
      )}
    </div>
  );
}
