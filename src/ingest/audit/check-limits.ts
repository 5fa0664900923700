/**
 * Rule: requests stay inside the budgets of the venue, and sockets and loops do not pile up. Each is counted where it
 * happens, not where it is planned. Nothing can be corrected, so differences are only reported to the operator.
 */
import type { Venue } from '../../venues/venue.ts'
import type { AuditCheck, AuditDifference } from './audit.ts'

/** One socket serves, its successor is being opened, and an old one is closing. */
const SOCKETS_PER_ROUTE = 3

export interface RunningParts {
  /** Runs of the recorder that have not ended. */
  readonly runs: number
  readonly channels: number
  readonly sockets: number
  readonly routes: number
  readonly watchLoops: number
}

export function auditLimits(options: {
  readonly venue: Pick<Venue, 'sentWeight'>
  readonly running: () => RunningParts
}): AuditCheck {
  const { venue, running } = options
  const overruns = new Map<string, number>()
  let last: readonly string[] = []

  function overBudget(): AuditDifference[] {
    return (venue.sentWeight?.() ?? []).flatMap(
      ({ pool, limit, overruns: count }, place): AuditDifference[] => {
        const key = `${place} ${pool}`
        const known = overruns.get(key) ?? 0
        overruns.set(key, count)
        if (count <= known) return []
        return [
          { what: `more requests were sent than the venue allows (${pool}, ${limit})`, action: 'reported' },
        ]
      },
    )
  }

  function tooMany(): string[] {
    const { runs, channels, sockets, routes, watchLoops } = running()
    const limits: readonly [name: string, count: number, limit: number][] = [
      ['runs of the recorder', runs, 1],
      ['sockets', sockets, SOCKETS_PER_ROUTE * routes],
      ['loops that watch silence', watchLoops, channels],
    ]
    return limits
      .filter(([, count, limit]) => count > limit)
      .map(([name, , limit]) => `more than ${limit} ${name}`)
  }

  return {
    kind: 'limits',
    weight: 1,
    async run() {
      const now = tooMany()
      // An excess that is present at two checks in a row does not go away by itself.
      const stays = now.filter((line) => last.includes(line))
      last = now
      return [...overBudget(), ...stays.map((what): AuditDifference => ({ what, action: 'reported' }))]
    },
  }
}
