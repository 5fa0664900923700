import { useState } from 'preact/hooks'
import type { UsageRowView, UsageView } from '../../wire.ts'
import { call } from '../api.ts'
import { compact, count, day, percent } from '../format.ts'
import { useLoad } from '../load.ts'
import { useSession } from '../session.ts'
import { type BarDay, DayChart } from '../ui/bars.tsx'
import { Card, ChoiceButtons, Empty, PageFrame, Problem, Stat } from '../ui/parts.tsx'

const RANGES = { '7 days': 7, '30 days': 30, '90 days': 90 } as const
type Range = keyof typeof RANGES
const DAY_MS = 86_400_000

export function Usage() {
  const [range, setRange] = useState<Range>('30 days')
  const from = new Date(Date.now() - (RANGES[range] - 1) * DAY_MS).toISOString().slice(0, 10)
  const { value, error } = useLoad(() => call<UsageView>('GET', `usage?from=${from}`), [from], 5_000)
  return (
    <PageFrame
      title="Usage"
      lead="Credits and requests by day, endpoint and key. Days are UTC."
      actions={
        <>
          <ChoiceButtons
            label="Range"
            value={range}
            options={Object.keys(RANGES) as Range[]}
            onChange={setRange}
          />
          <a class="button" href={`/dashboard/api/usage.csv?from=${from}`} download>
            Export CSV
          </a>
        </>
      }
    >
      <Problem text={error} />
      {value && <UsageBody usage={value} from={from} />}
    </PageFrame>
  )
}

type Part = 'endpoint' | 'key'

export function UsageBody({ usage, from }: { usage: UsageView; from: string }) {
  const { environment } = useSession()
  const [part, setPart] = useState<Part>('endpoint')
  const rows = usage.rows.filter((row) => row.environment === environment)
  const balance = usage.balances.find((one) => one.environment === environment)
  const nameOf = (row: UsageRowView) => (part === 'endpoint' ? row.endpoint : keyName(usage, row.key_id))
  const names = topNames(rows, nameOf)
  const sum = (field: 'requests' | 'credits' | 'failed' | 'rate_limited') =>
    rows.reduce((total, row) => total + row[field], 0)
  return (
    <>
      {usage.rows_from !== null && (
        <p class="muted">
          The range has more rows than fit here: days before {usage.rows_from} are left out. Export a shorter
          range as CSV to see them.
        </p>
      )}
      {balance && (
        <Card>
          <div class="stats">
            <Stat
              label={`Credits this period (${environment})`}
              value={<span data-testid="credits-used">{count(balance.used)}</span>}
              note={`of ${compact(balance.limit)}, renewed ${day(balance.resets_at)}`}
            />
            <Stat label="Requests" value={count(sum('requests'))} note="in the range" />
            <Stat label="Refused or failed" value={count(sum('failed'))} note="in the range" />
            <Stat label="Rate-limited" value={count(sum('rate_limited'))} note="in the range" />
          </div>
          <progress
            max={Math.max(1, balance.limit)}
            value={balance.used}
            aria-label="Credits used"
            title={`${percent(balance.used / Math.max(1, balance.limit))} used`}
          />
        </Card>
      )}
      {rows.length === 0 ? (
        <Empty>
          <strong>Nothing used in this range</strong>
          <p class="muted">Calls appear here within a second.</p>
        </Empty>
      ) : (
        <>
          <Card
            title="Credits by day"
            aside={
              <ChoiceButtons
                label="Parts of the bars"
                value={part}
                options={['endpoint', 'key'] as const}
                onChange={setPart}
              />
            }
          >
            <DayChart
              days={daysOf(rows, { names, nameOf, field: 'credits', from })}
              names={names}
              label={`Credits by day and ${part}`}
            />
            <Legend names={names} />
          </Card>
          <div class="grid two">
            <Card title="By endpoint" class="flush">
              <SumTable rows={rows} group={(row) => row.endpoint} title="Endpoint" />
            </Card>
            <Card title="By key" class="flush">
              <SumTable rows={rows} group={(row) => keyName(usage, row.key_id)} title="Key" />
            </Card>
          </div>
          <Card title="Rate-limit hits by day">
            {sum('rate_limited') === 0 ? (
              <p class="muted">No call was refused for its rate.</p>
            ) : (
              <DayChart
                days={daysOf(rows, {
                  names: [LIMITED],
                  nameOf: () => LIMITED,
                  field: 'rate_limited',
                  from,
                })}
                names={[LIMITED]}
                label="Rate-limit hits by day"
                tone={3}
              />
            )}
          </Card>
        </>
      )}
    </>
  )
}

function Legend({ names }: { names: string[] }) {
  return (
    <ul class="legend">
      {names.map((name, index) => (
        <li key={name}>
          <i class={`tone-${index % 6}`} />
          {name}
        </li>
      ))}
    </ul>
  )
}

const OTHER = 'other'
const LIMITED = 'rate-limited'
const MAX_NAMES = 5

function topNames(rows: UsageRowView[], nameOf: (row: UsageRowView) => string): string[] {
  const sums = new Map<string, number>()
  for (const row of rows) sums.set(nameOf(row), (sums.get(nameOf(row)) ?? 0) + row.credits)
  const sorted = [...sums].filter(([, credits]) => credits > 0).sort((a, b) => b[1] - a[1])
  const names = sorted.slice(0, MAX_NAMES).map(([name]) => name)
  return sorted.length > MAX_NAMES ? [...names, OTHER] : names
}

function daysOf(
  rows: UsageRowView[],
  chart: {
    names: string[]
    nameOf: (row: UsageRowView) => string
    field: 'credits' | 'rate_limited'
    from: string
  },
): BarDay[] {
  const { names, nameOf, field } = chart
  const days: BarDay[] = []
  for (let time = Date.parse(chart.from); time <= Date.now(); time += DAY_MS) {
    const date = new Date(time).toISOString().slice(0, 10)
    const sums = new Map<string, number>()
    for (const row of rows) {
      if (row.day !== date) continue
      const name = names.includes(nameOf(row)) ? nameOf(row) : OTHER
      sums.set(name, (sums.get(name) ?? 0) + row[field])
    }
    days.push({ day: date, parts: names.map((name) => ({ name, value: sums.get(name) ?? 0 })) })
  }
  return days
}

function SumTable(props: { rows: UsageRowView[]; group: (row: UsageRowView) => string; title: string }) {
  const sums = new Map<string, { requests: number; credits: number; limited: number }>()
  for (const row of props.rows) {
    const name = props.group(row)
    const sum = sums.get(name) ?? { requests: 0, credits: 0, limited: 0 }
    sum.requests += row.requests
    sum.credits += row.credits
    sum.limited += row.rate_limited
    sums.set(name, sum)
  }
  const sorted = [...sums].sort((a, b) => b[1].credits - a[1].credits || b[1].requests - a[1].requests)
  return (
    <table>
      <thead>
        <tr>
          <th>{props.title}</th>
          <th class="number">Requests</th>
          <th class="number">Credits</th>
          <th class="number wide-only">Limited</th>
        </tr>
      </thead>
      <tbody>
        {sorted.map(([name, sum]) => (
          <tr key={name}>
            <td class="break">{name}</td>
            <td class="number">{compact(sum.requests)}</td>
            <td class="number">{compact(sum.credits)}</td>
            <td class="number wide-only">{compact(sum.limited)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  )
}

function keyName(usage: UsageView, id: string): string {
  return usage.keys.find((key) => key.id === id)?.name ?? id
}
