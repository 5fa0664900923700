/**
 * The self-checks of a recorder: small random samples of what is stored, examined while it runs.
 *
 *   sealed     pages that were final and complete are read again: they must not have changed
 *   coverage   rows that must exist, and must agree with each other, wherever coverage says that all was observed
 *   venue      a random closed range is requested from the venue again, at the lowest priority
 *   limits     requests stay inside the venue's budgets, sockets and loops do not pile up
 *
 * A difference becomes a correction (rows are put again: the old bytes become a revision) or a gap, is counted, and is
 * logged. If an old answer may legitimately differ from a new one, nothing is done, because a wrong correction is worse
 * than none.
 */
import { type Feed, feedName } from '../../core/feed.ts'
import type { Source } from '../../core/source.ts'
import type { Clock } from '../../kit/clock.ts'
import type { Logger } from '../../kit/log.ts'

const AUDIT_KINDS = ['sealed', 'coverage', 'venue', 'limits'] as const
export type AuditKind = (typeof AUDIT_KINDS)[number]

export interface AuditCount {
  /** Number of ranges that were examined. */
  readonly checked: number
  /** Number of errors found in them. */
  readonly differences: number
}

export type AuditCounts = Readonly<Record<AuditKind, AuditCount>>

export interface AuditDifference {
  /** What is wrong, in one line. */
  readonly what: string
  readonly action: 'corrected' | 'gap' | 'reported'
  readonly feed?: Feed
  readonly fromMs?: number
  readonly toMs?: number
}

export interface AuditCheck {
  readonly kind: AuditKind
  /** How often the check is drawn, relative to the others. */
  readonly weight: number
  /** Whether work that was begun earlier is due now; it goes before anything random. */
  isDue?(nowMs: number): boolean
  /** Null if there was nothing to examine. Rejects if a store or a venue did not answer, which proves nothing. */
  run(): Promise<readonly AuditDifference[] | null>
}

export interface AuditOptions {
  /** Keeps samples of sealed pages beyond the end of the process; if left out, they are lost with it. */
  readonly samples?: SampleStorage
}

/** Storage of a text that outlives the process. */
export interface SampleStorage {
  /** Undefined before the first `save`. */
  load(): Promise<string | undefined>
  save(text: string): Promise<void>
}

/** One small check per source runs at a random moment in this range after the previous one. */
export const AUDIT_EVERY_MS = { least: 30_000, most: 60_000 } as const
/** Only the first differences of a check are logged individually. */
const MAX_LOGGED = 5

export function createAudit(options: {
  readonly source: Source
  readonly clock: Clock
  readonly log: Logger
  readonly random: () => number
}) {
  const { source, clock, log, random } = options
  const counts: Record<AuditKind, { checked: number; differences: number }> = {
    sealed: { checked: 0, differences: 0 },
    coverage: { checked: 0, differences: 0 },
    venue: { checked: 0, differences: 0 },
    limits: { checked: 0, differences: 0 },
  }

  function report(kind: AuditKind, differences: readonly AuditDifference[]): void {
    counts[kind].differences += differences.length
    for (const { feed, fromMs, toMs, what, action } of differences.slice(0, MAX_LOGGED))
      log.warn(
        {
          ...{ source, check: kind, action },
          ...(feed === undefined ? {} : { feed: feedName(feed) }),
          ...(fromMs === undefined ? {} : { from: timeText(fromMs) }),
          ...(toMs === undefined ? {} : { to: timeText(toMs) }),
        },
        `a self-check found a difference: ${what}`,
      )
    if (differences.length > MAX_LOGGED)
      log.warn({ source, check: kind, count: differences.length }, 'a self-check found many differences')
  }

  /** Runs a randomly drawn check; if it has nothing to examine, draws another one. */
  async function runOne(checks: readonly AuditCheck[]): Promise<void> {
    let left = checks
    for (let check = draw(left); check !== undefined; check = draw(left)) {
      const { kind } = check
      const found = await check.run()
      if (found !== null) {
        counts[kind].checked += 1
        if (found.length > 0) report(kind, found)
        return
      }
      left = left.filter((each) => each !== check)
    }
  }

  function draw(checks: readonly AuditCheck[]): AuditCheck | undefined {
    const due = checks.find((check) => check.isDue?.(clock.now()) === true)
    if (due !== undefined) return due
    const total = checks.reduce((sum, { weight }) => sum + weight, 0)
    let at = random() * total
    for (const check of checks) {
      at -= check.weight
      if (at < 0) return check
    }
    return checks.at(-1)
  }

  return {
    /** Examines until the signal; never rejects. */
    async run(checks: readonly AuditCheck[], signal: AbortSignal): Promise<void> {
      if (checks.length === 0) return
      while (!signal.aborted) {
        const { least, most } = AUDIT_EVERY_MS
        try {
          await clock.sleep(Math.floor(least + random() * (most - least)), signal)
          await runOne(checks)
        } catch (error) {
          if (!signal.aborted) log.debug({ source, err: error }, 'a self-check could not be done')
        }
      }
    },
    counts: (): AuditCounts => structuredClone(counts),
  }
}

export const noAudits = (): AuditCounts => ({
  sealed: { checked: 0, differences: 0 },
  coverage: { checked: 0, differences: 0 },
  venue: { checked: 0, differences: 0 },
  limits: { checked: 0, differences: 0 },
})

export function sumAudits(counts: AuditCounts): AuditCount {
  const all = Object.values(counts)
  return {
    checked: all.reduce((sum, { checked }) => sum + checked, 0),
    differences: all.reduce((sum, { differences }) => sum + differences, 0),
  }
}

const timeText = (timeMs: number) => new Date(timeMs).toISOString()
