import { Type } from 'typebox'
import { flat } from '../../../contract/costs.ts'
import { coverageSchema } from '../../../contract/coverage-schema.ts'
import { at, object } from '../../../contract/endpoint.ts'
import { CONTENT_TYPES } from '../../../contract/envelopes.ts'
import type { ExampleSamples } from '../../../contract/example.ts'
import {
  flag,
  interval,
  onlyFor,
  optional,
  source,
  symbol,
  time,
  unlessGiven,
  withExample,
} from '../../../contract/params.ts'
import { ApiError } from '../../../core/errors.ts'
import type { Feed } from '../../../core/feed.ts'
import { integerField, nullableTextField, timeField } from '../../../core/rows/fields.ts'
import { MARKET_TYPES, type MarketType } from '../../../core/rows/market.ts'
import { type MarketRow, SnapshotRow } from '../../../core/rows/schemas.ts'
import type { AssetSymbol } from '../../../core/symbol.ts'
import { formatTime } from '../../../core/time.ts'
import { AccountSteps } from '../../../kit/account-steps.ts'
import { Slice } from '../../../kit/time-slices.ts'
import type { CoveredRow, EnvironmentStore } from '../../../store/environment.ts'
import { endpoint } from '../services.ts'
import { coverageMeta } from './coverage-meta.ts'
import { findMarket } from './find-market.ts'
import { NOT_CLAMPED } from './list-rows.ts'
import { conditionIdParam, marketIdParam } from './market-params.ts'
import { checkAvailable, SNAPSHOT_SOURCES, type SnapshotSource, snapshotFeeds } from './snapshot-feeds.ts'

/**
 * Markets that span the instant are tried in turn, shortest first; one of the first nearly always has a row. The limit
 * applies to each duration, because many contracts of one duration must not hide those of the next.
 */
const MAX_MARKETS_TRIED = 200
/**
 * A search that tries more markets is a long one. Its further steps take turns with those of the account's other long
 * searches.
 */
const TRIED_AT_ONCE = 8
const longSearches = new AccountSteps()

/** Why there is no snapshot. */
const MISSING_REASONS = ['no_market', 'not_recorded', 'plan_history'] as const
type MissingReason = (typeof MISSING_REASONS)[number]

const always = (value: null | false, description: string) =>
  value === null ? Type.Null({ description }) : Type.Literal(value, { description })

/** The fields of every market answer, for at most one row. */
const SnapshotAtMeta = Type.Object(
  {
    symbol: nullableTextField('Echo of the request.'),
    source: nullableTextField('Echo of the request.'),
    interval: nullableTextField('Duration of the contract, as asked; null where it was not.'),
    time: timeField('The instant that was asked for; left out: that of the answer.'),
    count: integerField('1, or 0 when there is no snapshot.'),
    returned: integerField('The same as count.'),
    has_more: always(false, 'Always false.'),
    next_cursor: always(null, 'Always null.'),
    clamped: always(null, 'Always null: the time is never moved.'),
    clamped_reason: always(null, 'Always null.'),
    original_start: always(null, 'Always null.'),
    effective_start: always(null, 'Always null.'),
    ignored: Type.Array(Type.String(), {
      description: 'Parameters without a meaning for the source, and `interval` beside `market_id`.',
    }),
    coverage: Type.Unsafe<object>({
      ...coverageSchema,
      description: 'What was observed from the snapshot (or from where one could be) to the time.',
    }),
    reason: Type.Union([...MISSING_REASONS.map((reason) => Type.Literal(reason)), Type.Null()], {
      description:
        'Why `data` is null. no_market: no market is known that runs at the time. not_recorded: nothing was recorded at or before it. plan_history: only before the window of the plan. Null with a snapshot.',
    }),
  },
  { description: 'Echo of the request and what is known about the answer.' },
)

export const snapshotsAt = endpoint({
  path: 'GET /v1/snapshots/at',
  doc: {
    tag: 'market',
    summary: 'The snapshot at or before a time',
    description:
      'Without `market_id` a prediction market answers with the market whose window holds the time, shortest duration first, or the newest of a duration with `interval` in place of `time`. `data` is null when there is none at or before the time; `meta.reason` says why.',
  },
  access: { scope: 'market', history: { of: 'snapshots', whenOlder: 'refuse', refusal: 'plan_required' } },
  params: {
    source: withExample('predmkt_a', source(...SNAPSHOT_SOURCES)),
    symbol: symbol(),
    time: unlessGiven(
      'interval',
      withExample((samples: ExampleSamples) => samples.time, time('The instant.')),
    ),
    interval: onlyFor(
      ['predmkt_a', 'predmkt_b'],
      optional(interval(MARKET_TYPES, 'Duration of the contract; without `time` its newest snapshot.')),
    ),
    market_id: onlyFor(['predmkt_a', 'predmkt_b'], optional(marketIdParam)),
    include_orderbook: onlyFor(
      ['predmkt_a', 'predmkt_b'],
      flag('Adds both books of the market, with every level.'),
    ),
  },
  cost: flat(50),
  returns: object(
    'SnapshotAt',
    Type.Object({
      data: Type.Union([SnapshotRow, Type.Null()], { description: 'The snapshot; null when there is none.' }),
      meta: SnapshotAtMeta,
    }),
  ),
  errors: ['market_not_found', 'data_not_available'],
  aliases: [
    at('GET /v1/predmkt_a/snapshots/at', { source: 'predmkt_a' }, 'Up/Down snapshot at or before a time', {
      condition_id: conditionIdParam,
    }),
    at('GET /v1/predmkt_b/snapshots/at', { source: 'predmkt_b' }, 'Yes/No snapshot at or before a time'),
    at('GET /v1/perpdex/snapshots/at', { source: 'perpdex' }, 'L2 snapshot at or before a time'),
  ],
  run: async (context) => {
    const { input, services, range, nowMs } = context
    const { store } = services.market
    const asset = input.symbol as AssetSymbol
    const instant = input.time ?? nowMs
    const marketId = context.ignored.includes('market_id') ? undefined : input.market_id
    // A market determines its own duration.
    const isOfMarket = marketId !== undefined && input.interval !== undefined
    const ignored = isOfMarket ? [...context.ignored, 'interval'] : context.ignored
    const duration = ignored.includes('interval') ? undefined : input.interval
    await checkAvailable(store, input.source, asset, { toMs: instant, nowMs })
    const found = await snapshotAt(store, {
      nowMs,
      source: input.source,
      symbol: asset,
      time: instant,
      duration,
      isNewest: input.time === undefined,
      notBefore: range?.earliestMs ?? 0,
      marketId,
      accountId: context.caller.accountId,
      isGone: context.isGone,
      books: input.include_orderbook && !context.ignored.includes('include_orderbook'),
    })
    const count = found.row === undefined ? 0 : 1
    const meta = {
      symbol: input.symbol,
      source: input.source,
      interval: duration ?? null,
      time: formatTime(instant),
      count,
      returned: count,
      has_more: false,
      next_cursor: null,
      ...NOT_CLAMPED,
      ignored,
      coverage: coverageMeta(found.coverage, found.covered, {
        nowMs,
        endMs: input.time === undefined ? undefined : instant + 1,
      }),
      reason: found.reason,
    }
    return {
      kind: 'text',
      text: `{"data":${found.row?.text ?? 'null'},"meta":${JSON.stringify(meta)}}`,
      contentType: CONTENT_TYPES.json,
      units: { row: count },
    }
  },
})

interface AtQuestion {
  nowMs: number
  source: SnapshotSource
  symbol: AssetSymbol
  time: number
  /** Only contracts of this duration. */
  duration: MarketType | undefined
  /** The newest snapshot is requested, even if its market is over. */
  isNewest: boolean
  notBefore: number
  marketId: string | undefined
  accountId: string
  isGone: (() => boolean) | undefined
  books: boolean
}

/** Includes the coverage of the time from the row on, or from the earliest possible row on. */
interface AtAnswer extends CoveredRow {
  reason: MissingReason | null
}

async function snapshotAt(store: EnvironmentStore, asked: AtQuestion): Promise<AtAnswer> {
  const { source, symbol, time, duration } = asked
  if (source === 'perpdex') return rowAt(store, asked, snapshotFeeds(source, symbol, undefined), undefined)
  const feedsOf = (market: MarketRow) =>
    snapshotFeeds(source, symbol, (market.market_type ?? undefined) as MarketType | undefined)
  const rowOf = (market: MarketRow) => rowAt(store, asked, feedsOf(market), market)
  if (asked.marketId !== undefined) {
    const found = await findMarket(store, asked.marketId, { param: 'market_id', sources: [source], symbol })
    return rowOf(found.market)
  }
  let nearest: MarketRow | undefined
  let tried = 0
  const slice = new Slice()
  for (const marketType of duration === undefined ? ([...MARKET_TYPES, ''] as const) : [duration]) {
    const held = { source, symbol, time, marketType, limit: MAX_MARKETS_TRIED }
    for (const { market } of await store.markets.holding(held)) {
      // Nobody reads this error; it only ends the search without a charge.
      if (asked.isGone?.()) throw new ApiError('market_not_found', 'The caller left during the search.')
      const read = () => coveredRowAt(store, asked, feedsOf(market), market)
      const isLong = ++tried > TRIED_AT_ONCE
      const found = await (isLong ? longSearches.run(asked.accountId, read) : read())
      if (found.row !== undefined) return { ...found, reason: null }
      nearest ??= market
      if (slice.isOver) await slice.next()
    }
  }
  const feeds = snapshotFeeds(source, symbol, duration)
  if (asked.isNewest) {
    const newest = await rowAt(store, asked, feeds, undefined)
    if (newest.row !== undefined) return newest
  }
  if (nearest !== undefined) return rowOf(nearest)
  const covered = { from: time, to: time + 1 }
  const coverage = await store.coverage.read(feeds, time, Math.min(time + 1, asked.nowMs))
  return { row: undefined, covered, coverage, reason: 'no_market' }
}

async function rowAt(
  store: EnvironmentStore,
  asked: AtQuestion,
  feeds: readonly Feed[],
  market: MarketRow | undefined,
): Promise<AtAnswer> {
  const found = await coveredRowAt(store, asked, feeds, market)
  if (found.row !== undefined) return { ...found, reason: null }
  const { time, notBefore } = asked
  const older = notBefore > 0 ? await store.series.at({ feeds, time, ...instrumentOf(market) }) : undefined
  return { ...found, reason: older === undefined ? 'not_recorded' : 'plan_history' }
}

function coveredRowAt(
  store: EnvironmentStore,
  asked: AtQuestion,
  feeds: readonly Feed[],
  market: MarketRow | undefined,
): Promise<CoveredRow> {
  const { time, notBefore, nowMs } = asked
  const books = asked.books ? { books: { books: true, diffs: false } } : {}
  const startMs = market?.start_time == null ? notBefore : Date.parse(market.start_time)
  return store.coveredRow({
    feeds,
    time,
    notBefore,
    coverageFrom: Math.min(time, Math.max(notBefore, startMs)),
    coverageTo: nowMs,
    ...instrumentOf(market),
    ...books,
  })
}

const instrumentOf = (market: MarketRow | undefined) =>
  market === undefined ? {} : { instrument: market.market_id }
