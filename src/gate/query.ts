import { ApiError } from '../core/errors.ts'

/** The query as names and texts. A name given twice is kept aside: its meaning would be a guess. */
export interface Query {
  values: Map<string, string>
  repeated: string[]
}

const LONGEST_QUERY = 8_192
const EMPTY: Query = { values: new Map(), repeated: [] }

export function parseQuery(search: string): Query {
  if (search === '') return EMPTY
  if (search.length > LONGEST_QUERY) {
    throw new ApiError('invalid_param', `The query is longer than ${LONGEST_QUERY} characters.`)
  }
  const values = new Map<string, string>()
  const repeated: string[] = []
  for (const pair of search.split('&')) {
    if (pair === '') continue
    const equals = pair.indexOf('=')
    const name = decode(equals === -1 ? pair : pair.slice(0, equals))
    const value = equals === -1 ? '' : decode(pair.slice(equals + 1))
    if (values.has(name)) repeated.push(name)
    values.set(name, value)
  }
  return { values, repeated }
}

function decode(text: string): string {
  if (!text.includes('%') && !text.includes('+')) return text
  try {
    return decodeURIComponent(text.replaceAll('+', ' '))
  } catch {
    throw new ApiError('invalid_param', 'The query has a broken percent-encoding.')
  }
}
