/**
 * The whole life of one binary market as a pure function of its seed: book, trades and tick size at any time, past or
 * future, without history. Prices are those of the first outcome (Up, yes) in thousandths; the second outcome is its
 * mirror (a bid at p is the other side's ask at 1000 − p). Sizes are hundredths of a share.
 *
 * Time is counted in slots: slot 0 starts the window, and outside the window the market moves more slowly.
 *
 *   listed ──── slots of 20× ────▶ start ── slots of 1× ──▶ end ── slots of 10× ──▶ trading ends
 *
 * Each level keeps its size for its own period and is then drawn again. A trade is such a change seen from the other
 * side: if the best level became smaller, the difference may have been traded.
 *
 * Thousands of markets are listed at once, so nothing is stored that can be computed again, except the trades up to
 * the latest slot that was asked for, in typed arrays.
 */
import { createSmoothReader, hash32 } from '../../exchanges/world/hash.ts'

interface LifeSpec {
  readonly seed: number
  /** Separates this market's random numbers from all others. */
  readonly stream: number
  readonly slotMs: number
  readonly startMs: number
  readonly endMs: number
  readonly tradeEndMs: number
  /** Nothing happens during the pause; the times above do not include it. */
  readonly pause?: Pause | undefined
  /** Slots before the start in which trades happen. */
  readonly earlySlots: number
  /** Number of slots for which the likelihood is read once. */
  readonly slotsPerStep: number
  readonly likelihood: (timeMs: number) => number
  /** Whether the tick falls from 0.01 to 0.001 once the price leaves 0.04 to 0.96. */
  readonly canRefine: boolean
  readonly spreadTicks: number
  /** With 1, a level lasts 16 to 80 slots. */
  readonly patience: number
  /** Share of empty levels away from the top, in 1/256. */
  readonly emptyShare: number
}

/** From `fromMs` inclusive to `toMs` exclusive. */
export interface Pause {
  readonly fromMs: number
  readonly toMs: number
}

export interface MarketTrade {
  readonly slot: number
  readonly timeMs: number
  /** Price of the first outcome in thousandths. */
  readonly price: number
  /** Hundredths of a share. */
  readonly size: number
  /** Whether the taker sold the first outcome (or bought the second). */
  readonly isSell: boolean
  /** Whether the trade is reported on the second outcome, at 1000 − price. */
  readonly isMirrored: boolean
}

export const EARLY_FACTOR = 20
const LATE_FACTOR = 10
/** Prices are used as indexes, from 1 to 999. */
export const LEVELS = 1_001
const REFINE_ABOVE = 960
const REFINE_BELOW = 40
/** Levels next to the top are never empty, so the top is known without reading sizes. */
const FIRM_LEVELS = 3
const FINE_LEVELS = 20
const SLOT_BIAS = 1 << 24
const MIN_SIZE = 500
const SIZE_RANGE = 200_000
/** Where the asks begin in the numbering of levels. */
const ASKS = 1_001
/** Space for the prices of one side: a multiple of the coarse tick. */
const SIDE_ROOM = 1_010
const NEVER = 2 ** 31 - 1
const TRADE_SHARE = 0.7
const MIN_TRADE = 100
const NOISE = 0.006
/** Before the window, the price drifts this far from the middle, in thousandths, over this many slots. */
const LEAN = 15
const LEAN_SLOTS = 200

export class Life {
  readonly lastSlot: number
  readonly #spec: LifeSpec
  readonly #phase: number
  readonly #slots: number
  readonly #steps: number
  /**
   * The finest tick that the market ever has, and where the asks begin in a list of draws, which is indexed by that
   * tick.
   */
  readonly #grid: 1 | 10
  readonly #asksAt: number
  #lean: ((position: number) => number) | undefined
  /** The two steps whose fair price was read last. */
  #fair = { step: -1, value: 0 }
  #fairBefore = { step: -1, value: 0 }
  #outcome: number | undefined
  /** The step from which the tick is fine, as far as steps were searched. */
  #refineStep = Number.POSITIVE_INFINITY
  #searchedSteps = 0
  #trades: TradeList | undefined
  /** The slot at which the level that was read last is drawn again. */
  #drawnUntil = 0

  constructor(spec: LifeSpec) {
    const { seed, stream, slotMs, startMs, endMs } = spec
    this.#spec = spec
    this.#phase = hash32(seed, stream, 1) % slotMs
    // The last one begins before the end: nothing is traded at or after it.
    this.#slots = Math.ceil((endMs - startMs - this.#phase) / slotMs)
    this.#steps = Math.ceil(this.#slots / spec.slotsPerStep)
    this.#grid = spec.canRefine ? 1 : 10
    this.#asksAt = SIDE_ROOM / this.#grid
    this.lastSlot = this.#slots + Math.floor((spec.tradeEndMs - endMs) / (slotMs * LATE_FACTOR)) - 1
  }

  timeOf(slot: number): number {
    const { pause } = this.#spec
    const timeMs = this.#runningTimeOf(slot)
    return pause === undefined || timeMs < pause.fromMs ? timeMs : timeMs + pause.toMs - pause.fromMs
  }

  #runningTimeOf(slot: number): number {
    const { slotMs, startMs, endMs } = this.#spec
    if (slot < 0) return startMs + this.#phase + slot * slotMs * EARLY_FACTOR
    if (slot < this.#slots) return startMs + this.#phase + slot * slotMs
    return endMs + this.#phase + (slot - this.#slots) * slotMs * LATE_FACTOR
  }

  /** The last slot at or before the time. */
  slotAt(timeMs: number): number {
    const { pause } = this.#spec
    if (pause === undefined || timeMs < pause.fromMs) return this.#runningSlotAt(timeMs)
    const pausedMs = Math.min(timeMs, pause.toMs) - pause.fromMs
    // During the pause, this is the last slot before it.
    return this.#runningSlotAt(timeMs - pausedMs - (timeMs < pause.toMs ? 1 : 0))
  }

  #runningSlotAt(timeMs: number): number {
    const { slotMs, startMs, endMs } = this.#spec
    const since = timeMs - startMs - this.#phase
    if (since < 0) return Math.floor(since / (slotMs * EARLY_FACTOR))
    const late = Math.floor((timeMs - endMs - this.#phase) / (slotMs * LATE_FACTOR))
    // If the slots do not divide the time evenly, the first late slot begins before the last regular one would end.
    return late >= 0 ? this.#slots + late : Math.min(this.#slots - 1, Math.floor(since / slotMs))
  }

  /** In thousandths. */
  tick(slot: number): 10 | 1 {
    if (slot < 0 || !this.#spec.canRefine) return 10
    return this.#isRefined(slot >= this.#slots ? this.#steps : Math.floor(slot / this.#spec.slotsPerStep))
      ? 1
      : 10
  }

  /** In thousandths; 0 if there are no bids. */
  bid(slot: number): number {
    const unit = this.tick(slot)
    const offset = (this.#spec.spreadTicks - 1) * 0.5 * unit + 0.001
    const lower = Math.floor((this.#fairAt(slot) - offset) / unit) * unit
    return Math.max(0, Math.min(1_000 - unit, lower))
  }

  /** In thousandths; 1000 if there are no asks. */
  ask(slot: number): number {
    const unit = this.tick(slot)
    // Far from the middle, the spread narrows to what fits.
    return Math.min(1_000, Math.max(unit, this.bid(slot) + this.#spec.spreadTicks * unit))
  }

  /**
   * Writes the sizes per price of both sides. Returns the first slot at which a level is drawn again; before it, the
   * book changes only if the top or the tick does. `draws` receives that slot for each level.
   */
  fill(slot: number, bids: Int32Array, asks: Int32Array, draws?: Int32Array): number {
    bids.fill(0)
    asks.fill(0)
    draws?.fill(NEVER)
    const unit = this.tick(slot)
    const bestBid = this.bid(slot)
    const bestAsk = this.ask(slot)
    const grid = this.#grid
    const asksAt = this.#asksAt
    let next = Number.POSITIVE_INFINITY
    // From the best price away from the middle: fine levels first, then every cent.
    for (let level = 0, price = bestBid; price > 0; level++) {
      bids[price] = this.#sizeOf(price, slot, level >= FIRM_LEVELS)
      if (draws !== undefined) draws[price / grid] = this.#drawnUntil
      next = Math.min(next, this.#drawnUntil)
      price -= unit === 10 || level < FINE_LEVELS ? unit : price % 10 || 10
    }
    for (let level = 0, price = bestAsk; price < 1_000; level++) {
      asks[price] = this.#sizeOf(ASKS + price, slot, level >= FIRM_LEVELS)
      if (draws !== undefined) draws[asksAt + price / grid] = this.#drawnUntil
      next = Math.min(next, this.#drawnUntil)
      price += unit === 10 || level < FINE_LEVELS ? unit : (1_000 - price) % 10 || 10
    }
    return next
  }

  /** An array for the slot at which each level is drawn again, for `fill` and `redraw`. */
  makeDraws(): Int32Array {
    return new Int32Array(2 * this.#asksAt)
  }

  /**
   * Draws the levels that became due between two slots with the same top and tick, by price. Returns the first slot at
   * which a level is drawn again.
   */
  redraw(
    from: number,
    to: number,
    draws: Int32Array,
    drawn: (isBid: boolean, price: number, before: number, size: number) => void,
  ): number {
    const grid = this.#grid
    const asksAt = this.#asksAt
    const unit = this.tick(to)
    // Levels beyond these prices may be empty.
    const firmBid = this.bid(to) - FIRM_LEVELS * unit
    const firmAsk = this.ask(to) + FIRM_LEVELS * unit
    let next = NEVER
    for (let index = 0; index < draws.length; index += unit / grid) {
      if ((draws[index] as number) <= to) {
        const isBid = index < asksAt
        const price = (isBid ? index : index - asksAt) * grid
        const mayBeEmpty = isBid ? price <= firmBid : price >= firmAsk
        const level = isBid ? price : ASKS + price
        const before = this.#sizeOf(level, from, mayBeEmpty)
        drawn(isBid, price, before, this.#sizeOf(level, to, mayBeEmpty))
        draws[index] = this.#drawnUntil
      }
      next = Math.min(next, draws[index] as number)
    }
    return next
  }

  /** The top and the tick stay the same between this slot and the returned one. */
  nextMove(slot: number): number {
    if (slot < 0) return slot + 1
    if (slot >= this.#slots) return Number.POSITIVE_INFINITY
    const { slotsPerStep } = this.#spec
    return Math.min(this.#slots, slot - (slot % slotsPerStep) + slotsPerStep)
  }

  /** Nobody trades between this slot and the returned one. */
  nextTrade(slot: number): number {
    if (slot < -this.#spec.earlySlots) return -this.#spec.earlySlots
    const list = this.#tradesTo(slot)
    const count = list.countUntil(slot)
    return count < list.count ? (list.slots[count] as number) : list.nextSlot
  }

  /** Size of the best bid; 0 if there are no bids. */
  bidSize(slot: number): number {
    const price = this.bid(slot)
    return price > 0 ? this.#sizeOf(price, slot, false) : 0
  }

  /** Size of the best ask; 0 if there are no asks. */
  askSize(slot: number): number {
    const price = this.ask(slot)
    return price < 1_000 ? this.#sizeOf(ASKS + price, slot, false) : 0
  }

  /** The number of trades up to and including the slot. */
  tradesUntil(slot: number): number {
    if (slot <= -this.#spec.earlySlots) return 0
    return this.#tradesTo(slot).countUntil(slot)
  }

  /** A trade by its number, from 0; only for trades that `tradesUntil` has counted. */
  trade(index: number): MarketTrade | undefined {
    const list = this.#trades
    if (list === undefined || index < 0 || index >= list.count) return undefined
    const slot = list.slots[index] as number
    const flags = list.flags[index] as number
    return {
      slot,
      timeMs: this.timeOf(slot),
      price: list.prices[index] as number,
      size: list.sizes[index] as number,
      isSell: (flags & IS_SELL) !== 0,
      isMirrored: (flags & IS_MIRRORED) !== 0,
    }
  }

  /** Trades by number, from ≤ number < to. */
  trades(from: number, to: number): MarketTrade[] {
    const found: MarketTrade[] = []
    for (let index = Math.max(0, from); index < to; index++) {
      const trade = this.trade(index)
      if (trade !== undefined) found.push(trade)
    }
    return found
  }

  /** Hundredths of shares in the trades with from ≤ number < to. */
  volume(from: number, to: number): number {
    let sum = 0
    for (let index = from; index < to; index++) sum += this.#trades?.sizes[index] as number
    return sum
  }

  /** Dollars paid in the first `count` trades, each at the price of the outcome on which it is reported. */
  dollarVolume(count: number): number {
    const list = this.#trades
    let sum = 0
    for (let index = 0; list !== undefined && index < count; index++) {
      const price = list.prices[index] as number
      const paid = ((list.flags[index] as number) & IS_MIRRORED) !== 0 ? 1_000 - price : price
      sum += (list.sizes[index] as number) * paid
    }
    return sum / 100_000
  }

  /** The trade of a slot, if any. */
  tradeIn(slot: number): MarketTrade | undefined {
    const last = this.trade(this.tradesUntil(slot) - 1)
    return last?.slot === slot ? last : undefined
  }

  #fairOfStep(step: number): number {
    if (step === this.#fair.step) return this.#fair.value
    if (step === this.#fairBefore.step) return this.#fairBefore.value
    this.#fairBefore = this.#fair
    this.#fair = { step, value: Math.fround(this.#exactFair(step)) }
    return this.#fair.value
  }

  #exactFair(step: number): number {
    const { seed, stream, slotsPerStep, likelihood } = this.#spec
    const p = likelihood(this.timeOf(step * slotsPerStep))
    const noise = (hash32(seed, stream + 2, step) / 2_147_483_648 - 1) * NOISE * 4 * p * (1 - p)
    return (p + noise) * 1_000
  }

  #fairAt(slot: number): number {
    const { seed, stream, slotsPerStep, likelihood, endMs } = this.#spec
    if (slot < 0) {
      this.#lean ??= createSmoothReader(seed, stream + 3, LEAN_SLOTS)
      return 500 + this.#lean(slot + SLOT_BIAS) * LEAN
    }
    if (slot < this.#slots) return this.#fairOfStep(Math.floor(slot / slotsPerStep))
    this.#outcome ??= likelihood(endMs) * 1_000
    return this.#outcome
  }

  /** Whether the price has left the middle by this step. From the end of the window on, the tick is always fine. */
  #isRefined(step: number): boolean {
    while (this.#searchedSteps <= step && this.#refineStep === Number.POSITIVE_INFINITY) {
      const at = this.#searchedSteps++
      const value = at < this.#steps ? this.#exactFair(at) : REFINE_ABOVE + 1
      if (value > REFINE_ABOVE || value < REFINE_BELOW) this.#refineStep = at
    }
    return step >= this.#refineStep
  }

  #periodOf(habit: number): number {
    return this.#spec.patience * (16 + (habit % 65))
  }

  #sizeOf(level: number, slot: number, mayBeEmpty: boolean): number {
    const { seed, stream, emptyShare } = this.#spec
    const habit = hash32(seed, stream + 10, level)
    const period = this.#periodOf(habit)
    const phase = ((habit >>> 8) + SLOT_BIAS) % period
    const epoch = Math.floor((slot + phase) / period)
    this.#drawnUntil = (epoch + 1) * period - phase
    const drawn = hash32(seed, stream + 20 + level, epoch)
    if (mayBeEmpty && (drawn & 255) < emptyShare) return 0
    const part = (drawn >>> 8) / 16_777_216
    return MIN_SIZE + Math.floor(part * part * part * SIZE_RANGE)
  }

  /** The first slot after this one at which the level is drawn again. */
  #nextDraw(level: number, slot: number): number {
    const habit = hash32(this.#spec.seed, this.#spec.stream + 10, level)
    const period = this.#periodOf(habit)
    const phase = ((habit >>> 8) + SLOT_BIAS) % period
    return (Math.floor((slot + phase) / period) + 1) * period - phase
  }

  /**
   * The trades up to at least this slot, found by walking over the slots at which the best prices or their sizes may
   * change.
   */
  #tradesTo(slot: number): TradeList {
    const { earlySlots, slotsPerStep } = this.#spec
    this.#trades ??= this.#startTrades(-earlySlots)
    const list = this.#trades
    const target = Math.min(slot, this.lastSlot)
    while (list.nextSlot <= target) {
      const at = list.nextSlot
      const mayMove = at < 0 || at >= this.#slots || at % slotsPerStep === 0
      const [bid, ask] = mayMove ? [this.bid(at), this.ask(at)] : [list.bid, list.ask]
      const isStill = bid === list.bid && ask === list.ask && at < list.bidDraw && at < list.askDraw
      // Nobody trades at the moment at which the tick changes.
      if (!isStill && this.tick(at) === this.tick(at - 1)) this.#findTrade(list, at, bid, ask)
      if (bid !== list.bid || at >= list.bidDraw) list.bidDraw = this.#nextDraw(bid, at)
      if (ask !== list.ask || at >= list.askDraw) list.askDraw = this.#nextDraw(ASKS + ask, at)
      list.bid = bid
      list.ask = ask
      const nextStep =
        at < 0 || at >= this.#slots ? at + 1 : Math.min(this.#slots, at - (at % slotsPerStep) + slotsPerStep)
      list.nextSlot = Math.min(nextStep, list.bidDraw, list.askDraw)
    }
    return list
  }

  #startTrades(firstSlot: number): TradeList {
    const bid = this.bid(firstSlot)
    const ask = this.ask(firstSlot)
    const draws = [this.#nextDraw(bid, firstSlot), this.#nextDraw(ASKS + ask, firstSlot)] as const
    return new TradeList(firstSlot + 1, bid, ask, draws)
  }

  #findTrade(list: TradeList, slot: number, bid: number, ask: number): void {
    const chance = hash32(this.#spec.seed, this.#spec.stream + 4, slot)
    if ((chance >>> 8) / 16_777_216 >= TRADE_SHARE) return
    const isSellFirst = (chance & 1) === 0
    for (const isSell of [isSellFirst, !isSellFirst]) {
      const price = isSell ? list.bid : list.ask
      if (price === 0 || price === 1_000) continue
      const level = isSell ? price : ASKS + price
      const distance = isSell ? bid - price : price - ask
      const size = this.#sizeOf(level, slot - 1, false) - this.#remaining(level, price, distance, slot)
      if (size < MIN_TRADE) continue
      list.add(slot, price, size, (isSell ? IS_SELL : 0) | ((chance & 2) !== 0 ? IS_MIRRORED : 0))
      return
    }
  }

  /** The size of a level that was the best one a slot ago and is now at a distance from the top. */
  #remaining(level: number, price: number, distance: number, slot: number): number {
    if (distance < 0) return 0
    const unit = this.tick(slot)
    const depth = distance / unit
    if (depth >= FINE_LEVELS && unit === 1 && price % 10 !== 0) return 0
    return this.#sizeOf(level, slot, depth >= FIRM_LEVELS)
  }
}

const IS_SELL = 1
const IS_MIRRORED = 2
const FIRST_CAPACITY = 16

/** The trades found so far, and how far the walk that finds them has come. */
class TradeList {
  count = 0
  slots = new Int32Array(FIRST_CAPACITY)
  sizes = new Int32Array(FIRST_CAPACITY)
  prices = new Uint16Array(FIRST_CAPACITY)
  flags = new Uint8Array(FIRST_CAPACITY)
  nextSlot: number
  bid: number
  ask: number
  /** The slots at which the best levels are drawn again. */
  bidDraw: number
  askDraw: number

  constructor(nextSlot: number, bid: number, ask: number, draws: readonly [number, number]) {
    this.nextSlot = nextSlot
    this.bid = bid
    this.ask = ask
    this.bidDraw = draws[0]
    this.askDraw = draws[1]
  }

  add(slot: number, price: number, size: number, flags: number): void {
    if (this.count === this.slots.length) this.#grow()
    this.slots[this.count] = slot
    this.prices[this.count] = price
    this.sizes[this.count] = size
    this.flags[this.count] = flags
    this.count++
  }

  #grow(): void {
    const capacity = this.count * 2
    const larger = <T extends Int32Array | Uint16Array | Uint8Array>(made: T, old: T): T => {
      made.set(old)
      return made
    }
    this.slots = larger(new Int32Array(capacity), this.slots)
    this.sizes = larger(new Int32Array(capacity), this.sizes)
    this.prices = larger(new Uint16Array(capacity), this.prices)
    this.flags = larger(new Uint8Array(capacity), this.flags)
  }

  countUntil(slot: number): number {
    let low = 0
    let high = this.count
    while (low < high) {
      const middle = (low + high) >>> 1
      if ((this.slots[middle] as number) <= slot) low = middle + 1
      else high = middle
    }
    return low
  }
}
