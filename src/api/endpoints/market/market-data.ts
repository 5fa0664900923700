import type { CursorCodec } from '../../../core/cursor.ts'
import type { Lru } from '../../../kit/lru.ts'
import type { EnvironmentStore } from '../../../store/environment.ts'
import type { ListAnswer } from '../../contract/endpoint.ts'
import type { EarliestRows } from './earliest.ts'

/** What the market endpoints of one environment work with. */
export interface MarketData {
  readonly store: EnvironmentStore
  readonly cursors: CursorCodec
  readonly earliest: EarliestRows
  /** Sealed pages by their query; an entry is good as long as its feeds' epochs stand. */
  readonly pages: Lru<string, SealedPage>
}

export interface SealedPage {
  readonly epochs: string
  readonly answer: ListAnswer
}
