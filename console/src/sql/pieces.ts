/** Which statements of a text to run. */
import type { Piece } from "../api";

/** The offset of a line (from 1) and column (from 0) in a text. */
export function offsetOf(text: string, line: number, column: number): number {
  let start = 0;
  for (let at = 1; at < line; at += 1) {
    const next = text.indexOf("\n", start);
    if (next < 0) return text.length;
    start = next + 1;
  }
  return Math.min(start + column, text.length);
}

/** All of them; those that the selection touches; or the one under the cursor, which is the last that begins before it. */
export function chosenPieces(pieces: Piece[], text: string, selected: { text: string; from: number }, cursor: number, all: boolean): Piece[] {
  if (all) return pieces;
  const starts = pieces.map((piece) => offsetOf(text, piece.line, piece.column));
  if (selected.text.trim()) {
    const to = selected.from + selected.text.length;
    return pieces.filter((piece, index) => {
      const start = starts[index] ?? 0;
      return start < to && start + piece.text.length > selected.from;
    });
  }
  let found = 0;
  starts.forEach((start, index) => { if (start <= cursor) found = index; });
  const piece = pieces[found];
  return piece ? [piece] : [];
}
