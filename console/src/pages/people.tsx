/** Who there is, and which roles they have; what a role may do, and who has it. */
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { query, quoted, run, type Row } from "../api";
import { ago, dayAndClock } from "../format";
import { useLive } from "../live";
import { go, href, place } from "../router";
import { who } from "../state";
import { confirmed } from "../ui/dialog";
import { optional } from "./table/shared";
import { Beside, Detail, Listing, PickName, type ListColumn } from "../ui/listing";
import { Action, Badge, Card, Empty, Failure, Head, Spinner, useAnswer } from "../ui/parts";

const WAYS = [["has_password", "password"], ["has_rsa_public_key", "key pair"], ["has_pat", "token"]] as const;
const nameOf = (row: Row): string => String(row["name"]);
const isDisabled = (row: Row): boolean => String(row["disabled"]) === "true";
const waysOf = (row: Row): string => WAYS.filter(([key]) => String(row[key]) === "true").map(([, word]) => word).join(", ") || "–";

/** Chooses one of some names, and does something with it. */
function Give({ label, names, give }: { label: string; names: string[]; give: (name: string) => Promise<unknown> }): JSX.Element | null {
  const [name, setName] = useState("");
  if (!names.length) return null;
  return (
    <div class="give">
      <select aria-label={label} value={name} onChange={(event) => setName(event.currentTarget.value)}>
        <option value="">{label}</option>{names.map((one) => <option key={one}>{one}</option>)}
      </select>
      {name ? <Action label="Grant" kind="small" done={`Granted ${name}.`} act={() => give(name).then(() => setName(""))} /> : null}
    </div>
  );
}

const revoke = (role: string, of: string): Promise<boolean> => confirmed("Take the role away?", `${of} loses ${role}, and what it allows, at once.`, "Take it away");

function OneUser({ row, roles, close, again }: { row: Row; roles: Row[]; close: () => void; again: () => void }): JSX.Element {
  const name = nameOf(row);
  const found = useAnswer(() => query(`SHOW GRANTS TO USER ${quoted(name)}`), [name]);
  const has = (found.value ?? []).map((one) => String(one["role"] ?? one["name"]));
  const changed = (): void => { found.again(); again(); };
  const facts: [string, string | null][] = [
    ["Logs in as", String(row["login_name"] ?? name)], ["With", waysOf(row)], ["Last log-in", row["last_success_login"] ? dayAndClock(row["last_success_login"]) : "never"],
    ["Email", row["email"] ? String(row["email"]) : null], ["Begins with", [row["default_role"], row["default_warehouse"], row["default_namespace"]].filter(Boolean).join(", ") || null],
    ["Made", dayAndClock(row["created_on"])], ["Comment", row["comment"] ? String(row["comment"]) : null],
  ];
  const disabled = isDisabled(row);
  return (
    <Detail title={name} close={close} acts={
      <Action label={disabled ? "Enable" : "Disable"} kind="small"
        {...(disabled ? {} : { ask: () => confirmed(`Disable ${name}?`, "Nobody logs in as this user any more, and sessions of this user end.", "Disable") })}
        act={() => run(`ALTER USER ${quoted(name)} SET DISABLED = ${disabled ? "FALSE" : "TRUE"}`).then(changed)} />
    }>
      <dl class="meta"><dt>State</dt><dd><Badge state={disabled ? "disabled" : "active"} /></dd>{facts.map(([label, value]) => (value === null ? null : <><dt key={label}>{label}</dt><dd>{value}</dd></>))}</dl>
      <section class="roles-of"><h3>Roles</h3>
        {found.error ? <Failure error={found.error} /> : !found.value ? <Spinner /> : has.length ? <ul>{has.map((role) => (
          <li key={role}><span>{role}</span><Action label="Revoke" kind="small plain" ask={() => revoke(role, name)} done={`Revoked ${role}.`} act={() => run(`REVOKE ROLE ${quoted(role)} FROM USER ${quoted(name)}`).then(changed)} /></li>
        ))}</ul> : <p class="muted">None but PUBLIC.</p>}
        {found.value ? <Give label="Grant a role" names={roles.map(nameOf).filter((role) => role !== "PUBLIC" && !has.includes(role))} give={(role) => run(`GRANT ROLE ${quoted(role)} TO USER ${quoted(name)}`).then(changed)} /> : null}
      </section>
    </Detail>
  );
}

function OneRole({ name, users, close, again }: { name: string; users: Row[]; close: () => void; again: () => void }): JSX.Element {
  const rights = useAnswer(() => query(`SHOW GRANTS TO ROLE ${quoted(name)}`), [name]);
  const holders = useAnswer(() => optional(`SHOW GRANTS OF ROLE ${quoted(name)}`), [name]);
  const has = (holders.value ?? []).map((row) => ({ kind: String(row["granted_to"]).toUpperCase(), name: String(row["grantee_name"]) }));
  const changed = (): void => { holders.again(); again(); };
  // On what stands below the name: there is room for two columns.
  const columns: ListColumn[] = [
    { label: "On", by: (row) => row["name"], show: (row) => <span title={String(row["name"])}>{row["name"]}<br /><span class="faint">{String(row["granted_on"]).toLowerCase().replaceAll("_", " ")}</span></span> },
    { label: "Privilege", by: (row) => row["privilege"], show: (row) => row["privilege"] },
  ];
  return (
    <Detail title={name} close={close}>
      <section class="roles-of"><h3>Who has it</h3>
        {holders.error ? <Failure error={holders.error} /> : !holders.value ? <Spinner /> : has.length ? <ul>{has.map((one) => (
          <li key={one.kind + one.name}><span>{one.name} <span class="faint">{one.kind.toLowerCase()}</span></span>{one.kind === "USER" ? <Action label="Revoke" kind="small plain" ask={() => revoke(name, one.name)} done={`Revoked from ${one.name}.`} act={() => run(`REVOKE ROLE ${quoted(name)} FROM USER ${quoted(one.name)}`).then(changed)} /> : null}</li>
        ))}</ul> : <p class="muted">{name === "PUBLIC" ? "Everybody." : "Nobody."}</p>}
        {holders.value && name !== "PUBLIC" ? <Give label="Grant it to a user" names={users.map(nameOf).filter((user) => !has.some((one) => one.kind === "USER" && one.name === user))} give={(user) => run(`GRANT ROLE ${quoted(name)} TO USER ${quoted(user)}`).then(changed)} /> : null}
      </section>
      <section class="roles-of"><h3>What it may do</h3>
        {rights.error ? <Failure error={rights.error} /> : !rights.value ? <Spinner /> : rights.value.length ? <Listing rows={rights.value} columns={columns} label={`What ${name} may do`} keyOf={(row) => `${row["privilege"]} ${row["granted_on"]} ${row["name"]}`} /> : <p class="muted">Nothing was granted to it.</p>}
      </section>
    </Detail>
  );
}

export function People(): JSX.Element {
  const users = useAnswer(() => query("SHOW USERS"), []);
  const roles = useAnswer(() => query("SHOW ROLES"), []);
  const again = (): void => { users.again(); roles.again(); };
  useLive(["objects"], again, 3000);
  const [kind, name] = place.value.parts;
  const pick = (of: string, one: string | null): void => go(one === null || (of === kind && one === name) ? href("people") : href("people", of, one));
  const user = kind === "user" ? users.value?.find((row) => nameOf(row) === name) : undefined;
  const role = kind === "role" ? roles.value?.find((row) => nameOf(row) === name) : undefined;
  const userColumns: ListColumn[] = [
    { label: "User", by: nameOf, show: (row) => <span class="named"><PickName name={nameOf(row)} picked={user === row} pick={() => pick("user", nameOf(row))} />{nameOf(row) === who.value?.user ? <span class="faint">you</span> : null}</span> },
    { label: "State", by: (row) => row["disabled"], show: (row) => <Badge state={isDisabled(row) ? "disabled" : "active"} /> }, { label: "Default role", minor: true, by: (row) => row["default_role"], show: (row) => row["default_role"] },
    { label: "Logs in with", by: waysOf, show: (row) => <span class="muted">{waysOf(row)}</span> }, { label: "Last log-in", by: (row) => row["last_success_login"], show: (row) => <span class="muted">{ago(row["last_success_login"])}</span> },
  ];
  const roleColumns: ListColumn[] = [
    { label: "Role", by: nameOf, show: (row) => <PickName name={nameOf(row)} picked={role === row} pick={() => pick("role", nameOf(row))} /> },
    ...([["Users", "assigned_to_users"], ["Granted to roles", "granted_to_roles"], ["Has roles", "granted_roles"]] as const).map(([label, key]): ListColumn => ({ label, right: true, minor: key !== "assigned_to_users", by: (row) => row[key], show: (row) => row[key] })),
    { label: "Owner", by: (row) => row["owner"], show: (row) => <span class="muted">{row["owner"]}</span> }, { label: "Comment", by: (row) => row["comment"], show: (row) => <span class="muted">{row["comment"]}</span> },
  ];
  return (
    <>
      <Head title="Users and roles" />
      <div class="content">
        {name && users.value && roles.value && !user && !role ? <p class="muted">{name} does not exist, or your role may not know of it.</p> : null}
        <Beside detail={user ? <OneUser row={user} roles={roles.value ?? []} close={() => pick("user", null)} again={again} key={`u${name}`} />
          : role ? <OneRole name={nameOf(role)} users={users.value ?? []} close={() => pick("role", null)} again={again} key={`r${name}`} /> : null}>
          <div style={{ display: "grid", gap: "16px" }}>
            <Card title="Users" body={false}>
              {users.error ? <div class="body"><Failure error={users.error} /></div> : !users.value ? <Spinner /> : users.value.length === 0 ? <Empty icon="people" title="Your role may not see users" />
                : <Listing rows={users.value} columns={userColumns} keyOf={nameOf} label="Users" picked={kind === "user" ? name : null} pick={(one) => pick("user", one)} />}
            </Card>
            <Card title="Roles" body={false}>
              {roles.error ? <div class="body"><Failure error={roles.error} /></div> : !roles.value ? <Spinner />
                : <Listing rows={roles.value} columns={roleColumns} keyOf={nameOf} label="Roles" picked={kind === "role" ? name : null} pick={(one) => pick("role", one)} />}
            </Card>
          </div>
        </Beside>
      </div>
    </>
  );
}
