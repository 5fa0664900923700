import type { Config } from '../config/config.ts'
import type { Environment } from '../core/environment.ts'

/** The environments that the settings switch on. */
export function runningEnvironments(config: Pick<Config, 'test' | 'live' | 'nodes'>): Environment[] {
  const live = config.live.length > 0 || config.nodes.length > 0
  return [...(config.test ? (['test'] as const) : []), ...(live ? (['live'] as const) : [])]
}
