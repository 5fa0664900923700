/** The logger of a simulated process: its lines are part of the result, so they contain simulated time only. */
import type { Logger } from '../../src/kit/log.ts'

const SHOWN = ['warn', 'error', 'fatal'] as const
const HIDDEN = ['trace', 'debug', 'info'] as const

export function simulatedLogger(write: (line: string) => void): Logger {
  const ignore = () => {}
  const logger: Record<string, unknown> = { level: 'warn', child: () => logger }
  for (const level of HIDDEN) logger[level] = ignore
  for (const level of SHOWN)
    logger[level] = (about: unknown, message?: string) => write(`${level} ${lineOf(about, message)}`)
  return logger as unknown as Logger
}

function lineOf(about: unknown, message: string | undefined): string {
  if (typeof about === 'string') return about
  const text = JSON.stringify(about, (_key, value: unknown) =>
    value instanceof Error ? `${value.name}: ${value.message}` : value,
  )
  return message === undefined ? text : `${message} ${text}`
}
