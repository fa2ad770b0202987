/** Time series, by uPlot. Colours come from the design system, so that they follow light and dark. */
import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import uPlot from "uplot";
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

const timeOf = (tick: number): string => new Date(tick * 1000).toLocaleTimeString("en-GB", { hour: "2-digit", minute: "2-digit" });

export function Chart({ times, lines, height = 140, format, label }: {
  times: number[]; lines: Line[]; height?: number; format?: (value: number) => string; label: string;
}): JSX.Element {
  const holder = useRef<HTMLDivElement>(null);
  const dark = theme.value;
  useEffect(() => {
    const element = holder.current;
    if (!element || times.length === 0) return undefined;
    const axis = {
      stroke: style("--faint"), font: `11px ${style("--font")}`, grid: { stroke: style("--line"), width: 1 },
      ticks: { show: false }, gap: 6,
    };
    const options: uPlot.Options = {
      width: Math.max(element.clientWidth, 120), height,
      padding: [8, 8, 0, 0],
      cursor: { y: false, points: { size: 6 } },
      legend: { show: false },
      scales: { x: { time: true }, y: { range: (_u, _min, max) => [0, Math.max(max * 1.1, 1)] } },
      axes: [
        { ...axis, grid: { show: false }, size: 24, values: (_u, ticks) => ticks.map(timeOf) },
        { ...axis, size: 48, values: (_u, ticks) => ticks.map((tick) => (format ? format(tick) : tick.toLocaleString("en-US"))) },
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
  return <div class="chart" ref={holder} role="img" aria-label={label} style={{ height: `${height}px` }} />;
}
