/**
 * While a simulation runs, the real sources of time and randomness are unavailable: a use of one throws and names the
 * caller. Turns of the event loop are simulated.
 */
import crypto from 'node:crypto'
import { syncBuiltinESMExports } from 'node:module'
import timersPromises from 'node:timers/promises'
import { useTurnTime } from '../../src/kit/turns.ts'
import type { VirtualTime } from './virtual-time.ts'

const RealDate = Date

/** A plain function instead of a proxy, because dates are created thousands of times a second. */
function dateWithoutNow(refuse: () => never): unknown {
  function SimulatedDate(...args: unknown[]): Date {
    if (args.length === 0) refuse()
    return args.length === 1 ? new RealDate(args[0] as number) : (Reflect.construct(RealDate, args) as Date)
  }
  SimulatedDate.prototype = RealDate.prototype
  // `now` is refused by the real one, which has the trap.
  return Object.assign(SimulatedDate, {
    now: () => RealDate.now(),
    parse: RealDate.parse,
    UTC: RealDate.UTC,
  })
}

/** Returns a function that restores everything. */
export function guardAgainstReality(time: VirtualTime, onUse: (text: string) => void): () => void {
  const undo: (() => void)[] = []
  function replace<T extends object, K extends keyof T>(owner: T, name: K, value: unknown): void {
    const original = owner[name]
    owner[name] = value as T[K]
    undo.push(() => {
      owner[name] = original
    })
  }
  const forbid = (name: string) => () => {
    const error = new Error(`${name} was used inside a simulation`)
    onUse(error.stack ?? error.message)
    throw error
  }

  for (const name of ['setTimeout', 'setInterval', 'fetch'] as const) replace(globalThis, name, forbid(name))
  replace(globalThis, 'setImmediate', (run: (...args: unknown[]) => void, ...args: unknown[]) => {
    const turn = { isCancelled: false }
    time.turn(() => {
      if (!turn.isCancelled) run(...args)
    })
    return turn
  })
  replace(globalThis, 'clearImmediate', (turn?: { isCancelled: boolean }) => {
    if (turn !== undefined) turn.isCancelled = true
  })
  replace(globalThis, 'Date', dateWithoutNow(forbid('new Date()')))
  replace(RealDate, 'now', forbid('Date.now'))
  replace(performance, 'now', forbid('performance.now'))
  undo.push(useTurnTime(() => time.elapsedMs))
  replace(Math, 'random', forbid('Math.random'))
  replace(AbortSignal, 'timeout', forbid('AbortSignal.timeout'))
  for (const name of ['randomBytes', 'randomUUID', 'randomInt', 'randomFillSync'] as const)
    replace(crypto, name, forbid(`crypto.${name}`))
  for (const name of ['setTimeout', 'setInterval'] as const)
    replace(timersPromises, name, forbid(`timers/promises.${name}`))
  replace(
    timersPromises,
    'setImmediate',
    <T>(value: T) => new Promise<T>((resolve) => time.turn(() => resolve(value))),
  )
  syncBuiltinESMExports()
  return () => {
    for (const each of undo.splice(0).reverse()) each()
    syncBuiltinESMExports()
  }
}
