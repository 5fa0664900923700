import type { ServiceStatus } from '../api/endpoints/services.ts'

/** A source needs a moment to bring its first record before its absence is a fault. */
export const STARTING_MS = 30_000

/**
 * ok when all works, degraded when something does not, down when nothing does.
 * @param isStarting sources that have not recorded anything yet are no fault
 */
export function serviceStatus(
  parts: Omit<ServiceStatus, 'status'>,
  { isStarting }: { isStarting: boolean },
): ServiceStatus {
  const { ingestion, nodes, index } = parts
  const judged = ingestion.filter((source) => !isStarting || hasRecord(source))
  const working = [
    ...judged.map((source) => source.status === 'healthy'),
    ...nodes.map((node) => node.synced),
    ...(index.state === 'off' ? [] : [index.state === 'running']),
  ]
  const failing = working.filter((works) => !works).length
  const status = failing === 0 ? 'ok' : failing === working.length ? 'down' : 'degraded'
  return { status, ...parts }
}

export function hasRecord(
  source: Pick<ServiceStatus['ingestion'][number], 'coverage' | 'last_event_at'>,
): boolean {
  return source.last_event_at !== null || source.coverage.some(({ from }) => from !== null)
}
