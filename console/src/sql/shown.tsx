/** SQL that is only shown: in the editor's colours, and copied with one click. */
import type { ComponentChildren, JSX } from "preact";
import { useEffect, useMemo, useState } from "preact/hooks";
import { copy, Icon } from "../ui/parts";

type Draw = (text: string, put: (piece: string, classes: string) => void, line: () => void) => void;
let drawing: Promise<Draw> | null = null;

/** The language comes when the first SQL is shown: most pages begin without. */
function load(): Promise<Draw> {
  return drawing ??= (async () => {
    const [{ SNOWMELT }, { highlightCode, tagHighlighter, tags }] = await Promise.all([import("./dialect"), import("@lezer/highlight")]);
    const colours = tagHighlighter([
      { tag: [tags.keyword, tags.operatorKeyword, tags.modifier], class: "sql-keyword" },
      { tag: [tags.string, tags.special(tags.string)], class: "sql-string" },
      { tag: [tags.number, tags.bool, tags.null], class: "sql-number" },
      { tag: [tags.comment, tags.lineComment, tags.blockComment], class: "sql-comment" },
      { tag: [tags.typeName, tags.standard(tags.name)], class: "sql-type" },
    ]);
    const { parser } = SNOWMELT.language;
    return (text, put, line) => highlightCode(text, parser.parse(text), colours, put, line);
  })();
}

export function Sql({ text, label = "SQL" }: { text: string; label?: string }): JSX.Element {
  const [draw, setDraw] = useState<Draw | null>(null);
  useEffect(() => { void load().then((found) => setDraw(() => found)); }, []);
  const shown = useMemo(() => {
    const pieces: ComponentChildren[] = [];
    draw?.(text, (piece, classes) => pieces.push(classes ? <span class={classes}>{piece}</span> : piece), () => pieces.push("\n"));
    return draw ? pieces : text;
  }, [draw, text]);
  return (
    <div class="shown-sql">
      <pre class="code wrap" tabIndex={0} aria-label={label}>{shown}</pre>
      <button type="button" class="plain small copy" aria-label="Copy" title="Copy" onClick={() => copy(text)}><Icon name="copy" size={14} /></button>
    </div>
  );
}
