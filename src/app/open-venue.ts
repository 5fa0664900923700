/** Creates a venue and its recorder from settings that can be sent to a thread. */

import type { RetentionRule } from '../core/retention.ts'
import { chooseRecorder, type RecorderParts } from '../ingest/choose-recorder.ts'
import type { Recorder } from '../ingest/shared/recorder.ts'
import type { Clock } from '../kit/clock.ts'
import type { ChainlinkOptions } from '../venues/chainlink/venue.ts'
import type { KalshiOptions } from '../venues/kalshi/venue.ts'
import { VENUES, type VenueName } from '../venues/list.ts'
import { MAX_FIRST_FILL_DAYS, withinDays } from '../venues/plan.ts'
import type { PolymarketHosts } from '../venues/polymarket/describe.ts'
import type { PolymarketOptions } from '../venues/polymarket/venue.ts'
import type { Venue, VenueDependencies } from '../venues/venue.ts'

export interface VenueSetting {
  readonly name: VenueName
  /** Omitted for the real hosts. */
  readonly hosts?: Partial<PolymarketHosts>
  readonly polymarket?: PolymarketOptions
  readonly kalshi?: KalshiOptions
  readonly chainlink?: ChainlinkOptions
}

export function openVenue(
  { name, ...settings }: VenueSetting,
  clock: Clock,
  more: Pick<VenueDependencies, 'fetch' | 'onDeadLetter'> = {},
): Venue {
  return VENUES[name].create({ clock, ...settings, ...more })
}

export function recorderOf(
  name: VenueName,
  parts: RecorderParts,
  {
    firstFillDays = MAX_FIRST_FILL_DAYS,
    retention = [],
  }: { readonly firstFillDays?: number; readonly retention?: readonly RetentionRule[] } = {},
): Recorder {
  return chooseRecorder(withinDays(VENUES[name].plan, firstFillDays, retention), parts)
}
