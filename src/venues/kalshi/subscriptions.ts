/**
 * What one socket is subscribed to. A subscription (sid) takes a limited list of contracts, so contracts are
 * in groups, each group subscribed on every channel; the sequence numbers of a sid run over all its contracts.
 *
 *   asked ──"subscribed" with the sid──▶ open: contracts are added and deleted under that sid
 *     ╰──"market not found"──▶ asked again without that contract; a group that is left with none is closed
 */
import { createCommands, type KalshiCommand } from './commands.ts'
import { TICKERS_PER_SUBSCRIPTION } from './describe.ts'

const CHANNELS = ['orderbook_delta', 'ticker', 'trade'] as const
type KalshiChannel = (typeof CHANNELS)[number]

interface Group {
  readonly tickers: Set<string>
  readonly sids: Partial<Record<KalshiChannel, number>>
  /** Per channel: what could not be sent yet because its sid is not known. */
  readonly waiting: Record<KalshiChannel, { add: Set<string>; remove: Set<string> }>
  isClosed: boolean
}

interface Place {
  readonly group: Group
  readonly channel: KalshiChannel
}

export interface ContractSubscriptions {
  /** The frames that make the subscribed set equal to the wanted one. */
  follow(wanted: ReadonlySet<string>, nowMs: number): string[]
  /** The sid of a command's channel is known now; frames that waited for it. */
  opened(id: number, channel: string, sid: number, nowMs: number): string[]
  answered(id: number): void
  /** The venue reports that this is done already. */
  repeated(id: number): void
  /** The venue refused the command for another reason than an unknown contract. */
  failed(id: number): void
  /** The venue does not know a contract of the command: which one (undefined: not known yet), and the frames to send next. */
  unknown(
    id: number,
    ticker: string | undefined,
    nowMs: number,
  ): { ticker: string | undefined; frames: string[] }
  /** Commands that failed, once more. */
  retry(nowMs: number): string[]
  /** Whether a subscription stays unanswered, so that only another socket helps. */
  isHopeless(nowMs: number, patienceMs: number): boolean
  forgive(ms: number): void
  readonly isAny: boolean
  /** The contracts whose books hang on this sid. */
  tickersOf(sid: number): readonly string[]
  /** Asks for the books of these contracts again; those whose sid is not known yet are left out. */
  askSnapshots(tickers: readonly string[], nowMs: number): string[]
}

export function createContractSubscriptions(options: { useYesPrice: boolean }): ContractSubscriptions {
  const groups: Group[] = []
  const commands = createCommands<Place>()
  const params: Record<KalshiChannel, Record<string, unknown>> = {
    // The default is going to change, so it is always sent.
    orderbook_delta: { use_yes_price: options.useYesPrice },
    ticker: { send_initial_snapshot: true },
    trade: {},
  }

  function send(command: KalshiCommand<Place>, nowMs: number): string {
    const { action, tickers, about } = command
    const { group, channel } = about
    return commands.send(
      command,
      (id) =>
        JSON.stringify(
          action === 'subscribe'
            ? {
                id,
                cmd: action,
                params: { channels: [channel], market_tickers: tickers, ...params[channel] },
              }
            : {
                id,
                cmd: 'update_subscription',
                params: { sids: [group.sids[channel]], market_tickers: tickers, action },
              },
        ),
      nowMs,
    )
  }
  const unsubscribe = (sids: readonly number[]) =>
    sids.length === 0 ? [] : [JSON.stringify({ id: commands.nextId(), cmd: 'unsubscribe', params: { sids } })]

  function subscribe(tickers: readonly string[], nowMs: number): string[] {
    const waiting = () => ({ add: new Set<string>(), remove: new Set<string>() })
    const group: Group = {
      tickers: new Set(tickers),
      sids: {},
      waiting: { orderbook_delta: waiting(), ticker: waiting(), trade: waiting() },
      isClosed: false,
    }
    groups.push(group)
    return CHANNELS.map((channel) => send({ action: 'subscribe', tickers, about: { group, channel } }, nowMs))
  }

  function change(
    group: Group,
    add: readonly string[],
    remove: readonly string[],
    nowMs: number,
    channels: readonly KalshiChannel[] = CHANNELS,
  ): string[] {
    for (const ticker of add) group.tickers.add(ticker)
    for (const ticker of remove) group.tickers.delete(ticker)
    return channels.flatMap((channel) => {
      if (group.sids[channel] !== undefined) return updates({ group, channel }, add, remove, nowMs)
      const waiting = group.waiting[channel]
      for (const ticker of add) if (!waiting.remove.delete(ticker)) waiting.add.add(ticker)
      for (const ticker of remove) if (!waiting.add.delete(ticker)) waiting.remove.add(ticker)
      return []
    })
  }

  function updates(about: Place, add: readonly string[], remove: readonly string[], nowMs: number): string[] {
    return [
      ...(add.length === 0 ? [] : [send({ action: 'add_markets', tickers: add, about }, nowMs)]),
      ...(remove.length === 0 ? [] : [send({ action: 'delete_markets', tickers: remove, about }, nowMs)]),
    ]
  }

  /** The same command for what is left of it; a subscription also takes over what waited for it. */
  function sendRest(command: KalshiCommand<Place>, rest: readonly string[], nowMs: number): string[] {
    const { group, channel } = command.about
    if (command.action === 'add_markets') {
      return rest.length === 0 ? [] : [send({ ...command, tickers: rest }, nowMs)]
    }
    const { add } = group.waiting[channel]
    const tickers = rest.length > 0 ? rest : [...add]
    if (rest.length === 0) add.clear()
    if (tickers.length > 0) return [send({ ...command, tickers }, nowMs)]
    group.isClosed = true
    groups.splice(groups.indexOf(group), 1)
    return unsubscribe(Object.values(group.sids))
  }

  /** The venue does not name the contract: halving the list finds it. */
  function sendHalves(command: KalshiCommand<Place>, nowMs: number): string[] {
    const { action, tickers, about } = command
    const half = Math.ceil(tickers.length / 2)
    const [first, second] = [tickers.slice(0, half), tickers.slice(half)]
    if (action === 'add_markets') {
      return [...updates(about, first, [], nowMs), ...updates(about, second, [], nowMs)]
    }
    for (const ticker of second) about.group.waiting[about.channel].add.add(ticker)
    return [send({ ...command, tickers: first }, nowMs)]
  }

  return {
    get isAny() {
      return groups.length > 0
    },
    follow(wanted, nowMs) {
      const known = new Set(groups.flatMap((group) => [...group.tickers]))
      const fresh = [...wanted].filter((ticker) => !known.has(ticker))
      const frames = groups.flatMap((group) => {
        const gone = [...group.tickers].filter((ticker) => !wanted.has(ticker))
        const room = TICKERS_PER_SUBSCRIPTION - (group.tickers.size - gone.length)
        const add = fresh.splice(0, Math.max(0, room))
        return add.length + gone.length === 0 ? [] : change(group, add, gone, nowMs)
      })
      while (fresh.length > 0) frames.push(...subscribe(fresh.splice(0, TICKERS_PER_SUBSCRIPTION), nowMs))
      return frames
    },
    opened(id, channel, sid, nowMs) {
      const about = commands.answered(id)?.about
      if (about === undefined || about.channel !== channel) return []
      const { group } = about
      if (group.isClosed) return unsubscribe([sid])
      group.sids[about.channel] = sid
      const { add, remove } = group.waiting[about.channel]
      const frames = updates(about, [...add], [...remove], nowMs)
      add.clear()
      remove.clear()
      return frames
    },
    answered: (id) => void commands.answered(id),
    // A subscription whose sid is unknown is of no use: it stays pending until it is given up.
    repeated(id) {
      if (commands.find(id)?.action !== 'subscribe') commands.answered(id)
    },
    failed: commands.failed,
    unknown(id, named, nowMs) {
      const command = commands.find(id)
      if (command === undefined) return { ticker: named, frames: [] }
      const ticker = named ?? (command.tickers.length === 1 ? command.tickers[0] : undefined)
      if (ticker !== undefined && !command.tickers.includes(ticker)) {
        commands.failed(id)
        return { ticker: undefined, frames: [] }
      }
      commands.answered(id)
      const { action, tickers, about } = command
      const { group, channel } = about
      if (action === 'get_snapshot' || action === 'delete_markets' || group.isClosed) {
        return { ticker: action === 'delete_markets' ? undefined : ticker, frames: [] }
      }
      if (ticker === undefined) return { ticker, frames: sendHalves(command, nowMs) }
      group.waiting[channel].remove.delete(ticker)
      const others = CHANNELS.filter((each) => each !== channel)
      const isNews = group.tickers.has(ticker)
      const rest = tickers.filter((each) => each !== ticker)
      return {
        ticker,
        frames: [
          ...(isNews ? change(group, [], [ticker], nowMs, others) : []),
          ...sendRest(command, rest, nowMs),
        ],
      }
    },
    retry: (nowMs) =>
      commands
        .takeFailed(nowMs)
        .filter(({ about }) => !about.group.isClosed)
        .flatMap((command) => {
          const { group, channel } = command.about
          // What is not wanted any more since then is neither asked for nor deleted.
          for (const ticker of command.tickers)
            if (!group.tickers.has(ticker)) group.waiting[channel].remove.delete(ticker)
          const tickers = command.tickers.filter((ticker) => group.tickers.has(ticker))
          return sendRest(command, tickers, nowMs)
        }),
    isHopeless: commands.isHopeless,
    forgive: commands.forgive,
    tickersOf: (sid) => [...(groups.find((group) => group.sids.orderbook_delta === sid)?.tickers ?? [])],
    askSnapshots: (tickers, nowMs) =>
      groups.flatMap((group) => {
        if (group.sids.orderbook_delta === undefined) return []
        const asked = tickers.filter((ticker) => group.tickers.has(ticker))
        const about = { group, channel: 'orderbook_delta' } as const
        return asked.length === 0 ? [] : [send({ action: 'get_snapshot', tickers: asked, about }, nowMs)]
      }),
  }
}
