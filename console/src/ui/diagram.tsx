/** A small drawn graph: boxes with a title and a line below it, arrows from left to right. */
import "./diagram.css";
import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import { arrange, edgeKey, NODE } from "../graph/layout";

/** `share`: how much of the whole a box cost, from 0 to 1, drawn as a bar at its foot. */
export interface DrawnNode { id: string; title: string; sub?: string; tone?: string; href?: string; share?: number }
export interface DrawnEdge { source: string; target: string }

const PAD = 12;
/** A drawing that is too wide becomes smaller, down to this; then it is scrolled. */
const LEAST = 0.65;
const BAR = NODE.width - 24;
const clip = (text: string, most: number): string => (text.length > most ? `${text.slice(0, most - 1)}…` : text);

function Box({ node, pick, picked }: { node: DrawnNode; pick?: ((id: string) => void) | undefined; picked: boolean }): JSX.Element {
  const inside = (
    <>
      <title>{node.title}{node.sub ? `: ${node.sub}` : ""}</title>
      <rect class="box" width={NODE.width} height={NODE.height} rx="8" />
      <text x="12" y="25">{clip(node.title, 26)}</text>
      {node.sub ? <text x="12" y={node.share === undefined ? 46 : 42} class="sub">{clip(node.sub, 34)}</text> : null}
      {node.share === undefined ? null : <><rect class="rail" x="12" y="49" width={BAR} height="4" rx="2" /><rect class="share" x="12" y="49" width={Math.max(2, BAR * Math.min(node.share, 1))} height="4" rx="2" /></>}
    </>
  );
  if (node.href) return <a href={node.href} aria-label={node.title}>{inside}</a>;
  if (!pick) return inside;
  return (
    <g role="button" tabindex={0} aria-pressed={picked} aria-label={node.title} onClick={() => pick(node.id)}
      onKeyDown={(event) => { if (event.key === "Enter" || event.key === " ") { event.preventDefault(); pick(node.id); } }}>{inside}</g>
  );
}

export function Diagram({ nodes, edges, label, pick, picked }: {
  nodes: DrawnNode[]; edges: DrawnEdge[]; label: string; pick?: (id: string) => void; picked?: string | null;
}): JSX.Element {
  const layout = useMemo(() => arrange(nodes.map((node) => ({ id: node.id, group: "" })), edges.map((edge) => ({ ...edge, kind: "" }))), [nodes, edges]);
  const [width, height] = [layout.width + 2 * PAD, layout.height + 2 * PAD];
  return (
    <div class="diagram" tabIndex={0} role="group" aria-label={label}>
      <svg width={width} style={{ maxWidth: "100%", height: "auto", minWidth: `${Math.round(width * LEAST)}px` }} viewBox={`${-PAD} ${-PAD} ${width} ${height}`}>
        {edges.map((edge) => {
          const path = layout.paths.get(edgeKey(edge));
          return path ? <path key={edgeKey(edge)} class="edge" d={path} /> : null;
        })}
        {nodes.map((node) => {
          const at = layout.nodes.get(node.id);
          return at ? <g key={node.id} class={`drawn ${node.tone ?? ""}${picked === node.id ? " picked" : ""}`} data-drawn={node.title} transform={`translate(${at.x} ${at.y})`}><Box node={node} pick={pick} picked={picked === node.id} /></g> : null;
        })}
      </svg>
    </div>
  );
}
