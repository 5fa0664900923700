/** A log line for people: `18:20:01 warn  a thread ended  thread=recorders`. */
export type LogFormat = 'json' | 'text' | 'color'

const LEVELS: Record<number, string> = {
  10: 'trace',
  20: 'debug',
  30: 'info',
  40: 'warn',
  50: 'error',
  60: 'fatal',
}
const COLORS: Record<string, string> = { warn: '33', error: '31', fatal: '31;1' }
/** Returns to the start of the line and clears a progress bar. */
const OVER_THE_BAR = '\r\u001b[K'
const PLAIN_VALUE = /^[\w./:@*+…-]+$/
const WIDEST_LEVEL = 5
const ERROR_LEVEL = 50

interface ErrorFields {
  readonly message?: string
  readonly stack?: string
}

/** @param line one JSON line of the logger */
export function logText(line: string, format: Exclude<LogFormat, 'json'>): string {
  const { level, time, msg, err, ...fields } = JSON.parse(line) as Record<string, unknown>
  const name = LEVELS[Number(level)] ?? String(level)
  const paint = (code: string, text: string) =>
    format === 'color' ? `\u001b[${code}m${text}\u001b[0m` : text
  const color = COLORS[name]
  const parts = [
    paint('2', clockOf(String(time))),
    color === undefined ? name.padEnd(WIDEST_LEVEL) : paint(color, name.padEnd(WIDEST_LEVEL)),
    String(msg ?? ''),
    ...Object.entries(fields).map(([key, value]) => paint('2', `${key}=${shown(value)}`)),
    ...errorOf(err as ErrorFields | undefined, Number(level)),
  ]
  return `${OVER_THE_BAR}${parts.join(' ')}\n`
}

/** Local time. */
function clockOf(iso: string): string {
  const time = new Date(iso)
  const two = (value: number) => String(value).padStart(2, '0')
  return `${two(time.getHours())}:${two(time.getMinutes())}:${two(time.getSeconds())}`
}

function shown(value: unknown): string {
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  return PLAIN_VALUE.test(text) ? text : JSON.stringify(value)
}

/** The message, and also the stack for an error, which may be a bug of ours. */
function errorOf(err: ErrorFields | undefined, level: number): string[] {
  if (err === undefined) return []
  const stack = level >= ERROR_LEVEL ? (err.stack?.split('\n').slice(1).join('\n') ?? '') : ''
  return [`: ${err.message ?? JSON.stringify(err)}${stack === '' ? '' : `\n${stack}`}`]
}
