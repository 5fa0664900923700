/**
 * The addresses that are watched in this process, counted so that an address is released with its last watcher. Above
 * the cap, new addresses are left out. The node's UTXO subscription follows this set up to a limit; the index covers
 * every address, watched or not.
 */
import { type Network, networkInfo } from '../core/chain/network.ts'

export interface WatchedAddresses {
  /**
   * Watches the addresses that fit under the cap. The others lack only the node's notification; their events still come
   * from the index. Addresses must have been validated before, because validation takes microseconds each. Throws
   * RangeError without changing anything if an address has the prefix of another network, which can happen if the store
   * was written for that network.
   */
  watch(addresses: readonly string[]): () => void
  has(address: string): boolean
  readonly size: number
  /** Those that have been watched for the longest time, at most this many. */
  list(most: number): string[]
  /** Called after the set has changed, not just a count. */
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
    list: (most) => [...counts.keys().take(most)],
    onChange(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
  }
}
