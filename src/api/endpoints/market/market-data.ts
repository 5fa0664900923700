import type { CursorCodec } from '../../../core/cursor.ts'
import type { EnvironmentStore } from '../../../store/environment.ts'
import type { FeedFacts } from './feed-facts.ts'

/** What the market endpoints of one environment depend on. */
export interface MarketData {
  readonly store: EnvironmentStore
  readonly cursors: CursorCodec
  readonly facts: FeedFacts
}
