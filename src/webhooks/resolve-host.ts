import { lookup } from 'node:dns/promises'
import type { Clock } from '../kit/clock.ts'
import { type Resolve, TargetError } from './guard.ts'

const RESOLVE_TIMEOUT_MS = 5_000

/** The names of this machine's own resolver. */
export function systemResolve(clock: Clock): Resolve {
  return async (hostname) => {
    const ended = new AbortController()
    const timeout = clock.sleep(RESOLVE_TIMEOUT_MS, ended.signal).then(() => {
      throw new TargetError(`${hostname} could not be resolved in time`)
    })
    try {
      return await Promise.race([lookup(hostname, { all: true, verbatim: true }), timeout])
    } catch (error) {
      if (error instanceof TargetError) throw error
      throw new TargetError(`${hostname} could not be resolved`)
    } finally {
      ended.abort()
      timeout.catch(() => {})
    }
  }
}
