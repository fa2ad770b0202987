/** The API under the page. Every answer is JSON; a refusal is an ApiError with the server's code and words. */

export interface ServerError {
  code: string;
  sqlstate: string;
  message: string;
  hint: string | null;
  transient: boolean;
}

export interface Who {
  user: string;
  role: string;
  roles: string[];
  warehouse: string | null;
  database: string | null;
  schema: string | null;
  csrf: string;
}

export interface Column {
  name: string;
  type: string;
  kind: string;
  nullable: boolean;
}

export type Value = string | number | boolean | null;

export interface Context {
  user: string;
  role: string;
  warehouse: string | null;
  database: string | null;
  schema: string | null;
  transaction: boolean;
}

/** How far Spark is with a statement. Stages are added while it runs. */
export interface Progress {
  stages_done: number;
  stages: number;
  tasks_done: number;
  tasks: number;
  text: string;
}

export interface Statement {
  id: string;
  query_id: string;
  status: "running" | "succeeded" | "failed" | "cancelled";
  elapsed_ms: number;
  context: Context;
  waits?: boolean;
  progress?: Progress | null;
  error?: ServerError;
  statement_type?: string;
  /** The statement as it may be kept, where it has a secret in it. */
  redacted?: string;
  rows_affected?: number | null;
  row_count?: number;
  columns?: Column[];
  rows?: Value[][];
}

export interface Piece {
  text: string;
  line: number;
  column: number;
}

export type Row = Record<string, Value>;

const BASE = "/api/v1/console";
let csrf = "";
let whenLoggedOut: () => void = () => undefined;

export class ApiError extends Error {
  readonly error: ServerError;
  readonly status: number;
  constructor(error: ServerError, status: number) {
    super(error.message);
    this.error = error;
    this.status = status;
  }
}

/** What to do when the server says that nobody is logged in. */
export function onLoggedOut(action: () => void): void {
  whenLoggedOut = action;
}

async function asked(method: string, path: string, body?: unknown): Promise<Response> {
  const headers: Record<string, string> = {};
  if (body !== undefined) headers["content-type"] = "application/json";
  if (method !== "GET" && csrf) headers["x-csrf-token"] = csrf;
  const request: RequestInit = { method, headers, credentials: "same-origin" };
  if (body !== undefined) request.body = JSON.stringify(body);
  let answer: Response;
  try {
    answer = await fetch(BASE + path, request);
  } catch {
    throw new ApiError(
      { code: "", sqlstate: "", message: "The server does not answer.", hint: "It may be restarting.", transient: true },
      0,
    );
  }
  if (answer.ok) return answer;
  const content: unknown = await answer.json().catch(() => ({}));
  const error = (content as { error?: ServerError }).error ?? {
    code: String(answer.status), sqlstate: "", message: `The server answered ${answer.status}.`, hint: null, transient: false,
  };
  if (answer.status === 401 && path !== "/session") whenLoggedOut();
  throw new ApiError(error, answer.status);
}

async function call<T>(method: string, path: string, body?: unknown): Promise<T> {
  return (await (await asked(method, path, body)).json()) as T;
}

function admitted(who: Who): Who {
  csrf = who.csrf;
  return who;
}

export const session = {
  current: async (): Promise<Who> => admitted(await call<Who>("GET", "/session")),
  logIn: async (secrets: Record<string, string>): Promise<Who> => admitted(await call<Who>("POST", "/session", secrets)),
  use: async (change: { role?: string; warehouse?: string }): Promise<Who> =>
    admitted(await call<Who>("PATCH", "/session", change)),
  logOut: async (): Promise<void> => {
    await call("DELETE", "/session");
    csrf = "";
  },
};

export const getJson = <T>(path: string): Promise<T> => call<T>("GET", path);

export const postJson = <T>(path: string, body: unknown): Promise<T> => call<T>("POST", path, body);

/** Saves what the server makes of a request as a file. */
export async function saveFrom(path: string, body: unknown, name: string): Promise<void> {
  const address = URL.createObjectURL(await (await asked("POST", path, body)).blob());
  const link = document.createElement("a");
  link.href = address;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 60_000);
}

export const statements = {
  split: async (sql: string): Promise<Piece[]> =>
    (await call<{ statements: Piece[] }>("POST", "/statements/split", { sql })).statements,
  start: (sql: string, more: Record<string, unknown> = {}): Promise<Statement> =>
    call<Statement>("POST", "/statements", { sql, ...more }),
  get: (id: string, wait = 20, seen?: string): Promise<Statement> =>
    call<Statement>("GET", `/statements/${id}?wait=${wait}${seen === undefined ? "" : `&seen=${encodeURIComponent(seen)}`}`),
  rows: async (id: string, offset: number, limit: number): Promise<Value[][]> =>
    (await call<{ rows: Value[][] }>("GET", `/statements/${id}/rows?offset=${offset}&limit=${limit}`)).rows,
  cancel: (id: string): Promise<unknown> => call("POST", `/statements/${id}/cancel`, {}),
  downloadUrl: (id: string, format: string): string => `${BASE}/statements/${id}/download?format=${format}`,
  closeWorksheet: (name: string): Promise<unknown> => call("DELETE", `/worksheets/${encodeURIComponent(name)}`),
};

/** Rows of one answer. */
const AT_ONCE = 5000;

/** Runs one statement to its end. Raises the statement's error. */
export async function run(sql: string, binds?: Value[], rows = AT_ONCE): Promise<Statement> {
  let found = await statements.start(sql, binds ? { binds, rows } : { rows });
  while (found.status === "running") found = await statements.get(found.id);
  if (found.error) throw new ApiError(found.error, 200);
  return found;
}

/** All rows of a statement as objects, by lower-case column names. */
export async function query(sql: string, binds?: Value[]): Promise<Row[]> {
  const found = await run(sql, binds, AT_ONCE);
  const rows = found.rows ?? [];
  while (rows.length < (found.row_count ?? 0)) {
    const more = await statements.rows(found.id, rows.length, AT_ONCE);
    if (!more.length) break;
    rows.push(...more);
  }
  return toObjects({ ...found, rows });
}

export function toObjects(found: Statement): Row[] {
  const names = (found.columns ?? []).map((column) => column.name.toLowerCase());
  return (found.rows ?? []).map((row) => Object.fromEntries(names.map((name, index) => [name, row[index] ?? null])));
}

/** A name as an identifier that keeps its case. */
export const quoted = (name: string): string => `"${name.replaceAll('"', '""')}"`;

export const eventsUrl = `${BASE}/events`;
