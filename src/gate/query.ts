import { ApiError } from '../core/errors.ts'

/** Names and values of the query. Repeated names are listed, because it is unclear which value is meant. */
export interface Query {
  values: Map<string, string>
  repeated: string[]
}

const MAX_QUERY = 8_192
/** No endpoint has half as many parameters. */
const MAX_PARAMETERS = 64
const MAX_SHOWN = 100
const EMPTY: Query = { values: new Map(), repeated: [] }

export function parseQuery(search: string): Query {
  if (search === '') return EMPTY
  if (search.length > MAX_QUERY) throw tooLong(search)
  const values = new Map<string, string>()
  const repeated: string[] = []
  let count = 0
  const isPlain = !search.includes('%') && !search.includes('+')
  for (let at = 0; at < search.length; ) {
    const found = search.indexOf('&', at)
    const end = found === -1 ? search.length : found
    if (end > at) {
      if (++count > MAX_PARAMETERS) throw tooMany(search.slice(at, end))
      const mark = search.indexOf('=', at)
      const equals = mark === -1 || mark > end ? end : mark
      const name = search.slice(at, equals)
      const value = search.slice(Math.min(equals + 1, end), end)
      const plainName = isPlain ? name : decode(name)
      if (values.has(plainName)) repeated.push(plainName)
      values.set(plainName, isPlain ? value : decode(value, plainName))
    }
    at = end + 1
  }
  return { values, repeated }
}

/** Names the parameter that exceeded the limit, as it was sent, because a refused name is not decoded. */
function tooMany(parameter: string): ApiError {
  const param = nameOf(parameter)
  const text = `The query has more than ${MAX_PARAMETERS} parameters: ${param} is one too many.`
  return new ApiError('invalid_param', text, { param, reason: 'too_many_parameters' })
}

function tooLong(search: string): ApiError {
  const end = search.indexOf('&', MAX_QUERY)
  const from = search.lastIndexOf('&', MAX_QUERY - 1) + 1
  const param = nameOf(search.slice(from, end === -1 ? search.length : end))
  return new ApiError(
    'invalid_param',
    `The query is longer than ${MAX_QUERY} characters: it passes that in ${param}.`,
    {
      param,
      reason: 'too_long',
    },
  )
}

function nameOf(parameter: string): string {
  const [name = ''] = parameter.slice(0, MAX_SHOWN).split('=', 1)
  return name
}

function decode(text: string, param?: string): string {
  if (!text.includes('%') && !text.includes('+')) return text
  try {
    return decodeURIComponent(text.replaceAll('+', ' '))
  } catch {
    const shown = param?.slice(0, MAX_SHOWN)
    throw new ApiError(
      'invalid_param',
      `${shown === undefined ? 'The query' : shown} has a broken percent-encoding.`,
      shown === undefined ? {} : { param: shown },
    )
  }
}
