import { addressGroup } from '../../kit/ip-range.ts'

/**
 * Stream connections whose key is not checked yet, or was refused and that are not closed, counted per address
 * (an IPv6 network of one customer is one address). Whoever has no key can hold only so many of them.
 */
export interface PendingStreams {
  /** Undefined: the address has too many already. The function ends the count of this one; any further call does nothing. */
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
