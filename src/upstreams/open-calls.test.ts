import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type NodeAnswer, OpenCalls } from './open-calls.ts'

function opened() {
  const calls = new OpenCalls()
  const answers: NodeAnswer[] = []
  const add = (timeoutMs = 100, nowMs = 0) =>
    calls.add({ method: 'getSink', paramsText: '{}', timeoutMs }, nowMs, (answer) => answers.push(answer))
  return { calls, answers, add }
}
const message = { id: 1, method: 'getSink', params: Buffer.from('{}'), error: undefined }

test('a call leaves once and is answered once', () => {
  const { calls, answers, add } = opened()
  add()
  assert.deepEqual(calls.takeLeaving(), ['{"id":1,"method":"getSink","params":{}}'])
  assert.deepEqual(calls.takeLeaving(), [])
  calls.settle(1, message)
  calls.settle(1, message)
  assert.deepEqual(answers, [{ kind: 'result', bytes: message.params }])
  assert.equal(calls.size, 0)
})

test('a call cancelled before it left does not leave; one that has left stays open until its answer is dropped', () => {
  const { calls, answers, add } = opened()
  add().cancel()
  assert.deepEqual(calls.takeLeaving(), [])
  assert.equal(calls.size, 0)
  const sent = add()
  calls.takeLeaving()
  sent.cancel()
  assert.equal(calls.size, 1)
  calls.settle(2, message)
  assert.equal(calls.size, 0)
  assert.deepEqual(
    answers.map((answer) => answer.kind === 'fault' && [answer.fault, answer.sent]),
    [
      ['cancelled', false],
      ['cancelled', true],
    ],
  )
})

test('a call past its time limit is answered as a timeout; the others fail with the socket', () => {
  const { calls, answers, add } = opened()
  add(100)
  add(500)
  calls.takeLeaving()
  add(500)
  assert.equal(calls.expire(99), undefined)
  assert.match(calls.expire(100) ?? '', /getSink had no answer within 100 ms/)
  calls.failAll('ended')
  assert.deepEqual(
    answers.map((answer) => answer.kind === 'fault' && [answer.fault, answer.sent]),
    [
      ['timeout', true],
      ['closed', true],
      ['closed', false],
    ],
  )
})

test('an answer to another method, and a result that is no object, are malformed', () => {
  const { calls, answers, add } = opened()
  const another = { ...message, method: 'getSinkBlueScore' }
  const wrong = [another, ...['null', '[]', '""'].map((text) => ({ ...message, params: Buffer.from(text) }))]
  for (const [n, given] of wrong.entries()) {
    add()
    calls.takeLeaving()
    calls.settle(n + 1, { ...given, id: n + 1 })
  }
  assert.deepEqual(
    answers.map((answer) => answer.kind === 'fault' && [answer.fault, answer.sent]),
    wrong.map(() => ['malformed', true]),
  )
})

test('a result that is not JSON is malformed', () => {
  for (const text of ['{"blueScore":tru,,}', '{"blueScore":01}', '{blueScore}', '{"a":"\n"}']) {
    const { calls, answers, add } = opened()
    add()
    calls.takeLeaving()
    calls.settle(1, { ...message, params: Buffer.from(text) })
    assert.equal(answers[0]?.kind === 'fault' && answers[0].fault, 'malformed', text)
  }
})
