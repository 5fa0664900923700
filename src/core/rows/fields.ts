/** Schema fields that several rows share, each with its description. */
import { Type } from 'typebox'
import { SOURCES } from '../source.ts'
import { SYMBOLS } from '../symbol.ts'

export const number = (description: string) => Type.Number({ description })
export const integer = (description: string) => Type.Integer({ description })
export const text = (description: string) => Type.String({ description })
export const flag = (description: string) => Type.Boolean({ description })
export const time = (description: string) => Type.String({ format: 'date-time', description })
export const fraction = (description: string) => Type.Number({ minimum: 0, maximum: 1, description })

export const nullableNumber = (description: string) =>
  Type.Union([Type.Number(), Type.Null()], { description })
export const nullableInteger = (description: string) =>
  Type.Union([Type.Integer(), Type.Null()], { description })
export const nullableText = (description: string) => Type.Union([Type.String(), Type.Null()], { description })
export const nullableTime = (description: string) =>
  Type.Union([Type.String({ format: 'date-time' }), Type.Null()], { description })
export const nullableFraction = (description: string) =>
  Type.Union([Type.Number({ minimum: 0, maximum: 1 }), Type.Null()], { description })
export const oneOf = <const T extends string[]>(description: string, ...values: T) =>
  Type.Enum(values, { type: 'string', description })
export const nullableOneOf = <const T extends string[]>(description: string, ...values: T) =>
  Type.Union([Type.Enum(values, { type: 'string' }), Type.Null()], { description })

export const symbol = () => oneOf('Asset symbol.', ...SYMBOLS)
/** A row echoes the name that was asked for, so the alias is a possible value. */
export const source = () => oneOf('Where the row was recorded.', ...SOURCES, 'cexa_spot')

const level = Type.Array(Type.Number(), { minItems: 2, maxItems: 2, description: 'Price and size.' })
export const levels = (description: string) => Type.Array(level, { description })
