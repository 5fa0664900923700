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

/** Sends nothing itself: every change returns the frames to send. */
export class ContractSubscriptions {
  readonly #groups: Group[] = []
  readonly #commands = createCommands<Place>()
  readonly #params: Record<KalshiChannel, Record<string, unknown>>

  constructor(options: { useYesPrice: boolean }) {
    this.#params = {
      // The default is going to change, so it is always sent.
      orderbook_delta: { use_yes_price: options.useYesPrice },
      ticker: { send_initial_snapshot: true },
      trade: {},
    }
  }

  get isAny(): boolean {
    return this.#groups.length > 0
  }

  /** The contracts whose books belong to this sid. */
  tickersOf(sid: number): readonly string[] {
    return [...(this.#groups.find((group) => group.sids.orderbook_delta === sid)?.tickers ?? [])]
  }

  /** Undefined for a sid that we did not ask for, or have given up. */
  channelOf(sid: number): KalshiChannel | undefined {
    for (const { sids } of this.#groups)
      for (const channel of CHANNELS) if (sids[channel] === sid) return channel
    return undefined
  }

  /** Makes the subscribed set equal to the wanted one. */
  follow(wanted: ReadonlySet<string>, nowMs: number): string[] {
    const known = new Set(this.#groups.flatMap((group) => [...group.tickers]))
    const added = [...wanted].filter((ticker) => !known.has(ticker))
    const frames = this.#groups.flatMap((group) => {
      const gone = [...group.tickers].filter((ticker) => !wanted.has(ticker))
      const room = TICKERS_PER_SUBSCRIPTION - (group.tickers.size - gone.length)
      const add = added.splice(0, Math.max(0, room))
      return add.length + gone.length === 0 ? [] : this.#change(group, add, gone, nowMs)
    })
    while (added.length > 0) frames.push(...this.#subscribe(added.splice(0, TICKERS_PER_SUBSCRIPTION), nowMs))
    return frames
  }

  /** The sid of a command's channel is known now: what waited for it is sent. */
  opened(id: number, channel: string, sid: number, nowMs: number): string[] {
    const about = this.#commands.answered(id)?.about
    if (about === undefined || about.channel !== channel) return []
    const { group } = about
    if (group.isClosed) return this.#unsubscribe([sid])
    group.sids[about.channel] = sid
    const { add, remove } = group.waiting[about.channel]
    const frames = this.#update(about, [...add], [...remove], nowMs)
    add.clear()
    remove.clear()
    return frames
  }

  answered(id: number): void {
    this.#commands.answered(id)
  }

  /**
   * The venue reports that this is done already. A subscription whose sid is unknown is of no use: it stays pending
   * until it is given up.
   */
  repeated(id: number): void {
    if (this.#commands.find(id)?.action !== 'subscribe') this.#commands.answered(id)
  }

  /** The venue refused the command for another reason than an unknown contract. */
  failed(id: number): void {
    this.#commands.failed(id)
  }

  /** The venue does not know a contract of the command: which one (undefined: not known yet), and the frames to send next. */
  unknown(
    id: number,
    named: string | undefined,
    nowMs: number,
  ): { ticker: string | undefined; frames: string[] } {
    const command = this.#commands.find(id)
    if (command === undefined) return { ticker: named, frames: [] }
    const ticker = named ?? (command.tickers.length === 1 ? command.tickers[0] : undefined)
    if (ticker !== undefined && !command.tickers.includes(ticker)) {
      this.#commands.failed(id)
      return { ticker: undefined, frames: [] }
    }
    this.#commands.answered(id)
    const { action, tickers, about } = command
    const { group, channel } = about
    if (action === 'get_snapshot' || action === 'delete_markets' || group.isClosed) {
      return { ticker: action === 'delete_markets' ? undefined : ticker, frames: [] }
    }
    if (ticker === undefined) return { ticker, frames: this.#sendHalves(command, nowMs) }
    group.waiting[channel].remove.delete(ticker)
    const others = CHANNELS.filter((each) => each !== channel)
    const isFollowed = group.tickers.has(ticker)
    const rest = tickers.filter((each) => each !== ticker)
    return {
      ticker,
      frames: [
        ...(isFollowed ? this.#change(group, [], [ticker], nowMs, others) : []),
        ...this.#sendRest(command, rest, nowMs),
      ],
    }
  }

  /** Commands that failed, once more. What is not wanted any more since then is neither subscribed nor deleted. */
  retry(nowMs: number): string[] {
    return this.#commands
      .takeFailed(nowMs)
      .filter(({ about }) => !about.group.isClosed)
      .flatMap((command) => {
        const { group, channel } = command.about
        for (const ticker of command.tickers)
          if (!group.tickers.has(ticker)) group.waiting[channel].remove.delete(ticker)
        const tickers = command.tickers.filter((ticker) => group.tickers.has(ticker))
        return this.#sendRest(command, tickers, nowMs)
      })
  }

  /** Asks for the books of these contracts again; those whose sid is not known yet are left out. */
  askSnapshots(tickers: readonly string[], nowMs: number): string[] {
    return this.#groups.flatMap((group) => {
      if (group.sids.orderbook_delta === undefined) return []
      const asked = tickers.filter((ticker) => group.tickers.has(ticker))
      const about = { group, channel: 'orderbook_delta' } as const
      return asked.length === 0 ? [] : [this.#send({ action: 'get_snapshot', tickers: asked, about }, nowMs)]
    })
  }

  /** Whether a subscription stays unanswered, so that only another socket helps. */
  isHopeless(nowMs: number, patienceMs: number): boolean {
    return this.#commands.isHopeless(nowMs, patienceMs)
  }

  forgive(ms: number): void {
    this.#commands.forgive(ms)
  }

  #send(command: KalshiCommand<Place>, nowMs: number): string {
    const { action, tickers, about } = command
    const { group, channel } = about
    const body =
      action === 'subscribe'
        ? { cmd: action, params: { channels: [channel], market_tickers: tickers, ...this.#params[channel] } }
        : {
            cmd: 'update_subscription',
            params: { sids: [group.sids[channel]], market_tickers: tickers, action },
          }
    return this.#commands.send(command, (id) => JSON.stringify({ id, ...body }), nowMs)
  }

  #unsubscribe(sids: readonly number[]): string[] {
    if (sids.length === 0) return []
    return [JSON.stringify({ id: this.#commands.nextId(), cmd: 'unsubscribe', params: { sids } })]
  }

  #subscribe(tickers: readonly string[], nowMs: number): string[] {
    const waiting = () => ({ add: new Set<string>(), remove: new Set<string>() })
    const group: Group = {
      tickers: new Set(tickers),
      sids: {},
      waiting: { orderbook_delta: waiting(), ticker: waiting(), trade: waiting() },
      isClosed: false,
    }
    this.#groups.push(group)
    return CHANNELS.map((channel) =>
      this.#send({ action: 'subscribe', tickers, about: { group, channel } }, nowMs),
    )
  }

  #change(
    group: Group,
    add: readonly string[],
    remove: readonly string[],
    nowMs: number,
    channels: readonly KalshiChannel[] = CHANNELS,
  ): string[] {
    for (const ticker of add) group.tickers.add(ticker)
    for (const ticker of remove) group.tickers.delete(ticker)
    return channels.flatMap((channel) => {
      if (group.sids[channel] !== undefined) return this.#update({ group, channel }, add, remove, nowMs)
      const waiting = group.waiting[channel]
      for (const ticker of add) if (!waiting.remove.delete(ticker)) waiting.add.add(ticker)
      for (const ticker of remove) if (!waiting.add.delete(ticker)) waiting.remove.add(ticker)
      return []
    })
  }

  #update(about: Place, add: readonly string[], remove: readonly string[], nowMs: number): string[] {
    return [
      ...(add.length === 0 ? [] : [this.#send({ action: 'add_markets', tickers: add, about }, nowMs)]),
      ...(remove.length === 0
        ? []
        : [this.#send({ action: 'delete_markets', tickers: remove, about }, nowMs)]),
    ]
  }

  /** The same command for what is left of it; a subscription also takes over what waited for it. */
  #sendRest(command: KalshiCommand<Place>, rest: readonly string[], nowMs: number): string[] {
    const { group, channel } = command.about
    if (command.action === 'add_markets') {
      return rest.length === 0 ? [] : [this.#send({ ...command, tickers: rest }, nowMs)]
    }
    const { add } = group.waiting[channel]
    const tickers = rest.length > 0 ? rest : [...add]
    if (rest.length === 0) add.clear()
    if (tickers.length > 0) return [this.#send({ ...command, tickers }, nowMs)]
    group.isClosed = true
    this.#groups.splice(this.#groups.indexOf(group), 1)
    return this.#unsubscribe(Object.values(group.sids))
  }

  /** The venue does not name the contract: halving the list finds it. */
  #sendHalves(command: KalshiCommand<Place>, nowMs: number): string[] {
    const { action, tickers, about } = command
    const half = Math.ceil(tickers.length / 2)
    const [first, second] = [tickers.slice(0, half), tickers.slice(half)]
    if (action === 'add_markets') {
      return [...this.#update(about, first, [], nowMs), ...this.#update(about, second, [], nowMs)]
    }
    for (const ticker of second) about.group.waiting[about.channel].add.add(ticker)
    return [this.#send({ ...command, tickers: first }, nowMs)]
  }
}
