import type { ListAnswer } from '../../../contract/endpoint.ts'
import type { CursorCodec } from '../../../core/cursor.ts'
import type { Lru } from '../../../kit/lru.ts'
import type { EnvironmentStore } from '../../../store/environment.ts'
import type { FeedFacts } from './feed-facts.ts'

/** What the market endpoints of one environment work with. */
export interface MarketData {
  readonly store: EnvironmentStore
  readonly cursors: CursorCodec
  readonly facts: FeedFacts
  /**
   * Sealed pages by their query; an entry is good as long as its feeds' epochs stand. A page is kept when it
   * is asked for a second time: most are read once.
   */
  readonly pages: Lru<string, SealedPage | 'seen'>
}

export interface SealedPage {
  readonly epochs: string
  readonly answer: ListAnswer
  readonly proof: Proof
}

/** When the epochs were last compared, and what this process had written by then. */
export interface Proof {
  atMs: number
  writes: number
}
