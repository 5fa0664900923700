import { nearest } from '../../core/nearest.ts'
import type { EndpointCall } from './endpoint-call.ts'

/** A tool independent of the protocol: what a model sees of it and what it does. */
export interface McpTool {
  readonly name: string
  readonly title: string
  readonly description: string
  readonly inputSchema: ArgumentsSchema
  run(args: ToolArguments, context: ToolContext): Promise<Record<string, unknown>>
}

export interface ToolContext {
  readonly call: EndpointCall
  /** Returns true once the service has stopped working on the request. */
  readonly isOver: () => boolean
  readonly wait: (ms: number) => Promise<void>
}

export type ToolArguments = Readonly<Record<string, string | number | boolean>>

interface ArgumentsSchema {
  readonly type: 'object'
  readonly properties: Readonly<Record<string, ArgumentSchema>>
  readonly required?: string[]
  readonly additionalProperties: false
}

export type ArgumentSchema = Readonly<Record<string, unknown>>

/** A failure that the model reads and can act on. */
export class ToolFailure extends Error {
  readonly detail: Readonly<Record<string, unknown>>
  constructor(message: string, whatToChange: string, detail: Readonly<Record<string, unknown>> = {}) {
    super(message)
    this.name = 'ToolFailure'
    this.detail = { error: 'invalid_argument', ...detail, message, what_to_change: whatToChange }
  }
}

const MAX_ARGUMENTS = 32
const MAX_ARGUMENT_CHARS = 1_000

/**
 * Checks names and types. The gate checks the values of an endpoint's own parameters, and its errors list what is
 * allowed.
 */
export function readArguments(tool: Pick<McpTool, 'inputSchema'>, given: unknown): ToolArguments {
  const { properties, required = [] } = tool.inputSchema
  const known = Object.keys(properties)
  const entries = Object.entries((given ?? {}) as Record<string, unknown>).filter(
    ([, value]) => value !== null && value !== undefined && value !== '',
  )
  if (entries.length > MAX_ARGUMENTS)
    throw new ToolFailure(`There are ${entries.length} arguments.`, `Give only: ${known.join(', ')}.`)
  for (const [name, value] of entries) {
    if (!Object.hasOwn(properties, name)) {
      const near = nearest(name, known)
      const hint = near === undefined ? '' : ` Did you mean ${near}?`
      throw new ToolFailure(
        `There is no argument "${name.slice(0, 60)}".${hint}`,
        `Use only these arguments: ${known.join(', ')}.`,
      )
    }
    if (!['string', 'number', 'boolean'].includes(typeof value) || String(value).length > MAX_ARGUMENT_CHARS)
      throw new ToolFailure(
        `${name} must be a text, a number or true or false of at most ${MAX_ARGUMENT_CHARS} characters.`,
        `Change ${name}.`,
      )
  }
  const missing = required.filter((name) => !entries.some(([other]) => other === name))
  if (missing.length > 0)
    throw new ToolFailure(
      `${missing.join(' and ')} missing.`,
      missing.map((name) => `Give ${name}: ${describeArgument(properties[name])}`).join(' '),
    )
  return Object.fromEntries(entries) as ToolArguments
}

function describeArgument(schema: ArgumentSchema | undefined): string {
  const values = schema?.enum
  return Array.isArray(values) ? `one of ${values.join(', ')}.` : String(schema?.description ?? '')
}

/** An argument of the tool itself, which the gate does not know. */
export function ownChoice(args: ToolArguments, name: string, allowed: readonly string[]): string | undefined {
  const value = args[name]
  if (value === undefined) return undefined
  if (allowed.includes(String(value))) return String(value)
  throw new ToolFailure(`${name} is "${value}".`, `Use one of: ${allowed.join(', ')}.`, {
    param: name,
    allowed,
  })
}

export function ownWhole(
  args: ToolArguments,
  name: string,
  bounds: { min: number; max: number; fallback: number },
): number {
  const { min, max, fallback } = bounds
  const value = args[name] === undefined ? fallback : Number(args[name])
  if (Number.isInteger(value) && value >= min && value <= max) return value
  throw new ToolFailure(`${name} is ${args[name]}.`, `Give a whole number from ${min} to ${max}.`, {
    param: name,
  })
}
