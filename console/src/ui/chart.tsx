/** Time series, by uPlot. Colours come from the design system, so that they follow light and dark. */
import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import uPlot from "uplot";
import { dayAndClock } from "../format";
import { theme } from "../state";

export interface Line {
  label: string;
  values: (number | null)[];
  color: string;
  bars?: boolean;
  fill?: string;
  dash?: number[];
  stepped?: boolean;
}

const bars = uPlot.paths.bars?.({ size: [0.7, 12], radius: 0.15 });
const steps = uPlot.paths.stepped?.({ align: 1 });
const BARS = bars ? { paths: bars } : {};
const STEPS = steps ? { paths: steps } : {};

const style = (name: string): string => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

const DAY = 86_400;
/** Steps between the lines of an axis of seconds, which people count in minutes, hours and days. */
const DURATIONS = [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14_400, 21_600, 43_200,
  ...[1, 2, 5, 10, 20, 50, 100, 200, 500].map((days) => days * DAY)];

/** What a tick of time says: as much as tells it from its neighbours. */
export function timeLabels(ticks: number[]): string[] {
  const span = (ticks.at(-1) ?? 0) - (ticks[0] ?? 0);
  const step = ticks.length > 1 ? span / (ticks.length - 1) : DAY;
  const say = (options: Intl.DateTimeFormatOptions) => (tick: number): string => new Date(tick * 1000).toLocaleString("en-GB", options);
  if (step >= DAY) return ticks.map(say({ day: "numeric", month: "short" }));
  if (span >= DAY) return ticks.map(say({ day: "numeric", month: "short", hour: "2-digit", minute: "2-digit" }));
  return ticks.map(say({ hour: "2-digit", minute: "2-digit", ...(step < 60 ? { second: "2-digit" } : {}) }));
}

interface Pointed { left: number; time: string; values: { label: string; text: string; color: string }[] }

export function Chart({ times, lines, height = 140, format, label, durations = false }: {
  times: number[]; lines: Line[]; height?: number; format?: (value: number) => string; label: string; durations?: boolean;
}): JSX.Element {
  const holder = useRef<HTMLDivElement>(null);
  const [pointed, setPointed] = useState<Pointed | null>(null);
  const dark = theme.value;
  useEffect(() => {
    const element = holder.current;
    if (!element || times.length === 0) return undefined;
    const axis = {
      stroke: style("--faint"), font: `11px ${style("--font")}`, grid: { stroke: style("--line"), width: 1 },
      ticks: { show: false }, gap: 6,
    };
    const said = (value: number): string => (format ? format(value) : value.toLocaleString("en-US"));
    const point = (plot: uPlot): void => {
      const index = plot.cursor.idx;
      const time = index === null || index === undefined ? undefined : times[index];
      if (time === undefined || index === null || index === undefined || (plot.cursor.left ?? -1) < 0) { setPointed(null); return; }
      const values = lines.map((line) => ({ line, value: line.values[index] })).filter(({ value }) => value !== null && value !== undefined)
        .map(({ line, value }) => ({ label: line.label, text: said(value ?? 0), color: line.color }));
      setPointed({ left: plot.valToPos(time, "x") + plot.over.offsetLeft, time: dayAndClock(new Date(time * 1000).toISOString()), values });
    };
    const options: uPlot.Options = {
      hooks: { setCursor: [point] },
      width: Math.max(element.clientWidth, 120), height,
      padding: [8, 8, 0, 0],
      cursor: { y: false, points: { size: 6 } },
      legend: { show: false },
      scales: { x: { time: true }, y: { range: (_u, _min, max) => [0, Math.max(max * 1.1, 1)] } },
      axes: [
        { ...axis, grid: { show: false }, size: 24, space: 72, values: (_u, ticks) => timeLabels(ticks) },
        { ...axis, size: 56, ...(durations ? { incrs: DURATIONS } : {}), values: (_u, ticks) => ticks.map((tick) => (tick === 0 ? "0" : said(tick))) },
      ],
      series: [
        {},
        ...lines.map((line): uPlot.Series => ({
          label: line.label, stroke: style(line.color), width: line.bars ? 0 : 1.5, points: { show: false },
          ...(line.fill ? { fill: style(line.fill) } : {}),
          ...(line.bars ? { fill: style(line.color), ...BARS } : {}),
          ...(line.stepped ? STEPS : {}),
          ...(line.dash ? { dash: line.dash } : {}),
        })),
      ],
    };
    const chart = new uPlot(options, [times, ...lines.map((line) => line.values)] as uPlot.AlignedData, element);
    const watch = new ResizeObserver(() => chart.setSize({ width: Math.max(element.clientWidth, 120), height }));
    watch.observe(element);
    return () => { watch.disconnect(); chart.destroy(); };
  }, [times, lines, height, dark]);
  return (
    <div class="chart" ref={holder} role="img" aria-label={label} style={{ height: `${height}px` }}>
      {pointed?.values.length ? (
        <div class={`pointed${pointed.left > (holder.current?.clientWidth ?? 0) / 2 ? " before" : ""}`} style={{ left: `${pointed.left}px` }}>
          <span class="faint">{pointed.time}</span>
          {pointed.values.map((one) => <span key={one.label}><i style={{ background: `var(${one.color})` }} />{one.label} <b>{one.text}</b></span>)}
        </div>
      ) : null}
    </div>
  );
}
