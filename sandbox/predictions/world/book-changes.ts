/**
 * The changes in the book of a market from slot to slot. `Life.fill` draws every level. While the top and the tick stay
 * the same, this class draws only the levels that are due.
 */
import { LEVELS, type Life } from './life.ts'

export interface LevelChange {
  readonly isBid: boolean
  readonly price: number
  /** 0 if there was no such level. */
  readonly before: number
  /** 0 if the level is gone. */
  readonly size: number
}

const [oldBids, oldAsks, newBids, newAsks] = [0, 1, 2, 3].map(() => new Int32Array(LEVELS)) as [
  Int32Array,
  Int32Array,
  Int32Array,
  Int32Array,
]

export class BookChanges {
  readonly #life: Life
  /** The slot at which each level is drawn again. */
  readonly #draws: Int32Array
  #slot = Number.NEGATIVE_INFINITY
  #nextDraw = Number.NEGATIVE_INFINITY
  #unit = 0
  #bid = 0
  #ask = 0

  constructor(life: Life) {
    this.#life = life
    this.#draws = life.makeDraws()
  }

  /** The book stays unchanged before this slot. */
  get nextSlot(): number {
    return Math.min(this.#nextDraw, this.#life.nextMove(this.#slot))
  }

  /** Starts at a slot and writes its book to the arrays. */
  start(slot: number, bids: Int32Array, asks: Int32Array): void {
    this.#nextDraw = this.#life.fill(slot, bids, asks, this.#draws)
    this.#slot = slot
    this.#unit = this.#life.tick(slot)
    this.#bid = this.#life.bid(slot)
    this.#ask = this.#life.ask(slot)
  }

  /** The changes up to a later slot, by price. Removals come first, so that the book is never crossed in between. */
  moveTo(slot: number): LevelChange[] {
    const life = this.#life
    const isSame =
      life.bid(slot) === this.#bid && life.ask(slot) === this.#ask && life.tick(slot) === this.#unit
    const removed: LevelChange[] = []
    const rest: LevelChange[] = []
    const add = (isBid: boolean, price: number, before: number, size: number) => {
      if (before !== size) (size === 0 ? removed : rest).push({ isBid, price, before, size })
    }
    if (!isSame) {
      const step = Math.min(this.#unit, life.tick(slot))
      life.fill(this.#slot, oldBids, oldAsks)
      this.start(slot, newBids, newAsks)
      for (let price = step; price < 1_000; price += step) {
        add(true, price, oldBids[price] as number, newBids[price] as number)
        add(false, price, oldAsks[price] as number, newAsks[price] as number)
      }
    } else if (slot >= this.#nextDraw) {
      this.#nextDraw = life.redraw(this.#slot, slot, this.#draws, add)
    }
    this.#slot = slot
    return removed.length === 0 ? rest : [...removed, ...rest]
  }
}
