import type { ChainQueries } from '../relay/chain-queries.ts'
import { UnreadableAnswerError } from './read-chain.ts'

/** The first unreadable answer may be a chance, so the same node is asked once more. */
const MAX_UNREADABLE = 1

export type ReadAnswer = <T>(node: string, apply: () => Promise<T>) => Promise<T>

/**
 * Applies answers. Those of a node that is broken arrive in time, so nothing else would notice that they are of no use:
 * it is avoided for a while, and the other nodes are asked first.
 */
export function answerReader(
  queries: Pick<ChainQueries, 'avoid'>,
  maxUnreadable = MAX_UNREADABLE,
): ReadAnswer {
  let unreadable = 0
  let last: string | undefined
  return async (node, apply) => {
    if (node !== last) unreadable = 0
    last = node
    try {
      const applied = await apply()
      unreadable = 0
      return applied
    } catch (error) {
      if (error instanceof UnreadableAnswerError && ++unreadable > maxUnreadable) queries.avoid(node)
      throw error
    }
  }
}
