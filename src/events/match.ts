/**
 * Which subscriptions want an event. Looked up by kind and address, so that the cost of an event depends on
 * how many want it, never on how many there are.
 *
 *   kind ─▶ everyone who takes all of it
 *        └▶ address ─▶ everyone who takes it for this address
 */
import { type EventKind, isChainKind } from './kinds.ts'

export interface Wish {
  readonly kinds: readonly EventKind[]
  /** Left out or empty: whatever the addresses. Kinds about the chain are not narrowed. */
  readonly addresses?: readonly string[]
}

export interface Matchable {
  readonly kind: string
  readonly addresses: readonly string[]
}

export interface Matcher<T> {
  /** The function takes it out again. */
  add(subscriber: T, wish: Wish): () => void
  /** Each subscriber once. */
  match(event: Matchable): Iterable<T>
  readonly size: number
}

interface Takers<T> {
  readonly all: Map<T, number>
  readonly byAddress: Map<string, Map<T, number>>
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
    add(subscriber, wish) {
      const addresses = [...new Set(wish.addresses ?? [])]
      const undo: (() => void)[] = []
      for (const kind of new Set(wish.kinds)) {
        const takers = takersOf(kind)
        if (isChainKind(kind) || addresses.length === 0) {
          count(takers.all, subscriber, 1)
          undo.push(() => count(takers.all, subscriber, -1))
          continue
        }
        for (const address of addresses) {
          const there = takers.byAddress.get(address) ?? new Map<T, number>()
          takers.byAddress.set(address, there)
          count(there, subscriber, 1)
          undo.push(() => {
            count(there, subscriber, -1)
            if (there.size === 0 && takers.byAddress.get(address) === there) takers.byAddress.delete(address)
          })
        }
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
      const found = new Set(takers.all.keys())
      for (const address of event.addresses) {
        for (const subscriber of takers.byAddress.get(address)?.keys() ?? []) found.add(subscriber)
      }
      return found
    },
  }
}

function count<T>(takers: Map<T, number>, subscriber: T, change: number): void {
  const now = (takers.get(subscriber) ?? 0) + change
  if (now > 0) takers.set(subscriber, now)
  else takers.delete(subscriber)
}
