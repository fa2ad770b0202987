import "./graph.css";
import type { JSX } from "preact";
import { memo } from "preact/compat";
import { useCallback, useEffect, useMemo, useRef, useState } from "preact/hooks";
import { getJson, query } from "../api";
import { ago, clipped, count, duration, plural, short } from "../format";
import { deeds, perform, qualified } from "../graph/actions";
import { arrangeInGroups, LOOSE, type Frame } from "../graph/groups";
import { arrange, edgeKey, NODE, type Layout } from "../graph/layout";
import { isWay, neighbour } from "../graph/moves";
import { keepSame, pageOf, related, type GraphData, type GraphEdge, type GraphNode } from "../graph/model";
import { useLive } from "../live";
import { href, place } from "../router";
import { Sql } from "../sql/shown";
import { Action, Badge, Empty, Failure, Head, Icon, KIND_ICON, KIND_WORD, Spinner, useAnswer } from "../ui/parts";
import { Prove } from "./prove";

const RECENT = 15_000;

export function subline(node: GraphNode): string {
  const parts: string[] = [];
  if (node.kind === "DYNAMIC_TABLE") {
    if (node.state === "suspended") parts.push("suspended");
    else if (node.limit) parts.push(`${duration(node.behind)} of ${duration(node.limit)}`);
    else parts.push("downstream");
    if (node.inserted || node.deleted) parts.push(`+${short(node.inserted)} −${short(node.deleted)}`);
    else if (node.rows !== null && node.rows !== undefined) parts.push(plural(node.rows, "row"));
  } else if (node.kind === "TABLE" && node.rows !== null && node.rows !== undefined) parts.push(`${short(node.rows)} rows`);
  else if (node.last_run) parts.push(`last run ${node.last_run.toLowerCase()}`);
  else parts.push(KIND_WORD[node.kind] ?? node.kind);
  return parts.join(" · ");
}

interface View { x: number; y: number; scale: number }

/** Below this scale nobody can read a name: a node is a box in the colour of its state, and edges are one path. */
const FAR = 0.4;
const [FEW, READABLE] = [60, 0.5];
/** Letters are larger on nodes that are drawn smaller, as far as there is room: [from this scale on, by so much]. */
const LETTERS: [number, number][] = [[0.85, 1], [0.65, 1.35], [0, 1.7]];
/** How wide a name may be beside the icon, without it, and its figures; and how large letters are where nothing is small. */
const [NAME_ROOM, BARE_ROOM, SUB_ROOM] = [148, 172, 190];
const [NAME_SIZE, SUB_SIZE] = [12, 11];
/** As much room around a node that was reached by keys. */
const AROUND = 24;
const GROUPS = "snowmelt.graph.groups";

const EdgePath = memo(function EdgePath({ d, flow, on }: { d: string; flow: boolean; on: boolean }): JSX.Element {
  return <path d={d} class={`edge${flow ? " flow" : ""}${on ? " on" : ""}`} />;
});

interface BoxProps { node: GraphNode; x: number; y: number; on: boolean; picked: boolean; far: boolean; letters: number; reached: boolean; pick: (id: string) => void }

/** From afar only a node's colour shows, and not its figures. */
function looksSame(a: BoxProps, b: BoxProps): boolean {
  const same = a.node === b.node || (a.far && a.node.state === b.node.state && a.node.running === b.node.running);
  return same && a.x === b.x && a.y === b.y && a.on === b.on && a.picked === b.picked && a.far === b.far && a.letters === b.letters && a.reached === b.reached && a.pick === b.pick;
}

const NodeBox = memo(function NodeBox({ node, x, y, on, picked, far, letters, reached, pick }: BoxProps): JSX.Element {
  const name = `node ${node.state}${node.running ? " running" : ""}${on ? " on" : ""}${picked ? " picked" : ""}`;
  return (
    <g class={name} transform={`translate(${x} ${y})`} role="button" tabindex={reached ? 0 : -1} data-node={node.full_name} data-id={node.id}
      aria-description={`${KIND_WORD[node.kind] ?? node.kind}, ${node.state}`} aria-pressed={picked}
      onClick={() => pick(node.id)} onKeyDown={(event) => { if (event.key === "Enter" || event.key === " ") { event.preventDefault(); pick(node.id); } }}>
      <rect class="box" width={NODE.width} height={NODE.height} rx="8" />
      {far ? <title>{node.name}</title> : <>
      <title>{node.name}</title>
      {letters > 1 ? null : <g class={`icon ${node.kind}`} transform="translate(12 12)"><Icon name={KIND_ICON[node.kind] ?? "table"} /></g>}
      <text x={letters > 1 ? 12 : 36} y={letters > 1 ? 27 : 25}>{clipped(node.name, (letters > 1 ? BARE_ROOM : NAME_ROOM) / (letters * NAME_SIZE))}</text>
      <text x="12" y={letters > 1 ? 50 : 47} class={`sub ${node.state === "late" ? "late" : ""}`}>{clipped(subline(node), SUB_ROOM / (letters * SUB_SIZE))}</text>
      <circle class="state" cx={NODE.width - 14} cy="21" r="4" />
      </>}
    </g>
  );
}, looksSame);

/** Rectangles of schemas, behind everything. Their names keep a size that can be read, as far as there is room. */
const Frames = memo(function Frames({ frames, size }: { frames: Frame[]; size: number }): JSX.Element {
  return (
    <g aria-hidden="true">
      {frames.map((frame) => (
        <g key={frame.name} class="schema-frame" data-frame={frame.name} transform={`translate(${frame.x} ${frame.y})`}>
          <rect width={frame.width} height={frame.height} rx="12" />
          <text x="16" y={size > 12 ? -6 : 21} style={{ fontSize: `${size}px` }}>{frame.name}</text>
        </g>
      ))}
    </g>
  );
});

const DEFINED: Record<string, string> = { TABLE: "TABLE", DYNAMIC_TABLE: "TABLE", VIEW: "VIEW", STREAM: "STREAM", TASK: "TASK", ALERT: "ALERT" };

const LINEAGE = new Set(["TABLE", "DYNAMIC_TABLE", "VIEW"]);

function Definition({ node }: { node: GraphNode }): JSX.Element | null {
  const [open, setOpen] = useState(false);
  const word = DEFINED[node.kind];
  const found = useAnswer(async () => (open && word ? String((await query("SELECT GET_DDL(?, ?, TRUE) AS ddl", [word, qualified(node)]))[0]?.["ddl"] ?? "") : ""), [open, node.id]);
  if (!word) return null;
  return (
    <>
      <button type="button" class="small" aria-expanded={open} style={{ justifySelf: "start" }} onClick={() => setOpen(!open)}>{open ? "Hide its definition" : "Its definition"}</button>
      {open ? found.error ? <Failure error={found.error} /> : found.value ? <Sql text={found.value} label="Definition" /> : <Spinner /> : null}
    </>
  );
}

function Details({ node, close, changed, up, down }: { node: GraphNode; close: () => void; changed: () => void; up: number; down: number }): JSX.Element {
  const facts: [string, string | null][] = [
    ["Kind", KIND_WORD[node.kind] ?? node.kind],
    ["Schema", node.schema ? `${node.database}.${node.schema}` : null],
    ["Rows", node.rows === null || node.rows === undefined ? null : count(node.rows)],
    ["Behind", node.behind === null || node.behind === undefined ? null : `${duration(node.behind)}${node.limit ? ` of ${duration(node.limit)}` : ""}`],
    ["Last refresh", node.refreshed_at ? `${(node.action ?? "").toLowerCase().replace("_", " ")}, +${count(node.inserted)} −${count(node.deleted)}, ${ago(node.refreshed_at)}` : null],
    ["Last run", node.last_run ? `${node.last_run.toLowerCase()}, ${ago(node.last_run_at)}` : null],
    ["Mode", node.mode?.toLowerCase() ?? null],
    ["Connected", `${up} upstream, ${down} downstream`],
  ];
  return (
    <aside aria-label={node.name} onKeyDown={(event) => { if (event.key === "Escape") close(); }}>
      <header>
        <div style={{ display: "flex", gap: "8px", alignItems: "center" }}>
          <Icon name={KIND_ICON[node.kind] ?? "table"} />
          <h2 class="ellipsis">{node.name}</h2>
          <button type="button" class="plain small" style={{ marginLeft: "auto" }} onClick={close} aria-label="Close"><Icon name="close" size={14} /></button>
        </div>
        <div><Badge state={node.running ? "running" : node.kind === "DYNAMIC_TABLE" && node.state === "ok" ? "fresh" : node.state} /></div>
      </header>
      <div class="body">
        {node.message ? <div class="error">{node.message}</div> : null}
        <dl class="meta">{facts.map(([name, value]) => (value ? <><dt key={name}>{name}</dt><dd>{value}</dd></> : null))}</dl>
        <div class="acts">
          <a class="button" href={pageOf(node)}>Open</a>
          {deeds(node).map((deed) => <Action key={deed.label} label={deed.label} icon={deed.icon} act={() => perform(deed).then(changed)} />)}
          {node.kind === "DYNAMIC_TABLE" ? <Prove node={node} /> : null}
          {LINEAGE.has(node.kind) ? <a class="button" href={href("table", node.database ?? "", node.schema ?? "", node.name, "lineage")}>Lineage of its columns</a> : null}
        </div>
        <Definition node={node} key={node.id} />
      </div>
    </aside>
  );
}

function leftmost(layout: Layout, seen: (id: string) => boolean): string | undefined {
  let [found, least]: [string | undefined, number] = [undefined, Number.POSITIVE_INFINITY];
  for (const [id, at] of layout.nodes) if (at.x * 1e6 + at.y < least && seen(id)) [found, least] = [id, at.x * 1e6 + at.y];
  return found;
}

export function GraphPage(): JSX.Element {
  const before = useRef<GraphData | undefined>(undefined);
  const { value, error, again } = useAnswer(async () => (before.current = keepSame(before.current, await getJson<GraphData>("/graph"))), []);
  useLive(["rows", "refreshes", "tasks", "objects", "time"], again, 2000);
  const [search, setSearch] = useState("");
  const [schema, setSchema] = useState("");
  const [picked, setPicked] = useState<string | null>(place.value.query.get("select"));
  const asked = place.value.query.get("select");
  // Also where the graph is open already: what the address names is chosen.
  useEffect(() => { if (asked) setPicked(asked); }, [asked]);
  const [grouped, setGrouped] = useState(() => localStorage.getItem(GROUPS) !== "off");
  const [view, setView] = useState<View>({ x: 24, y: 24, scale: 1 });
  const stage = useRef<HTMLDivElement>(null);
  const drag = useRef<{ x: number; y: number; moved: boolean } | null>(null);
  // Until somebody moves it, the whole graph is fitted to the window.
  const touched = useRef(false);
  const [reached, setReached] = useState<string | null>(null);

  const shape = value ? `${grouped ? "groups" : ""}|${schema}|${value.nodes.map((node) => node.id).join()}|${value.edges.map(edgeKey).join()}` : "";
  const kept = useMemo(() => (value?.nodes ?? []).filter((node) => !schema || `${node.database}.${node.schema}` === schema || (!node.schema && node.kind === "SOURCE")), [value, schema]);
  const layout: Layout & { frames?: Frame[] } = useMemo(() => {
    const read = new Set((value?.edges ?? []).map((edge) => edge.target));
    const boxes = kept.map((node) => ({ id: node.id, group: node.schema ? `${node.database}.${node.schema}` : `${LOOSE}${read.has(node.id) ? "out" : "in"}` }));
    return grouped ? arrangeInGroups(boxes, value?.edges ?? []) : arrange(boxes, value?.edges ?? []);
  }, [shape]);
  const plain = useMemo(() => [...layout.paths.values()].join(""), [layout]);
  const around = useMemo(() => (picked && value ? related(value.edges, picked) : null), [picked, value]);
  const wanted = search.trim().toLowerCase();
  const pick = useCallback((id: string) => { if (!drag.current?.moved) setPicked((before) => (before === id ? null : id)); }, []);

  const fit = useCallback((least = 0.08) => {
    touched.current = false;
    const element = stage.current;
    if (!element || layout.width <= 0) return;
    const scale = Math.min(1, Math.max(least, Math.min((element.clientWidth - 48) / layout.width, (element.clientHeight - 96) / layout.height)));
    setView({ scale, x: Math.max(24, (element.clientWidth - layout.width * scale) / 2), y: Math.max(24, (element.clientHeight - 48 - layout.height * scale) / 2) });
  }, [layout]);
  const begin = useCallback(() => fit(layout.nodes.size <= FEW ? READABLE : undefined), [fit]);
  // In a narrow window a graph of few objects begins where it can be read; the button shows all of it.
  useEffect(begin, [begin]);

  /** Moves as little as shows a node whole. */
  const reveal = useCallback((id: string, asked = false): void => {
    const [element, at] = [stage.current, layout.nodes.get(id)];
    if (!element || !at) return;
    setView((before) => {
      const into = (place: number, size: number, room: number, shift: number): number => {
        const start = place * before.scale + shift;
        const end = start + size * before.scale;
        return start < AROUND ? shift + AROUND - start : end > room - AROUND ? shift - (end - room + AROUND) : shift;
      };
      const [x, y] = [into(at.x, NODE.width, element.clientWidth, before.x), into(at.y, NODE.height, element.clientHeight, before.y)];
      if (x === before.x && y === before.y) return before;
      touched.current ||= asked;
      return { ...before, x, y };
    });
  }, [layout]);
  useEffect(() => {
    const element = stage.current;
    if (!element) return undefined;
    const watch = new ResizeObserver(() => {
      if (!touched.current) begin();
      else if (picked) reveal(picked);
    });
    watch.observe(element);
    return () => watch.disconnect();
  }, [begin, picked, value === undefined]);
  useEffect(() => { if (picked) reveal(picked); }, [picked, reveal]);
  useEffect(() => {
    if (reached) stage.current?.querySelector<SVGGElement>(`[data-id="${CSS.escape(reached)}"]`)?.focus();
  }, [reached, view]);

  const zoom = (by: number, cx?: number, cy?: number): void => {
    const element = stage.current;
    if (!element) return;
    touched.current = true;
    const x = cx ?? element.clientWidth / 2;
    const y = cy ?? element.clientHeight / 2;
    setView((before) => {
      const scale = Math.min(2, Math.max(0.08, before.scale * by));
      const share = scale / before.scale;
      return { scale, x: x - (x - before.x) * share, y: y - (y - before.y) * share };
    });
  };
  useEffect(() => {
    const element = stage.current;
    if (!element) return undefined;
    const wheel = (event: WheelEvent): void => {
      event.preventDefault();
      const area = element.getBoundingClientRect();
      if (event.ctrlKey || event.metaKey || Math.abs(event.deltaY) >= 50) zoom(Math.exp(-event.deltaY / 500), event.clientX - area.left, event.clientY - area.top);
      else { touched.current = true; setView((before) => ({ ...before, x: before.x - event.deltaX, y: before.y - event.deltaY })); }
    };
    element.addEventListener("wheel", wheel, { passive: false });
    return () => element.removeEventListener("wheel", wheel);
  }, [value === undefined]);

  const move = (event: PointerEvent): void => {
    const from = drag.current;
    if (!from || event.buttons === 0) return;
    const [dx, dy] = [event.clientX - from.x, event.clientY - from.y];
    if (!from.moved && Math.hypot(dx, dy) < 4) return;
    drag.current = { x: event.clientX, y: event.clientY, moved: true };
    touched.current = true;
    setView((before) => ({ ...before, x: before.x + dx, y: before.y + dy }));
  };

  if (!value) return error ? <div class="content"><Failure error={error} /></div> : <Spinner />;
  const schemas = [...new Set(value.nodes.filter((node) => node.schema).map((node) => `${node.database}.${node.schema}`))].sort();
  const byId = new Map(value.nodes.map((node) => [node.id, node]));
  const node = picked ? byId.get(picked) : undefined;
  const now = Date.parse(value.now);
  const focused = wanted !== "" || !!node;
  // What is lit has a class, and not what is dimmed: a choice changes few of a thousand nodes.
  const lit = (id: string): boolean => focused && (!wanted || (byId.get(id)?.full_name.toLowerCase().includes(wanted) ?? false)) &&
    (!node || !around || id === picked || around.up.has(id) || around.down.has(id));
  const flows = (id: string): boolean => {
    const target = byId.get(id);
    return !!target && (!!target.running || (!!(target.inserted || target.deleted) && !!target.refreshed_at && now - Date.parse(target.refreshed_at) < RECENT));
  };
  // Only what is seen is drawn: a thousand nodes are a map, and a few dozen of them a picture.
  const element = stage.current;
  const wide = (element?.clientWidth ?? 1600) / view.scale;
  const high = (element?.clientHeight ?? 1000) / view.scale;
  const left = -view.x / view.scale - NODE.width;
  const top = -view.y / view.scale - NODE.height;
  const seen = (id: string): boolean => {
    const at = layout.nodes.get(id);
    return !!at && at.x > left && at.x < left + wide + 2 * NODE.width && at.y > top && at.y < top + high + 2 * NODE.height;
  };
  const onWay = (edge: GraphEdge): boolean => !!around && (edge.source === picked || around.up.has(edge.source) || around.down.has(edge.source)) &&
    (edge.target === picked || around.up.has(edge.target) || around.down.has(edge.target)) && !(around.up.has(edge.target) && around.down.has(edge.source));
  const far = view.scale < FAR;
  const letters = far ? 1 : LETTERS.find(([scale]) => view.scale >= scale)?.[1] ?? 1;
  // From afar only edges that stand out are elements of their own.
  const drawn = value.edges.filter((edge) => layout.paths.has(edgeKey(edge)) && (far ? flows(edge.target) || onWay(edge) : seen(edge.source) || seen(edge.target)));
  const first = wanted ? kept.find((one) => one.full_name.toLowerCase().includes(wanted)) : undefined;
  const find = (event: KeyboardEvent): void => {
    const at = first ? layout.nodes.get(first.id) : undefined;
    if (event.key !== "Enter" || !first || !at || !stage.current) return;
    setPicked(first.id);
    touched.current = true;
    setView({ scale: 1, x: stage.current.clientWidth / 2 - at.x - NODE.width / 2, y: stage.current.clientHeight / 2 - at.y });
  };
  // The Tab key leads to one node: where somebody was, or the first from the left. Arrow keys lead to the others.
  const tabbed = [reached, picked].find((id) => id && seen(id)) ?? leftmost(layout, seen);
  const key = (event: KeyboardEvent): void => {
    const id = event.target instanceof Element ? event.target.closest<SVGGElement>("[data-id]")?.dataset["id"] : undefined;
    if (id && isWay(event.key)) {
      const next = neighbour(id, event.key, layout.nodes, value.edges);
      if (next) { setReached(next); reveal(next, true); }
    } else if (event.key === "+" || event.key === "=") zoom(1.25);
    else if (event.key === "-") zoom(0.8);
    else if (event.key === "0") fit();
    else if (event.key === "Escape" && picked) setPicked(null);
    else return;
    event.preventDefault();
  };
  return (
    <div class="graph-page">
      <Head title="Graph" badge={<span class="muted">{plural(kept.length, "object")}</span>}>
        <input type="search" placeholder="Search" aria-label="Search the graph" value={search} onInput={(event) => setSearch(event.currentTarget.value)} onKeyDown={find} />
        <label class="muted"><input type="checkbox" style={{ height: "auto" }} checked={grouped} onChange={() => { localStorage.setItem(GROUPS, grouped ? "off" : "on"); setGrouped(!grouped); }} /> schemas as groups</label>
        <select aria-label="Schema" value={schema} onChange={(event) => setSchema(event.currentTarget.value)}>
          <option value="">All schemas</option>
          {schemas.map((one) => <option key={one}>{one}</option>)}
        </select>
      </Head>
      <div class={`with-panel${node ? " told" : ""}`}>
      <div class="stage" ref={stage} onKeyDown={key} onPointerDown={(event) => { drag.current = { x: event.clientX, y: event.clientY, moved: false }; }} onPointerMove={move}
        onPointerUp={() => setTimeout(() => { drag.current = null; }, 0)}>
        {kept.length === 0 ? <Empty icon="graph" title="Nothing to draw yet">Tables and what is made from them show here.</Empty> : null}
        <svg class={`map${far ? " far" : ""}${focused ? " focused" : ""}${node ? " chosen" : ""}`} role="group" aria-label="Objects and how data flows between them">
          <g transform={`translate(${view.x} ${view.y}) scale(${view.scale})`} style={{ "--letters": letters }}>
            {layout.frames ? <Frames frames={layout.frames} size={Math.min(24, Math.max(12, Math.round(12 / view.scale)))} /> : null}
            {far ? <path class="edge" d={plain} /> : null}
            {drawn.map((edge) => <EdgePath key={edgeKey(edge)} d={layout.paths.get(edgeKey(edge)) ?? ""} flow={flows(edge.target)} on={onWay(edge)} />)}
            {kept.map((one) => {
              const at = layout.nodes.get(one.id);
              return at && seen(one.id) ? <NodeBox key={one.id} node={one} x={at.x} y={at.y} on={lit(one.id)} picked={one.id === picked} far={far} letters={letters} reached={one.id === tabbed} pick={pick} /> : null;
            })}
          </g>
        </svg>
        <div class="zoom">
          <button type="button" onClick={() => zoom(1.25)} aria-label="Nearer" title="Nearer (+)">+</button>
          <button type="button" onClick={() => zoom(0.8)} aria-label="Farther" title="Farther (−)">−</button>
          <button type="button" onClick={() => fit()} aria-label="Show everything" title="Show everything (0)">⤢</button>
        </div>
        <div class="legend" aria-hidden="true">
          {[["ok", "fresh"], ["late", "late"], ["failed", "failed"], ["idle", "suspended"]].map(([tone, word]) => <span key={word}><i style={{ background: `var(--${tone})` }} />{word}</span>)}
        </div>
      </div>
      {node && around ? <Details node={node} close={() => setPicked(null)} changed={again} up={around.up.size} down={around.down.size} /> : null}
      </div>
    </div>
  );
}
