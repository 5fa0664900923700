/** An OpenAPI document with the shared parts of its operations expanded: parameters, answers, headers. */
import type { Document } from './try-it.ts'

interface Shared extends Document {
  components: Document['components'] & Record<string, Record<string, object>>
}

export function expandDocument<D extends Document>(document: D): D {
  const { components } = document as unknown as Shared
  const resolve = <T extends object>(part: T): T => {
    if (!('$ref' in part)) return part
    const [, , group = '', name = ''] = String(part.$ref).split('/')
    const found = components[group]?.[name]
    if (found === undefined) throw new Error(`nothing is at ${part.$ref}`)
    return resolve(found as T)
  }
  const paths = Object.entries(document.paths).map(([path, methods]) => {
    const expanded = Object.entries(methods).map(([method, operation]) => [
      method,
      {
        ...operation,
        parameters: operation.parameters.map((part) => ({
          ...resolve(part),
          required: resolve(part).required ?? false,
        })),
        responses: Object.fromEntries(
          Object.entries(operation.responses).map(([status, answer]) => [status, resolve(answer)]),
        ),
      },
    ])
    return [path, Object.fromEntries(expanded)]
  })
  return { ...document, paths: Object.fromEntries(paths) }
}
