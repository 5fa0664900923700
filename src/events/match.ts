/**
 * Finds the subscriptions that select an event. They are looked up by kind and address, so that the cost of an event
 * depends on how many subscriptions select it, not on how many exist.
 *
 *   kind ─▶ subscribers to all events of the kind
 *   address ─▶ subscribers for this address, each with its kinds
 *
 * A subscription enters its addresses once for all of its kinds, because entering ten thousand addresses blocks the
 * event loop.
 */
import { type EventKind, isChainKind } from './kinds.ts'

export interface EventSelection {
  readonly kinds: readonly EventKind[]
  /** Missing or empty means all addresses. Chain kinds are not narrowed. */
  readonly addresses?: readonly string[]
}

export interface Matchable {
  readonly kind: string
  readonly addresses: readonly string[]
}

export interface Matcher<T> {
  /** The returned function removes the subscriber. */
  add(subscriber: T, selection: EventSelection): () => void
  /** Returns each subscriber once. */
  match(event: Matchable): Iterable<T>
  readonly size: number
}

/** One subscription with addresses; all of its addresses share this object. */
interface Narrowed<T> {
  readonly subscriber: T
  readonly kinds: ReadonlySet<string>
}

/** Most addresses have one subscription. Storing it directly saves a lookup in cold memory. */
type AtAddress<T> = Narrowed<T> | Set<Narrowed<T>>

export function createMatcher<T>(): Matcher<T> {
  const ofAll = new Map<string, Map<T, number>>()
  const byAddress = new Map<string, AtAddress<T>>()
  let size = 0

  function takersOf(kind: string): Map<T, number> {
    let takers = ofAll.get(kind)
    if (takers === undefined) {
      takers = new Map()
      ofAll.set(kind, takers)
    }
    return takers
  }

  return {
    get size() {
      return size
    },
    add(subscriber, selection) {
      const { addresses = [] } = selection
      const kinds = [...new Set(selection.kinds)]
      const whole = kinds.filter((kind) => addresses.length === 0 || isChainKind(kind)).map(takersOf)
      for (const takers of whole) count(takers, subscriber, 1)
      const narrowed = { subscriber, kinds: new Set<string>(kinds.filter((kind) => !isChainKind(kind))) }
      const entered = narrowed.kinds.size === 0 ? [] : addresses
      for (const address of entered) enter(byAddress, address, narrowed)
      size++
      let left = false
      return () => {
        if (left) return
        left = true
        for (const takers of whole) count(takers, subscriber, -1)
        for (const address of entered) leave(byAddress, address, narrowed)
        size--
      }
    },
    match({ kind, addresses }) {
      const whole = ofAll.get(kind)
      if (byAddress.size === 0 || addresses.length === 0) return whole?.keys() ?? []
      const [only] = addresses
      if (whole === undefined || whole.size === 0) {
        if (addresses.length === 1 && only !== undefined) {
          const there = byAddress.get(only)
          if (there === undefined) return []
          if (!(there instanceof Set)) return there.kinds.has(kind) ? [there.subscriber] : []
        }
      }
      const found = new Set(whole?.keys())
      for (const address of addresses) {
        const there = byAddress.get(address)
        if (there === undefined) continue
        for (const { subscriber, kinds } of there instanceof Set ? there : [there])
          if (kinds.has(kind)) found.add(subscriber)
      }
      return found
    },
  }
}

function enter<T>(byAddress: Map<string, AtAddress<T>>, address: string, entry: Narrowed<T>): void {
  const there = byAddress.get(address)
  if (there === undefined) byAddress.set(address, entry)
  else if (there instanceof Set) there.add(entry)
  else if (there !== entry) byAddress.set(address, new Set([there, entry]))
}

function leave<T>(byAddress: Map<string, AtAddress<T>>, address: string, entry: Narrowed<T>): void {
  const there = byAddress.get(address)
  if (there instanceof Set) {
    there.delete(entry)
    if (there.size === 0) byAddress.delete(address)
  } else if (there === entry) byAddress.delete(address)
}

function count<T>(takers: Map<T, number>, subscriber: T, change: number): void {
  const now = (takers.get(subscriber) ?? 0) + change
  if (now > 0) takers.set(subscriber, now)
  else takers.delete(subscriber)
}
