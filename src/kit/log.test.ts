import assert from 'node:assert/strict'
import { test } from 'node:test'
import { stripVTControlCharacters } from 'node:util'
import { createLogger } from './log.ts'
import type { LogFormat } from './log-text.ts'

function written(format: LogFormat, say: (log: ReturnType<typeof createLogger>) => void): string {
  let text = ''
  say(
    createLogger({
      level: 'info',
      format,
      write: (line) => {
        text += line
      },
    }),
  )
  return text
}

test('a text line has time, level, message and fields; a progress bar on the line is cleared first', () => {
  const text = written('text', (log) => log.warn({ thread: 'recorders', n: 3, why: 'two words' }, 'it ended'))
  assert.ok(text.startsWith('\r\u001b[K'))
  assert.match(
    stripVTControlCharacters(text),
    /^\r\d\d:\d\d:\d\d warn {2}it ended thread=recorders n=3 why="two words"\n$/,
  )
  assert.doesNotMatch(text, /\{/)
})

test('the same text with colours', () => {
  const err = new Error('no disk')
  const say = (log: ReturnType<typeof createLogger>) => log.error({ err }, 'not written')
  const plain = stripVTControlCharacters(written('text', say))
  assert.equal(stripVTControlCharacters(written('color', say)).slice(10), plain.slice(10))
  assert.match(plain, /error not written : no disk\n {4}at /)
})

test('JSON lines have the same fields, and secrets are removed in both forms', () => {
  const say = (log: ReturnType<typeof createLogger>) =>
    log.info({ key: 'svc_test_abcdefghij' }, 'svc_test_abcdefghij')
  assert.equal(JSON.parse(written('json', say)).key, 'svc_test_***')
  for (const format of ['json', 'text', 'color'] as const) assert.doesNotMatch(written(format, say), /abcdef/)
})
