/**
 * The prices that the markets settle on, each relayed about once a second: the Chainlink stream's price, its means, and
 * the exchange's price. A topic that was dropped or froze must not be hidden by the others, so no tick counts as proof
 * that a symbol's prices arrive while one of its requested topics is silent.
 */
import { decimal, decimalText } from '../../core/decimal.ts'
import type { SettlementPrice } from '../../core/settlement.ts'
import type { AssetSymbol } from '../../core/symbol.ts'
import { SYMBOLS } from '../../core/symbol.ts'
import type { Channel } from '../channel.ts'
import {
  type FrameItem,
  type FrameOutcome,
  type FrameProtocol,
  ignored,
  parseObject,
  refused,
  type TimeCheck,
} from '../live/frame.ts'
import type { SocketRoute } from '../live/socket.ts'
import { ReferenceMessage } from './wire.ts'

const REFERENCE_TOPICS: Readonly<Record<string, SettlementPrice>> = {
  crypto_prices: { of: 'binance', windowSeconds: null },
  crypto_prices_chainlink: { of: 'chainlink', windowSeconds: null },
  crypto_prices_twap_thirty: { of: 'chainlink', windowSeconds: 30 },
  crypto_prices_twap_sixty: { of: 'chainlink', windowSeconds: 60 },
}

/**
 * Hourly and daily markets settle on the exchange's price, the others on the mean (on the stream's price until August
 * 2026).
 */
export const USUAL_TOPICS = ['crypto_prices_chainlink', 'crypto_prices_twap_sixty', 'crypto_prices'] as const

const E18 = 18
const INTEGER = /^\d{1,60}$/
const DECIMAL = /^\d{1,30}(\.\d{1,30})?$/
const MAX_SILENCE_MS = 10_000

const feedSymbol = (symbol: AssetSymbol, topic: string) =>
  `${symbol.toLowerCase()}${REFERENCE_TOPICS[topic]?.of === 'binance' ? 'usdt' : '/usd'}`

export function referenceRoute(
  channels: readonly Channel[],
  host: string,
  topics: readonly string[],
): SocketRoute {
  return {
    name: 'reference',
    url: host,
    channels,
    // One topic that the venue does not know silences its whole frame, so each topic has its own frame.
    greeting: channels.flatMap((channel) =>
      topics.map((topic) =>
        JSON.stringify({
          action: 'subscribe',
          subscriptions: [
            { topic, type: '*', filters: JSON.stringify({ symbol: feedSymbol(channel.symbol, topic) }) },
          ],
        }),
      ),
    ),
  }
}

/** `topics` are those that were subscribed. */
export function createReferenceReader(topics: readonly string[] = []): FrameProtocol {
  /** Per topic and symbol, to skip ticks that backlogs and reconnections repeat. */
  const lastMs = new Map<string, number>()
  const lastReceivedMs = new Map<string, number>()
  const isArriving = (topic: string, symbol: AssetSymbol, nowMs: number) =>
    nowMs - (lastReceivedMs.get(`${topic}:${symbol}`) ?? Number.NEGATIVE_INFINITY) <= MAX_SILENCE_MS

  function read(text: string, receivedMs: number, isTime?: TimeCheck): FrameOutcome {
    if (text === 'PONG' || text === 'pong') return { kind: 'pong' }
    if (text.trim() === '') return ignored('empty frame')
    const message = parseObject(text)
    if (message === undefined) return refused('malformed')
    if (!ReferenceMessage.is(message)) return refused('topic' in message ? 'wrong_shape' : 'unknown_kind')
    const { topic, payload } = message
    const settlement = Object.hasOwn(REFERENCE_TOPICS, topic) ? REFERENCE_TOPICS[topic] : undefined
    if (settlement === undefined) return ignored('topic not recorded')
    const symbol = SYMBOLS.find((each) => feedSymbol(each, topic) === payload.symbol)
    if (symbol === undefined) return ignored('symbol not recorded')
    const ticks = 'data' in payload ? payload.data : [payload]
    if (isTime !== undefined && !ticks.every(({ timestamp }) => isTime(timestamp, receivedMs)))
      return refused('implausible')
    const key = `${topic}:${symbol}`
    const items: FrameItem[] = []
    for (const tick of ticks) {
      if (tick.timestamp <= (lastMs.get(key) ?? 0)) continue
      const price = priceOf(tick, settlement)
      if (price === undefined) return refused('wrong_shape')
      lastMs.set(key, tick.timestamp)
      lastReceivedMs.set(key, receivedMs)
      const isPartial = !topics.every((each) => isArriving(each, symbol, receivedMs))
      items.push({
        channel: `reference_price:${symbol}`,
        observation: {
          kind: 'reference_price',
          source: 'predmkt_a',
          symbol,
          instrument: payload.symbol,
          venueTimeMs: tick.timestamp,
          receivedMs,
          key: null,
          price,
          settlement,
          ...(isPartial ? { isPartial } : {}),
        },
      })
    }
    return items.length === 0 ? ignored('nothing new') : { kind: 'data', items }
  }

  return {
    read,
    accepts: false,
    // Without pings the data stops after some minutes while the socket stays open. Whether the venue answers them is
    // not documented.
    heartbeat: { everyMs: 5_000, frame: 'PING', answerWithinMs: null },
    greetingPaceMs: 0,
  }
}

/** The exchange's full-accuracy values are plain decimals; the oracle's are integers in units of 10^-18. */
function priceOf(
  tick: { value: number; full_accuracy_value?: string | null },
  { of }: SettlementPrice,
): string | undefined {
  const full = tick.full_accuracy_value
  if (full === undefined || full === null) return tick.value > 0 ? String(tick.value) : undefined
  if (of === 'binance') return DECIMAL.test(full) ? decimalText(decimal(full)) : undefined
  return INTEGER.test(full) ? decimalText({ units: BigInt(full), scale: E18 }) : undefined
}
