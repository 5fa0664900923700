import { lookup, Resolver } from 'node:dns/promises'
import type { Clock } from '../kit/clock.ts'
import { type Resolve, TargetError } from './guard.ts'

const RESOLVE_TIMEOUT_MS = 5_000
/** Time limit for one query to one server. */
const ASK_AGAIN_AFTER_MS = 1_500
const TRIES = 3
/** How long one family of addresses waits for the other, whose query some servers never answer. */
const OTHER_FAMILY_MS = 3_000

/**
 * Resolves the host names of receivers. Public names are queried from the DNS servers directly. The system resolver
 * blocks one of the few threads of this process per name for as long as a server does not answer, so a few names of one
 * customer would hold up everybody's deliveries and the connections to venues and nodes.
 */
export function receiverResolve(clock: Clock, { allowPrivate }: { readonly allowPrivate: boolean }): Resolve {
  return allowPrivate ? systemResolve(clock) : dnsResolve(clock)
}

/** Resolves through the system resolver, including names of the local network. */
export function systemResolve(clock: Clock): Resolve {
  return (hostname) => inTime(hostname, clock, lookup(hostname, { all: true, verbatim: true }))
}

/** Queries these servers, or those configured on the machine. */
export function dnsResolve(clock: Clock, servers?: readonly string[]): Resolve {
  return async (hostname) => {
    // A new resolver for each name picks up the machine's current servers and can be cancelled separately.
    const resolver = new Resolver({ timeout: ASK_AGAIN_AFTER_MS, tries: TRIES })
    if (servers !== undefined) resolver.setServers(servers)
    const asked = [resolver.resolve4(hostname), resolver.resolve6(hostname)]
    const ended = new AbortController()
    Promise.any(asked)
      .then(() => clock.sleep(OTHER_FAMILY_MS, ended.signal))
      .then(() => resolver.cancel())
      .catch(() => {})
    try {
      const answers = await inTime(hostname, clock, Promise.allSettled(asked))
      if (answers.every(({ status }) => status === 'rejected')) throw unresolved(hostname)
      return answers.flatMap((answer, place) =>
        answer.status === 'rejected'
          ? []
          : answer.value.map((address) => ({ address, family: place === 0 ? 4 : 6 })),
      )
    } finally {
      ended.abort()
      resolver.cancel()
    }
  }
}

async function inTime<T>(hostname: string, clock: Clock, work: Promise<T>): Promise<T> {
  const ended = new AbortController()
  const timeout = clock.sleep(RESOLVE_TIMEOUT_MS, ended.signal).then(() => {
    throw new TargetError(`${hostname} could not be resolved in time`)
  })
  try {
    return await Promise.race([work, timeout])
  } catch (error) {
    if (error instanceof TargetError) throw error
    throw unresolved(hostname)
  } finally {
    ended.abort()
    timeout.catch(() => {})
  }
}

function unresolved(hostname: string): TargetError {
  return new TargetError(`${hostname} could not be resolved`)
}
