import { nextTurn } from '../../kit/time-slices.ts'
import { turnTimeMs } from '../../kit/turns.ts'

/** A page of deep books takes long: other work of the thread gets its turn in between, and of many pages one goes on in each. */
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
