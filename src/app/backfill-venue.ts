import type { Source } from '../core/source.ts'
import { heartbeatOf } from '../ingest/choose-recorder.ts'
import { backfillRange } from '../ingest/exchange/backfill-exchange.ts'
import { backfillOracle } from '../ingest/oracle/backfill-oracle.ts'
import { backfillMarkets } from '../ingest/prediction/backfill-markets.ts'
import type { BackfillResult, ManualBackfill } from '../ingest/shared/manual-backfill.ts'
import { VENUE_NAMES, VENUES, type VenueName } from '../venues/list.ts'

/** The venue that records a source. */
export function venueOfSource(source: Source): VenueName | undefined {
  return VENUE_NAMES.find((each) => VENUES[each].plan.source === source)
}

/** Fills a range from a venue's own history, at an operator's request. */
export function backfillVenue(name: VenueName, parts: ManualBackfill): Promise<BackfillResult> {
  const { plan } = VENUES[name]
  switch (plan.kind) {
    case 'oracle':
      return backfillOracle({ ...parts, heartbeatMs: heartbeatOf(parts.venue) })
    case 'markets':
      return backfillMarkets({ ...parts, plan })
    case 'exchange':
      return backfillRange({ ...parts, plan })
  }
}
