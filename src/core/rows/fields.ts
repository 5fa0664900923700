/** Schema fields that several rows share, each with its description. */
import { Type } from 'typebox'
import { SOURCES } from '../source.ts'
import { SYMBOLS } from '../symbol.ts'

export const numberField = (description: string) => Type.Number({ description })
export const textField = (description: string) => Type.String({ description })
export const flagField = (description: string) => Type.Boolean({ description })
export const timeField = (description: string) => Type.String({ format: 'date-time', description })

export const nullableNumberField = (description: string) =>
  Type.Union([Type.Number(), Type.Null()], { description })
export const nullableIntegerField = (description: string) =>
  Type.Union([Type.Integer(), Type.Null()], { description })
export const nullableTextField = (description: string) =>
  Type.Union([Type.String(), Type.Null()], { description })
export const nullableTimeField = (description: string) =>
  Type.Union([Type.String({ format: 'date-time' }), Type.Null()], { description })
export const nullableFractionField = (description: string) =>
  Type.Union([Type.Number({ minimum: 0, maximum: 1 }), Type.Null()], { description })
export const oneOfField = <const T extends string[]>(description: string, ...values: T) =>
  Type.Enum(values, { type: 'string', description })
export const nullableOneOfField = <const T extends string[]>(description: string, ...values: T) =>
  Type.Union([Type.Enum(values, { type: 'string' }), Type.Null()], { description })

export const symbolField = () => oneOfField('Asset symbol.', ...SYMBOLS)
/** A row echoes the name that was asked for, so the alias is a possible value. */
export const sourceField = () => oneOfField('Where the row was recorded.', ...SOURCES, 'cexa_spot')

const level = Type.Array(Type.Number(), { minItems: 2, maxItems: 2, description: 'Price and size.' })
export const levelsField = (description: string) => Type.Array(level, { description })
