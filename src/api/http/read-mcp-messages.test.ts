import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ApiError } from '../../core/errors.ts'
import { readMcpMessages } from './read-mcp-messages.ts'

const message = (id: string, params = '{}') =>
  `{"jsonrpc":"2.0","id":${id},"method":"tools/call","params":${params}}`
const refusal = (body: string | Buffer, encoding?: string): ApiError => {
  try {
    readMcpMessages(Buffer.from(body), encoding)
  } catch (error) {
    if (error instanceof ApiError) return error
    throw error
  }
  return assert.fail(`read: ${body}`)
}

test('a message or a batch of up to eight is read as it was sent', () => {
  for (const body of [message('1'), message('"a"'), `[${message('1')},${message('2')}]`, 'null', '[{}]']) {
    assert.deepEqual(readMcpMessages(Buffer.from(body), 'identity'), JSON.parse(body), body)
  }
})

test('what would be rounded or replaced is refused with its place', () => {
  const places = {
    id: message('12345678901234567890'),
    '1.id': `[${message('1')},${message('9007199254740993')}]`,
    'params.arguments.token_id': message('1', `{"arguments":{"token_id":${'7'.repeat(77)}}}`),
    body: '12345678901234567890',
  }
  for (const [param, body] of Object.entries(places)) {
    const { kind, detail, message: text } = refusal(body)
    assert.deepEqual([kind, detail.param], ['invalid_param', param])
    assert.match(text, /send it as text/)
  }
  assert.match(refusal(Buffer.from(message('"a\xff"'), 'latin1')).message, /not UTF-8 at position 24/)
  assert.match(refusal('').message, /unexpected end at position 0/)
  assert.match(refusal('['.repeat(30_000)).message, /nested deeper than 64/)
  assert.match(refusal('{"id":1,"id":2}').message, /repeated member name/)
  assert.equal(refusal(message('1'), 'gzip').kind, 'unsupported_media_type')
  assert.equal(refusal('[]').detail.param, 'body')
})
