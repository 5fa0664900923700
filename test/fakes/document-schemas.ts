/** The schemas of an OpenAPI document, compiled. */
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import formats from 'ajv-formats'
import type { Document } from './try-it.ts'

export interface DocumentSchemas {
  /** What is wrong with a value, by the schema at a JSON pointer of the document; empty where nothing is. */
  faultsAt(pointer: readonly string[], value: unknown): string
}

export function documentSchemas(document: Document): DocumentSchemas {
  const ajv = new Ajv2020({ strict: false, allErrors: true })
  ;(formats as unknown as (ajv: Ajv2020) => void)(ajv)
  ajv.addSchema(document, 'doc')
  const compiled = new Map<string, ValidateFunction>()
  return {
    faultsAt(pointer, value) {
      const steps = pointer.map((step) =>
        encodeURIComponent(step.replaceAll('~', '~0').replaceAll('/', '~1')),
      )
      const $ref = `doc#/${steps.join('/')}`
      const check = compiled.get($ref) ?? ajv.compile({ $ref })
      compiled.set($ref, check)
      return check(value) ? '' : ajv.errorsText(check.errors?.slice(0, 3))
    },
  }
}
