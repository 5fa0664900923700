/** The body of an MCP request: a message, or a batch of a few. */
import { ApiError } from '../../core/errors.ts'
import { type ExactJson, parseExactBytes } from '../../kit/exact-json.ts'

const MAX_BATCH = 8
const MAX_SHOWN = 60
const LIMITS = { maxDepth: 64, maxChars: 1_048_576, maxMembers: 1_000 }

/** Throws ApiError. The protocol's library would round large integers and replace bytes that are not UTF-8. */
export function readMcpMessages(body: Buffer | undefined, contentEncoding = 'identity'): unknown {
  if (contentEncoding.toLowerCase() !== 'identity') {
    const text = 'The body must not be compressed: leave out Content-Encoding.'
    throw new ApiError('unsupported_media_type', text)
  }
  const reading = parseExactBytes(body ?? Buffer.alloc(0), LIMITS)
  if (!reading.ok) {
    const text = `The body must be a JSON-RPC message. It is not valid JSON: ${reading.message} at position ${reading.at}.`
    throw new ApiError('invalid_param', text, { param: 'body' })
  }
  const { value } = reading
  if (Array.isArray(value) && (value.length > MAX_BATCH || value.length === 0))
    throw new ApiError('invalid_param', `A batch may have 1 to ${MAX_BATCH} messages.`, { param: 'body' })
  const place = longIntegerIn(value)
  if (place !== undefined) {
    const param = place.length === 0 ? 'body' : place.join('.')
    throw new ApiError('invalid_param', `${param} is an integer above 2^53: send it as text.`, { param })
  }
  if (Array.isArray(value)) refuseRepeatedIds(value)
  return value
}

/**
 * The place of the first integer that a double cannot hold. It is put together on the way back, because nearly no body
 * has one.
 */
function longIntegerIn(value: ExactJson): string[] | undefined {
  if (typeof value === 'bigint') return []
  if (typeof value !== 'object' || value === null) return undefined
  if (Array.isArray(value)) {
    for (let index = 0; index < value.length; index++) {
      const found = longIntegerIn(value[index])
      if (found !== undefined) return [String(index), ...found]
    }
    return undefined
  }
  const members = value as { readonly [name: string]: ExactJson }
  for (const name in members) {
    const found = longIntegerIn(members[name] ?? null)
    if (found !== undefined) return [name.slice(0, MAX_SHOWN), ...found]
  }
  return undefined
}

/** Answers are matched by id, so one of two answers with the same id would be lost. */
function refuseRepeatedIds(messages: readonly unknown[]): void {
  const seen = new Set<unknown>()
  for (const message of messages) {
    const id = (message as { id?: unknown } | null)?.id
    if (id === undefined) continue
    if (seen.has(id)) {
      const shown = String(JSON.stringify(id)).slice(0, MAX_SHOWN)
      throw new ApiError('invalid_param', `Two messages of the batch have the id ${shown}.`, { param: 'id' })
    }
    seen.add(id)
  }
}
