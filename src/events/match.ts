/**
 * Which subscriptions select an event. Looked up by kind and address, so that the cost of an event depends on
 * how many select it, never on how many there are.
 *
 *   kind ─▶ subscribers to all of it
 *        └▶ address ─▶ subscribers for this address
 */
import { type EventKind, isChainKind } from './kinds.ts'

export interface EventSelection {
  readonly kinds: readonly EventKind[]
  /** Missing or empty: all addresses. Chain kinds are not narrowed. */
  readonly addresses?: readonly string[]
}

export interface Matchable {
  readonly kind: string
  readonly addresses: readonly string[]
}

export interface Matcher<T> {
  /** The function removes it. */
  add(subscriber: T, selection: EventSelection): () => void
  /** Each subscriber once. */
  match(event: Matchable): Iterable<T>
  readonly size: number
}

/** Several subscribers at one address, with how often each was added. */
class Several<T> {
  readonly counts = new Map<T, number>()
}

interface Takers<T> {
  readonly all: Map<T, number>
  /** Most addresses have one subscriber, stored directly: this saves two look-ups in cold memory. */
  readonly byAddress: Map<string, T | Several<T>>
}

export function createMatcher<T>(): Matcher<T> {
  const kinds = new Map<string, Takers<T>>()
  let size = 0

  function takersOf(kind: string): Takers<T> {
    let takers = kinds.get(kind)
    if (takers === undefined) {
      takers = { all: new Map(), byAddress: new Map() }
      kinds.set(kind, takers)
    }
    return takers
  }

  return {
    get size() {
      return size
    },
    add(subscriber, selection) {
      const addresses = [...new Set(selection.addresses ?? [])]
      const undo: (() => void)[] = []
      for (const kind of new Set(selection.kinds)) {
        const takers = takersOf(kind)
        if (isChainKind(kind) || addresses.length === 0) {
          count(takers.all, subscriber, 1)
          undo.push(() => count(takers.all, subscriber, -1))
          continue
        }
        for (const address of addresses) enter(takers.byAddress, address, subscriber)
        undo.push(() => {
          for (const address of addresses) leave(takers.byAddress, address, subscriber)
        })
      }
      size++
      let left = false
      return () => {
        if (left) return
        left = true
        for (const step of undo) step()
        size--
      }
    },
    match(event) {
      const takers = kinds.get(event.kind)
      if (takers === undefined) return []
      if (takers.byAddress.size === 0) return takers.all.keys()
      const [only] = event.addresses
      if (takers.all.size === 0 && event.addresses.length === 1 && only !== undefined) {
        return subscribersAt(takers.byAddress, only)
      }
      const found = new Set(takers.all.keys())
      for (const address of event.addresses) {
        for (const subscriber of subscribersAt(takers.byAddress, address)) found.add(subscriber)
      }
      return found
    },
  }
}

function subscribersAt<T>(byAddress: Takers<T>['byAddress'], address: string): Iterable<T> {
  const there = byAddress.get(address)
  if (there === undefined) return []
  return there instanceof Several ? there.counts.keys() : [there]
}

function enter<T>(byAddress: Takers<T>['byAddress'], address: string, subscriber: T): void {
  const there = byAddress.get(address)
  if (there === undefined) {
    byAddress.set(address, subscriber)
    return
  }
  const several = there instanceof Several ? there : new Several<T>()
  if (!(there instanceof Several)) count(several.counts, there, 1)
  count(several.counts, subscriber, 1)
  byAddress.set(address, several)
}

function leave<T>(byAddress: Takers<T>['byAddress'], address: string, subscriber: T): void {
  const there = byAddress.get(address)
  if (there instanceof Several) {
    count(there.counts, subscriber, -1)
    if (there.counts.size === 0) byAddress.delete(address)
  } else if (there === subscriber) byAddress.delete(address)
}

function count<T>(takers: Map<T, number>, subscriber: T, change: number): void {
  const now = (takers.get(subscriber) ?? 0) + change
  if (now > 0) takers.set(subscriber, now)
  else takers.delete(subscriber)
}
