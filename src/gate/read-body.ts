import type { TSchema } from 'typebox'
import { Value } from 'typebox/value'
import { ApiError, faultsError } from '../core/errors.ts'
import { bodyFaults } from './body-faults.ts'

/** Parses and checks a JSON body; every fault is named with its place. */
export function readBody(
  schema: TSchema,
  contentType: string | undefined,
  body: Buffer | undefined,
): unknown {
  if (contentType === undefined || !/^application\/([a-z0-9.-]+\+)?json\s*(;|$)/i.test(contentType)) {
    throw new ApiError(
      'unsupported_media_type',
      'The body must be JSON: send Content-Type: application/json.',
    )
  }
  let value: unknown
  try {
    value = JSON.parse((body ?? Buffer.alloc(0)).toString('utf8'))
  } catch {
    throw new ApiError('invalid_param', 'The body is not valid JSON.', { param: 'body' })
  }
  if (Value.Check(schema, value)) return value
  throw faultsError(bodyFaults(schema, value))
}
