import type { AnyEndpoint } from '../../contract/endpoint.ts'
import { type ExampleSamples, exampleOf } from '../../contract/example.ts'
import { freeName, mapValues } from './part-names.ts'
import { publishedRoutes } from './router.ts'

type Json = Record<string, unknown>

interface Document extends Json {
  paths: Record<string, Record<string, Operation>>
  components: { parameters: Record<string, Parameter> } & Json
}
interface Operation extends Json {
  parameters: (Parameter | { $ref: string })[]
  requestBody?: { content: Record<string, Json> } & Json
}
interface Parameter extends Json {
  name: string
}

/** Adds the examples that depend on samples to a document that was built without them. */
export function fillExamples<Services>(
  document: object,
  endpoints: readonly AnyEndpoint<Services>[],
  samples: ExampleSamples,
): object {
  const { paths, components } = document as Document
  const filled = { ...paths }
  const isMade = (example: unknown) => typeof example === 'function'
  const partOf = (part: Operation['parameters'][number]): Parameter =>
    '$ref' in part ? (components.parameters[String(part.$ref).split('/').at(-1) ?? ''] as Parameter) : part
  for (const { method, path, params, endpoint } of publishedRoutes(endpoints)) {
    const made = Object.entries(params).filter(([, { example }]) => isMade(example))
    const hasBody = isMade(endpoint.body?.example)
    const methods = filled[path]
    const operation = methods?.[method.toLowerCase()]
    if (operation === undefined || (made.length === 0 && !hasBody)) continue
    const examples = new Map(made.map(([name, { example }]) => [name, exampleOf(example, samples)]))
    const own: Operation = {
      ...operation,
      parameters: operation.parameters.map((part) => {
        const parameter = partOf(part)
        const example = examples.get(parameter.name)
        return example === undefined ? part : { ...parameter, example }
      }),
    }
    const bodyExample = hasBody ? exampleOf(endpoint.body?.example, samples) : undefined
    if (operation.requestBody !== undefined && bodyExample !== undefined) {
      const media = { ...operation.requestBody.content['application/json'], example: bodyExample }
      own.requestBody = { ...operation.requestBody, content: { 'application/json': media } }
    }
    filled[path] = { ...methods, [method.toLowerCase()]: own }
  }
  return shareAgain({ ...(document as Document), paths: filled })
}

/** Parameters that were no longer shared after their examples were filled in; equal ones are shared again. */
function shareAgain(document: Document): object {
  const { paths, components } = document
  const parts = Object.values(paths).flatMap((methods) =>
    Object.values(methods).flatMap(({ parameters }) => parameters),
  )
  const used = new Set(parts.map((part) => ('$ref' in part ? part.$ref : undefined)))
  const named = Object.fromEntries(
    Object.entries(components.parameters).filter(([name]) => used.has(referenceTo(name))),
  )
  const references = new Map<string, { $ref: string }>()
  for (const [text, [part, ...others]] of Map.groupBy(parts.filter(hasExample), (each) =>
    JSON.stringify(each),
  )) {
    if (part === undefined || others.length === 0) continue
    const name = freeName(part.name, named)
    named[name] = part
    references.set(text, { $ref: referenceTo(name) })
  }
  const share = (operation: Operation): Operation => ({
    ...operation,
    parameters: operation.parameters.map((part) =>
      hasExample(part) ? (references.get(JSON.stringify(part)) ?? part) : part,
    ),
  })
  return {
    ...document,
    paths: mapValues(paths, (methods) => mapValues(methods, share)),
    components: { ...components, parameters: named },
  }
}

function referenceTo(name: string): string {
  return `#/components/parameters/${name}`
}

function hasExample(part: Operation['parameters'][number]): part is Parameter {
  return 'example' in part
}
