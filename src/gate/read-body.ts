import { Value } from 'typebox/value'
import type { Body } from '../api/contract/endpoint.ts'
import { ApiError, faultsError } from '../core/errors.ts'
import { bodyFaults } from './body-faults.ts'

/** Parses and checks a JSON body, or lets the endpoint do it; every fault is named with its place. */
export function readBody<Services>(
  spec: Body<Services>,
  contentType: string | undefined,
  body: Buffer | undefined,
  services: Services,
): unknown {
  if (contentType !== 'application/json' && !isJson(contentType)) {
    throw new ApiError(
      'unsupported_media_type',
      'The body must be JSON: send Content-Type: application/json.',
    )
  }
  const bytes = body ?? Buffer.alloc(0)
  if (spec.read !== undefined) return spec.read(bytes, services)
  const { schema } = spec
  let value: unknown
  try {
    value = JSON.parse(bytes.toString('utf8'), spec.exactIntegers ? keepInteger : undefined)
  } catch {
    throw new ApiError('invalid_param', 'The body is not valid JSON.', { param: 'body' })
  }
  if (Value.Check(schema, value)) return value
  throw faultsError(bodyFaults(schema, value))
}

function isJson(contentType: string | undefined): boolean {
  return contentType !== undefined && /^application\/([a-z0-9.-]+\+)?json\s*(;|$)/i.test(contentType)
}

const INTEGER = /^-?\d+$/

function keepInteger(_name: string, value: unknown, context?: { source?: string }): unknown {
  if (typeof value !== 'number' || Number.isSafeInteger(value)) return value
  const text = context?.source
  return text !== undefined && INTEGER.test(text) ? text : value
}
