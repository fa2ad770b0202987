/** One look at a result: bars by name, or a line over time. */
import type { JSX } from "preact";
import { useMemo, useState } from "preact/hooks";
import type { Column, Value } from "../api";
import { instant, short } from "../format";
import { Chart } from "../ui/chart";
import { Empty } from "../ui/parts";

const MOST = 40;
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

export function QuickChart({ columns, rows }: { columns: Column[]; rows: Value[][] }): JSX.Element {
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
        {rows.length > MOST && !line ? <span class="faint">the first {MOST} rows</span> : null}
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
