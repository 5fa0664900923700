/** Options that several commands share. */
import { ENVIRONMENTS, type Environment } from '../core/environment.ts'
import { resolveSource, SOURCES, type Source } from '../core/source.ts'
import { type AssetSymbol, parseSymbol, SYMBOLS } from '../core/symbol.ts'
import { parseTime } from '../core/time.ts'
import { type CommandContext, UsageError } from './command.ts'

type Values = CommandContext['values']

export function parseEnvironmentOption(values: Values): Environment | undefined {
  const found = ENVIRONMENTS.find((name) => name === values.environment)
  if (found === undefined && values.environment !== undefined)
    throw new UsageError(`--environment must be one of ${ENVIRONMENTS.join(', ')}.`)
  return found
}

export function parseSourceOption(values: Values): Source | undefined {
  if (values.source === undefined) return undefined
  const found = resolveSource(values.source)
  if (found === undefined) throw new UsageError(`--source must be one of ${SOURCES.join(', ')}.`)
  return found
}

export function symbolOf(values: Values): AssetSymbol | undefined {
  if (values.symbol === undefined) return undefined
  const found = parseSymbol(values.symbol)
  if (found === undefined) throw new UsageError(`--symbol must be one of ${SYMBOLS.join(', ')}.`)
  return found
}

export function parseTimeOption(values: Values, name: string): number | undefined {
  const text = values[name]
  if (text === undefined) return undefined
  const time = parseTime(text)
  if (time === undefined)
    throw new UsageError(`--${name} must be a time such as 2026-03-14 or 2026-03-14T04:00:00Z.`)
  return time
}

/** Parses a comma-separated list. An empty list is a mistake; it does not mean the same as omitting the option. */
export function parseListOption(values: Values, name: string): string[] | undefined {
  const list = values[name]
    ?.split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '')
  if (list?.length === 0) throw new UsageError(`--${name} names nothing.`)
  return list
}
