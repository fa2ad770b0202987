/** The worksheets as tabs: chosen by arrow keys, renamed by a double click or F2, closed by the middle button or Delete. */
import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { confirmed } from "../../ui/dialog";
import { Icon } from "../../ui/parts";
import { isUntouched, type Sheet, type Sheets } from "./sheets";

function Rename({ sheet, end }: { sheet: Sheet; end: (title: string | null) => void }): JSX.Element {
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => { field.current?.select(); }, []);
  return (
    <input ref={field} class="rename" aria-label="Name of the worksheet" maxLength={60} defaultValue={sheet.title} autoFocus
      onBlur={(event) => end(event.currentTarget.value.trim() || null)}
      onKeyDown={(event) => { if (event.key === "Enter") event.currentTarget.blur(); else if (event.key === "Escape") end(null); event.stopPropagation(); }} />
  );
}

export function Tabs({ sheets, close }: { sheets: Sheets; close: (id: string) => void }): JSX.Element {
  const [renamed, setRenamed] = useState<string | null>(null);
  const list = useRef<HTMLDivElement>(null);
  const { all, current } = sheets;
  const step = (by: number): void => {
    const next = all[(all.indexOf(current) + by + all.length) % all.length];
    if (!next) return;
    sheets.choose(next.id);
    requestAnimationFrame(() => list.current?.querySelector<HTMLElement>('[aria-selected="true"]')?.focus());
  };
  const ask = async (sheet: Sheet): Promise<void> => {
    if (isUntouched(sheet) || await confirmed(`Close ${sheet.title}?`, "Its text is not kept.", "Close it")) close(sheet.id);
  };
  const key = (event: KeyboardEvent): void => {
    if (event.key === "ArrowRight") step(1);
    else if (event.key === "ArrowLeft") step(-1);
    else if (event.key === "F2") setRenamed(current.id);
    else if (event.key === "Delete") void ask(current);
    else return;
    event.preventDefault();
  };
  return (
    <div class="sheets">
      <div role="tablist" aria-label="Worksheets" ref={list} onKeyDown={key}>
        {all.map((sheet) => (sheet.id === renamed ? null : (
          <button type="button" role="tab" key={sheet.id} aria-selected={sheet.id === current.id} tabIndex={sheet.id === current.id ? 0 : -1}
            title="Double-click, or F2, names it" onClick={() => sheets.choose(sheet.id)} onDblClick={() => setRenamed(sheet.id)}
            onAuxClick={(event) => { if (event.button === 1) void ask(sheet); }}>{sheet.title}</button>
        )))}
      </div>
      {all.filter((sheet) => sheet.id === renamed).map((sheet) => (
        <Rename sheet={sheet} key={sheet.id} end={(title) => { if (title) sheets.change(sheet.id, { title }); setRenamed(null); }} />
      ))}
      <button type="button" aria-label="New worksheet" title="New worksheet" onClick={() => sheets.add()}><Icon name="plus" size={14} /></button>
      {all.length > 1 ? <button type="button" aria-label={`Close ${current.title}`} title="Close" onClick={() => void ask(current)}><Icon name="close" size={14} /></button> : null}
    </div>
  );
}
