/**
 * While a simulation runs, the real sources of time and chance are out of reach: whoever uses one is named at once.
 * A turn of the event loop is no time: it is simulated.
 */
import crypto from 'node:crypto'
import { syncBuiltinESMExports } from 'node:module'
import timersPromises from 'node:timers/promises'
import { useTurnTime } from '../../src/kit/turns.ts'
import type { VirtualTime } from './virtual-time.ts'

const RealDate = Date

/** Returns the function that gives everything back. */
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
  replace(
    globalThis,
    'Date',
    new Proxy(RealDate, {
      construct: (date, args) => (args.length === 0 ? forbid('new Date()')() : Reflect.construct(date, args)),
    }),
  )
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
