/** Types of a venue's messages, each with a compiled validator. */
import type { Static, TSchema } from 'typebox'
import Type from 'typebox'
import { Compile, type Validator } from 'typebox/compile'

export interface WireType<T> {
  readonly schema: TSchema
  is(value: unknown): value is T
}

/** Compiles the schema on first use, not on import. */
export function wireType<S extends TSchema>(schema: S): WireType<Static<S>> {
  let validator: Validator | undefined
  return {
    schema,
    is(value): value is Static<S> {
      validator ??= Compile(schema)
      return validator.Check(value)
    },
  }
}

/** A row given as a list. A venue may append values to it, which are ignored. */
export function rowOf<const T extends TSchema[]>(values: [...T]) {
  return Type.Tuple(values, { additionalItems: true })
}

/** Prices, sizes and rates arrive as decimal text and stay text. */
export const DecimalText = Type.String({ pattern: '^-?[0-9]{1,40}(\\.[0-9]{1,40})?$' })
export const Millis = Type.Integer({ minimum: 0, maximum: 9_007_199_254_740_991 })
export const Id = Type.Integer({ minimum: 0, maximum: 9_007_199_254_740_991 })
export const PriceLevel = rowOf([DecimalText, DecimalText])
