import { setImmediate } from 'node:timers/promises'
import { ENDPOINTS } from '../api/endpoints/list.ts'
import type { Services } from '../api/endpoints/services.ts'
import { openapiDocument } from '../api/publish/openapi.ts'
import type { ExampleSamples } from '../contract/example.ts'
import type { Environment } from '../core/environment.ts'
import type { Clock } from '../kit/clock.ts'
import { readSamples } from './read-samples.ts'

/** So long the same document is served: its values are of the last minutes anyway. */
const FRESH_MS = 30_000
/** After a start the values come in one by one: what is missing is looked for again soon. */
const INCOMPLETE_FRESH_MS = 2_000

/**
 * The OpenAPI document as this service serves it: its requests carry values that work here and now, so that they
 * can be tried as they stand. What nobody can tell (nothing recorded yet, no node) has no example.
 */
export function servedDocument(deps: {
  services: Partial<Record<Environment, Services>>
  clock: Clock
}): () => Promise<string> {
  const { services, clock } = deps
  let known: { text: Promise<string>; freshUntilMs: number } | undefined

  async function write(): Promise<string> {
    const environment = services.test ?? services.live
    // A store or node that fails now must not take the document with it.
    const samples: ExampleSamples =
      environment === undefined ? {} : await readSamples(environment, clock.now()).catch(() => ({}))
    const isWhole = samples.market !== undefined && samples.transaction !== undefined
    if (known !== undefined && isWhole) known.freshUntilMs += FRESH_MS
    const document = openapiDocument(ENDPOINTS, samples)
    // Some milliseconds each, and other requests wait in between.
    await setImmediate()
    return JSON.stringify(document)
  }

  return () => {
    const nowMs = clock.now()
    if (known === undefined || nowMs >= known.freshUntilMs) {
      known = { text: write(), freshUntilMs: nowMs + INCOMPLETE_FRESH_MS }
    }
    return known.text
  }
}
