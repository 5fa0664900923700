/** Schema fields of rows and answers. */
import { type TSchema, Type } from 'typebox'
import { SOURCES } from '../source.ts'
import { SYMBOLS } from '../symbol.ts'

export const numberField = (description: string) => Type.Number({ description })
export const integerField = (description: string) => Type.Integer({ description })
export const textField = (description: string) => Type.String({ description })
export const flagField = (description: string) => Type.Boolean({ description })
export const timeField = (description: string) => Type.String({ format: 'date-time', description })

export const nullableField = <T extends TSchema>(schema: T, description: string) =>
  Type.Union([schema, Type.Null()], { description })
export const nullableNumberField = (description: string) => nullableField(Type.Number(), description)
export const nullableIntegerField = (description: string) => nullableField(Type.Integer(), description)
export const nullableTextField = (description: string) => nullableField(Type.String(), description)
export const nullableTimeField = (description: string) =>
  nullableField(Type.String({ format: 'date-time' }), description)
export const nullableFractionField = (description: string) =>
  nullableField(Type.Number({ minimum: 0, maximum: 1 }), description)
export const oneOfField = <const T extends string[]>(description: string, ...values: T) =>
  Type.Enum(values, { type: 'string', description })
export const nullableOneOfField = <const T extends string[]>(description: string, ...values: T) =>
  nullableField(Type.Enum(values, { type: 'string' }), description)
/** One constant schema for each value. */
export const constantsField = <const T extends string>(description: string, values: readonly T[]) =>
  Type.Unsafe<T>(
    Type.Union(
      values.map((value) => Type.Literal(value)),
      { description },
    ),
  )

export const symbolField = () => oneOfField('Asset symbol.', ...SYMBOLS)
/** A row echoes the name that was requested, so the alias is a possible value. */
export const sourceField = () => oneOfField('Where the row was recorded.', ...SOURCES, 'cexa_spot')

const level = Type.Array(Type.Number(), { minItems: 2, maxItems: 2, description: 'Price and size.' })
export const levelsField = (description: string) => Type.Array(level, { description })
