/** Ctrl-K: any object by a part of its name. */
import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { signal } from "@preact/signals";
import { getJson } from "../api";
import type { GraphData, GraphNode } from "../graph/model";
import { go } from "../router";
import { pageOf } from "../graph/model";
import { Icon, KIND_ICON, KIND_WORD } from "./parts";
import "./palette.css";

const open = signal(false);
const MOST = 12;

export function openPalette(): void {
  open.value = true;
}

/** Names that have all words in them; shorter names first. */
export function matching(nodes: GraphNode[], text: string): GraphNode[] {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  return nodes
    .filter((node) => words.every((word) => `${node.full_name} ${node.kind}`.toLowerCase().includes(word)))
    .sort((a, b) => a.name.length - b.name.length || a.full_name.localeCompare(b.full_name))
    .slice(0, MOST);
}

export function Palette(): JSX.Element | null {
  const [nodes, setNodes] = useState<GraphNode[]>([]);
  const [text, setText] = useState("");
  const [chosen, setChosen] = useState(0);
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => {
    const key = (event: KeyboardEvent): void => {
      if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "k") {
        event.preventDefault();
        open.value = !open.value;
      } else if (event.key === "Escape") open.value = false;
    };
    window.addEventListener("keydown", key);
    return () => window.removeEventListener("keydown", key);
  }, []);
  const shown = open.value;
  useEffect(() => {
    if (!shown) return;
    setText("");
    setChosen(0);
    field.current?.focus();
    void getJson<GraphData>("/graph").then((found) => setNodes(found.nodes), () => undefined);
  }, [shown]);
  if (!shown) return null;
  const found = matching(nodes, text);
  const visit = (node: GraphNode | undefined): void => {
    if (!node) return;
    open.value = false;
    go(pageOf(node));
  };
  const key = (event: KeyboardEvent): void => {
    if (event.key === "ArrowDown") setChosen((before) => Math.min(before + 1, found.length - 1));
    else if (event.key === "ArrowUp") setChosen((before) => Math.max(before - 1, 0));
    else if (event.key === "Enter") visit(found[chosen]);
    else return;
    event.preventDefault();
  };
  return (
    <div class="dialog-back" onClick={() => { open.value = false; }}>
      <div class="dialog palette" role="dialog" aria-modal="true" aria-label="Find an object" onClick={(event) => event.stopPropagation()}>
        <input ref={field} type="search" placeholder="Find a table, stream, task, connector…" aria-label="Find an object"
          value={text} onInput={(event) => { setText(event.currentTarget.value); setChosen(0); }} onKeyDown={key} />
        <ul role="listbox" aria-label="Objects">
          {found.map((node, index) => (
            <li key={node.id} role="option" aria-selected={index === chosen} onClick={() => visit(node)}>
              <Icon name={KIND_ICON[node.kind] ?? "table"} />
              <b>{node.name}</b>
              <span class="faint ellipsis">{node.schema ? `${node.database}.${node.schema}` : node.full_name}</span>
              <span class="faint kind">{KIND_WORD[node.kind]}</span>
            </li>
          ))}
          {found.length === 0 ? <li class="muted">Nothing has that name.</li> : null}
        </ul>
      </div>
    </div>
  );
}
