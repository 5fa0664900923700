import type { AnyEndpoint } from '../../contract/endpoint.ts'
import { type ExampleSamples, exampleOf } from '../../contract/example.ts'
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

/** A document that was made without samples → the same with the examples that depend on them. */
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
  return { ...document, paths: filled }
}
