import type { ServiceStatus } from '../api/endpoints/services.ts'
import type { Parts } from './parts.ts'

export interface ChainHalf {
  readonly services: Record<never, never>
  readonly nodes: () => ServiceStatus['nodes']
  readonly deliveries: () => ServiceStatus['webhooks']
}

/** The chain half of one environment. */
export async function startChain(_parts: Parts): Promise<ChainHalf> {
  return {
    services: {},
    nodes: () => [],
    deliveries: () => ({ pending: 0, oldest_pending_seconds: 0 }),
  }
}
