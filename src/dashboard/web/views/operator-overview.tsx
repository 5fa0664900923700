import type { OverviewView } from '../../wire.ts'
import { call } from '../api.ts'
import { ago, count, dateTime, plural, size } from '../format.ts'
import { useLoad } from '../load.ts'
import { Badge, Card, Problem, Stat } from '../ui/parts.tsx'
import { type Column, Table } from '../ui/table.tsx'

/** The state of the service: its parts, the disk, the last backup and the results of the self-checks. */
export function OverviewCard() {
  const { value, error } = useLoad(() => call<OverviewView>('GET', 'operator/overview'), [], 30_000)
  return (
    <Card title="Service" aside={value && <span class="muted tiny">version {value.version}</span>}>
      <Problem text={error} />
      {value && (
        <>
          <div class="stats">
            {value.environments.map((one) => (
              <Stat
                key={one.environment}
                label={`${one.environment} environment`}
                value={<StateBadge status={one.status} />}
                note={
                  <>
                    {plural(one.sources, 'source')},{' '}
                    <a href="#/status">{plural(one.gaps_24h, 'gap')} in 24 hours</a>
                  </>
                }
              />
            ))}
            <DiskStat disk={value.disk} />
            <BackupStat backup={value.backup} />
            {value.environments.map((one) => (
              <AuditStat key={one.environment} environment={one} />
            ))}
          </div>
          {value.disk && value.disk.parts.length > 0 && (
            <details>
              <summary>What takes the room</summary>
              <Table
                columns={PART_COLUMNS}
                rows={value.disk.parts}
                idOf={({ environment, part }) => `${environment} ${part}`}
              />
            </details>
          )}
          <p class="muted tiny">
            Answered by {value.process.name}, which runs since {dateTime(value.process.started_at)} UTC.
          </p>
        </>
      )}
    </Card>
  )
}

const STATES = {
  ok: ['good', 'works'],
  degraded: ['warn', 'degraded'],
  down: ['bad', 'down'],
} as const

function StateBadge({ status }: { status: keyof typeof STATES }) {
  const [tone, words] = STATES[status]
  return <Badge tone={tone}>{words}</Badge>
}

function DiskStat({ disk }: Pick<OverviewView, 'disk'>) {
  if (disk === null) return <Stat label="Disk" value="–" note="measured a moment after the start" />
  const growth =
    disk.growth_bytes_per_day === null
      ? 'growth is known after an hour'
      : `${disk.growth_bytes_per_day < 0 ? '−' : '+'}${size(Math.abs(disk.growth_bytes_per_day))} a day`
  const room =
    disk.free_bytes === null
      ? 'free room is not known: the disk of another server'
      : `${size(disk.free_bytes)} free${disk.full_at === null ? '' : `, full on ${disk.full_at.slice(0, 10)}`}`
  return (
    <Stat
      label="Disk"
      value={disk.state === 'low' ? <Badge tone="bad">nearly full</Badge> : size(disk.used_bytes)}
      note={`${growth}; ${room}`}
    />
  )
}

function BackupStat({ backup }: Pick<OverviewView, 'backup'>) {
  if (backup === null) {
    return (
      <Stat
        label="Last backup"
        value={<Badge tone="warn">none</Badge>}
        note="tapeline backup --to DIR; noted in the data folder of this process"
      />
    )
  }
  const taken = backup.taken_at === null ? 'never' : ago(backup.taken_at)
  return (
    <Stat
      label="Last backup"
      value={backup.failure === null ? taken : <Badge tone="bad">failed</Badge>}
      note={
        backup.failure === null
          ? `${size(backup.bytes ?? 0)} in ${backup.to}`
          : `${ago(backup.failed_at)}: ${backup.failure} (last good one: ${taken})`
      }
    />
  )
}

function AuditStat({
  environment: { environment, audit, differing },
}: {
  environment: OverviewView['environments'][number]
}) {
  return (
    <Stat
      label={`Audit, ${environment}`}
      value={
        audit.differences > 0 ? (
          <Badge tone="warn">{plural(audit.differences, 'difference')}</Badge>
        ) : audit.checked === 0 ? (
          <Badge tone="">not checked yet</Badge>
        ) : (
          <Badge tone="good">no differences</Badge>
        )
      }
      note={`${plural(audit.checked, 'range')} checked since the start${differing.length === 0 ? '' : `: ${differing.join(', ')}`}`}
    />
  )
}

const PART_COLUMNS: Column<NonNullable<OverviewView['disk']>['parts'][number]>[] = [
  { title: 'Part', cell: ({ part }) => part.replaceAll('_', ' ') },
  { title: 'Environment', class: 'muted', cell: ({ environment }) => environment ?? 'both' },
  { title: 'Rows', class: 'number', cell: ({ rows }) => (rows === null ? '–' : count(rows)) },
  { title: 'Size', class: 'number', cell: ({ bytes }) => size(bytes) },
  {
    title: 'Growth a day',
    label: 'Growth',
    class: 'number',
    cell: ({ growth_bytes_per_day: growth }) => (growth === null ? '–' : size(growth)),
  },
]
