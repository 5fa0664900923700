import { setImmediate } from 'node:timers/promises'
import type { ExampleSamples } from '../../contract/example.ts'
import type { Environment } from '../../core/environment.ts'
import { ENDPOINTS } from '../endpoints/list.ts'
import { readSamples } from '../endpoints/service/openapi-samples.ts'
import type { Services } from '../endpoints/services.ts'
import { fillExamples } from './fill-examples.ts'
import { openapiDocument } from './openapi.ts'
import { shareDocumentSchemas, shareParts } from './share-parts.ts'

/** Example values may be minutes old, so the document need not be newer. */
const FRESH_MS = 30_000
/** After a start the values become available one by one, so an incomplete document is soon rebuilt. */
const INCOMPLETE_FRESH_MS = 2_000

/**
 * The OpenAPI document as this service serves it, with example values that work on it now. If there is no value yet
 * (nothing recorded, no node), the example is left out.
 */
export function servedOpenapi(deps: {
  services: Partial<Record<Environment, Services>>
  now: () => number
}): () => Promise<Buffer> {
  const { services, now } = deps
  let template: Promise<object> | undefined
  let known: { text: Promise<Buffer>; freshUntilMs: number } | undefined

  async function write(): Promise<{ text: Buffer; isComplete: boolean }> {
    const environment = services.test ?? services.live
    // The document is served even while a store or node fails.
    const samples: ExampleSamples =
      environment === undefined ? {} : await readSamples(environment, now()).catch(() => ({}))
    const isComplete = [samples.time, samples.market, samples.transaction, samples.covenantId].every(
      (value) => value !== undefined,
    )
    template ??= makeTemplate()
    const document = fillExamples(await template, ENDPOINTS, samples)
    await setImmediate()
    return { text: Buffer.from(JSON.stringify(document)), isComplete }
  }

  /**
   * A node may be slow to answer each of many calls, so everyone who asks in the meantime waits for the same document.
   */
  function begin() {
    let freshMs = INCOMPLETE_FRESH_MS
    const written = write().then(({ text, isComplete }) => {
      if (isComplete) freshMs = FRESH_MS
      return text
    })
    const run = {
      freshUntilMs: Number.POSITIVE_INFINITY,
      text: written.finally(() => {
        run.freshUntilMs = now() + freshMs
      }),
    }
    return run
  }

  return () => {
    if (known === undefined || now() >= known.freshUntilMs) known = begin()
    return known.text
  }
}

/** Each step takes milliseconds, so other requests run in between. */
async function makeTemplate(): Promise<object> {
  const whole = openapiDocument(ENDPOINTS, {})
  await setImmediate()
  const schemas = shareDocumentSchemas(whole)
  await setImmediate()
  return shareParts(whole, schemas)
}
