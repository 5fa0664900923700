import { addressGroup } from '../../kit/ip-range.ts'

/**
 * Counts, per address, the stream connections whose key is not checked yet or was refused (an IPv6 /64 counts as one
 * address), so that clients without a key can hold only a limited number of them.
 */
export interface PendingStreams {
  /** Undefined: too many already. The returned function stops counting this one; calling it again does nothing. */
  enter(address: string): (() => void) | undefined
}

export function createPendingStreams(maxPerAddress: number): PendingStreams {
  const counts = new Map<string, number>()
  return {
    enter(address) {
      const group = addressGroup(address)
      const count = counts.get(group) ?? 0
      if (count >= maxPerAddress) return undefined
      counts.set(group, count + 1)
      let isPending = true
      return () => {
        if (!isPending) return
        isPending = false
        const left = (counts.get(group) ?? 1) - 1
        if (left > 0) counts.set(group, left)
        else counts.delete(group)
      }
    },
  }
}
