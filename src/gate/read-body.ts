import type { TSchema } from 'typebox'
import { type Body, MAX_REQUEST_BODY_BYTES } from '../contract/endpoint.ts'
import { ApiError, faultsError, type InputFault, MAX_FAULTS } from '../core/errors.ts'
import type { Plan } from '../core/plan.ts'
import {
  type JsonLimits,
  type JsonReading,
  parseExactBytes,
  parseExactBytesInSlices,
} from '../kit/exact-json.ts'
import { bodyFaults, fits } from './body-faults.ts'
import { longIntegersAsText } from './long-integers.ts'

/**
 * No valid body has a tenth as many members in one object. A transaction with the maximum number of inputs and outputs
 * has half as many values, and a webhook's addresses have more than 64 characters each.
 */
const limitsFor = (maxBytes: number): JsonLimits => ({
  maxDepth: 64,
  maxChars: 134_217_728,
  maxMembers: 1_000,
  maxValues: Math.max(65_536, Math.ceil(maxBytes / 64)),
})

/**
 * Parses and validates a JSON body, or lets the endpoint do so. Every fault is reported with its place. Large bodies
 * are parsed in slices.
 */
export function readRequestBody<Services>(
  spec: Body<Services>,
  sent: {
    readonly contentType: string | undefined
    readonly contentEncoding: string | undefined
    readonly body: Buffer | undefined
    readonly plan: Plan
  },
  services: Services,
): unknown {
  const { contentType, contentEncoding = 'identity', plan } = sent
  if (contentType !== 'application/json' && !isJson(contentType)) {
    throw new ApiError(
      'unsupported_media_type',
      'The body must be JSON: send Content-Type: application/json.',
    )
  }
  if (contentEncoding.toLowerCase() !== 'identity') {
    throw new ApiError(
      'unsupported_media_type',
      'The body must not be compressed: leave out Content-Encoding.',
    )
  }
  const bytes = sent.body ?? Buffer.alloc(0)
  const maxBytes = spec.maxBytes?.(plan) ?? MAX_REQUEST_BODY_BYTES
  if (bytes.length > maxBytes) {
    const text = `The body is larger than the ${maxBytes} bytes that the plan ${plan.name} allows here.`
    throw new ApiError('payload_too_large', text, { max_bytes: maxBytes })
  }
  if (spec.read !== undefined) return spec.read(bytes, services)
  const check = (reading: JsonReading) => checked(spec.schema, reading, otherFaults)
  const otherFaults =
    spec.otherFaults && ((value: object) => spec.otherFaults?.(value, services, plan) ?? Promise.resolve([]))
  const limits = limitsFor(maxBytes)
  if (bytes.length <= MAX_REQUEST_BODY_BYTES) return check(parseExactBytes(bytes, limits))
  return parseExactBytesInSlices(bytes, limits).then(check)
}

type OtherFaults = ((value: object) => Promise<readonly InputFault[]>) | undefined

function checked(schema: TSchema, reading: JsonReading, otherFaults: OtherFaults): unknown {
  if (!reading.ok) {
    const text = `The body is not valid JSON: ${reading.message} at position ${reading.at}.`
    throw new ApiError('invalid_param', text, { param: 'body' })
  }
  const value = longIntegersAsText(schema, reading.value)
  if (fits(schema, value)) return value
  const faults = bodyFaults(schema, value)
  const isObject = typeof value === 'object' && value !== null && !Array.isArray(value)
  if (otherFaults === undefined || !isObject || faults.length >= MAX_FAULTS) throw faultsError(faults)
  const wrong = new Set(faults.map(({ param }) => param.split('.')[0]))
  const fitting = Object.fromEntries(Object.entries(value).filter(([name]) => !wrong.has(name)))
  return otherFaults(fitting).then((others) => {
    throw faultsError([...faults, ...others])
  })
}

/** Throws the faults of the parameters together with those of the body. */
export function withBodyFaults(faults: readonly InputFault[], read: () => unknown): never | Promise<never> {
  const merge = (error: unknown): never => {
    const inBody =
      error instanceof ApiError && error.kind === 'invalid_param' ? error.detail.errors : undefined
    throw faultsError([...faults, ...(inBody ?? [])])
  }
  let body: unknown
  try {
    body = read()
  } catch (error) {
    return merge(error)
  }
  if (body instanceof Promise) return body.then(() => merge(undefined), merge)
  return merge(undefined)
}

function isJson(contentType: string | undefined): boolean {
  return contentType !== undefined && /^application\/([a-z0-9.-]+\+)?json\s*(;|$)/i.test(contentType)
}
