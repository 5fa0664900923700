import type { Config } from '../config.ts'
import type { Environment } from '../core/environment.ts'
import type { Clock } from '../kit/clock.ts'
import type { Logger } from '../kit/log.ts'
import type { Metrics } from '../kit/metrics.ts'
import type { Shutdown } from '../kit/shutdown.ts'

/** What every part of an environment is built from. */
export interface EnvironmentParts {
  readonly environment: Environment
  readonly config: Config
  readonly clock: Clock
  readonly log: Logger
  readonly metrics: Metrics
  /** Whoever starts something says here how it stops. */
  readonly shutdown: Shutdown
  /** Whoever can fail says here how to ask it; `/ready` asks them all. */
  readonly probes: ReadinessProbe[]
}

export interface ReadinessProbe {
  readonly name: string
  readonly check: () => Promise<void>
}
