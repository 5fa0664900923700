/** Markets, events and series as the catalogue writes them: JSON inside strings, numbers twice, absent keys. */
import { hash } from 'node:crypto'
import { type AssetSymbol, SYMBOL_NAMES } from '../../../src/core/symbol.ts'
import { hash32 } from '../../exchanges/world/hash.ts'
import { recurrenceOf, type Tenor, type UpDown } from '../world/up-down.ts'
import { isoSeconds, type MarketView } from './view.ts'

const ICON = 'https://polymarket-upload.s3.us-east-2.amazonaws.com/BTC+fullsize.png'
const KNOWN_SERIES: Record<string, string> = {
  'BTC 5m': '10684',
  'BTC 15m': '10192',
  'ETH 15m': '10191',
  'SOL 15m': '10423',
  'XRP 15m': '10422',
}
const MINUTE_MS = 60_000

/** With six decimals, as the catalogue's database writes times. */
const isoMicros = (timeMs: number): string =>
  new Date(timeMs).toISOString().replace('Z', `${String((timeMs * 7) % 1_000).padStart(3, '0')}Z`)

/** `2026-07-24 00:00:16+00`, not ISO. */
const postgresTime = (timeMs: number): string => isoSeconds(timeMs).replace('T', ' ').replace('Z', '+00')

const seriesIdOf = (symbol: AssetSymbol, tenor: Tenor): string =>
  KNOWN_SERIES[`${symbol} ${tenor}`] ??
  String(11_000 + (hash32(0, symbol.charCodeAt(0), tenor.length * 40 + Number.parseInt(tenor, 10)) % 900))

function resolutionSourceOf(market: UpDown): string {
  const short = market.symbol.toLowerCase()
  return market.tenor === '1h' || market.tenor === '24h'
    ? `https://www.binance.com/en/trade/${market.symbol}_USDT`
    : `https://data.chain.link/streams/${short}-usd-twap-60s-streams`
}

function descriptionOf(market: UpDown): string {
  const name = SYMBOL_NAMES[market.symbol]
  return (
    `This market will resolve to "Up" if the ${name} price at the end of the time range specified in the title is ` +
    `greater than or equal to the price at the beginning of that range. Otherwise, it will resolve to "Down".\n` +
    `The resolution source for this market is available at ${resolutionSourceOf(market)}.`
  )
}

export const createdMsOf = ({ listedMs }: UpDown): number => listedMs - 72_000

const three = (thousandths: number): number => thousandths / 1_000

/** The key set of a market outside an event. As on the venue, some keys are absent if there is nothing to report. */
export function marketJson(view: MarketView): Record<string, unknown> {
  const { market, isClosed, volume, liquidity } = view
  const mid = three(view.bid + view.ask) / 2
  const final = market.isSplit ? '["0.5", "0.5"]' : view.isUp ? '["1", "0"]' : '["0", "1"]'
  const hasLiquidity = !isClosed || market.index % 3 !== 0
  const shownLiquidity = isClosed ? 0 : liquidity
  const listed = market.listedMs
  const updated = isClosed ? view.closedMs + 73_142 : Math.max(listed, view.life.timeOf(view.slot))
  const competitive = isClosed ? 0 : Math.round(1e16 / (1 + (mid - 0.5) ** 2)) / 1e16
  return {
    id: market.gammaId,
    question: market.question,
    conditionId: market.conditionId,
    slug: market.slug,
    resolutionSource: resolutionSourceOf(market),
    endDate: isoSeconds(market.endMs),
    ...(hasLiquidity ? { liquidity: String(shownLiquidity) } : {}),
    startDate: isoMicros(listed),
    image: ICON,
    icon: ICON,
    description: descriptionOf(market),
    outcomes: '["Up", "Down"]',
    outcomePrices: isClosed ? final : `["${trim(mid)}", "${trim(1 - mid)}"]`,
    ...(volume > 0 ? { volume: String(volume) } : {}),
    active: true,
    closed: isClosed,
    marketMakerAddress: '',
    createdAt: isoMicros(createdMsOf(market)),
    updatedAt: isoMicros(updated),
    ...(isClosed ? { closedTime: postgresTime(view.closedMs) } : {}),
    new: false,
    featured: false,
    archived: false,
    restricted: true,
    groupItemThreshold: '0',
    questionID: `0x${hash('sha256', `question ${market.conditionId}`)}`,
    enableOrderBook: true,
    orderPriceMinTickSize: view.life.tick(view.slot) === 1 ? 0.001 : 0.01,
    orderMinSize: 5,
    ...(volume > 0 ? { volumeNum: volume } : {}),
    ...(hasLiquidity ? { liquidityNum: shownLiquidity } : {}),
    endDateIso: isoSeconds(market.endMs).slice(0, 10),
    startDateIso: isoSeconds(listed).slice(0, 10),
    hasReviewedDates: true,
    ...(volume > 0 ? volumes(volume) : {}),
    ...(market.version === 'v2'
      ? {
          version: 'v2',
          positionIds: [...market.tokens],
          ...(isClosed ? { resolutionStatus: 'resolved' } : {}),
        }
      : { clobTokenIds: JSON.stringify(market.tokens).replace(',', ', ') }),
    ...(hasLiquidity ? { liquidityAmm: 0, liquidityClob: shownLiquidity } : {}),
    makerBaseFee: 1_000,
    takerBaseFee: 1_000,
    acceptingOrders: !isClosed,
    negRisk: false,
    ready: false,
    funded: false,
    acceptingOrdersTimestamp: isoSeconds(listed - 49_000),
    cyom: false,
    ...(hasLiquidity ? { competitive } : {}),
    pagerDutyNotificationEnabled: false,
    approved: true,
    rewardsMinSize: 50,
    rewardsMaxSpread: 4.5,
    spread: three(Math.max(1, view.ask - view.bid)),
    ...(view.lastPrice === undefined
      ? {}
      : { lastTradePrice: three(view.lastPrice), oneHourPriceChange: three(view.lastPrice - 500) }),
    ...(view.bid > 0 ? { bestBid: three(view.bid) } : {}),
    bestAsk: three(view.ask),
    automaticallyActive: true,
    clearBookOnStart: false,
    showGmpSeries: false,
    showGmpOutcome: false,
    manualActivation: false,
    negRiskOther: false,
    umaResolutionStatuses: '[]',
    ...(isClosed
      ? {
          umaEndDate: isoSeconds(view.closedMs),
          umaResolutionStatus: 'resolved',
          automaticallyResolved: true,
        }
      : {}),
    pendingDeployment: false,
    deploying: false,
    rfqEnabled: false,
    comboStatus: 'disabled',
    eventStartTime: isoSeconds(market.startMs),
    holdingRewardsEnabled: false,
    feesEnabled: true,
    requiresTranslation: false,
    makerRebatesFeeShareBps: 10_000,
    feeType: 'crypto_fees_v2',
    feeSchedule: { exponent: 1, rate: 0.07, takerOnly: true, rebateRate: 0.2 },
  }
}

const trim = (value: number): string => String(Math.round(value * 1e4) / 1e4)

function volumes(volume: number): Record<string, number> {
  return Object.fromEntries(
    [
      'volume24hr',
      'volume1wk',
      'volume1mo',
      'volume1yr',
      'volume24hrClob',
      'volume1wkClob',
      'volume1moClob',
      'volume1yrClob',
      'volumeClob',
    ].map((name) => [name, volume]),
  )
}

function seriesJson(symbol: AssetSymbol, tenor: Tenor, nowMs: number): Record<string, unknown> {
  const slug = `${symbol.toLowerCase()}-up-or-down-${recurrenceOf(tenor)}`
  return {
    id: seriesIdOf(symbol, tenor),
    ticker: slug,
    slug,
    title: `${symbol} Up or Down ${recurrenceOf(tenor)}`,
    seriesType: 'single',
    recurrence: recurrenceOf(tenor),
    image: '',
    icon: '',
    active: true,
    closed: false,
    archived: false,
    featured: false,
    restricted: true,
    createdAt: '2025-11-21T21:46:22.201627Z',
    updatedAt: isoMicros(nowMs - (nowMs % MINUTE_MS)),
    volume24hr: 42805542.3676,
    volume: 64234.192645,
    liquidity: 6011579.0442,
    commentCount: 27_205,
    requiresTranslation: false,
  }
}

/** An event without its markets, as embedded in a market. */
export function eventJson(view: MarketView, nowMs: number): Record<string, unknown> {
  const { market, isClosed, volume } = view
  const liquidity = isClosed ? 0 : view.liquidity
  return {
    id: market.eventId,
    ticker: market.slug,
    slug: market.slug,
    title: market.question,
    description: descriptionOf(market),
    resolutionSource: resolutionSourceOf(market),
    startDate: isoMicros(market.listedMs + 35_000),
    creationDate: isoMicros(market.listedMs + 35_000),
    endDate: isoSeconds(market.endMs),
    image: ICON,
    icon: ICON,
    active: true,
    closed: isClosed,
    archived: false,
    new: false,
    featured: false,
    restricted: true,
    liquidity,
    volume,
    openInterest: Math.round(volume * 600) / 1_000,
    createdAt: isoMicros(market.listedMs - 72_000),
    updatedAt: isoMicros(Math.max(market.listedMs, view.life.timeOf(view.slot))),
    competitive: isClosed ? 0 : 0.9999,
    volume24hr: volume,
    volume1wk: volume,
    volume1mo: volume,
    volume1yr: volume,
    enableOrderBook: true,
    liquidityClob: liquidity,
    negRisk: false,
    commentCount: 0,
    series: [seriesJson(market.symbol, market.tenor, nowMs)],
    cyom: false,
    ...(isClosed ? { closedTime: isoSeconds(view.closedMs) } : {}),
    showAllOutcomes: true,
    showMarketImages: true,
    enableNegRisk: false,
    automaticallyActive: true,
    startTime: isoSeconds(market.startMs),
    seriesSlug: market.seriesSlug,
    negRiskAugmented: false,
    cryptoMarketConfig: {
      twapEnabled: market.tenor !== '1h' && market.tenor !== '24h',
      twapLookbackSeconds: 60,
    },
    pendingDeployment: false,
    deploying: false,
    requiresTranslation: false,
  }
}
