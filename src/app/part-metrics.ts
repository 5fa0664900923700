/** What the parts of an environment report about themselves, as metrics; read only when Prometheus asks. */
import type { Environment } from '../core/environment.ts'
import type { Metrics } from '../kit/metrics.ts'
import type { NodeStatus } from '../upstreams/pool.ts'
import type { RecordMessage } from './record-worker.ts'

type Labels = Record<string, string>
type Kind = 'gauge' | 'counter'

/** Values of one name that are read together. */
interface Values {
  readonly help: string
  readonly kind?: Kind
  readonly read: () => [Labels, number | null][] | Promise<[Labels, number | null][]>
}

/** Values that are null are left out. */
export function readMetrics(metrics: Metrics, common: Labels, all: Readonly<Record<string, Values>>): void {
  for (const [name, { help, kind = 'gauge', read }] of Object.entries(all))
    metrics.read({
      ...{ name, help, type: kind },
      values: async () =>
        (await read()).flatMap(([labels, value]) =>
          value === null ? [] : { labels: { ...common, ...labels }, value },
        ),
    })
}

const SOURCE_STATES = ['healthy', 'stale', 'down'] as const

/**
 * @param parts.ingestion sources as recorded by any process
 * @param parts.recorded sources that this process records
 */
export function recordingMetrics(
  metrics: Metrics,
  environment: Environment,
  parts: { ingestion(): { source: string; status: string }[]; recorded(): RecordMessage['sources'] },
): void {
  const each = (value: (row: RecordMessage['sources'][number]) => number | null) => () =>
    parts.recorded().map((row): [Labels, number | null] => [{ source: row.source }, value(row)])
  readMetrics(
    metrics,
    { environment },
    {
      tapeline_source_state: {
        help: 'Whether the data of a source arrives as it should: 1 for its state, 0 for the other ones.',
        read: () =>
          parts
            .ingestion()
            .flatMap(({ source, status }) =>
              SOURCE_STATES.map((state): [Labels, number] => [{ source, state }, Number(state === status)]),
            ),
      },
      tapeline_source_last_event_timestamp_seconds: {
        help: 'Time of the newest event of a source.',
        read: each(({ lastEventMs }) => lastEventMs && lastEventMs / 1000),
      },
      tapeline_source_rows_total: {
        help: 'Rows of a source that were written.',
        kind: 'counter',
        read: each(({ rowsInserted }) => rowsInserted),
      },
      tapeline_source_waiting_rows: {
        help: 'Rows of a source that wait to be written.',
        read: each(({ detail }) => detail.waitingRows),
      },
      tapeline_source_channels: {
        help: 'Channels of the feed of a source.',
        read: each(({ detail }) => detail.channels),
      },
      tapeline_source_channels_up: {
        help: 'Channels of the feed of a source that deliver.',
        read: each(({ detail }) => detail.channelsUp),
      },
      tapeline_source_gaps_24h: {
        help: 'Gaps in the last 24 hours, of all feeds of a source.',
        read: each(({ gaps24h }) => gaps24h),
      },
      tapeline_source_gap_seconds_24h: {
        help: 'Seconds that are missing in the last 24 hours, summed over the feeds of a source.',
        read: each(({ gapMs24h }) => gapMs24h && gapMs24h / 1000),
      },
      tapeline_source_open_gap_seconds: {
        help: 'The longest gap that has not ended, of the feeds of a source that were observed before.',
        read: each(({ openGapMs }) => openGapMs && openGapMs / 1000),
      },
      tapeline_source_backfill_ratio: {
        help: 'Share of the first fill with history that is done.',
        read: each(({ backfill }) => backfill),
      },
    },
  )
}

export function nodeMetrics(
  metrics: Metrics,
  environment: Environment,
  parts: { nodes(): NodeStatus[] },
): void {
  const each = (value: (node: NodeStatus) => number | null) => () =>
    parts.nodes().map((node): [Labels, number | null] => [{ node: node.name }, value(node)])
  readMetrics(
    metrics,
    { environment },
    {
      tapeline_nodes: {
        help: 'Nodes that are configured.',
        read: () => (parts.nodes().length === 0 ? [] : [[{}, parts.nodes().length]]),
      },
      tapeline_nodes_healthy: {
        help: 'Nodes that answer and are in step with their network.',
        read: () => (parts.nodes().length === 0 ? [] : [[{}, parts.nodes().filter(isWell).length]]),
      },
      tapeline_node_state: {
        help: 'The state of a node in the pool: always 1, the state is a label.',
        read: () => parts.nodes().map(({ name, state }) => [{ node: name, state }, 1]),
      },
      tapeline_node_synced: {
        help: 'Whether a node is in step with its network.',
        read: each((node) => Number(isWell(node))),
      },
      tapeline_node_lag: {
        help: 'How far a node is behind the best one, in DAA score.',
        read: each(({ daaScore, lag }) => (daaScore === null ? null : lag)),
      },
      tapeline_node_latency_seconds: {
        help: 'How long a node takes to answer a call.',
        read: each(({ connected, latencyMs }) => (connected ? latencyMs / 1000 : null)),
      },
    },
  )
}

function isWell({ synced, state }: NodeStatus): boolean {
  return synced && state === 'healthy'
}

export function deliveryMetrics(
  metrics: Metrics,
  environment: Environment,
  parts: {
    pending(): Promise<{ pending: number; oldest_pending_seconds: number }>
    delay(): { overdueMs: number; unplannedEvents: number } | undefined
    connections(): number
  },
): void {
  const delay = (value: (found: { overdueMs: number; unplannedEvents: number }) => number) => () => {
    const found = parts.delay()
    return found === undefined ? [] : [[{}, value(found)] as [Labels, number]]
  }
  let reading: ReturnType<typeof parts.pending> | undefined
  const pending = () => {
    reading ??= parts.pending().finally(() => {
      reading = undefined
    })
    return reading
  }
  readMetrics(
    metrics,
    { environment },
    {
      tapeline_deliveries_pending: {
        help: 'Deliveries to webhooks that wait, those that are tried again later among them.',
        read: async () => [[{}, (await pending()).pending]],
      },
      tapeline_deliveries_oldest_pending_seconds: {
        help: 'Age of the oldest of them.',
        read: async () => [[{}, (await pending()).oldest_pending_seconds]],
      },
      tapeline_deliveries_overdue_seconds: {
        help: 'How long the first delivery waits that should have been tried; those of failing receivers and of accounts without credits are not counted.',
        read: delay(({ overdueMs }) => overdueMs / 1000),
      },
      tapeline_deliveries_unplanned_events: {
        help: 'Events of the log that were not yet compared with the webhooks.',
        read: delay(({ unplannedEvents }) => unplannedEvents),
      },
      tapeline_stream_connections: {
        help: 'Open stream connections.',
        read: () => [[{}, parts.connections()]],
      },
    },
  )
}

/** @param parts.indexing the state as reported by the process that indexes */
export function indexMetrics(
  metrics: Metrics,
  environment: Environment,
  parts: { indexing(): { state: string; restarts: number } },
): void {
  const shown = (value: (found: { state: string; restarts: number }) => number) => () => {
    const found = parts.indexing()
    return found.state === 'off' ? [] : [[{}, value(found)] as [Labels, number]]
  }
  readMetrics(
    metrics,
    { environment },
    {
      tapeline_index_running: {
        help: 'Whether the chain is indexed; 0 while what does it is started again or keeps failing.',
        read: shown(({ state }) => Number(state === 'running')),
      },
      tapeline_index_restarts_total: {
        help: 'How often the indexer had to be started again.',
        kind: 'counter',
        read: shown(({ restarts }) => restarts),
      },
    },
  )
}
