import type { Config } from '../config/config.ts'
import type { ProcessRole } from '../config/service.ts'
import type { Environment } from '../core/environment.ts'
import type { Clock } from '../kit/clock.ts'
import type { Logger } from '../kit/log.ts'
import type { Metrics } from '../kit/metrics.ts'
import type { Shutdown } from '../kit/shutdown.ts'
import type { Tracing } from '../kit/tracing.ts'
import type { Stores } from '../store/open-stores.ts'
import type { Leadership } from './lead.ts'
import type { PartReports } from './part-reports.ts'
import type { SharedLimits } from './shared-limits.ts'

/** What every part of an environment is built from. */
export interface EnvironmentParts {
  readonly environment: Environment
  readonly config: Config
  readonly stores: Stores
  readonly leadership: Leadership
  readonly reports: PartReports
  /** The roles of this process. */
  readonly does: (role: ProcessRole) => boolean
  readonly limits: SharedLimits
  readonly clock: Clock
  readonly log: Logger
  readonly metrics: Metrics
  /** Undefined if traces are not collected. */
  readonly tracing: Tracing | undefined
  /** Every started part registers here how to stop it. */
  readonly shutdown: Shutdown
  /** Every part that can fail registers a probe; `/ready` runs them all. */
  readonly probes: ReadinessProbe[]
}

export interface ReadinessProbe {
  readonly name: string
  /** Answers are read from this part, so this process cannot serve without it. Venues and nodes are not such parts. */
  readonly isStore?: true
  readonly check: () => Promise<void>
}
