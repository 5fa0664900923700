/** The published OpenAPI document, as far as the reference reads it. */
export type Schema = Readonly<Record<string, unknown>>

export interface Parameter {
  readonly name: string
  readonly in: 'path' | 'query' | 'header'
  readonly required?: boolean
  readonly description?: string
  readonly schema: Schema
  readonly example?: string | number | boolean
  readonly 'x-min-tier'?: string
}

interface Media {
  readonly schema?: Schema
  readonly example?: unknown
}

interface ResponsePart {
  readonly description: string
  readonly content?: Readonly<Record<string, Media>>
}

interface OperationPart {
  readonly operationId: string
  readonly summary: string
  readonly description?: string
  readonly tags: readonly string[]
  readonly parameters: readonly (Parameter | { $ref: string })[]
  readonly requestBody?: { readonly content: Readonly<Record<string, Media>> }
  readonly responses: Readonly<Record<string, ResponsePart | { $ref: string }>>
  readonly security?: readonly unknown[]
  readonly 'x-credits'?: string
  readonly 'x-min-tier'?: string
  readonly 'x-row-schema'?: string
}

export interface OpenApi {
  readonly info: { readonly version: string; readonly description: string }
  readonly tags: readonly { readonly name: string; readonly description: string }[]
  readonly paths: Readonly<Record<string, Readonly<Record<string, OperationPart>>>>
  readonly components: Readonly<Record<string, Readonly<Record<string, unknown>>>>
}

export interface Operation {
  readonly id: string
  readonly method: string
  readonly path: string
  readonly summary: string
  readonly description: string
  readonly tag: string
  readonly parameters: readonly Parameter[]
  readonly body: Media | undefined
  readonly responses: readonly (readonly [status: string, answer: ResponsePart])[]
  readonly needsKey: boolean
  readonly credits: string | undefined
  readonly tier: string | undefined
  readonly isList: boolean
}

export type Resolve = <T extends object>(part: T | { $ref: string }) => T

export function resolver({ components }: OpenApi): Resolve {
  const resolve: Resolve = (part) => {
    if (!('$ref' in part) || typeof part.$ref !== 'string') return part as never
    const [, , group = '', name = ''] = part.$ref.split('/')
    return resolve(components[group]?.[name] as never)
  }
  return resolve
}

export function operationsOf(document: OpenApi, resolve: Resolve): Operation[] {
  return Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, part]) => ({
      id: part.operationId,
      method: method.toUpperCase(),
      path,
      summary: part.summary,
      description: part.description ?? '',
      tag: part.tags[0] ?? '',
      parameters: part.parameters.map((each) => resolve<Parameter>(each)),
      body: part.requestBody?.content['application/json'],
      responses: Object.entries(part.responses).map(
        ([status, answer]) => [status, resolve<ResponsePart>(answer)] as const,
      ),
      needsKey: part.security === undefined,
      credits: part['x-credits'],
      tier: part['x-min-tier'],
      isList: part['x-row-schema'] !== undefined,
    })),
  )
}
