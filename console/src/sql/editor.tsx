/** The SQL editor: highlighting, completion, errors at their place. */
import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { autocompletion, closeCompletion, closeBrackets, closeBracketsKeymap, completionKeymap, type CompletionSource } from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap, indentWithTab } from "@codemirror/commands";
import { sql as sqlLanguage } from "@codemirror/lang-sql";
import { bracketMatching, HighlightStyle, indentOnInput, syntaxHighlighting } from "@codemirror/language";
import { lintGutter, setDiagnostics, type Diagnostic } from "@codemirror/lint";
import { searchKeymap } from "@codemirror/search";
import { EditorState, Prec } from "@codemirror/state";
import { drawSelection, EditorView, highlightActiveLine, highlightActiveLineGutter, keymap, lineNumbers, placeholder } from "@codemirror/view";
import { tags } from "@lezer/highlight";
import { SNOWMELT } from "./dialect";

const colours = HighlightStyle.define([
  { tag: [tags.keyword, tags.operatorKeyword, tags.modifier], color: "var(--accent)" },
  { tag: [tags.string, tags.special(tags.string)], color: "var(--ok)" },
  { tag: [tags.number, tags.bool, tags.null], color: "var(--late)" },
  { tag: [tags.comment, tags.lineComment, tags.blockComment], color: "var(--faint)", fontStyle: "italic" },
  { tag: [tags.typeName, tags.standard(tags.name)], color: "var(--flow)" },
]);

const look = EditorView.theme({
  "&": { height: "100%", fontSize: "13px", backgroundColor: "var(--surface)", color: "var(--text)" },
  "&.cm-focused": { outline: "none" },
  ".cm-scroller": { fontFamily: "var(--mono)", lineHeight: "20px", fontFeatureSettings: '"zero", "calt" 0' },
  ".cm-content": { padding: "12px 0", caretColor: "var(--accent)" },
  ".cm-gutters": { backgroundColor: "var(--surface)", color: "var(--faint)", border: "none", paddingLeft: "8px" },
  ".cm-activeLine, .cm-activeLineGutter": { backgroundColor: "color-mix(in srgb, var(--accent-soft) 45%, transparent)" },
  ".cm-cursor": { borderLeftColor: "var(--accent)" },
  "&.cm-focused .cm-selectionBackground, .cm-selectionBackground": { backgroundColor: "var(--accent-soft) !important" },
  ".cm-tooltip": { backgroundColor: "var(--raised)", border: "1px solid var(--line-strong)", borderRadius: "8px", boxShadow: "var(--shadow-large)", overflow: "hidden" },
  ".cm-tooltip-autocomplete > ul": { fontFamily: "var(--mono)", fontSize: "12px" },
  ".cm-tooltip-autocomplete > ul > li": { padding: "3px 10px" },
  ".cm-tooltip-autocomplete > ul > li[aria-selected]": { backgroundColor: "var(--accent-soft)", color: "var(--text)" },
  ".cm-completionDetail": { color: "var(--muted)", fontStyle: "normal", marginLeft: "12px" },
  ".cm-diagnostic": { fontFamily: "var(--font)", padding: "6px 12px" },
  ".cm-panels": { backgroundColor: "var(--sunken)", color: "var(--text)" },
});

export interface EditorHandle {
  text: () => string;
  selected: () => { text: string; from: number };
  cursor: () => number;
  insert: (text: string) => void;
  mark: (line: number, column: number, message: string) => void;
  /** Takes errors away, and the list of completions: what is run is written. */
  clear: () => void;
  focus: () => void;
}

const nonce = (): string => document.querySelector('meta[name="csp-nonce"]')?.getAttribute("content") ?? "";

export function Editor({ value, label, complete, run, runAll, changed, handle, readOnly = false }: {
  value: string; label: string; complete?: CompletionSource; run?: () => void; runAll?: () => void; changed?: (text: string) => void;
  handle?: (editor: EditorHandle) => void; readOnly?: boolean;
}): JSX.Element {
  const holder = useRef<HTMLDivElement>(null);
  const actions = useRef({ run, runAll, changed });
  actions.current = { run, runAll, changed };
  useEffect(() => {
    if (!holder.current) return undefined;
    const start = (): boolean => { actions.current.run?.(); return true; };
    const view = new EditorView({
      parent: holder.current,
      state: EditorState.create({
        doc: value,
        extensions: [
          EditorView.cspNonce.of(nonce()),
          Prec.highest(keymap.of([{ key: "Mod-Enter", run: start }, { key: "Mod-Shift-Enter", run: () => { actions.current.runAll?.(); return true; } }])),
          ...(readOnly ? [EditorState.readOnly.of(true), EditorView.editable.of(false)] : [
            lineNumbers(), highlightActiveLine(), highlightActiveLineGutter(), drawSelection(), history(), indentOnInput(),
            bracketMatching(), closeBrackets(), lintGutter(), placeholder("SELECT …   Ctrl-Enter runs the statement under the cursor"),
            autocompletion({ ...(complete ? { override: [complete] } : {}), activateOnTyping: true, icons: false }),
            keymap.of([...closeBracketsKeymap, ...defaultKeymap, ...searchKeymap, ...historyKeymap, ...completionKeymap, indentWithTab]),
          ]),
          sqlLanguage({ dialect: SNOWMELT }),
          syntaxHighlighting(colours),
          look,
          EditorView.contentAttributes.of({ "aria-label": label, "aria-description": "Escape, then Tab leaves the text.", tabindex: "0" }),
          EditorView.updateListener.of((update) => {
            if (update.docChanged) actions.current.changed?.(update.state.doc.toString());
          }),
        ],
      }),
    });
    handle?.({
      text: () => view.state.doc.toString(),
      selected: () => {
        const { from, to } = view.state.selection.main;
        return { text: view.state.sliceDoc(from, to), from };
      },
      cursor: () => view.state.selection.main.head,
      insert: (text) => {
        const { doc } = view.state;
        const between = doc.length && !doc.toString().endsWith("\n") ? "\n" : "";
        view.dispatch({ changes: { from: doc.length, insert: between + text }, selection: { anchor: doc.length + between.length }, scrollIntoView: true });
      },
      mark: (line, column, message) => {
        const at = view.state.doc.line(Math.min(Math.max(line, 1), view.state.doc.lines));
        const from = Math.min(at.from + column, at.to);
        const word = /^[\w$"]+/.exec(view.state.sliceDoc(from, at.to))?.[0].length ?? 1;
        const found: Diagnostic = { from, to: Math.min(from + word, view.state.doc.length), severity: "error", message };
        view.dispatch(setDiagnostics(view.state, [found]));
      },
      clear: () => { closeCompletion(view); view.dispatch(setDiagnostics(view.state, [])); },
      focus: () => view.focus(),
    });
    return () => view.destroy();
  }, []);
  return <div ref={holder} style={{ height: "100%", minHeight: 0 }} />;
}
