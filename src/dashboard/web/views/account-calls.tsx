import type { AccountCallsView } from '../../wire.ts'
import { call } from '../api.ts'
import { ago, count, dateTime } from '../format.ts'
import { useLoad } from '../load.ts'
import { Badge, Problem } from '../ui/parts.tsx'
import { type Column, Table } from '../ui/table.tsx'

/** A customer's errors and slowest calls of the last 24 hours, as seen by the process that answers. */
export function AccountCalls({ accountId }: { accountId: string }) {
  const { value, error } = useLoad(
    () => call<AccountCallsView>('GET', `operator/accounts/${accountId}/calls`),
    [accountId],
    15_000,
  )
  return (
    <>
      <h3>Errors</h3>
      <Problem text={error} />
      {value && (
        <>
          <Table columns={FAILED} rows={value.failed} idOf={({ request_id: id }) => id} none="None." />
          <h3>Slowest calls</h3>
          <Table
            columns={SLOWEST}
            rows={value.slowest}
            idOf={({ request_id: id }) => id}
            none="None above 5 ms."
          />
          <p class="muted tiny">
            The newest 30 errors and the 10 slowest calls of the last 24 hours, since {value.process.name} was
            started at {dateTime(value.process.started_at)} UTC. Every process has seen its own calls only.
          </p>
        </>
      )}
    </>
  )
}

type Failed = AccountCallsView['failed'][number]
type Slow = AccountCallsView['slowest'][number]

const target = ({ method, target: path, request_id: id }: Failed | Slow) => (
  <>
    <code class="break">
      {method} {path}
    </code>
    <div class="muted tiny break">{id}</div>
  </>
)

const FAILED: Column<Failed>[] = [
  { title: 'When', class: 'nowrap', cell: ({ at }) => <span title={dateTime(at)}>{ago(at)}</span> },
  {
    title: 'Error',
    class: 'break',
    cell: ({ status, code, message, times }) => (
      <>
        <Badge tone={status >= 500 ? 'bad' : 'warn'}>{status}</Badge> <code>{code}</code>
        {times > 1 && <span class="muted"> {count(times)} times</span>}
        <div class="muted tiny">{message}</div>
      </>
    ),
  },
  { title: 'Call', class: 'break', cell: target },
]

const SLOWEST: Column<Slow>[] = [
  { title: 'When', class: 'nowrap', cell: ({ at }) => <span title={dateTime(at)}>{ago(at)}</span> },
  { title: 'Took', class: 'number nowrap', cell: (one) => `${count(one.duration_ms)} ms` },
  { title: 'Call', class: 'break', cell: target },
]
