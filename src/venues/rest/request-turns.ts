/**
 * Limits the requests in flight. Requests of the live side go before those of the backfill, and the backfill never
 * takes all places: one always remains for the live side, however slowly the venue answers.
 */
export interface Turns {
  run<T>(isBackground: boolean, work: () => Promise<T>): Promise<T>
}

export function createTurns(places: number): Turns {
  const backgroundPlaces = Math.max(1, places - 1)
  const waiting = { live: [] as (() => void)[], background: [] as (() => void)[] }
  let inFlight = 0
  let ofBackground = 0

  const isFree = (isBackground: boolean) =>
    inFlight < places && (!isBackground || (ofBackground < backgroundPlaces && waiting.live.length === 0))

  function enter(isBackground: boolean): void {
    inFlight += 1
    if (isBackground) ofBackground += 1
  }

  /** Takes the place before the waiting request resumes, so that no other request can take it in between. */
  function letIn(): void {
    for (const isBackground of [false, true]) {
      const queue = isBackground ? waiting.background : waiting.live
      while (isFree(isBackground) && queue.length > 0) {
        enter(isBackground)
        queue.shift()?.()
      }
    }
  }

  return {
    async run(isBackground, work) {
      if (isFree(isBackground)) enter(isBackground)
      else {
        const queue = isBackground ? waiting.background : waiting.live
        await new Promise<void>((resolve) => queue.push(resolve))
      }
      try {
        return await work()
      } finally {
        inFlight -= 1
        if (isBackground) ofBackground -= 1
        letIn()
      }
    },
  }
}
