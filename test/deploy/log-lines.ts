/** The lines that the service can log, read from its source: level and message, `…` for what is filled in. */
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

const ROOT = join(import.meta.dirname, '../..')
const CALL = /\blog\??\.(debug|info|warn|error|fatal)\(/g
/** A text in the arguments of a call that is not the name or value of a field. */
const MESSAGE = /(?:^|[,?:(]\s*)(?:'((?:[^'\\]|\\.)*)'|`([^`]*)`)\s*,?\s*$/

export interface LogLine {
  readonly level: string
  readonly message: string
  readonly file: string
}

export function logLines(): LogLine[] {
  return globSync('src/**/*.ts', { cwd: ROOT })
    .filter((file) => !file.endsWith('.test.ts') && !file.startsWith('src/dashboard/web/'))
    .sort()
    .flatMap((file) => {
      const text = readFileSync(join(ROOT, file), 'utf8')
      return [...text.matchAll(CALL)].map((call) => ({
        level: call[1] ?? '',
        message: messageIn(argumentsAt(text, call.index + call[0].length)),
        file,
      }))
    })
}

/** Up to the bracket that ends the call. */
function argumentsAt(text: string, from: number): string {
  let depth = 1
  let quote = ''
  for (let at = from; at < text.length; at++) {
    const char = text.charAt(at)
    if (quote !== '') {
      if (char === '\\') at++
      else if (char === quote) quote = ''
    } else if (`'"\``.includes(char)) quote = char
    else if ('([{'.includes(char)) depth++
    else if (')]}'.includes(char) && --depth === 0) return text.slice(from, at)
  }
  return ''
}

/** Empty where it is a variable: the text is made elsewhere. */
function messageIn(args: string): string {
  const [, plain, template] = MESSAGE.exec(args.trimEnd()) ?? []
  return (plain?.replaceAll("\\'", "'") ?? template ?? '').replaceAll(/\$\{[^}]*\}/g, '…')
}
