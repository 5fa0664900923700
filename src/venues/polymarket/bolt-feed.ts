/**
 * The venue's newer relay of the reference price, which requires an API key. Its 60 s mean is Chainlink's; its plain
 * prices come from another oracle and are never used instead.
 *
 *   auth ──"authed"──▶ subscribe (sent at once, the venue keeps the order) ──▶ snapshot of two minutes, then ticks
 */
import { type AssetSymbol, SYMBOLS } from '../../core/symbol.ts'
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
import type { VenueNotice } from '../venue.ts'
import { BoltMessage, BoltReply } from './wire.ts'

export interface BoltCredentials {
  readonly apiKey: string
  readonly secret: string
  readonly passphrase: string
}

const CHANNEL = 'price.crypto.twap'
const WINDOW_SECONDS = 60
const PATH = '/ws'

const feedSymbol = (symbol: AssetSymbol) => `${symbol.toLowerCase()}usd`

/** Returns complete credentials, or a notice for the operator. */
export function boltOrNotice(credentials: Partial<BoltCredentials> | undefined): {
  credentials?: BoltCredentials
  notice?: VenueNotice
} {
  const { apiKey, secret, passphrase } = credentials ?? {}
  if (apiKey && secret && passphrase) return { credentials: { apiKey, secret, passphrase } }
  const line =
    'polymarket: the reference price is set to the relay that wants an API key, secret and passphrase, and not all three are given; it is not recorded'
  return { notice: { venue: 'polymarket', code: 'credentials_missing', line } }
}

export function boltRoute(channels: readonly Channel[], host: string, auth: BoltCredentials): SocketRoute {
  const subscriptions = channels.map(({ symbol }) => ({
    channel: CHANNEL,
    filter: { symbol: feedSymbol(symbol), window_seconds: WINDOW_SECONDS },
  }))
  return {
    name: 'reference',
    url: host + PATH,
    channels,
    greeting: [
      JSON.stringify({ op: 'auth', rid: '1', auth }),
      JSON.stringify({ op: 'subscribe', rid: '2', subscriptions }),
    ],
  }
}

export function createBoltReader(): FrameProtocol {
  const lastMs = new Map<AssetSymbol, number>()

  function read(text: string, receivedMs: number, isTime?: TimeCheck): FrameOutcome {
    const message = parseObject(text)
    if (message === undefined) return refused('malformed')
    if (BoltReply.is(message)) {
      if (message.op === 'pong') return { kind: 'pong' }
      return message.op === 'error' ? refused('venue_error') : ignored(message.op)
    }
    if (!BoltMessage.is(message)) return refused('wrong_shape')
    const { channel, payload } = message
    if (channel !== CHANNEL || payload.window_seconds !== WINDOW_SECONDS)
      return ignored('channel not recorded')
    const symbol = SYMBOLS.find((each) => feedSymbol(each) === payload.symbol)
    if (symbol === undefined) return ignored('symbol not recorded')
    const ticks = 'data' in payload ? payload.data : [payload]
    if (isTime !== undefined && !ticks.every(({ timestamp }) => isTime(timestamp, receivedMs)))
      return refused('implausible')
    const items: FrameItem[] = []
    for (const tick of ticks) {
      if (tick.timestamp <= (lastMs.get(symbol) ?? 0)) continue
      lastMs.set(symbol, tick.timestamp)
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
          // Plain decimal text here, whereas the older relay sends integers in units of 10^-18.
          price: tick.full_accuracy_value,
          settlement: { of: 'chainlink', windowSeconds: WINDOW_SECONDS },
        },
      })
    }
    return items.length === 0 ? ignored('nothing new') : { kind: 'data', items }
  }

  return {
    read,
    accepts: false,
    heartbeat: { everyMs: 20_000, frame: '{"op":"ping","rid":"ping"}', answerWithinMs: null },
    greetingPaceMs: 100,
  }
}
