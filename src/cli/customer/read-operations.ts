/**
 * What can be read, derived from the OpenAPI document, so that a new endpoint or parameter appears on the command line
 * without a change here.
 */
import { clientName } from '../../core/client-name.ts'

export interface ReadableOperation {
  /** As the user types it: `open-interest`. */
  readonly name: string
  /** The client's method: `openInterest`. */
  readonly method: string
  readonly about: string
  /** Whether `dry_run` returns its price. */
  readonly hasPrice: boolean
  readonly params: readonly { readonly name: string; readonly about: string; readonly required: boolean }[]
  /** The parameter that takes a cursor. */
  readonly cursorParam: string | undefined
  /** The fields of its rows; undefined if the answer is a single object. */
  readonly columns: readonly string[] | undefined
}

type Part = Record<string, unknown>

/** These are set by options of the command line. */
const OWN_PARAMS = ['dry_run', 'format']
const CURSOR_PARAMS = ['after', 'cursor']

export function readOperations(document: object): ReadableOperation[] {
  const { paths } = document as { paths: Record<string, Record<string, Part>> }

  function resolve(part: unknown): Part {
    const { $ref } = part as { $ref?: string }
    if ($ref === undefined) return part as Part
    const keys = $ref
      .split('/')
      .slice(1)
      .map((key) => key.replaceAll('~1', '/').replaceAll('~0', '~'))
    return resolve(keys.reduce<unknown>((at, key) => (at as Part)[key], document))
  }

  /** The fields of the row, or of all its shapes. */
  function fieldsOf(schema: unknown): string[] {
    const { properties, anyOf } = resolve(schema) as { properties?: object; anyOf?: unknown[] }
    if (properties !== undefined) return Object.keys(properties)
    return [...new Set((anyOf ?? []).flatMap(fieldsOf))]
  }

  const found = new Map<string, ReadableOperation>()
  for (const [path, { get }] of Object.entries(paths)) {
    if (get === undefined) continue
    const words = clientName('get', path)
    const name = words.join('-')
    const params = ((get.parameters ?? []) as unknown[]).map(resolve)
    const rowSchema = get['x-row-schema']
    found.set(name, {
      name,
      method: words
        .map((word, n) => (n === 0 ? word : word.slice(0, 1).toUpperCase() + word.slice(1)))
        .join(''),
      about: [get.summary, get['x-credits'] === undefined ? undefined : `Credits: ${get['x-credits']}`]
        .filter((text) => text !== undefined)
        .join('. '),
      hasPrice: params.some((param) => param.name === 'dry_run'),
      params: params
        .filter((param) => param.in !== 'header' && !OWN_PARAMS.includes(String(param.name)))
        .map((param) => ({
          name: String(param.name),
          about: `${param.description ?? ''}${allowedText(resolve(param.schema ?? {}))}`,
          required: param.required === true,
        })),
      cursorParam: CURSOR_PARAMS.find((name) => params.some((param) => param.name === name)),
      columns: rowSchema === undefined ? undefined : fieldsOf({ $ref: rowSchema }),
    })
  }
  return [...found.values()]
}

function allowedText(schema: Part): string {
  const values = schema.enum as unknown[] | undefined
  return values === undefined ? '' : ` One of ${values.join(', ')}.`
}
