/** The schemas of an OpenAPI document, compiled. */
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import formats from 'ajv-formats'
import type { Document } from './try-it.ts'

export interface DocumentSchemas {
  /** What is wrong with a value according to the schema at a JSON pointer of the document; empty if nothing is. */
  faultsAt(pointer: readonly string[], value: unknown): string
}

export function documentSchemas(document: Document): DocumentSchemas {
  const ajv = new Ajv2020({ strict: false, allErrors: true })
  ;(formats as unknown as (ajv: Ajv2020) => void)(ajv)
  ajv.addSchema(document, 'doc')
  const compiled = new Map<string, ValidateFunction>()
  return {
    faultsAt(pointer, value) {
      const $ref = `doc#/${placeOf(document, pointer)}`
      const check = compiled.get($ref) ?? ajv.compile({ $ref })
      compiled.set($ref, check)
      return check(value) ? '' : ajv.errorsText(check.errors?.slice(0, 3))
    },
  }
}

/** Resolves a pointer through references, because an answer may be described once for many operations. */
function placeOf(document: Document, pointer: readonly string[]): string {
  let steps: string[] = []
  let at: unknown = document
  for (const step of pointer) {
    steps.push(encodeURIComponent(step.replaceAll('~', '~0').replaceAll('/', '~1')))
    at = (at as Record<string, unknown> | undefined)?.[step]
    const { $ref } = (at ?? {}) as { $ref?: string }
    if ($ref === undefined) continue
    steps = $ref.slice('#/'.length).split('/')
    at = steps.reduce<unknown>(
      (inner, name) => (inner as Record<string, unknown> | undefined)?.[name],
      document,
    )
  }
  return steps.join('/')
}
