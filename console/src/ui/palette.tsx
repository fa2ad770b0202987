/** Ctrl-K: any page or object by a part of its name. */
import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { signal } from "@preact/signals";
import { getJson } from "../api";
import type { GraphData, GraphNode } from "../graph/model";
import { go, href } from "../router";
import { pageOf } from "../graph/model";
import { Dialog } from "./dialog";
import { Icon, KIND_ICON, KIND_WORD } from "./parts";
import { PAGES } from "./places";
import "./palette.css";

const open = signal(false);
const MOST = 12;

export function openPalette(): void {
  open.value = true;
}

interface Found { id: string; icon: string; name: string; about: string; kind: string; address: string }

const LISTED: Found[] = PAGES.flatMap(([, pages]) => pages.map(({ page, label, icon }) => ({ id: page, icon, name: label, about: "", kind: "Page", address: href(page) })));

const described = (node: GraphNode): Found => ({
  id: node.id, icon: KIND_ICON[node.kind] ?? "table", name: node.name, about: node.schema ? `${node.database}.${node.schema}` : node.full_name,
  kind: KIND_WORD[node.kind] ?? node.kind, address: pageOf(node),
});

/** Pages, then objects, with all words in their names; shorter names first. */
export function matching(nodes: GraphNode[], text: string): Found[] {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  const has = (name: string): boolean => words.every((word) => name.toLowerCase().includes(word));
  const objects = nodes
    .filter((node) => has(`${node.full_name} ${KIND_WORD[node.kind] ?? ""}`))
    .sort((a, b) => a.name.length - b.name.length || a.full_name.localeCompare(b.full_name));
  return [...(words.length ? LISTED.filter((page) => has(page.name)) : []), ...objects.slice(0, MOST).map(described)].slice(0, MOST);
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
      }
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
  const visit = (one: Found | undefined): void => {
    if (!one) return;
    open.value = false;
    go(one.address);
  };
  const key = (event: KeyboardEvent): void => {
    if (event.key === "ArrowDown") setChosen((before) => Math.min(before + 1, found.length - 1));
    else if (event.key === "ArrowUp") setChosen((before) => Math.max(before - 1, 0));
    else if (event.key === "Enter") visit(found[chosen]);
    else return;
    event.preventDefault();
  };
  return (
    <Dialog label="Find an object" kind="palette" close={() => { open.value = false; }}>
        <input ref={field} type="search" placeholder="Find a table, stream, task, page…" aria-label="Find an object"
          aria-controls="found" aria-activedescendant={found.length ? `found-${chosen}` : undefined}
          value={text} onInput={(event) => { setText(event.currentTarget.value); setChosen(0); }} onKeyDown={key} />
        <ul role="listbox" id="found" aria-label="Objects">
          {found.map((one, index) => (
            <li key={one.kind + one.id} id={`found-${index}`} role="option" aria-selected={index === chosen} onClick={() => visit(one)}>
              <Icon name={one.icon} />
              <b>{one.name}</b>
              <span class="faint ellipsis">{one.about}</span>
              <span class="faint kind">{one.kind}</span>
            </li>
          ))}
        </ul>
        {found.length === 0 ? <p class="muted none">Nothing has that name.</p> : null}
    </Dialog>
  );
}
