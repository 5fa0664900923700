import { type ClientModel, type Operation, type Param, timesOf } from './read-documents.ts'
import { type Definition, pascal, type TypeNode } from './schema-types.ts'

/** Prints the generated part of the TypeScript client. */
export function renderTypeScript(model: ClientModel): string {
  return [
    '// Generated from the endpoint declarations by `npm run clients`. Do not edit.',
    "import { ApiError } from './errors.ts'",
    "import type { Rows } from './rows.ts'",
    '',
    `export const CONTRACT_VERSION = ${quoted(model.version)}`,
    '',
    '/** ISO 8601 text, a date alone (midnight UTC), epoch seconds or milliseconds, or a Date. */',
    'export type Time = string | number | Date',
    '/** An integer of up to 64 bits: a bigint where a number would lose digits. */',
    'export type Integer = number | bigint',
    '',
    ...model.definitions.map(definition),
    `export type ErrorCode = ${model.errorCodes.map(({ code }) => quoted(code)).join(' | ')}`,
    '',
    ...model.errorCodes.map(
      ({ code, className }) =>
        `/** Refused with the code \`${code}\`. */\nexport class ${className} extends ApiError {\n  override readonly code = ${quoted(code)}\n}\n`,
    ),
    'export const ERROR_CLASSES: Readonly<Record<string, typeof ApiError>> = {',
    ...model.errorCodes.map(({ code, className }) => `  ${code}: ${className},`),
    '}',
    '',
    ...model.operations.filter(({ params }) => params.length > 0).map(paramsInterface),
    '/** What an operation is on the wire. */',
    'export interface Operation {',
    "  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'",
    '  readonly path: string',
    '  readonly rowsField?: string',
    '  readonly cursorParam?: string',
    '  readonly hasLimit?: boolean',
    '  /** What is given as a time. */',
    '  readonly givenTimes?: readonly string[]',
    '}',
    '',
    'export const OPERATIONS = {',
    ...model.operations.map((operation) => `  ${nameOf(operation)}: ${wire(operation)},`),
    '} as const satisfies Record<string, Operation>',
    '',
    '/** Parameters of what can be asked for its price. */',
    'export interface PricedParams {',
    ...model.operations
      .filter(({ hasPrice }) => hasPrice)
      .map(
        (operation) =>
          `  ${nameOf(operation)}: ${operation.params.length > 0 ? paramsName(operation) : 'object'}`,
      ),
    '}',
    '',
    '/** Per call. */',
    'export interface CallOptions {',
    '  readonly signal?: AbortSignal',
    '  /** Of a POST; made by the client where it is left out, except for calls to `/rpc` that only read. */',
    '  readonly idempotencyKey?: string',
    '}',
    '',
    '/** A method for every endpoint. */',
    'export abstract class Methods {',
    '  protected abstract rowsOf<Row, Meta>(operation: Operation, params: object, options?: CallOptions): Rows<Row, Meta>',
    '  protected abstract answerOf<T>(operation: Operation, params: object, options?: CallOptions, body?: unknown): Promise<T>',
    ...model.operations.map(method),
    '}',
    '',
  ].join('\n')
}

function definition({ name, doc, shape }: Definition): string {
  if ('alias' in shape) return `${comment(doc)}export type ${name} = ${typeText(shape.alias)}\n`
  const fields = shape.fields.map(
    (field) =>
      `${comment(field.doc, '  ')}  ${property(field.name)}${field.required ? '' : '?'}: ${typeText(field.type)}`,
  )
  return `${comment(doc)}export interface ${name} {\n${fields.join('\n')}\n}\n`
}

function paramsInterface(operation: Operation): string {
  const fields = operation.params.map(
    ({ name, required, type, doc }) =>
      `${comment(doc, '  ')}  ${property(name)}${required ? '' : '?'}: ${typeText(type)}${required ? '' : ' | undefined'}`,
  )
  return `export interface ${paramsName(operation)} {\n${fields.join('\n')}\n}\n`
}

function wire(operation: Operation): string {
  const { method, path, result } = operation
  const names = timesOf(operation).map(quoted).join(', ')
  const times = names === '' ? '' : `, givenTimes: [${names}]`
  const rows =
    result.kind === 'rows'
      ? `, rowsField: ${quoted(result.rowsField)}${result.cursorParam === undefined ? '' : `, cursorParam: ${quoted(result.cursorParam)}`}${result.hasLimit ? ', hasLimit: true' : ''}`
      : ''
  return `{ method: ${quoted(method)}, path: ${quoted(path)}${rows}${times} }`
}

function method(operation: Operation): string {
  const { params, body, result, doc } = operation
  const args = [
    ...(params.length > 0
      ? [`params: ${paramsName(operation)}${params.some(isRequired) ? '' : ' = {}'}`]
      : []),
    ...(body === undefined ? [] : [`body: ${typeText(body.type)}`]),
    'options?: CallOptions',
  ]
  const passed = [
    `OPERATIONS.${nameOf(operation)}`,
    params.length > 0 ? 'params' : '{}',
    'options',
    ...(body === undefined ? [] : ['body']),
  ]
  const [returned, call] =
    result.kind === 'rows'
      ? [`Rows<${typeText(result.row)}, ${typeText(result.meta)}>`, 'rowsOf']
      : [`Promise<${typeText(result.type)}>`, 'answerOf']
  return `\n${comment(doc, '  ')}  ${nameOf(operation)}(${args.join(', ')}): ${returned} {\n    return this.${call}(${passed.join(', ')})\n  }`
}

const isRequired = ({ required }: Param) => required
const nameOf = ({ words }: Operation) => words.map((word, n) => (n === 0 ? word : pascal(word))).join('')
const paramsName = (operation: Operation) => `${pascal(nameOf(operation))}Params`
const quoted = (text: string) => `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`
const property = (name: string) => (/^[A-Za-z_$][\w$]*$/.test(name) ? name : quoted(name))

function comment(text: string, indent = ''): string {
  const line = text.replaceAll('*/', '*\\/').split('\n')[0] ?? ''
  return line === '' ? '' : `${indent}/** ${line} */\n`
}

function typeText(type: TypeNode): string {
  switch (type.kind) {
    case 'ref':
      return type.name
    case 'time':
      return 'Time'
    case 'integer':
      return type.wide ? 'Integer' : 'number'
    case 'literal':
      return type.values
        .map((value) => (typeof value === 'string' ? quoted(value) : String(value)))
        .join(' | ')
    case 'list':
      return `readonly ${grouped(type.item)}[]`
    case 'record':
      return `Readonly<Record<string, ${typeText(type.value)}>>`
    case 'union':
      return type.members.map(typeText).join(' | ')
    case 'both':
      return type.members.map(grouped).join(' & ')
    default:
      return type.kind
  }
}

function grouped(type: TypeNode): string {
  const text = typeText(type)
  return text.includes(' ') ? `(${text})` : text
}
