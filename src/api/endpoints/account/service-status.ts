import type { ServiceStatus } from '../services.ts'

/** A source gets this long to deliver its first record before its absence counts as a fault. */
export const STARTING_MS = 30_000

/**
 * ok when all works, degraded when something does not, down when nothing does.
 * @param isStarting sources without a first record are not yet a fault
 */
export function serviceStatus(
  parts: Omit<ServiceStatus, 'status'>,
  { isStarting }: { isStarting: boolean },
): ServiceStatus {
  const { ingestion, nodes, index } = parts
  const counted = ingestion.filter((source) => !isStarting || hasRecord(source))
  const working = [
    ...counted.map((source) => source.status === 'healthy'),
    ...nodes.map((node) => node.synced),
    ...(index.state === 'off' ? [] : [index.state === 'running']),
  ]
  const failing = working.filter((works) => !works).length
  const status = failing === 0 ? 'ok' : failing === working.length ? 'down' : 'degraded'
  return { status, ...parts }
}

function hasRecord(source: Pick<ServiceStatus['ingestion'][number], 'coverage' | 'last_event_at'>): boolean {
  return source.last_event_at !== null || source.coverage.some(({ from }) => from !== null)
}
