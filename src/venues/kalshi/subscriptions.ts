/**
 * What one socket is subscribed to. A subscription (sid) takes a limited list of contracts, so contracts are divided
 * into groups, and each group is subscribed on every channel. The sequence numbers of a sid cover all of its contracts.
 *
 *   requested ──"subscribed" with the sid──▶ open: contracts are added and deleted under that sid
 *     ╰──"market not found"──▶ requested again without that contract; a group without any left is closed
 */
import { createCommands, type KalshiCommand } from './commands.ts'
import { TICKERS_PER_SUBSCRIPTION } from './describe.ts'

const CHANNELS = ['orderbook_delta', 'ticker', 'trade'] as const
type KalshiChannel = (typeof CHANNELS)[number]

interface Group {
  readonly tickers: Set<string>
  readonly sids: Partial<Record<KalshiChannel, number>>
  /** Per channel: changes that cannot be sent yet because the sid is not known. */
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
  /** Set when the trades of a followed contract will not arrive on this socket. */
  #lacksTrades = false
  /** The contracts whose trades the venue has confirmed to send. */
  readonly #withTrades = new Set<string>()

  constructor(options: { useYesPrice: boolean }) {
    this.#params = {
      // The venue is going to change the default, so the option is always sent.
      orderbook_delta: { use_yes_price: options.useYesPrice },
      ticker: { send_initial_snapshot: true },
      trade: {},
    }
  }

  get isAny(): boolean {
    return this.#groups.length > 0
  }

  get withTrades(): ReadonlySet<string> {
    return this.#withTrades
  }

  /** The contracts whose books belong to this sid. */
  tickersOf(sid: number): readonly string[] {
    return [...(this.#groups.find((group) => group.sids.orderbook_delta === sid)?.tickers ?? [])]
  }

  /** Undefined for a sid that was not requested or has been given up. */
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

  /** The sid of the command's channel is known now, so the changes that waited for it are sent. */
  opened(id: number, channel: string, sid: number, nowMs: number): string[] {
    const command = this.#commands.answered(id)
    if (command === undefined || command.about.channel !== channel) return []
    const { about } = command
    const { group } = about
    if (group.isClosed) return this.#unsubscribe([sid])
    group.sids[about.channel] = sid
    this.#confirm(command)
    const { add, remove } = group.waiting[about.channel]
    const frames = this.#update(about, [...add], [...remove], nowMs)
    add.clear()
    remove.clear()
    return frames
  }

  /** The command was executed. `listed`: the contracts that its subscription now has, if the venue lists them. */
  answered(id: number, listed?: readonly string[]): void {
    const command = this.#commands.find(id)
    if (command?.action !== 'add_markets') this.#commands.answered(id)
    else if (listed !== undefined && !command.tickers.every((ticker) => listed.includes(ticker)))
      this.#commands.failed(id)
    else {
      this.#commands.answered(id)
      this.#confirm(command)
    }
  }

  /**
   * The venue reports that the command was already executed. A subscription without a known sid is useless, so it stays
   * pending until it is given up.
   */
  repeated(id: number): void {
    if (this.#commands.find(id)?.action !== 'subscribe') this.answered(id)
  }

  /** Whether the venue has not answered the command yet. */
  isPending(id: number): boolean {
    return this.#commands.find(id) !== undefined
  }

  /** The venue refused the command for a reason other than an unknown contract. */
  failed(id: number): void {
    this.#commands.failed(id)
  }

  /**
   * The venue does not know a contract of the command. Returns which one (undefined if not known yet) and the frames to
   * send next.
   */
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

  /** Sends failed commands again. Contracts that are no longer wanted are neither subscribed nor deleted. */
  retry(nowMs: number): string[] {
    const { again, givenUp } = this.#commands.takeFailed(nowMs)
    this.#lacksTrades ||= givenUp.some(
      ({ tickers, about: { group, channel } }) =>
        channel === 'trade' && !group.isClosed && tickers.some((ticker) => group.tickers.has(ticker)),
    )
    return again
      .filter(({ about }) => !about.group.isClosed)
      .flatMap((command) => {
        const { group, channel } = command.about
        for (const ticker of command.tickers)
          if (!group.tickers.has(ticker)) group.waiting[channel].remove.delete(ticker)
        const tickers = command.tickers.filter((ticker) => group.tickers.has(ticker))
        return this.#sendRest(command, tickers, nowMs)
      })
  }

  /** Requests the books of these contracts again, except for those whose sid is not known yet. */
  askSnapshots(tickers: readonly string[], nowMs: number): string[] {
    return this.#groups.flatMap((group) => {
      if (group.sids.orderbook_delta === undefined) return []
      const asked = tickers.filter((ticker) => group.tickers.has(ticker))
      const about = { group, channel: 'orderbook_delta' } as const
      return asked.length === 0 ? [] : [this.#send({ action: 'get_snapshot', tickers: asked, about }, nowMs)]
    })
  }

  /** Whether a subscription stays unanswered or trades will not arrive, so that only another socket helps. */
  isHopeless(nowMs: number, patienceMs: number): boolean {
    return this.#lacksTrades || this.#commands.isHopeless(nowMs, patienceMs)
  }

  forgive(ms: number): void {
    this.#commands.forgive(ms)
  }

  #confirm({ tickers, about: { group, channel } }: KalshiCommand<Place>): void {
    if (channel !== 'trade') return
    // Some of them may have been given up before the reply.
    for (const ticker of tickers) if (group.tickers.has(ticker)) this.#withTrades.add(ticker)
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
    for (const ticker of remove) {
      group.tickers.delete(ticker)
      this.#withTrades.delete(ticker)
    }
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

  /**
   * Sends the command again for the remaining contracts. A subscription with none left takes over those that wait for
   * it, or closes the group.
   */
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

  /** The venue does not name the unknown contract, so the list is halved until it is found. */
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
