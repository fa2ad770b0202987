/** Where an error says that it is. */
export function errorPosition(message: string): { line: number; column: number } | null {
  const found = /line (\d+) at position (-?\d+)/.exec(message);
  return found ? { line: Number(found[1]), column: Math.max(0, Number(found[2])) } : null;
}
