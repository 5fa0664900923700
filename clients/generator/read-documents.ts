/** The published documents (OpenAPI and AsyncAPI) → what a client has: operations, types, codes of errors. */
import { clientName } from '../../src/core/client-name.ts'
import {
  createTypeBook,
  type Definition,
  isTime,
  pascal,
  type Schema,
  type TypeNode,
  textOf,
} from './schema-types.ts'

export interface ClientModel {
  readonly version: string
  readonly operations: readonly Operation[]
  readonly definitions: readonly Definition[]
  readonly errorCodes: readonly { readonly code: string; readonly className: string }[]
  readonly eventKinds: readonly string[]
}

export interface Operation {
  /** Words of the name, in lower case: renderers join them in their own way. */
  readonly words: readonly string[]
  readonly method: string
  readonly path: string
  readonly doc: string
  readonly params: readonly Param[]
  readonly body: { readonly type: TypeNode; readonly definition: Definition | undefined } | undefined
  readonly hasPrice: boolean
  readonly result:
    | { readonly kind: 'object'; readonly type: TypeNode }
    | {
        readonly kind: 'rows'
        readonly row: TypeNode
        /** What is on a page beside its rows. */
        readonly meta: TypeNode
        readonly rowsField: string
        readonly cursorParam: string | undefined
        /** Whether the rows of a page can be limited. */
        readonly hasLimit: boolean
      }
}

/** Names of all times that a caller gives, in the query or in the body. */
export function timesOf({ params, body }: Operation): string[] {
  const fields =
    body?.definition !== undefined && 'fields' in body.definition.shape ? body.definition.shape.fields : []
  return [...params, ...fields].filter(({ type }) => type.kind === 'time').map(({ name }) => name)
}

export interface Param {
  readonly name: string
  readonly in: 'path' | 'query'
  readonly required: boolean
  readonly type: TypeNode
  readonly doc: string
}

interface OpenApi {
  info: { version: string }
  paths: Record<string, Record<string, OpenApiOperation>>
  components: { schemas: Record<string, Schema> } & Record<string, Record<string, unknown>>
}
interface OpenApiOperation {
  summary?: string
  description?: string
  parameters?: Schema[]
  requestBody?: Schema
  responses: Record<string, Schema>
  'x-row-schema'?: string
  'x-credits'?: string
}
interface AsyncApi {
  components: { schemas: Record<string, Schema> }
}

/** Set by the client itself. */
const OWN_PARAMS = ['dry_run', 'format', 'Idempotency-Key']
const CURSOR_PARAMS = ['after', 'cursor']

export function readDocuments(openapiJson: object, asyncapiJson: object): ClientModel {
  const openapi = openapiJson as OpenApi
  const events = Object.entries((asyncapiJson as AsyncApi).components.schemas)
  const eventName = (kind: string) => `${pascal(kind).replace(/Event$/, '')}Event`
  const { Error: ErrorBody = {}, ...published } = openapi.components.schemas
  const schemas = {
    ErrorBody,
    ...published,
    ...Object.fromEntries(events.map(([kind, schema]) => [eventName(kind), plain(schema)])),
    ChainEvent: {
      description: 'Any event.',
      anyOf: events.map(([kind]) => ({ $ref: `#/${eventName(kind)}` })),
    },
    EventKind: { description: 'Kinds of events.', enum: events.map(([kind]) => kind) },
  }
  const book = createTypeBook(schemas)

  function resolve(value: unknown): Schema {
    const part = value as Schema
    if (typeof part.$ref !== 'string') return part
    const found = part.$ref
      .split('/')
      .slice(1)
      .reduce<unknown>(
        (at, key) => (at as Record<string, unknown>)[key.replaceAll('~1', '/').replaceAll('~0', '~')],
        openapi,
      )
    return resolve(found)
  }

  function operationOf(path: string, method: string, operation: OpenApiOperation): Operation {
    const words = clientName(method, path)
    const hint = pascal(words.join(' '))
    const given = (operation.parameters ?? []).map(resolve)
    const params = given
      .filter((param) => !OWN_PARAMS.includes(String(param.name)))
      .map((param): Param => {
        const name = String(param.name)
        const doc = textOf(param.description)
        const schema = resolve(param.schema)
        return {
          name,
          in: param.in === 'path' ? 'path' : 'query',
          required: param.required === true,
          type:
            schema.type === 'string' && isTime(doc)
              ? { kind: 'time' }
              : book.typeOf(schema, hint + pascal(name), name),
          doc,
        }
      })
    return {
      words,
      method: method.toUpperCase(),
      path,
      doc: [`${operation.summary ?? ''}.`, operation.description ?? '', `\`${method.toUpperCase()} ${path}\``]
        .join(' ')
        .trim(),
      params,
      body: bodyOf(operation, hint),
      hasPrice: given.some((param) => param.name === 'dry_run'),
      result: resultOf(operation, hint, params),
    }
  }

  function bodyOf(operation: OpenApiOperation, hint: string): Operation['body'] {
    if (operation.requestBody === undefined) return undefined
    const type = book.typeOf(jsonSchema(resolve(operation.requestBody)) ?? {}, `${hint}Body`)
    const definition =
      type.kind === 'ref' ? book.definitions().find(({ name }) => name === type.name) : undefined
    return { type, definition }
  }

  function resultOf(
    operation: OpenApiOperation,
    hint: string,
    params: readonly Param[],
  ): Operation['result'] {
    const [, answer] = Object.entries(operation.responses).find(([status]) => status.startsWith('2')) ?? []
    const schema = withoutPreview(jsonSchema(resolve(answer ?? {})) ?? {})
    const rowRef = operation['x-row-schema']
    if (rowRef === undefined) return { kind: 'object', type: book.typeOf(schema, `${hint}Answer`) }
    const page = resolve(schema)
    const properties = page.properties as Record<string, Schema>
    const row = JSON.stringify(resolve({ $ref: rowRef }))
    const rowsField = Object.keys(properties).find((name) => {
      const items = properties[name]?.items
      return items !== undefined && JSON.stringify(resolve(items)) === row
    })
    if (rowsField === undefined) throw new Error(`${hint}: no field of its pages holds the rows`)
    return {
      kind: 'rows',
      row: book.typeOf({ $ref: rowRef }, hint),
      meta:
        properties.meta === undefined
          ? book.typeOf(schema, `${hint}Page`)
          : book.typeOf(properties.meta, `${hint}Meta`),
      rowsField,
      cursorParam: params.find(({ name }) => CURSOR_PARAMS.includes(name))?.name,
      hasLimit: params.some(({ name }) => name === 'limit'),
    }
  }

  function jsonSchema(answer: Schema): Schema | undefined {
    const content = (answer.content ?? {}) as Record<string, { schema?: Schema }>
    return content['application/json']?.schema
  }

  /** `dry_run` is a method of its own, so its body is none of the operation's answers. */
  function withoutPreview(schema: Schema): Schema {
    const choices = schema.anyOf as Schema[] | undefined
    if (choices === undefined) return schema
    const rest = choices.filter(({ $ref }) => $ref !== '#/components/schemas/DryRun')
    return rest.length === 1 && rest[0] !== undefined ? rest[0] : { ...schema, anyOf: rest }
  }

  const operations = new Map<string, Operation>()
  for (const [path, methods] of Object.entries(openapi.paths)) {
    for (const [method, operation] of Object.entries(methods)) {
      const made = operationOf(path, method, operation)
      const name = made.words.join(' ')
      const same = operations.get(name)
      // A path that is there with and without its version is one method.
      if (same !== undefined && same.path.replace('/v1', '') !== path.replace('/v1', ''))
        throw new Error(`${same.path} and ${path} would both be called ${name}`)
      operations.set(name, made)
    }
  }
  const { error } = ErrorBody.properties as { error: { enum: string[] } }
  return {
    version: openapi.info.version,
    operations: [...operations.values()],
    definitions: book.definitions(),
    errorCodes: error.enum.map((code) => ({ code, className: `${pascal(code).replace(/Error$/, '')}Error` })),
    eventKinds: events.map(([kind]) => kind),
  }
}

/** Without the members of a schema library. */
function plain(schema: Schema): Schema {
  return JSON.parse(JSON.stringify(schema)) as Schema
}
