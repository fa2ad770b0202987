/** A window over the page: the browser keeps the keyboard in it, closes it by Escape, which closes nothing else, and gives the focus back. */
import type { ComponentChildren, JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { signal } from "@preact/signals";
import { Icon } from "./parts";

export function Dialog({ label, close, kind = "", children }: {
  label: string; close: () => void; kind?: string; children: ComponentChildren;
}): JSX.Element {
  const held = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const dialog = held.current;
    dialog?.showModal();
    return () => dialog?.close();
  }, []);
  return (
    <dialog ref={held} class={`dialog ${kind}`} aria-label={label} onClose={close}
      onKeyDown={(event) => { if (event.key === "Escape") event.stopPropagation(); }}
      onClick={(event) => { if (event.target === event.currentTarget) held.current?.close(); }}>
      <div class="inside">{children}</div>
    </dialog>
  );
}

export function DialogHead({ title, close, children }: { title: string; close: () => void; children?: ComponentChildren }): JSX.Element {
  return (
    <header>
      <h2 class="ellipsis">{title}</h2>
      {children}
      <button type="button" class="plain small" onClick={close} aria-label="Close"><Icon name="close" size={14} /></button>
    </header>
  );
}

interface Asked { title: string; text: string; label: string; answer: (yes: boolean) => void }
const asked = signal<Asked | null>(null);

/** Whether somebody wants what can't be taken back. */
export function confirmed(title: string, text: string, label: string): Promise<boolean> {
  return new Promise((answer) => { asked.value = { title, text, label, answer }; });
}

export function Confirmation(): JSX.Element | null {
  const found = asked.value;
  if (!found) return null;
  const end = (yes: boolean): void => {
    if (asked.value === found) asked.value = null;
    found.answer(yes);
  };
  return (
    <Dialog label={found.title} close={() => end(false)} kind="small" key={found.title}>
      <DialogHead title={found.title} close={() => end(false)} />
      <div class="body">
        <p>{found.text}</p>
        <div class="row-end">
          <button type="button" autoFocus onClick={() => end(false)}>Leave it</button>
          <button type="button" class="primary bad" onClick={() => end(true)}>{found.label}</button>
        </div>
      </div>
    </Dialog>
  );
}
