import type { ServiceStatus } from '../api/endpoints/services.ts'
import type { Environment } from '../core/environment.ts'

/** ok when all works, degraded when something does not, down when nothing does. */
export function serviceStatus(
  environment: Environment,
  ingestion: ServiceStatus['ingestion'],
  nodes: ServiceStatus['nodes'],
  index: ServiceStatus['index'],
  webhooks: ServiceStatus['webhooks'],
): ServiceStatus {
  const working = [
    ...ingestion.map((source) => source.status === 'healthy'),
    ...nodes.map((node) => node.synced),
    ...(index.state === 'off' ? [] : [index.state === 'running']),
  ]
  const failing = working.filter((works) => !works).length
  const status = failing === 0 ? 'ok' : failing === working.length ? 'down' : 'degraded'
  return { status, environment, ingestion, nodes, index, webhooks }
}
