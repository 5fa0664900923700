import { type Static, Type } from 'typebox'
import { ENVIRONMENTS } from '../../../core/environment.ts'
import {
  constantsField,
  flagField,
  integerField,
  nullableFractionField,
  nullableNumberField,
  nullableTextField,
  nullableTimeField,
  numberField,
  textField,
  timeField,
} from '../../../core/rows/fields.ts'

const Source = Type.Object({
  source: textField('Source that is recorded.'),
  status: constantsField('Whether data arrives as it should.', ['healthy', 'stale', 'down']),
  last_event_at: nullableTimeField('Time of the newest recorded event.'),
  lag_seconds: nullableNumberField('Seconds since then.'),
  rows_inserted: integerField('Rows written since the process started.'),
  gaps_24h: integerField('Gaps recorded in the last 24 hours.'),
  backfill: nullableFractionField(
    'Share of the first fill with history that is done; null where there is none.',
  ),
  audit: Type.Object(
    {
      checked: integerField('Ranges of stored data that were examined since the process started.'),
      differences: integerField('What was found to be wrong in them, and became a correction or a gap.'),
    },
    {
      description:
        'Self-checks: sealed pages are read again, rows are compared with each other and with the venue.',
    },
  ),
  notice: nullableTextField(
    'What the operator should know, such as missing credentials; null where there is nothing.',
  ),
  coverage: Type.Array(
    Type.Object({
      dataset: textField('What is recorded: candles, trades, snapshots (order books), …'),
      interval: nullableTextField('Its finest interval; null where it has none.'),
      from: nullableTimeField('First observed instant of any symbol; null before the first record.'),
      to: nullableTimeField('Last observed instant of any symbol; null before the first record.'),
    }),
    { description: 'One record per dataset of the source.' },
  ),
})

const Node = Type.Object({
  name: textField('Name of the node.'),
  state: textField('State of the node in the pool.'),
  synced: flagField('Whether the node is in step with its network.'),
  daa_score: nullableNumberField('Its virtual DAA score.'),
  lag: nullableNumberField('How far it is behind the best node, in DAA score.'),
})

const Index = Type.Object({
  state: constantsField(
    'Whether the chain is indexed; restarting while what does it is started again or keeps failing, off where there is no node.',
    ['running', 'restarting', 'off'],
  ),
  restarts: integerField('How often it had to be started again.'),
  coverage_from: nullableTimeField('From when on every transaction is indexed; null before the first start.'),
  gaps_24h: integerField('Gaps recorded in the last 24 hours, counted up to 1,000.'),
  gaps: Type.Array(
    Type.Object({
      recorded_at: timeField('When it was noticed.'),
      from: timeField('Time of the last block before it.'),
      to: timeField('Time of the first block after it.'),
      reason: textField(
        'pruned: the nodes no longer had that part of the chain. blocks_pruned: blocks in between were not told, the chain is whole. unreadable: transactions of that block are in a form that is not known.',
      ),
    }),
    { description: 'The newest ten gaps, oldest first.' },
  ),
})

const bytesPerDay = (description: string) => nullableNumberField(`${description} Null until it is known.`)

const Disk = Type.Object(
  {
    state: constantsField(
      'low when there is less room than the operator wants: backfills and replays of webhooks stop, so that recording goes on.',
      ['ok', 'low'],
    ),
    measured_at: nullableTimeField('When it was measured; null before the first time.'),
    used_bytes: nullableNumberField('What the service stores, in all environments.'),
    free_bytes: nullableNumberField('Room on the disk; null where the disk is that of another server.'),
    growth_bytes_per_day: bytesPerDay('By how much that grows, over the last 24 hours.'),
    full_at: nullableTimeField('When the disk will be full if it goes on like that; null where it will not.'),
    parts: Type.Array(
      Type.Object({
        part: textField('A dataset (candles, trades, …), chain (index and events) or webhooks.'),
        rows: nullableNumberField('Stored rows, where they are counted.'),
        bytes: numberField('What it takes, with its share of indexes.'),
        growth_bytes_per_day: bytesPerDay('By how much that grows.'),
      }),
      { description: 'What this environment stores.' },
    ),
  },
  { description: 'The disk of the store.' },
)

export const Status = Type.Object({
  status: constantsField(
    'ok; degraded when some part is stale or down, or the disk nearly full; down when nothing works.',
    ['ok', 'degraded', 'down'],
  ),
  environment: constantsField('The environment that the key reads.', ENVIRONMENTS),
  ingestion: Type.Array(Source, { description: 'One record per recorded source.' }),
  nodes: Type.Array(Node, { description: 'The upstream nodes.' }),
  index: Index,
  webhooks: Type.Object({
    pending: integerField('Deliveries that wait.'),
    oldest_pending_seconds: numberField('Age of the oldest of them.'),
  }),
  disk: Disk,
  notice: nullableTextField(
    'That no venue is recorded or no node is connected here, and which setting changes that; null otherwise.',
  ),
})
export type ServiceStatus = Static<typeof Status>

/** A source gets this long to deliver its first record before its absence counts as a fault. */
export const STARTING_MS = 30_000

/**
 * ok if everything works, degraded if something does not, down if nothing does.
 * @param isStarting sources without a first record do not count as failing yet
 * @param isUndelivered there are webhooks, and no process delivers to them
 */
export function serviceStatus(
  parts: Omit<ServiceStatus, 'status'>,
  { isStarting, isUndelivered = false }: { isStarting: boolean; isUndelivered?: boolean },
): ServiceStatus {
  const { ingestion, nodes, index, disk } = parts
  const counted = ingestion.filter((source) => !isStarting || hasRecord(source))
  const working = [
    ...counted.map((source) => source.status === 'healthy'),
    ...nodes.map((node) => node.synced),
    ...(index.state === 'off' ? [] : [index.state === 'running']),
    ...(isUndelivered ? [false] : []),
  ]
  const failing = working.filter((works) => !works).length
  const isWell = failing === 0 && disk.state === 'ok'
  const status = isWell ? 'ok' : failing > 0 && failing === working.length ? 'down' : 'degraded'
  return { status, ...parts }
}

function hasRecord(source: Pick<ServiceStatus['ingestion'][number], 'coverage' | 'last_event_at'>): boolean {
  return source.last_event_at !== null || source.coverage.some(({ from }) => from !== null)
}
