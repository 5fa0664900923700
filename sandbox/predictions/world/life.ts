/**
 * The whole life of one binary market as a pure function of its seed: book, trades and tick size at any time,
 * past or future, without history. Prices are those of the first outcome (Up, yes) in thousandths; the second
 * outcome is its mirror (a bid at p is the other side's ask at 1000 − p). Sizes are hundredths of a share.
 *
 * Time is counted in slots: slot 0 starts the window, and the market lives slower outside of it.
 *
 *   listed ──── slots of 20× ────▶ start ── slots of 1× ──▶ end ── slots of 10× ──▶ trading ends
 *
 * A level keeps its size for a while of its own and is then drawn anew. A trade is such a change, seen from the
 * other side: where the best level got smaller, somebody may have taken the difference.
 */
import { createSmoothReader, hash32 } from '../../exchanges/world/hash.ts'

export interface LifeSpec {
  readonly seed: number
  /** Separates this market's chance from all others. */
  readonly stream: number
  readonly slotMs: number
  readonly startMs: number
  readonly endMs: number
  readonly tradeEndMs: number
  /** Slots before the start in which trades happen. */
  readonly earlySlots: number
  /** Slots for which the likelihood is read once. */
  readonly slotsPerStep: number
  readonly likelihood: (timeMs: number) => number
  /** Whether the tick falls from 0.01 to 0.001 once the price leaves 0.04 to 0.96. */
  readonly canRefine: boolean
  readonly spreadTicks: number
  /** 1: a level lasts 16 to 80 slots. */
  readonly patience: number
  /** Share of missing levels away from the top, in 1/256. */
  readonly holes: number
}

export interface Print {
  readonly slot: number
  readonly timeMs: number
  /** Price of the first outcome in thousandths. */
  readonly price: number
  /** Hundredths of a share. */
  readonly size: number
  /** The taker sold the first outcome (or bought the second). */
  readonly isSell: boolean
  /** Reported on the second outcome, at 1000 − price. */
  readonly isMirrored: boolean
}

export interface Life {
  readonly slots: number
  readonly lastSlot: number
  readonly prints: readonly Print[]
  timeOf(slot: number): number
  /** The last slot at or before the time. */
  slotAt(timeMs: number): number
  /** Thousandths; 0 without bids. */
  bid(slot: number): number
  /** Thousandths; 1000 without asks. */
  ask(slot: number): number
  tick(slot: number): 10 | 1
  /** Writes the sizes per price (index 1 to 999) of both sides. */
  fill(slot: number, bids: Int32Array, asks: Int32Array): void
  /** The print of a slot, if any. */
  printAt(slot: number): Print | undefined
  /** How many prints happened up to and including the slot. */
  printsUntil(slot: number): number
}

export const EARLY_FACTOR = 20
export const LATE_FACTOR = 10
const REFINE_ABOVE = 960
const REFINE_BELOW = 40
/** Levels next to the top are never missing, so the top is known without looking at sizes. */
const FIRM_LEVELS = 3
const FINE_LEVELS = 20
const SLOT_BIAS = 1 << 24
const MIN_SIZE = 500
const SIZE_RANGE = 200_000
/** Where the asks begin in tables that hold both sides. */
const ASKS = 1_001
const TRADE_SHARE = 0.7
const MIN_PRINT = 100
const NOISE = 0.006
/** Before the window the price leans this far from the middle, in thousandths, over so many slots. */
const LEAN = 15
const LEAN_SLOTS = 200

export function createLife(spec: LifeSpec): Life {
  const { seed, stream, slotMs, startMs, endMs } = spec
  const phase = hash32(seed, stream, 1) % slotMs
  const slots = Math.round((endMs - startMs) / slotMs)
  const lastSlot = slots + Math.floor((spec.tradeEndMs - endMs) / (slotMs * LATE_FACTOR)) - 1

  const timeOf = (slot: number): number => {
    if (slot < 0) return startMs + phase + slot * slotMs * EARLY_FACTOR
    if (slot < slots) return startMs + phase + slot * slotMs
    return endMs + phase + (slot - slots) * slotMs * LATE_FACTOR
  }
  const slotAt = (timeMs: number): number => {
    const since = timeMs - startMs - phase
    if (since < 0) return Math.floor(since / (slotMs * EARLY_FACTOR))
    const inside = Math.floor(since / slotMs)
    if (inside < slots) return inside
    return slots + Math.floor((timeMs - endMs - phase) / (slotMs * LATE_FACTOR))
  }

  // The likelihood per step from the start to the end, read when first needed: most listed markets have not begun.
  const steps = Math.ceil(slots / spec.slotsPerStep)
  let path: { fair: Float32Array; refineStep: number; outcome: number } | undefined
  function readPath(): NonNullable<typeof path> {
    const fair = new Float32Array(steps)
    let refineStep = spec.canRefine ? steps : Number.POSITIVE_INFINITY
    for (let step = 0; step < steps; step++) {
      const p = spec.likelihood(timeOf(step * spec.slotsPerStep))
      const noise = (hash32(seed, stream + 2, step) / 2_147_483_648 - 1) * NOISE * 4 * p * (1 - p)
      const value = (p + noise) * 1_000
      fair[step] = value
      if (spec.canRefine && refineStep === steps && (value > REFINE_ABOVE || value < REFINE_BELOW))
        refineStep = step
    }
    path = { fair, refineStep, outcome: spec.likelihood(endMs) * 1_000 }
    return path
  }
  const lean = createSmoothReader(seed, stream + 3, LEAN_SLOTS)
  const stepOf = (slot: number) => (slot >= slots ? steps : Math.floor(slot / spec.slotsPerStep))
  const tick = (slot: number): 10 | 1 =>
    slot >= 0 && stepOf(slot) >= (path ?? readPath()).refineStep ? 1 : 10
  function fairAt(slot: number): number {
    if (slot < 0) return 500 + lean(slot + SLOT_BIAS) * LEAN
    const { fair, outcome } = path ?? readPath()
    return slot < slots ? (fair[Math.floor(slot / spec.slotsPerStep)] as number) : outcome
  }
  function bid(slot: number): number {
    const value = fairAt(slot)
    const unit = tick(slot)
    const lower = Math.floor((value - (spec.spreadTicks - 1) * 0.5 * unit - 0.001) / unit) * unit
    return Math.max(0, Math.min(1_000 - unit, lower))
  }
  const ask = (slot: number): number => {
    const unit = tick(slot)
    const value = bid(slot)
    // Far from the middle the spread narrows to what fits.
    return Math.min(1_000, Math.max(unit, value + spec.spreadTicks * unit))
  }

  // How long the level of a price lasts, and where in that time slot 0 lies; 0: not drawn yet. Bids, then asks.
  const periods = new Uint16Array(2 * 1_001)
  const phases = new Uint16Array(2 * 1_001)
  const learn = (level: number): void => {
    const habit = hash32(seed, stream + 10, level)
    const period = spec.patience * (16 + (habit % 65))
    periods[level] = period
    phases[level] = ((habit >>> 8) + SLOT_BIAS) % period
  }
  const sizeOf = (level: number, slot: number, mayMiss: boolean): number => {
    if (periods[level] === 0) learn(level)
    const epoch = Math.floor((slot + (phases[level] as number)) / (periods[level] as number))
    const drawn = hash32(seed, stream + 20 + level, epoch)
    if (mayMiss && (drawn & 255) < spec.holes) return 0
    const part = (drawn >>> 8) / 16_777_216
    return MIN_SIZE + Math.floor(part * part * part * SIZE_RANGE)
  }
  /** The first slot after this one at which the level is drawn anew. */
  const nextDraw = (level: number, slot: number): number => {
    if (periods[level] === 0) learn(level)
    const period = periods[level] as number
    const phase = phases[level] as number
    return (Math.floor((slot + phase) / period) + 1) * period - phase
  }
  const bidSize = (price: number, slot: number, mayMiss: boolean) => sizeOf(price, slot, mayMiss)
  const askSize = (price: number, slot: number, mayMiss: boolean) => sizeOf(ASKS + price, slot, mayMiss)

  /** From `best` away from the middle: fine levels first, then every cent. */
  function side(best: number, unit: 10 | 1, visit: (distance: number, isFirm: boolean) => void): void {
    let level = 0
    for (let distance = 0; distance < best; level++) {
      visit(distance, level < FIRM_LEVELS)
      if (unit === 10 || level < FINE_LEVELS) distance += unit
      else distance += (best - distance) % 10 === 0 ? 10 : (best - distance) % 10
    }
  }

  function fill(slot: number, bids: Int32Array, asks: Int32Array): void {
    bids.fill(0)
    asks.fill(0)
    const unit = tick(slot)
    const bestBid = bid(slot)
    side(bestBid, unit, (distance, isFirm) => {
      bids[bestBid - distance] = bidSize(bestBid - distance, slot, !isFirm)
    })
    const bestAsk = ask(slot)
    side(1_000 - bestAsk, unit, (distance, isFirm) => {
      asks[bestAsk + distance] = askSize(bestAsk + distance, slot, !isFirm)
    })
  }

  /** Size of a level that was the best one a slot ago. */
  function remains(price: number, slot: number, isBid: boolean): number {
    const distance = isBid ? bid(slot) - price : price - ask(slot)
    if (distance < 0) return 0
    const unit = tick(slot)
    const level = distance / unit
    if (level >= FINE_LEVELS && unit === 1 && price % 10 !== 0) return 0
    return isBid ? bidSize(price, slot, level >= FIRM_LEVELS) : askSize(price, slot, level >= FIRM_LEVELS)
  }

  function findPrints(): Print[] {
    const found: Print[] = []
    const firstSlot = -spec.earlySlots
    let [oldBid, oldAsk] = [bid(firstSlot), ask(firstSlot)]
    let [bidDraw, askDraw] = [nextDraw(oldBid, firstSlot), nextDraw(ASKS + oldAsk, firstSlot)]
    for (let slot = firstSlot + 1; slot <= lastSlot; slot++) {
      const mayMove = slot < 0 || slot >= slots || slot % spec.slotsPerStep === 0
      if (!mayMove && slot < bidDraw && slot < askDraw) continue
      const [newBid, newAsk] = mayMove ? [bid(slot), ask(slot)] : [oldBid, oldAsk]
      const isStill = newBid === oldBid && newAsk === oldAsk && slot < bidDraw && slot < askDraw
      if (newBid !== oldBid || slot >= bidDraw) bidDraw = nextDraw(newBid, slot)
      if (newAsk !== oldAsk || slot >= askDraw) askDraw = nextDraw(ASKS + newAsk, slot)
      oldBid = newBid
      oldAsk = newAsk
      // Nobody trades in the instant in which the tick changes.
      if (isStill || tick(slot) !== tick(slot - 1)) continue
      const chance = hash32(seed, stream + 4, slot)
      const first = (chance & 1) === 0
      const print = taken(slot, first, chance) ?? taken(slot, !first, chance)
      if (print !== undefined) found.push(print)
    }
    return found
  }

  function taken(slot: number, isSell: boolean, chance: number): Print | undefined {
    const price = isSell ? bid(slot - 1) : ask(slot - 1)
    if (price === 0 || price === 1_000) return undefined
    const before = isSell ? bidSize(price, slot - 1, false) : askSize(price, slot - 1, false)
    const size = before - remains(price, slot, isSell)
    if (size < MIN_PRINT || (chance >>> 8) / 16_777_216 >= TRADE_SHARE) return undefined
    return { slot, timeMs: timeOf(slot), price, size, isSell, isMirrored: (chance & 2) !== 0 }
  }

  let found: readonly Print[] | undefined
  const prints = (): readonly Print[] => {
    found ??= findPrints()
    return found
  }
  const printsUntil = (slot: number): number => {
    if (slot <= -spec.earlySlots) return 0
    const list = prints()
    let low = 0
    let high = list.length
    while (low < high) {
      const middle = (low + high) >>> 1
      if ((list[middle] as Print).slot <= slot) low = middle + 1
      else high = middle
    }
    return low
  }
  return {
    slots,
    lastSlot,
    get prints() {
      return prints()
    },
    timeOf,
    slotAt,
    bid,
    ask,
    tick,
    fill,
    printsUntil,
    printAt(slot) {
      const count = printsUntil(slot)
      const print = count === 0 ? undefined : prints()[count - 1]
      return print?.slot === slot ? print : undefined
    },
  }
}
