/**
 * Things that take long to start and are not broken by the tests that use them. The first file that needs one starts
 * it; files that run in the same process (`batch.ts`) share it, and it is stopped after the last of them.
 */
import { after } from 'node:test'

export interface Started<T> {
  readonly value: T
  stop(): Promise<unknown>
}

const running: Promise<Started<unknown>>[] = []
let isBatch = false

/** `batch.ts` calls this first: files no longer stop what they share when they end. */
export function stopSharedAfterAll(): void {
  isBatch = true
  after(stopAll)
}

/** Call it where the tests are declared; the returned function resolves with the shared value. */
export function share<T>(start: () => Promise<Started<T>>): () => Promise<T> {
  let started: Promise<Started<T>> | undefined
  return async () => {
    if (started === undefined) {
      started = start()
      running.push(started)
    }
    return (await started).value
  }
}

/** For a file that runs without `batch.ts`. */
export function stopSharedAfterFile(): void {
  after(async () => {
    if (!isBatch) await stopAll()
  })
}

async function stopAll(): Promise<void> {
  for (const one of running.splice(0).reverse()) await (await one.catch(() => undefined))?.stop()
}
