/** An API call as a program: for the shell and for the two clients. */
import { clientName } from '../../core/client-name.ts'

export interface ApiCallParts {
  readonly method: string
  /** The path with its parameters in braces. */
  readonly template: string
  readonly pathParams: Readonly<Record<string, string>>
  readonly query: Readonly<Record<string, string>>
  /** Integers that a number cannot hold are bigints. */
  readonly body?: unknown
  /** The body as the user typed it. */
  readonly bodyText?: string
  /** Whether the answer is a list of rows, which clients read page by page. */
  readonly isList: boolean
}

export const LANGUAGES = ['curl', 'TypeScript', 'Python'] as const
export type Language = (typeof LANGUAGES)[number]

export function snippet(language: Language, call: ApiCallParts, origin: string): string {
  if (language === 'curl') return curl(call, origin)
  return language === 'TypeScript' ? typescript(call, origin) : python(call, origin)
}

export function targetOf({ template, pathParams, query }: ApiCallParts): string {
  const path = template.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(pathParams[name] ?? ''))
  const search = new URLSearchParams(query).toString()
  return search === '' ? path : `${path}?${search}`
}

/** Escapes quotes inside single quotes of the shell. */
const shellText = (text: string) => `'${text.replaceAll("'", `'\\''`)}'`

/** wscat ends two seconds after its message unless it is told to wait: a day. */
export function streamCommand(subscription: string, origin: string): string {
  const base = origin.replace(/^http/, 'ws')
  return `npx wscat -c "${base}/v1/ws?api_key=$TAPELINE_KEY" -w 86400 -x ${shellText(subscription)}`
}

function curl(call: ApiCallParts, origin: string): string {
  const verb = call.method === 'GET' ? '' : ` -X ${call.method}`
  const data =
    call.body === undefined
      ? ''
      : ` -H "Content-Type: application/json" -d ${shellText(call.bodyText ?? JSON.stringify(call.body))}`
  return `curl${verb} -H "X-API-Key: $TAPELINE_KEY"${data} ${shellText(origin + targetOf(call))}`
}

function typescript(call: ApiCallParts, origin: string): string {
  const [first = '', ...rest] = clientName(call.method, call.template)
  const name = first + rest.map((word) => word.charAt(0).toUpperCase() + word.slice(1)).join('')
  const values = { ...call.pathParams, ...call.query }
  const fields = Object.entries(values).map(
    ([key, value]) => `${propertyName(key)}: ${literal(value, 'true', 'false')}`,
  )
  const args = [
    ...(fields.length === 0 ? [] : [`{ ${fields.join(', ')} }`]),
    ...(call.body === undefined ? [] : [typescriptValue(call.body)]),
  ].join(', ')
  const head = [
    "import { Tapeline } from '@tapeline/client'",
    '',
    `const client = new Tapeline({ url: ${text(origin)}, key: process.env.TAPELINE_KEY })`,
  ]
  const tail = call.isList
    ? [`for await (const row of client.${name}(${args})) {`, '  console.log(row)', '}']
    : [`console.log(await client.${name}(${args}))`]
  return [...head, ...tail].join('\n')
}

function typescriptValue(value: unknown, indent = ''): string {
  if (typeof value === 'bigint') return `${value}n`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  const inner = `${indent}  `
  const members = Array.isArray(value)
    ? value.map((each) => typescriptValue(each, inner))
    : Object.entries(value).map(([key, each]) => `${text(key)}: ${typescriptValue(each, inner)}`)
  const [open, close] = Array.isArray(value) ? '[]' : '{}'
  if (members.length === 0) return `${open}${close}`
  return `${open}\n${members.map((member) => inner + member).join(',\n')}\n${indent}${close}`
}

function python(call: ApiCallParts, origin: string): string {
  const name = clientName(call.method, call.template).join('_')
  const values = Object.entries({ ...call.pathParams, ...call.query })
  const args = values.map(([key, value]) => `${key.replaceAll('-', '_')}=${literal(value, 'True', 'False')}`)
  if (call.body !== undefined) args.push(...pythonBody(name, call.body))
  const head = [
    'import os',
    '',
    'import tapeline',
    '',
    `tl = tapeline.Client(${text(origin)}, os.environ["TAPELINE_KEY"])`,
  ]
  const tail = call.isList
    ? [`for row in tl.${name}(${args.join(', ')}):`, '    print(row)']
    : [`print(tl.${name}(${args.join(', ')}))`]
  return [...head, ...tail].join('\n')
}

/** The members of a body become arguments; a JSON-RPC body, which may be a list, is one argument. */
function pythonBody(name: string, body: unknown): string[] {
  if (name === 'rpc' || Array.isArray(body)) return [pythonValue(body)]
  return Object.entries(body as object).map(([key, value]) => `${key}=${pythonValue(value)}`)
}

function pythonValue(value: unknown): string {
  if (value === null) return 'None'
  if (typeof value === 'boolean') return value ? 'True' : 'False'
  if (Array.isArray(value)) return `[${value.map(pythonValue).join(', ')}]`
  if (typeof value === 'object') {
    const members = Object.entries(value).map(([key, inner]) => `${text(key)}: ${pythonValue(inner)}`)
    return `{${members.join(', ')}}`
  }
  return typeof value === 'bigint' ? String(value) : JSON.stringify(value)
}

const text = (value: string) => JSON.stringify(value)
const propertyName = (name: string) => (/^[A-Za-z_]\w*$/.test(name) ? name : text(name))

/** Parameters arrive as text; numbers and booleans are written as such. */
function literal(value: string, yes: string, no: string): string {
  if (value === 'true' || value === 'false') return value === 'true' ? yes : no
  return /^\d{1,15}$/.test(value) && String(Number(value)) === value ? value : text(value)
}

/** The parts of a call that is known by its path alone. `templates` are the paths of the API. */
export function partsOf(
  target: string,
  templates: readonly string[],
  rest: Pick<ApiCallParts, 'method' | 'body' | 'isList'>,
): ApiCallParts {
  const { pathname, searchParams } = new URL(target, 'http://tapeline')
  const pattern = (template: string) => new RegExp(`^${template.replaceAll(/\{(\w+)\}/g, '(?<$1>[^/]+)')}$`)
  const template = templates.find((each) => pattern(each).test(pathname)) ?? pathname
  const groups = pattern(template).exec(pathname)?.groups ?? {}
  return {
    ...rest,
    template,
    pathParams: Object.fromEntries(
      Object.entries(groups).map(([name, value]) => [name, decodeURIComponent(value)]),
    ),
    query: Object.fromEntries(searchParams),
  }
}
