import { useState } from 'preact/hooks'
import type { AuditView, OperatorAccountView, PlanView } from '../../wire.ts'
import { call } from '../api.ts'
import { compact, count, dateTime } from '../format.ts'
import { useLoad } from '../load.ts'
import { Card, PageFrame, Problem, useAction } from '../ui/parts.tsx'
import { AccountDialog, AccountState, planNamed } from './operator-account.tsx'

interface Accounts {
  accounts: OperatorAccountView[]
  plans: PlanView[]
}

interface AuditPage {
  entries: AuditView[]
}

const AUDIT_PAGE = 100

export function OperatorPage() {
  const { value, error, reload } = useLoad(() => call<Accounts>('GET', 'operator/accounts'), [], 10_000)
  const [openId, setOpenId] = useState<string>()
  const [wanted, setWanted] = useState('')
  const open = value?.accounts.find(({ id }) => id === openId)
  const shown = value?.accounts.filter((account) =>
    [account.id, account.email, ...account.users].some((text) =>
      text.toLowerCase().includes(wanted.toLowerCase()),
    ),
  )
  return (
    <PageFrame
      title="Operator"
      lead="Accounts, plans and billing. Every change is in the audit log."
      actions={
        <input
          type="search"
          aria-label="Find an account"
          placeholder="Find an account"
          value={wanted}
          onInput={(event) => setWanted(event.currentTarget.value)}
        />
      }
    >
      <Problem text={error} />
      <Card title={`Accounts${value ? ` (${count(value.accounts.length)})` : ''}`} class="flush">
        <table class="stack">
          <thead>
            <tr>
              <th>Account</th>
              <th>Plan</th>
              <th>State</th>
              <th class="number">Keys</th>
              <th class="number">Credits used</th>
              <th />
            </tr>
          </thead>
          <tbody>
            {shown?.length === 0 && (
              <tr>
                <td colSpan={6} class="muted">
                  No account is called “{wanted}”.
                </td>
              </tr>
            )}
            {shown?.map((account) => (
              <tr key={account.id}>
                <td data-label="Account">
                  <strong class="break">{account.email}</strong>
                  <div class="muted tiny">{account.id}</div>
                </td>
                <td data-label="Plan">{planNamed(value?.plans, account.plan)}</td>
                <td data-label="State">
                  <AccountState account={account} />
                </td>
                <td data-label="Keys" class="number">
                  {count(account.keys)}
                </td>
                <td data-label="Credits used" class="number">
                  {compact(account.balances.reduce((sum, { used }) => sum + used, 0))}
                </td>
                <td class="actions">
                  <button type="button" class="button small" onClick={() => setOpenId(account.id)}>
                    Manage
                  </button>
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </Card>
      <AuditCard changed={value} />
      {open && value && (
        <AccountDialog
          account={open}
          plans={value.plans}
          onChange={reload}
          onClose={() => setOpenId(undefined)}
        />
      )}
    </PageFrame>
  )
}

/** Newest first; older pages follow when asked for. */
function AuditCard({ changed }: { changed: unknown }) {
  const newest = useLoad(() => call<AuditPage>('GET', 'operator/audit'), [changed])
  const [older, setOlder] = useState<AuditView[]>([])
  const [isOver, setOver] = useState(false)
  const first = newest.value?.entries ?? []
  const entries = [...first, ...older.filter(({ seq }) => seq < (first.at(-1)?.seq ?? 0))]
  const more = useAction(async () => {
    const page = await call<AuditPage>('GET', `operator/audit?before=${entries.at(-1)?.seq}`)
    setOlder([...(older.length === 0 ? first : older), ...page.entries])
    setOver(page.entries.length === 0)
  })
  return (
    <Card title="Audit log" class="flush">
      <Problem text={newest.error ?? more.problem} />
      <AuditTable entries={entries} />
      {entries.length >= AUDIT_PAGE && !isOver && (
        <footer>
          <button type="button" class="button small" onClick={more.run} disabled={more.busy}>
            Older entries
          </button>
        </footer>
      )}
    </Card>
  )
}

function AuditTable({ entries }: { entries: AuditView[] }) {
  return (
    <table class="stack">
      <thead>
        <tr>
          <th>When (UTC)</th>
          <th>Who</th>
          <th>What</th>
          <th>Account</th>
        </tr>
      </thead>
      <tbody>
        {entries.map((entry) => (
          <tr key={entry.seq}>
            <td data-label="When" class="nowrap">
              {dateTime(entry.at)}
            </td>
            <td data-label="Who" class="who">
              {entry.actor}
            </td>
            <td data-label="What" class="break">
              <code>{entry.action}</code> <span class="muted">{entry.detail}</span>
            </td>
            <td data-label="Account" class="muted tiny">
              {entry.account_id}
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  )
}
