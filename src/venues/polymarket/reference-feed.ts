/** The price that the markets settle on, relayed about once a second: spot ticks of the Chainlink stream, or its means. */
import { decimalText } from '../../core/decimal.ts'
import type { AssetSymbol } from '../../core/symbol.ts'
import { SYMBOLS } from '../../core/symbol.ts'
import type { Channel } from '../channel.ts'
import {
  type FeedProtocol,
  type FrameItem,
  type FrameOutcome,
  ignored,
  parseObject,
  refused,
} from '../frame.ts'
import type { Route } from '../link.ts'
import { ReferenceMessage } from './wire.ts'

/** Topic → seconds of the mean; null for spot. Their long values are whole numbers of 10^-18. */
export const REFERENCE_TOPICS: Readonly<Record<string, number | null>> = {
  crypto_prices_chainlink: null,
  crypto_prices_twap_thirty: 30,
  crypto_prices_twap_sixty: 60,
}
export type ReferenceTopic = keyof typeof REFERENCE_TOPICS

const E18 = 18
const INTEGER = /^\d{1,60}$/

const feedSymbol = (symbol: AssetSymbol) => `${symbol.toLowerCase()}/usd`

export function referenceRoute(channels: readonly Channel[], host: string, topics: readonly string[]): Route {
  return {
    name: 'reference',
    url: host,
    channels,
    // One topic that the venue does not know silences all of its frame: each has a frame of its own.
    greeting: channels.flatMap((channel) =>
      topics.map((topic) =>
        JSON.stringify({
          action: 'subscribe',
          subscriptions: [
            { topic, type: '*', filters: JSON.stringify({ symbol: feedSymbol(channel.symbol) }) },
          ],
        }),
      ),
    ),
  }
}

export function createReferenceReader(): FeedProtocol {
  /** Per topic and symbol: backlogs and reconnections repeat ticks. */
  const lastMs = new Map<string, number>()

  function read(text: string, receivedMs: number): FrameOutcome {
    if (text === 'PONG' || text === 'pong') return { kind: 'pong' }
    if (text.trim() === '') return ignored('empty frame')
    const message = parseObject(text)
    if (message === undefined) return refused('malformed')
    if (!ReferenceMessage.is(message)) return refused('topic' in message ? 'wrong_shape' : 'unknown_kind')
    const { topic, payload } = message
    if (!Object.hasOwn(REFERENCE_TOPICS, topic)) return ignored('topic not recorded')
    const symbol = SYMBOLS.find((each) => feedSymbol(each) === payload.symbol)
    if (symbol === undefined) return ignored('symbol not recorded')
    const ticks = 'data' in payload ? payload.data : [payload]
    const key = `${topic}:${symbol}`
    const items: FrameItem[] = []
    for (const tick of ticks) {
      if (tick.timestamp <= (lastMs.get(key) ?? 0)) continue
      const price = priceOf(tick)
      if (price === undefined) return refused('wrong_shape')
      lastMs.set(key, tick.timestamp)
      const channel = `reference_price:${symbol}`
      const windowSeconds = REFERENCE_TOPICS[topic] ?? null
      items.push({
        channel,
        observation: {
          kind: 'reference_price',
          source: 'predmkt_a',
          symbol,
          instrument: payload.symbol,
          venueTimeMs: tick.timestamp,
          receivedMs,
          key: null,
          price,
          windowSeconds,
        },
      })
    }
    return items.length === 0 ? ignored('nothing new') : { kind: 'data', items }
  }

  return {
    read,
    accepts: false,
    // Without it the data stops after some minutes while the socket stays open. Nothing says that the venue answers.
    heartbeat: { everyMs: 5_000, frame: 'PING', answerWithinMs: null },
    greetingPaceMs: 0,
  }
}

function priceOf(tick: { value: number; full_accuracy_value?: string | null }): string | undefined {
  const full = tick.full_accuracy_value
  if (full === undefined || full === null) return tick.value > 0 ? String(tick.value) : undefined
  return INTEGER.test(full) ? decimalText({ units: BigInt(full), scale: E18 }) : undefined
}
