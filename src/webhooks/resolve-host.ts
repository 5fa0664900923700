import { lookup, Resolver } from 'node:dns/promises'
import type { Clock } from '../kit/clock.ts'
import { type Resolve, TargetError } from './guard.ts'

const RESOLVE_TIMEOUT_MS = 5_000
/** Of one question to one server. */
const ASK_AGAIN_AFTER_MS = 1_500
const TRIES = 3

/**
 * The addresses of receivers. Public ones are asked of the DNS servers directly: the machine's own resolver takes one of
 * the few threads of this process for every name, as long as a server keeps silent, so that some names of one customer
 * would hold up everybody's deliveries, and the sockets to venues and nodes.
 */
export function receiverResolve(clock: Clock, { allowPrivate }: { readonly allowPrivate: boolean }): Resolve {
  return allowPrivate ? systemResolve(clock) : dnsResolve(clock)
}

/** The names of this machine's own resolver, those of its own network among them. */
export function systemResolve(clock: Clock): Resolve {
  return (hostname) => inTime(hostname, clock, lookup(hostname, { all: true, verbatim: true }))
}

/** Of these servers, or of those that the machine names. */
export function dnsResolve(clock: Clock, servers?: readonly string[]): Resolve {
  return async (hostname) => {
    // One for each name: it knows the machine's present servers, and can be given up by itself.
    const resolver = new Resolver({ timeout: ASK_AGAIN_AFTER_MS, tries: TRIES })
    if (servers !== undefined) resolver.setServers(servers)
    const asked = Promise.allSettled([resolver.resolve4(hostname), resolver.resolve6(hostname)])
    try {
      const answers = await inTime(hostname, clock, asked)
      if (answers.every(({ status }) => status === 'rejected')) throw unresolved(hostname)
      return answers.flatMap((answer, place) =>
        answer.status === 'rejected'
          ? []
          : answer.value.map((address) => ({ address, family: place === 0 ? 4 : 6 })),
      )
    } finally {
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
