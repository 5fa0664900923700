import { type Logger as PinoLogger, pino } from 'pino'
import { type LogFormat, logText } from './log-text.ts'
import { redactAddresses } from './redact-address.ts'

export type Logger = PinoLogger

/** Matches anything that looks like one of our secrets, anywhere in a line. */
const SECRET_PATTERN = /(svc_(?:live|test)_|whsec_)[A-Za-z0-9+/=_-]{4,}/g
const SECRET_QUERY = /([?&]api[-_]key=)[^&\s"]+/gi

export function redact(text: string): string {
  return redactAddresses(text.replace(SECRET_PATTERN, '$1***').replace(SECRET_QUERY, '$1***'))
}

/** Writes structured lines; every line passes through `redact` before it leaves the process. */
export function createLogger(options: {
  level: string
  format?: LogFormat
  write?: (line: string) => void
}): Logger {
  const { format = 'json' } = options
  const write = options.write ?? ((line: string) => void process.stdout.write(line))
  return pino(
    { level: options.level, base: null, timestamp: pino.stdTimeFunctions.isoTime },
    { write: (line: string) => write(format === 'json' ? redact(line) : logText(redact(line), format)) },
  )
}
