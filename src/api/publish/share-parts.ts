/**
 * Moves the repeated parts of a fully written-out OpenAPI document to `components`: parameters, answers and schemas are
 * referenced instead of repeated, and headers are described once (`x-on` says which answers carry them).
 */
import { freeName, mapValues, pascal } from './part-names.ts'
import { shareSchemas } from './share-schemas.ts'

type Json = Record<string, unknown>

interface Document extends Json {
  paths: Record<string, Record<string, Operation>>
  components: { schemas: Json } & Json
}
interface Operation extends Json {
  parameters: { name: string }[]
  responses: Record<string, Response>
  'x-row-schema'?: string
}
interface Response extends Json {
  description: string
  content?: Record<string, { schema?: Json }>
}

export function shareDocumentSchemas(whole: object): ReturnType<typeof shareSchemas> {
  const { components } = whole as Document
  return shareSchemas(components.schemas, operationsOf(whole as Document).flatMap(pagesOf))
}

export function shareParts(whole: object, { schemas, shared } = shareDocumentSchemas(whole)): Json {
  const { paths, components, ...rest } = whole as Document
  const operations = operationsOf(whole as Document)
  const parameters = createPartBook('parameters')
  const responses = createPartBook('responses')
  for (const operation of operations) {
    for (const part of operation.parameters) parameters.add(part)
    for (const part of Object.values(operation.responses)) responses.add(part)
  }
  const answer = (part: Response, status: string): object => {
    const found = responses.refer(part, answerName(status, part)) as Response
    return '$ref' in found ? found : briefly(status, withSchemas(found, shared))
  }
  const share = (operation: Operation): Json => ({
    ...operation,
    parameters: operation.parameters.map((part) => withoutDefault(parameters.refer(part, part.name))),
    responses: mapValues(operation.responses, answer),
  })
  return {
    ...rest,
    paths: mapValues(paths, (methods) => mapValues(methods, share)),
    components: {
      ...components,
      schemas,
      parameters: mapValues(parameters.named as Record<string, object>, withoutDefault),
      responses: mapValues(responses.named as Record<string, Response>, (part) => withSchemas(part, shared)),
    },
  }
}

function operationsOf({ paths }: Document): Operation[] {
  return Object.values(paths).flatMap((methods) => Object.values(methods))
}

/** The summary of the operation already says what a success means. */
function briefly(status: string, answer: Json): Json {
  return status.startsWith('2') ? { ...answer, description: 'Success.' } : answer
}

/** Every refusal also has this form; the document states that once. */
const PROBLEM_TYPE = 'application/problem+json'

/** The schemas of answers that are not components yet, with the names to give them. */
function pagesOf(operation: Operation): { place: string; schema: Json }[] {
  const place = `${operation['x-row-schema']?.split('/').at(-1) ?? ''}Page`
  return Object.values(operation.responses).flatMap(({ content = {} }) => {
    const schema = content['application/json']?.schema
    return schema === undefined ? [] : [{ place, schema }]
  })
}

function withSchemas({ headers: _described, ...part }: Response, shared: ReadonlyMap<object, Json>): Json {
  if (part.content === undefined) return part
  return {
    ...part,
    content: Object.fromEntries(
      Object.entries(part.content)
        .filter(([type]) => type !== PROBLEM_TYPE)
        .map(([type, { schema, ...media }]) => [
          type,
          { ...(schema === undefined ? {} : { schema: shared.get(schema) ?? schema }), ...media },
        ]),
    ),
  }
}

/** A parameter is optional unless it says otherwise, so `required: false` is left out. */
function withoutDefault(part: object): object {
  const { required, ...rest } = part as { required?: boolean }
  return required === false ? rest : part
}

/** Names parts that occur more than once. */
function createPartBook(group: string) {
  const texts = new Map<object, string>()
  const uses = new Map<string, number>()
  const names = new Map<string, string>()
  const named: Json = {}
  return {
    named,
    add(part: object): void {
      const text = texts.get(part) ?? JSON.stringify(part)
      texts.set(part, text)
      uses.set(text, (uses.get(text) ?? 0) + 1)
    },
    refer(part: object, wanted: string): object {
      const text = texts.get(part) ?? ''
      if (uses.get(text) === 1) return part
      const name = names.get(text) ?? freeName(wanted, named)
      names.set(text, name)
      named[name] = part
      return { $ref: `#/components/${group}/${name}` }
    },
  }
}

/** Named after its title, or after the first code in its description. */
function answerName(status: string, { description }: Response): string {
  const code = /^`(\w+)`/.exec(description)?.[1]
  return status === '304' ? 'NotModified' : pascal(code ?? description.replace(/ \(.*\)/, ''))
}
