import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { query, quoted, run, type Row } from "../api";
import { ago } from "../format";
import { useLive } from "../live";
import { Action, Badge, Card, Empty, Failure, Head, Icon, Spinner, useAnswer } from "../ui/parts";

function Rights({ role, close }: { role: string; close: () => void }): JSX.Element {
  const found = useAnswer(() => query(`SHOW GRANTS TO ROLE ${quoted(role)}`), [role]);
  return (
    <Card title={`What ${role} may do`} more={<button type="button" class="plain small" aria-label="Close" onClick={close}><Icon name="close" size={14} /></button>} body={false}>
      {found.error ? <div class="body"><Failure error={found.error} /></div> : !found.value ? <Spinner /> : !found.value.length ? <Empty title="Nothing was granted to it" /> : (
        <div class="scroll-x"><table class="list"><thead><tr><th>Privilege</th><th>On</th><th>Name</th></tr></thead>
          <tbody>{found.value.slice(0, 300).map((row, index) => <tr key={index}><td>{row["privilege"]}</td><td class="muted">{String(row["granted_on"]).toLowerCase()}</td><td class="clip ellipsis">{row["name"]}</td></tr>)}</tbody></table></div>
      )}
    </Card>
  );
}

export function People(): JSX.Element {
  const users = useAnswer(() => query("SHOW USERS"), []);
  const roles = useAnswer(() => query("SHOW ROLES"), []);
  const [picked, setPicked] = useState<string | null>(null);
  useLive(["objects"], () => { users.again(); roles.again(); }, 3000);
  const disabled = (row: Row): boolean => String(row["disabled"]) === "true";
  return (
    <>
      <Head title="Users and roles" />
      <div class="content">
        <Card title="Users" body={false}>
          {users.error ? <div class="body"><Failure error={users.error} /></div> : !users.value ? <Spinner /> : users.value.length === 0 ? <Empty icon="people" title="Your role may not see users" /> : (
            <div class="scroll-x"><table class="list">
              <thead><tr><th>User</th><th>State</th><th>Default role</th><th>Logs in with</th><th>Last log-in</th><th><span class="visually-hidden">Actions</span></th></tr></thead>
              <tbody>{users.value.map((row) => (
                <tr key={String(row["name"])}>
                  <td><b style={{ fontWeight: 540 }}>{row["name"]}</b></td><td><Badge state={disabled(row) ? "disabled" : "active"} /></td><td>{row["default_role"]}</td>
                  <td class="muted">{[["has_password", "password"], ["has_rsa_public_key", "key pair"], ["has_pat", "token"]].filter(([key]) => String(row[key ?? ""]) === "true").map(([, word]) => word).join(", ") || "–"}</td>
                  <td class="muted">{ago(row["last_success_login"])}</td>
                  <td class="number"><Action label={disabled(row) ? "Enable" : "Disable"} kind="small" act={() => run(`ALTER USER ${quoted(String(row["name"]))} SET DISABLED = ${disabled(row) ? "FALSE" : "TRUE"}`).then(users.again)} /></td>
                </tr>
              ))}</tbody>
            </table></div>
          )}
        </Card>
        {picked ? <Rights role={picked} close={() => setPicked(null)} key={picked} /> : null}
        <Card title="Roles" body={false}>
          {roles.error ? <div class="body"><Failure error={roles.error} /></div> : !roles.value ? <Spinner /> : (
            <div class="scroll-x"><table class="list">
              <thead><tr><th>Role</th><th class="number">Users</th><th class="number">Granted to roles</th><th class="number">Has roles</th><th>Owner</th></tr></thead>
              <tbody>{roles.value.map((row) => (
                <tr key={String(row["name"])}>
                  <td><button type="button" class="plain small" style={{ padding: 0, color: "var(--accent)" }} onClick={() => setPicked(String(row["name"]))}>{row["name"]}</button></td>
                  <td class="number">{row["assigned_to_users"]}</td><td class="number">{row["granted_to_roles"]}</td><td class="number">{row["granted_roles"]}</td><td class="muted">{row["owner"]}</td>
                </tr>
              ))}</tbody>
            </table></div>
          )}
        </Card>
      </div>
    </>
  );
}
