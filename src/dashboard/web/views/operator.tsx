import { useState } from 'preact/hooks'
import type { AuditView, OperatorAccountView, PlanView } from '../../wire.ts'
import { call } from '../api.ts'
import { compact, count, dateTime } from '../format.ts'
import { useLoad } from '../load.ts'
import { olderRows } from '../older-rows.ts'
import { Button, Card, PageFrame, Problem, useAction } from '../ui/parts.tsx'
import { type Column, Table } from '../ui/table.tsx'
import { NewAccount, planNamed } from './invite.tsx'
import { AccountDialog, AccountState } from './operator-account.tsx'
import { NoticesCard } from './operator-notices.tsx'
import { OverviewCard } from './operator-overview.tsx'

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
  const [isCreating, setCreating] = useState(false)
  const [notices, setNotices] = useState(0)
  const open = value?.accounts.find(({ id }) => id === openId)
  const shown = value?.accounts.filter((account) =>
    [account.id, account.email, ...account.users].some((text) =>
      text.toLowerCase().includes(wanted.toLowerCase()),
    ),
  )
  const columns: Column<OperatorAccountView>[] = [
    {
      title: 'Account',
      cell: ({ id, email }) => (
        <>
          <strong class="break">{email}</strong>
          <div class="muted tiny">{id}</div>
        </>
      ),
    },
    { title: 'Plan', cell: ({ plan }) => planNamed(value?.plans, plan) },
    { title: 'State', cell: (account) => <AccountState account={account} /> },
    { title: 'Keys', class: 'number', cell: ({ keys }) => count(keys) },
    {
      title: 'Credits used',
      class: 'number',
      cell: ({ balances }) => compact(balances.reduce((sum, { used }) => sum + used, 0)),
    },
    {
      cell: ({ id }) => (
        <Button look="small" onClick={() => setOpenId(id)}>
          Manage
        </Button>
      ),
    },
  ]
  return (
    <PageFrame
      title="Operator"
      lead="The service, its accounts and what customers are told. Every change is in the audit log."
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
      <OverviewCard />
      <Problem text={error} />
      <Card
        title={`Accounts${value ? ` (${count(value.accounts.length)})` : ''}`}
        class="flush"
        aside={
          <Button look="small" disabled={value === undefined} onClick={() => setCreating(true)}>
            New account
          </Button>
        }
      >
        {shown && (
          <Table
            columns={columns}
            rows={shown}
            idOf={({ id }) => id}
            none={`No account is called “${wanted}”.`}
          />
        )}
      </Card>
      <NoticesCard onChange={() => setNotices((before) => before + 1)} />
      <AuditCard changed={[value, notices]} />
      {isCreating && value && (
        <NewAccount plans={value.plans} onDone={reload} onClose={() => setCreating(false)} />
      )}
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

/** Newest first; older pages are loaded on demand. */
function AuditCard({ changed }: { changed: readonly unknown[] }) {
  const newest = useLoad(() => call<AuditPage>('GET', 'operator/audit'), changed)
  const [older, setOlder] = useState<AuditView[]>([])
  const [isOver, setOver] = useState(false)
  const first = newest.value?.entries ?? []
  const rest = olderRows(first, older, ({ seq }) => seq)
  const entries = [...first, ...(rest ?? [])]
  const more = useAction(async () => {
    const page = await call<AuditPage>('GET', `operator/audit?before=${entries.at(-1)?.seq}`)
    setOlder([...(rest === undefined ? first : older), ...page.entries])
    setOver(page.entries.length === 0)
  })
  return (
    <Card title="Audit log" class="flush">
      <Problem text={newest.error ?? more.problem} />
      <Table columns={AUDIT_COLUMNS} rows={entries} idOf={({ seq }) => seq} />
      {entries.length >= AUDIT_PAGE && !(isOver && rest !== undefined) && (
        <footer>
          <Button look="small" onClick={more.run} disabled={more.busy}>
            Older entries
          </Button>
        </footer>
      )}
    </Card>
  )
}

const AUDIT_COLUMNS: Column<AuditView>[] = [
  { title: 'When (UTC)', label: 'When', class: 'nowrap', cell: ({ at }) => dateTime(at) },
  { title: 'Who', class: 'who', cell: ({ actor }) => actor },
  {
    title: 'What',
    class: 'break',
    cell: ({ action, detail }) => (
      <>
        <code>{action}</code> <span class="muted">{detail}</span>
      </>
    ),
  },
  { title: 'Account', class: 'muted tiny', cell: (entry) => entry.account_id },
]
