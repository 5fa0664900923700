/**
 * The addresses that somebody in this process watches: counted (an address is released with its
 * last watcher) and capped: above the cap new ones are left out. The node's UTXO subscription follows this set up to
 * a limit; the index covers every address, watched or not.
 */
import { type Network, networkInfo } from '../core/chain/network.ts'

export interface WatchedAddresses {
  /**
   * Watches what fits under the cap. The rest only lacks the node's own notification: its events come from the index
   * all the same. Addresses were checked before, each takes microseconds; only for one with the prefix of another
   * network it throws RangeError, and nothing changes: a store may have been written for that one.
   */
  watch(addresses: readonly string[]): () => void
  has(address: string): boolean
  readonly size: number
  list(): string[]
  /** Called after the set (not just a count) has changed. */
  onChange(listener: () => void): () => void
}

export function createWatchedAddresses(options: { network: Network; cap: number }): WatchedAddresses {
  const start = `${networkInfo(options.network).addressPrefix}:`
  const counts = new Map<string, number>()
  const listeners = new Set<() => void>()
  const changed = () => {
    for (const listener of listeners) listener()
  }

  return {
    watch(addresses) {
      const wanted = new Set(addresses)
      for (const address of wanted) {
        if (!address.startsWith(start)) throw new RangeError(`${address} is no address of ${options.network}`)
      }
      const before = counts.size
      for (const address of wanted) {
        const count = counts.get(address) ?? 0
        if (count === 0 && counts.size >= options.cap) wanted.delete(address)
        else counts.set(address, count + 1)
      }
      if (counts.size > before) changed()
      let released = false
      return () => {
        if (released) return
        released = true
        let gone = 0
        for (const address of wanted) {
          const left = (counts.get(address) ?? 0) - 1
          if (left > 0) counts.set(address, left)
          else if (counts.delete(address)) gone++
        }
        if (gone > 0) changed()
      }
    },
    has: (address) => counts.has(address),
    get size() {
      return counts.size
    },
    list: () => [...counts.keys()],
    onChange(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
  }
}
