/**
 * What one socket is subscribed to. A subscription (sid) takes a limited list of contracts, so contracts are kept
 * in groups, each group subscribed on every channel; the sequence numbers of a sid run over all its contracts.
 *
 *   asked ──"subscribed" with the sid──▶ open: contracts are added and deleted under that sid
 */
import { TICKERS_PER_SUBSCRIPTION } from './describe.ts'

export const CHANNELS = ['orderbook_delta', 'ticker', 'trade'] as const
export type KalshiChannel = (typeof CHANNELS)[number]

interface Group {
  readonly tickers: Set<string>
  readonly sids: Partial<Record<KalshiChannel, number>>
  /** Per channel: what could not be told yet because its sid is not known. */
  readonly waiting: Record<KalshiChannel, { add: Set<string>; remove: Set<string> }>
}

/** `old`: told before, or the straggler of a gap that was found already. */
export type Continuity = 'first' | 'next' | 'gap' | 'old'

export interface Subscriptions {
  /** The frames that make the subscribed set equal to the wanted one. */
  follow(wanted: ReadonlySet<string>): string[]
  /** The sid of a command's channel is known now; frames that waited for it. */
  opened(id: number, channel: string, sid: number): string[]
  /** Every frame that carries a number passes here, replies included. */
  sequence(sid: number, seq: number): Continuity
  tickersOf(sid: number): readonly string[]
  /** Asks for the books of these contracts again. */
  askSnapshots(sid: number, tickers: readonly string[]): string
  sidOf(ticker: string): number | undefined
}

export function createSubscriptions(): Subscriptions {
  const groups: Group[] = []
  const asked = new Map<number, Group>()
  const lastSeq = new Map<number, number>()
  let lastId = 0

  const command = (cmd: string, params: Record<string, unknown>) =>
    JSON.stringify({ id: ++lastId, cmd, params })
  const update = (sid: number, tickers: readonly string[], action: string) =>
    command('update_subscription', { sids: [sid], market_tickers: tickers, action })

  function subscribe(tickers: readonly string[]): string[] {
    const waiting = () => ({ add: new Set<string>(), remove: new Set<string>() })
    const group: Group = {
      tickers: new Set(tickers),
      sids: {},
      waiting: { orderbook_delta: waiting(), ticker: waiting(), trade: waiting() },
    }
    groups.push(group)
    return CHANNELS.map((channel) => {
      const frame = command('subscribe', {
        channels: [channel],
        market_tickers: tickers,
        ...OPTIONS[channel],
      })
      asked.set(lastId, group)
      return frame
    })
  }

  function change(group: Group, add: readonly string[], remove: readonly string[]): string[] {
    for (const ticker of add) group.tickers.add(ticker)
    for (const ticker of remove) group.tickers.delete(ticker)
    return CHANNELS.flatMap((channel) => {
      const sid = group.sids[channel]
      const { waiting } = group
      if (sid === undefined) {
        for (const ticker of add)
          if (!waiting[channel].remove.delete(ticker)) waiting[channel].add.add(ticker)
        for (const ticker of remove)
          if (!waiting[channel].add.delete(ticker)) waiting[channel].remove.add(ticker)
        return []
      }
      return updates(sid, add, remove)
    })
  }

  function updates(sid: number, add: readonly string[], remove: readonly string[]): string[] {
    return [
      ...(add.length === 0 ? [] : [update(sid, add, 'add_markets')]),
      ...(remove.length === 0 ? [] : [update(sid, remove, 'delete_markets')]),
    ]
  }

  return {
    follow(wanted) {
      const known = new Set(groups.flatMap((group) => [...group.tickers]))
      const fresh = [...wanted].filter((ticker) => !known.has(ticker))
      const frames = groups.flatMap((group) => {
        const gone = [...group.tickers].filter((ticker) => !wanted.has(ticker))
        const room = TICKERS_PER_SUBSCRIPTION - (group.tickers.size - gone.length)
        const add = fresh.splice(0, Math.max(0, room))
        return add.length + gone.length === 0 ? [] : change(group, add, gone)
      })
      while (fresh.length > 0) frames.push(...subscribe(fresh.splice(0, TICKERS_PER_SUBSCRIPTION)))
      return frames
    },
    opened(id, channel, sid) {
      const group = asked.get(id)
      const name = CHANNELS.find((each) => each === channel)
      if (group === undefined || name === undefined) return []
      group.sids[name] = sid
      const { add, remove } = group.waiting[name]
      const frames = updates(sid, [...add], [...remove])
      add.clear()
      remove.clear()
      return frames
    },
    sequence(sid, seq) {
      const last = lastSeq.get(sid)
      if (last !== undefined && seq <= last) return 'old'
      lastSeq.set(sid, seq)
      if (last === undefined) return seq === 1 ? 'first' : 'gap'
      return seq === last + 1 ? 'next' : 'gap'
    },
    tickersOf: (sid) => [...(groups.find((group) => group.sids.orderbook_delta === sid)?.tickers ?? [])],
    sidOf: (ticker) => groups.find((group) => group.tickers.has(ticker))?.sids.orderbook_delta,
    askSnapshots: (sid, tickers) => update(sid, tickers, 'get_snapshot'),
  }
}

const OPTIONS: Record<KalshiChannel, Record<string, unknown>> = {
  // The default is going to change, so it is always said.
  orderbook_delta: { use_yes_price: false },
  ticker: { send_initial_snapshot: true },
  trade: {},
}
