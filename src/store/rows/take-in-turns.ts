import { nextTurn } from '../../kit/time-slices.ts'
import { turnTimeMs } from '../../kit/turns.ts'

/**
 * A page of deep books takes long, so other work of the thread runs in between. Of several such pages, one continues
 * per turn.
 */
export async function takeInTurns(texts: Iterator<string>, holdMs: number): Promise<string[]> {
  const taken: string[] = []
  let holdingSince = turnTimeMs()
  for (let next = texts.next(); !next.done; next = texts.next()) {
    taken.push(next.value)
    if (turnTimeMs() - holdingSince <= holdMs) continue
    await nextTurn()
    holdingSince = turnTimeMs()
  }
  return taken
}
