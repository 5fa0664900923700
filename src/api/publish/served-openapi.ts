import { setImmediate } from 'node:timers/promises'
import type { ExampleSamples } from '../../contract/example.ts'
import type { Environment } from '../../core/environment.ts'
import { ENDPOINTS } from '../endpoints/list.ts'
import { readSamples } from '../endpoints/service/openapi-samples.ts'
import type { Services } from '../endpoints/services.ts'
import { fillExamples } from './fill-examples.ts'
import { openapiDocument } from './openapi.ts'
import { shareDocumentSchemas, shareParts } from './share-parts.ts'

/** The example values are minutes old anyway. */
const FRESH_MS = 30_000
/** After a start the values arrive one by one, so an incomplete document is rebuilt soon. */
const INCOMPLETE_FRESH_MS = 2_000

/**
 * The OpenAPI document as this service serves it, with example values that work on this service now. Where there is
 * no value yet (nothing recorded, no node), the example is left out.
 */
export function servedOpenapi(deps: {
  services: Partial<Record<Environment, Services>>
  now: () => number
}): () => Promise<Buffer> {
  const { services, now } = deps
  let template: Promise<object> | undefined
  let known: { text: Promise<Buffer>; freshUntilMs: number } | undefined

  async function write(): Promise<Buffer> {
    const environment = services.test ?? services.live
    // The document is served even while a store or node fails.
    const samples: ExampleSamples =
      environment === undefined ? {} : await readSamples(environment, now()).catch(() => ({}))
    const isComplete = [samples.time, samples.market, samples.transaction, samples.covenantId].every(
      (value) => value !== undefined,
    )
    if (known !== undefined && isComplete) known.freshUntilMs += FRESH_MS
    template ??= makeTemplate()
    const document = fillExamples(await template, ENDPOINTS, samples)
    await setImmediate()
    return Buffer.from(JSON.stringify(document))
  }

  return () => {
    const nowMs = now()
    if (known === undefined || nowMs >= known.freshUntilMs) {
      known = { text: write(), freshUntilMs: nowMs + INCOMPLETE_FRESH_MS }
    }
    return known.text
  }
}

/** Each step takes milliseconds; other requests run in between. */
async function makeTemplate(): Promise<object> {
  const whole = openapiDocument(ENDPOINTS, {})
  await setImmediate()
  const schemas = shareDocumentSchemas(whole)
  await setImmediate()
  return shareParts(whole, schemas)
}
