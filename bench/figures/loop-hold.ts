import { measureHolds } from '../../test/fakes/loop-hold.ts'
import type { Figure } from '../frame.ts'

const ROUNDS = 7
const WORST_SHOWN = 3

/** The longest time that a single hostile request or message blocks the event loop. */
export async function loopHoldFigures(): Promise<Figure[]> {
  const seed = Math.floor(Math.random() * 2 ** 31)
  const holds = (await measureHolds(seed, ROUNDS)).sort((a, b) => b.ms - a.ms)
  const worst = holds.slice(0, WORST_SHOWN).map(({ name, ms }) => `${name} ${ms.toFixed(1)}`)
  return [
    {
      name: 'longest hold of the loop by one hostile input, ms',
      atMost: 20,
      value: holds[0]?.ms ?? 0,
      detail: `of ${holds.length} (seed ${seed}): ${worst.join(', ')}`,
    },
  ]
}
